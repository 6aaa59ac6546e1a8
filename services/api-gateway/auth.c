/* Signing in and out. */

#include "auth.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "answer.h"
#include "ask.h"
#include "kndl/buf.h"
#include "kndl/guard.h"
#include "kndl/json.h"
#include "kndl/log.h"
#include "kndl/mem.h"
#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "people.h"
#include "rate.h"
#include "request_data.h"

#define V1(name) Kndl__RepoAccess__V1__##name

enum {
    ASK_MS = 10000,
    BODY_BYTES_MAX = 4096,
    LOGIN_BYTES_MAX = 64,
    MACHINE_BYTES_MAX = 128,
    /* The most that a sign-in can last; that it ends after 30 days without use is the row's. */
    COOKIE_SECONDS = 90 * 24 * 3600,
};

/* A sign-in or sign-out on its way. */
struct auth {
    struct request_data base;
    struct gateway *gateway;
    struct kndl_web_request *request;
    char trace[KNDL_ID_SIZE];
    struct ask *ask;
    bool is_cli;
    struct principal principal; /* who signs out */
};

static struct auth *begin(struct gateway *gateway, struct kndl_web_request *request,
                          const char *trace)
{
    struct auth *auth = kndl_new0(struct auth);

    auth->base.kind = REQUEST_AUTH;
    auth->gateway = gateway;
    auth->request = request;
    memcpy(auth->trace, trace, sizeof auth->trace);
    gateway->calls++;
    kndl_web_set_data(request, auth);
    return auth;
}

static void end(struct auth *auth)
{
    ask_cancel(auth->ask);
    auth->gateway->calls--;
    free(auth);
}

void auth_abort(struct auth *auth)
{
    end(auth);
}

static void fail(struct auth *auth, const struct kndl_error *err)
{
    answer_error(auth->gateway, auth->request, err, auth->trace);
    end(auth);
}

static void write_cookie(const struct settings *settings, const char *value, int seconds,
                         struct kndl_buf *out)
{
    kndl_buf_printf(out, "%s=%s; Path=/; HttpOnly; SameSite=Lax; Max-Age=%d%s",
                    credential_cookie(settings), value, seconds,
                    settings->is_https ? "; Secure" : "");
}

/* ---- dev login ---- */

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
static bool may_dev_login(const struct gateway *gateway, const struct kndl_web_request *request)
{
    const struct settings *settings = &gateway->settings;
    const char *host = kndl_web_header(request, "host");

    return settings->dev_login && !settings->is_https &&
           settings_is_loopback_address(settings->address) &&
           settings_is_loopback_address(kndl_web_peer(request)) && host != NULL &&
           settings_is_loopback_host(host) && !has_forwarded_header(request) &&
           credential_origin_is_ours(settings, request, true);
}

static void write_person(const V1(Person) *person, struct kndl_buf *out)
{
    kndl_buf_append_text(out, "\"person\":");
    kndl_json_from_message(&person->base, out);
}

static void answer_signed_in(struct auth *auth, const V1(DevLoginResponse) *answer)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf body = {0};
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf cookie = {0};

    kndl_buf_reserve(&cookie, 512); /* so that no copy of a token is left behind */
    kndl_buf_reserve(&body, 4096);
    kndl_buf_append_char(&body, '{');
    write_person(answer->person, &body);
    if (auth->is_cli) {
        kndl_buf_append_text(&body, ",\"token\":");
        kndl_json_append_string(&body, answer->token);
        kndl_buf_printf(&body, ",\"expiresAtMs\":\"%lld\"", (long long)answer->expires_at_ms);
    } else {
        write_cookie(&auth->gateway->settings, answer->token, COOKIE_SECONDS, &cookie);
    }
    kndl_buf_append_char(&body, '}');
    kndl_log_context(auth->trace, NULL);
    kndl_log(KNDL_INFO, "signed in", KNDL_STR("person", answer->person->id),
             KNDL_STR("by", "dev login"), KNDL_STR("client", auth->is_cli ? "cli" : "web"));
    kndl_log_context(NULL, NULL);
    answer_with(auth->gateway, auth->request,
                &(struct answer){
                    .status = 200,
                    .type = "application/json",
                    .body = kndl_buf_slice(&body),
                    .trace = auth->trace,
                    .cookie = auth->is_cli ? NULL : kndl_buf_text(&cookie),
                });
    explicit_bzero(body.data, body.size);
    explicit_bzero(cookie.data, cookie.size);
    end(auth);
}

