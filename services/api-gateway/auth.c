/* The routes below /auth/, what they share, and signing out. */

#include "auth.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "auth_parts.h"
#include "kndl/guard.h"
#include "kndl/log.h"
#include "kndl/mem.h"

#define V1(name) Kndl__RepoAccess__V1__##name

enum { BODY_BYTES_MAX = 4096 };

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

void auth_end(struct auth *auth)
{
    ask_cancel(auth->ask);
    kndl_secret_done(&auth->admission);
    auth->gateway->calls--;
    free(auth);
}

void auth_abort(struct auth *auth)
{
    auth_end(auth);
}

void auth_fail(struct auth *auth, const struct kndl_error *err)
{
    answer_error(auth->gateway, auth->request, err, auth->trace);
    auth_end(auth);
}

void auth_answer(struct auth *auth, struct kndl_slice body, const char *cookie, const char *other)
{
    answer_with(auth->gateway, auth->request,
                &(struct answer){
                    .status = 200,
                    .type = "application/json",
                    .body = body,
                    .trace = auth->trace,
                    .cookies = {cookie, other},
                });
    auth_end(auth);
}

static struct kndl_slice pack(struct gateway *gateway, const ProtobufCMessage *message)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    uint8_t *bytes = kndl_arena_alloc(gateway->arena, size + 1);

    return kndl_slice(bytes, protobuf_c_message_pack(message, bytes));
}

void auth_ask(struct auth *auth, const char *method, const ProtobufCMessage *request,
              uint32_t timeout_ms, ask_fn fn)
{
    kndl_arena_reset(auth->gateway->arena);
    struct kndl_slice packed = pack(auth->gateway, request);
    auth->ask =
        ask_send(auth->gateway,
                 &(struct kndl_request){
                     .service = &kndl__repo_access__v1__repo_access_internal_service__descriptor,
                     .method = method,
                     .actor = {KNDL_SERVICE, "api_gateway"},
                     .trace = auth->trace,
                     .timeout_ms = timeout_ms,
                     .data = packed,
                 },
                 fn, auth);
    explicit_bzero((void *)packed.data, packed.size); /* it may hold a secret */
}

const void *auth_unpack(struct auth *auth, const struct kndl_reply *reply,
                        const ProtobufCMessageDescriptor *type, struct kndl_error *err)
{
    ProtobufCMessage *message;

    auth->ask = NULL;
    if (reply->err.code != KNDL_OK) {
        *err = reply->err;
        return NULL;
    }
    kndl_arena_reset(auth->gateway->arena);
    ProtobufCAllocator allocator = kndl_arena_allocator(auth->gateway->arena);
    if (kndl_guard_unpack(type, reply->data, &allocator, &message, err) < 0) {
        kndl_fail(err, KNDL_INTERNAL, "internal error");
        return NULL;
    }
    return message;
}

/* ---- bodies ---- */

void auth_free_json(struct kndl_json **json)
{
    kndl_json_free(*json);
}

static bool is_known(const char *key, const char *const *known)
{
    for (; *known != NULL; known++)
        if (strcmp(key, *known) == 0)
            return true;
    return false;
}

int auth_read_body(struct auth *auth, const char *const *known, struct kndl_json **ret_json,
                   struct kndl_error *err)
{
    const char *type = kndl_web_header(auth->request, "content-type");
    KNDL_CLEANUP(auth_free_json) struct kndl_json *json = NULL;

    if (type == NULL || strncasecmp(type, "application/json", 16) != 0)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "the Content-Type is application/json");
    if (kndl_json_parse(kndl_web_body(auth->request), BODY_BYTES_MAX, &json, err) < 0)
        return -1;
    const struct kndl_value *root = kndl_json_root(json);
    if (kndl_json_kind(root) != KNDL_JSON_OBJECT)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "the body is no object");
    for (size_t i = 0; i < kndl_json_count(root); i++) {
        const char *key = "";

        kndl_json_member(root, i, &key);
        if (!is_known(key, known))
            return kndl_fail(err, KNDL_INVALID_ARGUMENT, "the body has an unknown field");
    }
    *ret_json = kndl_steal(&json);
    return 0;
}

