/*
 * Signing in with GitHub. The page posts what it found in its address's fragment just before it
 * goes; a cookie keeps that, and the secret that ties the way back to this browser, for ten
 * minutes. Whoever comes back and may not come in gets one same answer, whatever they brought.
 */

#include <string.h>

#include "auth_parts.h"
#include "kndl/log.h"
#include "kndl/mem.h"
#include "rate.h"

#define V1(name) Kndl__RepoAccess__V1__##name

enum { RETURN_TO_BYTES_MAX = 512, STATE_BYTES_MAX = 128, CODE_BYTES_MAX = 256 };

/* Pages of our own that say what came of it, by their fragments (web/src/features/auth). */
static const char refused[] = "/#refused";
static const char unavailable[] = "/#unavailable";

/* ---- there ---- */

static void on_begun(const struct kndl_reply *reply, void *data)
{
    struct auth *auth = data;
    const struct settings *settings = &auth->gateway->settings;
    KNDL_CLEANUP(kndl_secret_done) struct kndl_secret value = {0};
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf cookie = {0};
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf body = {0};
    struct kndl_error err;
    const V1(BeginSignInResponse) *begun =
        auth_unpack(auth, reply, &kndl__repo_access__v1__begin_sign_in_response__descriptor, &err);

    if (begun == NULL) {
        auth_fail(auth, &err);
        return;
    }
    size_t size = strlen(begun->browser);
    kndl_secret_new(&value, size + 1 + auth->admission.size);
    memcpy(value.data, begun->browser, size);
    if (auth->admission.size > 0) {
        value.data[size] = '.';
        memcpy(value.data + size + 1, auth->admission.data, auth->admission.size);
    }
    auth_write_cookie(settings, settings->sign_in_cookie, (const char *)value.data,
                      AUTH_SIGN_IN_SECONDS, &cookie);
    kndl_buf_append_text(&body, "{\"url\":");
    kndl_json_append_string(&body, begun->url);
    kndl_buf_append_char(&body, '}');
    auth_answer(auth, kndl_buf_slice(&body), kndl_buf_text(&cookie), NULL);
    explicit_bzero(cookie.data, cookie.size);
}

static int check_begin(struct auth *auth, struct kndl_error *err)
{
    if (!credential_origin_is_ours(&auth->gateway->settings, auth->request, false))
        return credential_refuse_page(err);
    return rate_take(auth->gateway, RATE_SIGN_IN, rate_address(auth->gateway, auth->request), err);
}

void auth_github_begin(struct auth *auth)
{
    static const char *const known[] = {"secret", "returnTo", NULL};
    KNDL_CLEANUP(auth_free_json) struct kndl_json *json = NULL;
    V1(BeginSignInRequest) request = KNDL__REPO_ACCESS__V1__BEGIN_SIGN_IN_REQUEST__INIT;
    const char *secret, *return_to;
    struct kndl_error err;

    if (check_begin(auth, &err) < 0 || auth_read_body(auth, known, &json, &err) < 0 ||
        auth_read_text(kndl_json_root(json), "secret", 2 * KNDL_TOKEN_CHARS, false, &secret, &err) <
            0 ||
        auth_read_text(kndl_json_root(json), "returnTo", RETURN_TO_BYTES_MAX, false, &return_to,
                       &err) < 0) {
        auth_fail(auth, &err);
        return;
    }
    /* What is no secret of ours is not kept; that is found out at the end, like all the rest. */
    struct kndl_slice text = kndl_slice_of(secret);
    if (kndl_token_is_valid(KNDL_TOKEN_SET, text) || kndl_token_is_valid(KNDL_TOKEN_INV, text))
        kndl_secret_copy(&auth->admission, text);
    request.return_to = (char *)return_to;
    auth_ask(auth, "BeginSignIn", &request.base, AUTH_ASK_MS, on_begun);
}

/* ---- and back ---- */

/* Goes on to a page of ours; the cookie of the way to GitHub has done its work. */
static void go_on(struct auth *auth, const char *location, const char *cookie)
{
    const struct settings *settings = &auth->gateway->settings;
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf over = {0};

    auth_write_cookie(settings, settings->sign_in_cookie, "", 0, &over);
    answer_with(auth->gateway, auth->request,
                &(struct answer){
                    .status = 303,
                    .trace = auth->trace,
                    .cookies = {kndl_buf_text(&over), cookie},
                    .location = location,
                });
    auth_end(auth);
}

/* repo-access holds it to the same when it is begun; this is what a browser would follow. */
static bool is_path(const char *text)
{
    if (text[0] != '/' || text[1] == '/')
        return false;
    for (; *text != '\0'; text++)
        if (*text <= ' ' || *text > '~' || *text == '\\')
            return false;
    return true;
}