static void on_dev_login(const struct kndl_reply *reply, void *data)
{
    struct auth *auth = data;
    struct kndl_error err = reply->err;
    ProtobufCMessage *message;

    auth->ask = NULL;
    if (err.code != KNDL_OK) {
        kndl_log(KNDL_WARNING, "a dev login was refused", KNDL_STR("why", err.message));
        fail(auth, &err);
        return;
    }
    kndl_arena_reset(auth->gateway->arena);
    ProtobufCAllocator allocator = kndl_arena_allocator(auth->gateway->arena);
    if (kndl_guard_unpack(&kndl__repo_access__v1__dev_login_response__descriptor, reply->data,
                          &allocator, &message, &err) < 0 ||
        ((V1(DevLoginResponse) *)message)->person == NULL) {
        kndl_fail(&err, KNDL_INTERNAL, "internal error");
        fail(auth, &err);
        return;
    }
    answer_signed_in(auth, (const void *)message);
}

static int read_text(const struct kndl_value *root, const char *name, size_t most, bool is_needed,
                     const char **ret_text, struct kndl_error *err)
{
    const struct kndl_value *value = kndl_json_get(root, name);

    *ret_text = kndl_json_text(value, "");
    if (value != NULL && kndl_json_kind(value) != KNDL_JSON_STRING)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "%s is no text", name);
    if (is_needed && (*ret_text)[0] == '\0')
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "%s is missing", name);
    if (strlen(*ret_text) > most)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "%s has more than %zu bytes", name, most);
    return 0;
}

/* {"login": …, "client": "web" or "cli", "machine": …} and nothing else. */
static int read_dev_login(const struct kndl_json *json, V1(DevLoginRequest) *ret,
                          struct kndl_error *err)
{
    static const char *const known[] = {"login", "client", "machine"};
    const struct kndl_value *root = kndl_json_root(json);
    const char *login;
    const char *client;
    const char *machine;

    if (kndl_json_kind(root) != KNDL_JSON_OBJECT)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "the body is no object");
    for (size_t i = 0; i < kndl_json_count(root); i++) {
        const char *key = "";
        bool is_known = false;

        kndl_json_member(root, i, &key);
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            is_known = is_known || strcmp(key, known[k]) == 0;
        if (!is_known)
            return kndl_fail(err, KNDL_INVALID_ARGUMENT, "the body has an unknown field");
    }
    if (read_text(root, "login", LOGIN_BYTES_MAX, true, &login, err) < 0 ||
        read_text(root, "client", 8, true, &client, err) < 0 ||
        read_text(root, "machine", MACHINE_BYTES_MAX, false, &machine, err) < 0)
        return -1;
    if (strcmp(client, "web") != 0 && strcmp(client, "cli") != 0)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "client is web or cli");
    ret->login = (char *)login;
    ret->machine = (char *)machine;
    ret->kind = client[0] == 'w' ? KNDL__REPO_ACCESS__V1__AUTHENTICATE_REQUEST__KIND__KIND_WEB
                                 : KNDL__REPO_ACCESS__V1__AUTHENTICATE_REQUEST__KIND__KIND_CLI;
    return 0;
}

static struct kndl_slice pack(struct gateway *gateway, const ProtobufCMessage *message)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    uint8_t *bytes = kndl_arena_alloc(gateway->arena, size + 1);

    return kndl_slice(bytes, protobuf_c_message_pack(message, bytes));
}

static void free_json(struct kndl_json **json)
{
    kndl_json_free(*json);
}

static int check_dev_login(struct auth *auth, struct kndl_error *err)
{
    const char *type = kndl_web_header(auth->request, "content-type");

    if (!may_dev_login(auth->gateway, auth->request))
        return kndl_fail(err, KNDL_PERMISSION_DENIED, "dev login is off");
    if (type == NULL || strncasecmp(type, "application/json", 16) != 0)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "the Content-Type is application/json");
    if (!rate_take(auth->gateway, RATE_SIGN_IN, rate_address(auth->gateway, auth->request)))
        return kndl_fail(err, KNDL_RESOURCE_EXHAUSTED,
                         "too many sign-ins from here; wait a minute");
    return 0;
}

