/* Dev login: a GitHub login is enough, on a Hub that loopback alone can reach. */

#include <stdlib.h>
#include <string.h>

#include "auth_parts.h"
#include "kndl/log.h"
#include "kndl/mem.h"
#include "rate.h"

#define V1(name) Kndl__RepoAccess__V1__##name

enum { LOGIN_BYTES_MAX = 64 };

static bool has_forwarded_header(const struct kndl_web_request *request)
{
    static const char *const names[] = {"forwarded",         "x-forwarded-for", "x-forwarded-host",
                                        "x-forwarded-proto", "x-real-ip",       "via"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (kndl_web_header(request, names[i]) != NULL)
            return true;
    return false;
}

/*
 * Five locks, any of which keeps it shut: it is on, which settings_read() takes only with a public
 * URL and a listener on loopback; the peer is on loopback; so is the Host; no proxy has a hand in
 * it; and no foreign page.
 */
bool auth_may_dev_login(const struct auth *auth)
{
    const struct settings *settings = &auth->gateway->settings;
    const struct kndl_web_request *request = auth->request;
    const char *host = kndl_web_header(request, "host");

    return settings->dev_login && !settings->is_https &&
           settings_is_loopback_address(settings->address) &&
           settings_is_loopback_address(kndl_web_peer(request)) && host != NULL &&
           settings_is_loopback_host(host) && !has_forwarded_header(request) &&
           credential_origin_is_ours(settings, request, true);
}

static void answer_signed_in(struct auth *auth, const V1(DevLoginResponse) *answer)
{
    const struct settings *settings = &auth->gateway->settings;
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf body = {0};
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf cookie = {0};

    kndl_buf_reserve(&body, 4096); /* so that no copy of a token is left behind */
    kndl_buf_append_char(&body, '{');
    auth_write_person(answer->person, &body);
    if (auth->is_cli) {
        kndl_buf_append_text(&body, ",\"token\":");
        kndl_json_append_string(&body, answer->token);
        kndl_buf_printf(&body, ",\"expiresAtMs\":\"%lld\"", (long long)answer->expires_at_ms);
    } else {
        auth_write_cookie(settings, settings->cookie, answer->token, AUTH_COOKIE_SECONDS, &cookie);
    }
    kndl_buf_append_char(&body, '}');
    auth_log_signed_in(auth, answer->person->id, "dev login");
    auth_answer(auth, kndl_buf_slice(&body), auth->is_cli ? NULL : kndl_buf_text(&cookie), NULL);
    explicit_bzero(body.data, body.size);
    if (cookie.size > 0)
        explicit_bzero(cookie.data, cookie.size);
}

static void on_dev_login(const struct kndl_reply *reply, void *data)
{
    struct auth *auth = data;
    struct kndl_error err;
    const V1(DevLoginResponse) *answer =
        auth_unpack(auth, reply, &kndl__repo_access__v1__dev_login_response__descriptor, &err);

    if (answer != NULL && answer->person == NULL) {
        kndl_fail(&err, KNDL_INTERNAL, "internal error");
        answer = NULL;
    }
    if (answer == NULL) {
        kndl_log(KNDL_WARNING, "a dev login was refused", KNDL_STR("why", err.message));
        auth_fail(auth, &err);
        return;
    }
    answer_signed_in(auth, answer);
}

/* {"login": …, "client": "web" or "cli", "machine": …} and nothing else. */
static int read_dev_login(const struct kndl_json *json, V1(DevLoginRequest) *ret,
                          struct kndl_error *err)
{
    const struct kndl_value *root = kndl_json_root(json);
    const char *login;
    const char *client;
    const char *machine;

    if (auth_read_text(root, "login", LOGIN_BYTES_MAX, true, &login, err) < 0 ||
        auth_read_text(root, "client", 8, true, &client, err) < 0 ||
        auth_read_text(root, "machine", AUTH_MACHINE_BYTES_MAX, false, &machine, err) < 0)
        return -1;
    if (strcmp(client, "web") != 0 && strcmp(client, "cli") != 0)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "client is web or cli");
    ret->login = (char *)login;
    ret->machine = (char *)machine;
    ret->kind = client[0] == 'w' ? KNDL__REPO_ACCESS__V1__AUTHENTICATE_REQUEST__KIND__KIND_WEB
                                 : KNDL__REPO_ACCESS__V1__AUTHENTICATE_REQUEST__KIND__KIND_CLI;
    return 0;
}

static int check_dev_login(struct auth *auth, struct kndl_error *err)
{
    if (!auth_may_dev_login(auth))
        return kndl_fail(err, KNDL_PERMISSION_DENIED, "dev login is off");
    return rate_take(auth->gateway, RATE_SIGN_IN, rate_address(auth->gateway, auth->request), err);
}

void auth_dev_login(struct auth *auth)
{
    static const char *const known[] = {"login", "client", "machine", NULL};
    KNDL_CLEANUP(auth_free_json) struct kndl_json *json = NULL;
    V1(DevLoginRequest) request = KNDL__REPO_ACCESS__V1__DEV_LOGIN_REQUEST__INIT;
    char browser[AUTH_MACHINE_BYTES_MAX + 1];
    uint8_t before[KNDL_HASH_BYTES];
    struct kndl_error err;

    if (check_dev_login(auth, &err) < 0 || auth_read_body(auth, known, &json, &err) < 0 ||
        read_dev_login(json, &request, &err) < 0) {
        auth_fail(auth, &err);
        return;
    }
    auth->is_cli = request.kind == KNDL__REPO_ACCESS__V1__AUTHENTICATE_REQUEST__KIND__KIND_CLI;
    if (!auth->is_cli) {
        auth_browser_name(auth->request, browser);
        request.machine = browser;
        if (credential_of_browser(&auth->gateway->settings, auth->request, before))
            request.replaces_hash = (ProtobufCBinaryData){sizeof before, before};
    }
    auth_ask(auth, "DevLogin", &request.base, AUTH_ASK_MS, on_dev_login);
}
