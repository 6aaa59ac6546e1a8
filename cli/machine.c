/* Signing in by a code, over the gateway's own routes. */

#include "machine.h"

#include <string.h>
#include <unistd.h>

#include "device_code.h"
#include "kndl/json.h"
#include "kndl/mem.h"

enum { ANSWER_BYTES_MAX = 64 * 1024 };

void machine_name(char ret_name[65])
{
    memset(ret_name, 0, 65);
    if (gethostname(ret_name, 64) < 0 || ret_name[0] == '\0')
        strcpy(ret_name, "a machine");
}

static void free_json(struct kndl_json **json)
{
    kndl_json_free(*json);
}

static int not_understood(struct kndl_error *err)
{
    return client_misread(err);
}

/* Posts, and parses the answer; what was read is wiped unless it is kept in `answer`. */
static int post(struct cli *cli, const char *path, const char *body, struct kndl_buf *answer,
                struct kndl_json **ret_json, struct kndl_error *err)
{
    kndl_buf_clear(answer);
    kndl_buf_reserve(answer, ANSWER_BYTES_MAX); /* so that no copy of a token is left behind */
    if (client_post_json(cli->client, path, body, answer, err) < 0)
        return -1;
    return kndl_json_parse(kndl_buf_slice(answer), ANSWER_BYTES_MAX, ret_json, NULL) < 0
               ? not_understood(err)
               : 0;
}

static int begin(struct cli *cli, struct kndl_buf *answer, struct device_code *ret_code,
                 struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf body = {0};
    KNDL_CLEANUP(free_json) struct kndl_json *json = NULL;
    char machine[65];

    machine_name(machine);
    kndl_buf_append_text(&body, "{\"machine\":");
    kndl_json_append_string(&body, machine);
    kndl_buf_append_char(&body, '}');
    if (post(cli, "/auth/device", kndl_buf_text(&body), answer, &json, err) < 0)
        return -1;

    const struct kndl_value *root = kndl_json_root(json);
    return device_code_read(ret_code, kndl_json_text(kndl_json_get(root, "deviceCode"), ""),
                            kndl_json_text(kndl_json_get(root, "userCode"), ""),
                            kndl_json_text(kndl_json_get(root, "url"), ""),
                            kndl_json_i64(kndl_json_get(root, "intervalS"), 0), err);
}

/* Has somebody said yes? */
static int poll_once(struct cli *cli, const struct device_code *code, void *data, bool *ret_is_over,
                     struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf body = {0};
    KNDL_CLEANUP(free_json) struct kndl_json *json = NULL;
    struct kndl_buf *answer = data;

    kndl_buf_reserve(&body, 512); /* so that no copy of the code is left behind */
    kndl_buf_append_text(&body, "{\"deviceCode\":");
    kndl_json_append_string(&body, (const char *)code->secret.data);
    kndl_buf_append_char(&body, '}');
    int result = post(cli, "/auth/device/token", kndl_buf_text(&body), answer, &json, err);
    explicit_bzero(body.data, body.size);
    if (result < 0)
        return -1;
    *ret_is_over = !kndl_json_bool(kndl_json_get(kndl_json_root(json), "pending"), false);
    return 0;
}

int machine_sign_in(struct cli *cli, struct kndl_buf *answer, struct kndl_error *err)
{
    KNDL_CLEANUP(device_code_done) struct device_code code = {0};
    int result = begin(cli, answer, &code, err);

    if (answer->size > 0)
        explicit_bzero(answer->data, answer->size);
    if (result < 0)
        return -1;
    device_code_show(&code, "", &cli->screen);
    return device_code_wait(cli, &code, poll_once, answer, KNDL_UNAUTHENTICATED, err);
}