static void dev_login(struct auth *auth)
{
    KNDL_CLEANUP(free_json) struct kndl_json *json = NULL;
    V1(DevLoginRequest) request = KNDL__REPO_ACCESS__V1__DEV_LOGIN_REQUEST__INIT;
    struct kndl_error err;

    if (check_dev_login(auth, &err) < 0 ||
        kndl_json_parse(kndl_web_body(auth->request), BODY_BYTES_MAX, &json, &err) < 0 ||
        read_dev_login(json, &request, &err) < 0) {
        fail(auth, &err);
        return;
    }
    auth->is_cli = request.kind == KNDL__REPO_ACCESS__V1__AUTHENTICATE_REQUEST__KIND__KIND_CLI;
    kndl_arena_reset(auth->gateway->arena);
    auth->ask =
        ask_send(auth->gateway,
                 &(struct kndl_request){
                     .service = &kndl__repo_access__v1__repo_access_internal_service__descriptor,
                     .method = "DevLogin",
                     .actor = {KNDL_SERVICE, "api_gateway"},
                     .trace = auth->trace,
                     .timeout_ms = ASK_MS,
                     .data = pack(auth->gateway, &request.base),
                 },
                 on_dev_login, auth);
}

/* ---- sign out ---- */

static void on_signed_out(const struct kndl_reply *reply, void *data)
{
    struct auth *auth = data;
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf cookie = {0};

    auth->ask = NULL;
    people_forget(auth->gateway);
    if (reply->err.code != KNDL_OK && reply->err.code != KNDL_UNAUTHENTICATED) {
        fail(auth, &reply->err); /* the cookie stays, since the sign-in does */
        return;
    }
    write_cookie(&auth->gateway->settings, "", 0, &cookie);
    answer_with(auth->gateway, auth->request,
                &(struct answer){
                    .status = 200,
                    .type = "application/json",
                    .body = kndl_slice_of("{}"),
                    .trace = auth->trace,
                    .cookie = kndl_buf_text(&cookie),
                });
    end(auth);
}

static void on_known(const struct kndl_reply *reply, void *data)
{
    struct auth *auth = data;
    V1(SignOutRequest) request = KNDL__REPO_ACCESS__V1__SIGN_OUT_REQUEST__INIT;
    struct credential credential = auth->principal.credential;
    char request_id[KNDL_ID_SIZE];
    struct kndl_error err;

    auth->ask = NULL;
    if (people_read(auth->gateway, &credential, reply, &auth->principal, &err) < 0) {
        /* Who is not signed in is signed out. */
        on_signed_out(&(struct kndl_reply){.err = err}, auth);
        return;
    }
    kndl_id_new(request_id);
    request.request_id = request_id;
    request.credential_hash.data = auth->principal.credential.hash;
    request.credential_hash.len = sizeof auth->principal.credential.hash;
    kndl_arena_reset(auth->gateway->arena);
    auth->ask = ask_send(auth->gateway,
                         &(struct kndl_request){
                             .service = &kndl__repo_access__v1__repo_access_service__descriptor,
                             .method = "SignOut",
                             .actor = {KNDL_PERSON, auth->principal.id},
                             .trace = auth->trace,
                             .timeout_ms = ASK_MS,
                             .data = pack(auth->gateway, &request.base),
                         },
                         on_signed_out, auth);
}

static void sign_out(struct auth *auth)
{
    struct credential credential;
    struct kndl_error err;

    if (credential_read(&auth->gateway->settings, auth->request, true, &credential, NULL, &err) <
        0) {
        if (err.code == KNDL_UNAUTHENTICATED)
            on_signed_out(&(struct kndl_reply){.err = err}, auth);
        else
            fail(auth, &err);
        return;
    }
    auth->principal.credential = credential;
    auth->ask = people_ask(auth->gateway, &credential, auth->trace, on_known, auth);
}

/* ---- routes ---- */

static void tell_methods(struct auth *auth)
{
    bool dev = may_dev_login(auth->gateway, auth->request);

    answer_with(auth->gateway, auth->request,
                &(struct answer){
                    .status = 200,
                    .type = "application/json",
                    .body = kndl_slice_of(dev ? "{\"dev\":true,\"github\":false}"
                                              : "{\"dev\":false,\"github\":false}"),
                    .trace = auth->trace,
                });
    end(auth);
}

void auth_begin(struct gateway *gateway, struct kndl_web_request *request, const char *trace)
{
    const char *path = kndl_web_path(request);
    const char *method = kndl_web_method(request);
    bool is_post = strcmp(method, "POST") == 0;
    struct kndl_error err;

    if (strcmp(path, "/auth/methods") == 0 && strcmp(method, "GET") == 0) {
        tell_methods(begin(gateway, request, trace));
    } else if (strcmp(path, "/auth/dev") == 0 && is_post) {
        dev_login(begin(gateway, request, trace));
    } else if (strcmp(path, "/auth/signout") == 0 && is_post) {
        sign_out(begin(gateway, request, trace));
    } else {
        kndl_fail(&err, KNDL_UNIMPLEMENTED, "there is no such route");
        answer_error_as(gateway, request, 404, &err, trace);
    }
}
