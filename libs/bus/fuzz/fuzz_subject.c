/* An id chooses no subject: what may stand in one is one token of it, and no wildcard. faults 28.
 */

#include <stdlib.h>
#include <string.h>

#include "kndl/buf.h"
#include "kndl/mem.h"
#include "kndl/redactor/v1/redactor_service.pb-c.h"
#include "kndl/runner/v1/runner_service.pb-c.h"
#include "kndl/sessions/v1/sessions_runner_service.pb-c.h"
#include "subject.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const ProtobufCServiceDescriptor *service, const char *id, unsigned tokens,
                  unsigned at)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf subject = {0};
    const struct kndl_route route = {
        .method = "M", .runner_id = id, .instance_id = id, .session_id = id};
    char token[KNDL_TOKEN_CHARS_MAX + 1];
    unsigned count = 1;

    kndl_subject_write(&subject, service, &route);
    for (const char *c = kndl_buf_text(&subject); *c != '\0'; c++) {
        count += *c == '.';
        if (strchr("*> \t\r\n", *c) != NULL || (unsigned char)*c > 126)
            abort();
    }
    if (count != tokens || !kndl_subject_token(kndl_buf_text(&subject), at, token) ||
        strcmp(token, id) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *id = kndl_alloc(size + 1, 1);

    memcpy(id, data, size);
    id[size] = '\0';
    if (kndl_token_is_plain(id)) {
        check(&kndl__sessions__v1__sessions_runner_service__descriptor, id, 8, 2);
        check(&kndl__redactor__v1__redactor_raw_service__descriptor, id, 5, 4);
        check(&kndl__runner__v1__runner_service__descriptor, id, 5, 2);
    }
    free(id);
    return 0;
}