static void on_completed(const struct kndl_reply *reply, void *data)
{
    struct auth *auth = data;
    const struct settings *settings = &auth->gateway->settings;
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf cookie = {0};
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf location = {0};
    struct kndl_error err;
    const V1(CompleteSignInResponse) *answer = auth_unpack(
        auth, reply, &kndl__repo_access__v1__complete_sign_in_response__descriptor, &err);

    if (answer == NULL || answer->person == NULL || !is_path(answer->return_to)) {
        go_on(auth, answer == NULL && err.code == KNDL_UNAUTHENTICATED ? refused : unavailable,
              NULL);
        return;
    }
    people_forget(auth->gateway); /* the sign-in that this browser had before is over */
    auth_write_cookie(settings, settings->cookie, answer->token, AUTH_COOKIE_SECONDS, &cookie);
    kndl_buf_append_text(&location, answer->return_to);
    auth_log_signed_in(auth, answer->person->id, "GitHub");
    go_on(auth, kndl_buf_text(&location), kndl_buf_text(&cookie));
    explicit_bzero(cookie.data, cookie.size);
}

/* One parameter of the query, where it is there once and plain; false otherwise. */
static bool read_parameter(const char *query, const char *name, char *ret_text, size_t size)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    size_t length = strlen(name);
    bool found = false;

    while (*query != '\0') {
        size_t part = strcspn(query, "&");

        if (part > length && strncmp(query, name, length) == 0 && query[length] == '=') {
            size_t count = part - length - 1;

            if (found || count == 0 || count >= size || strspn(query + length + 1, plain) < count)
                return false;
            memcpy(ret_text, query + length + 1, count);
            ret_text[count] = '\0';
            found = true;
        }
        query += part + (query[part] == '&');
    }
    return found;
}

/* The two halves of our cookie; the second may be empty. */
static bool read_cookie(const struct auth *auth, char browser[KNDL_TOKEN_CHARS + 1],
                        char admission[KNDL_TOKEN_CHARS + 1])
{
    struct kndl_slice cookie =
        credential_find_cookie(auth->request, auth->gateway->settings.sign_in_cookie);
    size_t rest = cookie.size > KNDL_TOKEN_CHARS ? cookie.size - KNDL_TOKEN_CHARS - 1 : 0;

    if (cookie.size < KNDL_TOKEN_CHARS || rest > KNDL_TOKEN_CHARS ||
        (cookie.size > KNDL_TOKEN_CHARS && cookie.data[KNDL_TOKEN_CHARS] != '.'))
        return false;
    memcpy(browser, cookie.data, KNDL_TOKEN_CHARS);
    browser[KNDL_TOKEN_CHARS] = '\0';
    memcpy(admission, cookie.data + cookie.size - rest, rest);
    admission[rest] = '\0';
    return kndl_token_is_valid(KNDL_TOKEN_SGN, kndl_slice_of(browser));
}

void auth_github_return(struct auth *auth)
{
    V1(CompleteSignInRequest) request = KNDL__REPO_ACCESS__V1__COMPLETE_SIGN_IN_REQUEST__INIT;
    const char *query = kndl_web_query(auth->request);
    char browser[KNDL_TOKEN_CHARS + 1], admission[KNDL_TOKEN_CHARS + 1];
    char state[STATE_BYTES_MAX], code[CODE_BYTES_MAX], name[AUTH_MACHINE_BYTES_MAX + 1];
    uint8_t before[KNDL_HASH_BYTES];

    if (rate_take(auth->gateway, RATE_RETURN, rate_address(auth->gateway, auth->request), NULL) <
        0) {
        go_on(auth, unavailable, NULL);
        return;
    }
    /* Without a code GitHub says why (they pressed Cancel): that is a refusal like any other. */
    if (!read_cookie(auth, browser, admission) ||
        !read_parameter(query, "state", state, sizeof state) ||
        !read_parameter(query, "code", code, sizeof code)) {
        go_on(auth, refused, NULL);
        return;
    }
    auth_browser_name(auth->request, name);
    request.browser = browser;
    request.admission = admission;
    request.state = state;
    request.code = code;
    request.machine = name;
    if (credential_of_browser(&auth->gateway->settings, auth->request, before))
        request.replaces_hash = (ProtobufCBinaryData){sizeof before, before};
    auth_ask(auth, "CompleteSignIn", &request.base, AUTH_SLOW_ASK_MS, on_completed);
    explicit_bzero(browser, sizeof browser);
    explicit_bzero(admission, sizeof admission);
    explicit_bzero(code, sizeof code);
}