int auth_read_text(const struct kndl_value *root, const char *name, size_t most, bool is_needed,
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

/* ---- what is told and kept ---- */

void auth_write_cookie(const struct settings *settings, const char *name, const char *value,
                       int seconds, struct kndl_buf *out)
{
    kndl_buf_reserve(out, 512); /* so that no copy of a token is left behind */
    kndl_buf_printf(out, "%s=%s; Path=/; HttpOnly; SameSite=Lax; Max-Age=%d%s", name, value,
                    seconds, settings->is_https ? "; Secure" : "");
}

void auth_write_person(const V1(Person) *person, struct kndl_buf *out)
{
    kndl_buf_append_text(out, "\"person\":");
    kndl_json_from_message(&person->base, out);
}

struct word {
    const char *sign; /* in the User-Agent */
    const char *name;
};

/* The first that fits: Chrome says Safari, too, and Edge says both. */
static const struct word browsers[] = {
    {"Edg/", "Edge"},      {"OPR/", "Opera"},    {"Firefox/", "Firefox"}, {"FxiOS/", "Firefox"},
    {"Chrome/", "Chrome"}, {"CriOS/", "Chrome"}, {"Safari/", "Safari"},   {NULL, "A browser"},
};
static const struct word systems[] = {
    {"Android", " on Android"},
    {"iPhone", " on iPhone"},
    {"iPad", " on iPad"},
    {"Windows", " on Windows"},
    {"Mac OS X", " on macOS"},
    {"Linux", " on Linux"},
    {NULL, ""},
};

static const char *find_word(const struct word *words, const char *text)
{
    while (words->sign != NULL && strstr(text, words->sign) == NULL)
        words++;
    return words->name;
}

void auth_browser_name(const struct kndl_web_request *request,
                       char ret_name[AUTH_MACHINE_BYTES_MAX + 1])
{
    const char *agent = kndl_web_header(request, "user-agent");

    if (agent == NULL)
        agent = "";
    snprintf(ret_name, AUTH_MACHINE_BYTES_MAX + 1, "%s%s", find_word(browsers, agent),
             find_word(systems, agent));
}

void auth_log_signed_in(const struct auth *auth, const char *person, const char *by)
{
    kndl_log_context(auth->trace, NULL);
    kndl_log(KNDL_INFO, "signed in", KNDL_STR("person", person), KNDL_STR("by", by));
    kndl_log_context(NULL, NULL);
}

/* ---- sign out ---- */

static void on_signed_out(const struct kndl_reply *reply, void *data)
{
    struct auth *auth = data;
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf cookie = {0};

    auth->ask = NULL;
    people_forget(auth->gateway);
    if (reply->err.code != KNDL_OK && reply->err.code != KNDL_UNAUTHENTICATED) {
        auth_fail(auth, &reply->err); /* the cookie stays, since the sign-in does */
        return;
    }
    auth_write_cookie(&auth->gateway->settings, auth->gateway->settings.cookie, "", 0, &cookie);
    auth_answer(auth, kndl_slice_of("{}"), kndl_buf_text(&cookie), NULL);
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
                             .timeout_ms = AUTH_ASK_MS,
                             .data = pack(auth->gateway, &request.base),
                         },
                         on_signed_out, auth);
}

static void sign_out(struct auth *auth)
{
    struct credential credential;
    struct kndl_error err;

    if (credential_read_sign_in(&auth->gateway->settings, auth->request, &credential, &err) < 0) {
        if (err.code == KNDL_UNAUTHENTICATED)
            on_signed_out(&(struct kndl_reply){.err = err}, auth);
        else
            auth_fail(auth, &err);
        return;
    }
    auth->principal.credential = credential;
    auth->ask = people_ask(auth->gateway, &credential, auth->trace, on_known, auth);
}

/* ---- routes ---- */

static void on_methods(const struct kndl_reply *reply, void *data)
{
    struct auth *auth = data;
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf body = {0};
    struct kndl_error err;
    const V1(GetSignInMethodsResponse) *methods = auth_unpack(
        auth, reply, &kndl__repo_access__v1__get_sign_in_methods_response__descriptor, &err);

    if (methods == NULL) {
        auth_fail(auth, &err);
        return;
    }
    kndl_buf_printf(&body, "{\"dev\":%s,\"github\":%s}",
                    auth_may_dev_login(auth) ? "true" : "false",
                    methods->github ? "true" : "false");
    auth_answer(auth, kndl_buf_slice(&body), NULL, NULL);
}

static void tell_methods(struct auth *auth)
{
    V1(GetSignInMethodsRequest) request = KNDL__REPO_ACCESS__V1__GET_SIGN_IN_METHODS_REQUEST__INIT;

    auth_ask(auth, "GetSignInMethods", &request.base, AUTH_ASK_MS, on_methods);
}

void auth_begin(struct gateway *gateway, struct kndl_web_request *request, enum kndl_path_id path,
                const char *trace)
{
    static void (*const routes[])(struct auth * auth) = {
        [KNDL_PATH_SIGN_IN_METHODS] = tell_methods,
        [KNDL_PATH_DEV_LOGIN] = auth_dev_login,
        [KNDL_PATH_GITHUB_BEGIN] = auth_github_begin,
        [KNDL_PATH_GITHUB_RETURN] = auth_github_return,
        [KNDL_PATH_DEVICE_BEGIN] = auth_device_begin,
        [KNDL_PATH_DEVICE_POLL] = auth_device_poll,
        [KNDL_PATH_SIGN_OUT] = sign_out,
    };

    routes[path](begin(gateway, request, trace));
}
