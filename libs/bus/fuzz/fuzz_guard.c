/* Whatever the guard takes, protobuf-c unpacks without a crash, a leak or much memory. */

#include <stdlib.h>

#include "kndl/gateway/v1/frame.pb-c.h"
#include "kndl/guard.h"
#include "kndl/redactor/v1/redactor_service.pb-c.h"
#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "kndl/sessions/v1/sessions_runner_service.pb-c.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first byte picks the type. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const ProtobufCMessageDescriptor *const types[] = {
        &kndl__redactor__v1__put_request__descriptor,
        &kndl__redactor__v1__mask_request__descriptor,
        &kndl__repo_access__v1__check_access_request__descriptor,
        &kndl__sessions__v1__attend_request__descriptor,
        &kndl__gateway__v1__server_frame__descriptor,
        &kndl__gateway__v1__client_frame__descriptor,
    };
    ProtobufCMessage *message;
    struct kndl_error err;

    if (size == 0)
        return 0;
    const ProtobufCMessageDescriptor *type = types[data[0] % (sizeof types / sizeof types[0])];
    if (kndl_guard_unpack(type, kndl_slice(data + 1, size - 1), NULL, &message, &err) < 0)
        return 0;
    size_t packed_size = protobuf_c_message_get_packed_size(message);
    uint8_t *packed = malloc(packed_size + 1);
    if (packed == NULL)
        abort();
    /* What was taken once is taken again. */
    protobuf_c_message_pack(message, packed);
    if (packed_size <= KNDL_MESSAGE_BYTES_MAX &&
        kndl_guard_check(type, kndl_slice(packed, packed_size), &err) < 0)
        abort();
    free(packed);
    protobuf_c_message_free_unpacked(message, NULL);
    return 0;
}
