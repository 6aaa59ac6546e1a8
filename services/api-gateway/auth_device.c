/*
 * Signing a machine in: it shows a code, somebody who is signed in says yes to it in their browser,
 * and the machine, which asks again and again, gets its token once. These two routes are for
 * programs: what a page sends is refused.
 */

#include <string.h>

#include "auth_parts.h"
#include "kndl/mem.h"
#include "rate.h"

#define V1(name) Kndl__RepoAccess__V1__##name

enum { POLL_S = 2 };

static int check(struct auth *auth, enum rate rate, struct kndl_error *err)
{
    if (kndl_web_header(auth->request, "origin") != NULL)
        return kndl_fail(err, KNDL_PERMISSION_DENIED, "this is not for pages");
    return rate_take(auth->gateway, rate, rate_address(auth->gateway, auth->request), err);
}

static void on_begun(const struct kndl_reply *reply, void *data)
{
    struct auth *auth = data;
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf body = {0};
    struct kndl_error err;
    const V1(BeginDeviceResponse) *begun =
        auth_unpack(auth, reply, &kndl__repo_access__v1__begin_device_response__descriptor, &err);

    if (begun == NULL) {
        auth_fail(auth, &err);
        return;
    }
    kndl_buf_reserve(&body, 1024); /* so that no copy of the secret is left behind */
    kndl_buf_append_text(&body, "{\"deviceCode\":");
    kndl_json_append_string(&body, begun->device_code);
    kndl_buf_append_text(&body, ",\"userCode\":");
    kndl_json_append_string(&body, begun->user_code);
    kndl_buf_printf(&body, ",\"url\":\"%s/device\",\"endsAtMs\":\"%lld\",\"intervalS\":%d}",
                    auth->gateway->settings.origin, (long long)begun->ends_at_ms, POLL_S);
    auth_answer(auth, kndl_buf_slice(&body), NULL, NULL);
    explicit_bzero(body.data, body.size);
}

void auth_device_begin(struct auth *auth)
{
    static const char *const known[] = {"machine", NULL};
    KNDL_CLEANUP(auth_free_json) struct kndl_json *json = NULL;
    V1(BeginDeviceRequest) request = KNDL__REPO_ACCESS__V1__BEGIN_DEVICE_REQUEST__INIT;
    const char *machine;
    struct kndl_error err;

    if (check(auth, RATE_SIGN_IN, &err) < 0 || auth_read_body(auth, known, &json, &err) < 0 ||
        auth_read_text(kndl_json_root(json), "machine", AUTH_MACHINE_BYTES_MAX, true, &machine,
                       &err) < 0) {
        auth_fail(auth, &err);
        return;
    }
    request.machine = (char *)machine;
    auth_ask(auth, "BeginDevice", &request.base, AUTH_ASK_MS, on_begun);
}

static void on_polled(const struct kndl_reply *reply, void *data)
{
    struct auth *auth = data;
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf body = {0};
    struct kndl_error err;
    const V1(PollDeviceResponse) *answer =
        auth_unpack(auth, reply, &kndl__repo_access__v1__poll_device_response__descriptor, &err);

    if (answer == NULL) {
        auth_fail(auth, &err);
        return;
    }
    if (answer->token[0] == '\0' || answer->person == NULL) {
        auth_answer(auth, kndl_slice_of("{\"pending\":true}"), NULL, NULL);
        return;
    }
    kndl_buf_reserve(&body, 4096); /* so that no copy of the token is left behind */
    kndl_buf_append_char(&body, '{');
    auth_write_person(answer->person, &body);
    kndl_buf_append_text(&body, ",\"token\":");
    kndl_json_append_string(&body, answer->token);
    kndl_buf_printf(&body, ",\"expiresAtMs\":\"%lld\"}", (long long)answer->expires_at_ms);
    auth_log_signed_in(auth, answer->person->id, "device");
    auth_answer(auth, kndl_buf_slice(&body), NULL, NULL);
    explicit_bzero(body.data, body.size);
}

void auth_device_poll(struct auth *auth)
{
    static const char *const known[] = {"deviceCode", NULL};
    KNDL_CLEANUP(auth_free_json) struct kndl_json *json = NULL;
    V1(PollDeviceRequest) request = KNDL__REPO_ACCESS__V1__POLL_DEVICE_REQUEST__INIT;
    const char *code;
    struct kndl_error err;

    if (check(auth, RATE_POLL, &err) < 0 || auth_read_body(auth, known, &json, &err) < 0 ||
        auth_read_text(kndl_json_root(json), "deviceCode", 2 * KNDL_TOKEN_CHARS, true, &code,
                       &err) < 0) {
        auth_fail(auth, &err);
        return;
    }
    request.device_code = (char *)code;
    auth_ask(auth, "PollDevice", &request.base, AUTH_ASK_MS, on_polled);
}
