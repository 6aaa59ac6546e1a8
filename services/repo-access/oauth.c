/* GitHub's web application flow, with PKCE (S256). */

#include "oauth.h"

#include <stdlib.h>
#include <string.h>

#include "kndl/env.h"
#include "kndl/http.h"
#include "kndl/json.h"
#include "kndl/log.h"
#include "kndl/mem.h"
#include "kndl/token.h"

enum {
    TIMEOUT_MS = 8000,
    ANSWER_BYTES_MAX = 64 * 1024,
    SECRET_BYTES_MAX = 512,
    CODE_CHARS_MAX = 256,
    HEX_SIZE = 2 * KNDL_HASH_BYTES + 1,
};

struct oauth {
    struct kndl_http *http;
    struct kndl_secret secret; /* empty: there is no client */
};

int oauth_open(struct oauth **ret_oauth, struct kndl_error *err)
{
    struct oauth *oauth = kndl_new0(struct oauth);

    if (kndl_env_get("GITHUB_CLIENT_ID")[0] != '\0' &&
        kndl_secret_read_file(kndl_env_get("GITHUB_CLIENT_SECRET_FILE"), SECRET_BYTES_MAX,
                              &oauth->secret, err) < 0) {
        oauth_close(oauth);
        return -1;
    }
    oauth->http = kndl_http_new("kndl");
    *ret_oauth = oauth;
    return 0;
}

void oauth_close(struct oauth *oauth)
{
    if (oauth == NULL)
        return;
    kndl_http_free(oauth->http);
    kndl_secret_done(&oauth->secret);
    free(oauth);
}

bool oauth_is_on(const struct oauth *oauth)
{
    return oauth->secret.size > 0;
}

/* ---- what follows from the browser's secret ---- */

static void write_hex(const uint8_t hash[KNDL_HASH_BYTES], char ret_text[HEX_SIZE])
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < KNDL_HASH_BYTES; i++) {
        ret_text[2 * i] = digits[hash[i] >> 4];
        ret_text[2 * i + 1] = digits[hash[i] & 15];
    }
    ret_text[HEX_SIZE - 1] = '\0';
}

/* SHA-256 of what it is for and the secret, in hexadecimal digits. */
static void derive(const char *purpose, struct kndl_slice browser, char ret_text[HEX_SIZE])
{
    KNDL_CLEANUP(kndl_secret_done) struct kndl_secret whole = {0};
    size_t size = strlen(purpose);
    uint8_t hash[KNDL_HASH_BYTES];

    kndl_secret_new(&whole, size + browser.size);
    memcpy(whole.data, purpose, size);
    memcpy(whole.data + size, browser.data, browser.size);
    kndl_hash(kndl_slice(whole.data, whole.size), hash);
    write_hex(hash, ret_text);
    explicit_bzero(hash, sizeof hash);
}

/* RFC 4648's URL alphabet without padding, of 32 bytes: 43 characters. */
static void append_base64url(struct kndl_buf *out, const uint8_t hash[KNDL_HASH_BYTES])
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    uint32_t bits = 0;
    unsigned count = 0;

    for (size_t i = 0; i < KNDL_HASH_BYTES; i++) {
        bits = bits << 8 | hash[i];
        for (count += 8; count >= 6; count -= 6)
            kndl_buf_append_char(out, digits[bits >> (count - 6) & 63]);
    }
    kndl_buf_append_char(out, digits[bits << (6 - count) & 63]);
}

/* Everything but RFC 3986's unreserved characters as %XX. */
static void append_encoded(struct kndl_buf *out, const char *text)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";

    for (; *text != '\0'; text++)
        if (strchr(plain, *text) != NULL)
            kndl_buf_append_char(out, *text);
        else
            kndl_buf_printf(out, "%%%02X", (unsigned)(uint8_t)*text);
}

static void append_redirect(struct kndl_buf *out)
{
    const char *url = kndl_env_get("HUB_PUBLIC_URL");
    size_t size = strlen(url);

    while (size > 0 && url[size - 1] == '/')
        size--;
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf redirect = {0};
    kndl_buf_append(&redirect, url, size);
    kndl_buf_append_text(&redirect, "/auth/github/callback");
    append_encoded(out, kndl_buf_text(&redirect));
}

void oauth_write_url(const struct oauth *oauth, struct kndl_slice browser, struct kndl_buf *out)
{
    char state[HEX_SIZE], verifier[HEX_SIZE];
    uint8_t challenge[KNDL_HASH_BYTES];

    (void)oauth;
    derive("kndl/state", browser, state);
    derive("kndl/verifier", browser, verifier);
    kndl_hash(kndl_slice_of(verifier), challenge);
    kndl_buf_printf(out, "%s/login/oauth/authorize?client_id=", kndl_env_get("HUB_GITHUB_URL"));
    append_encoded(out, kndl_env_get("GITHUB_CLIENT_ID"));
    kndl_buf_append_text(out, "&redirect_uri=");
    append_redirect(out);
    kndl_buf_printf(out, "&state=%s&code_challenge=", state);
    append_base64url(out, challenge);
    kndl_buf_append_text(out, "&code_challenge_method=S256&allow_signup=false");
    explicit_bzero(verifier, sizeof verifier);
}

bool oauth_is_state(struct kndl_slice browser, const char *state)
{
    uint8_t expected[KNDL_HASH_BYTES], given[KNDL_HASH_BYTES];
    char text[HEX_SIZE];

    derive("kndl/state", browser, text);
    kndl_hash(kndl_slice_of(text), expected);
    kndl_hash(kndl_slice_of(state), given);
    return kndl_hash_equal(expected, given);
}

/* ---- what GitHub says ---- */

static void free_json(struct kndl_json **json)
{
    kndl_json_free(*json);
}

static int unavailable(const char *what, int status, struct kndl_error *err)
{
    kndl_log(KNDL_WARNING, "GitHub did not say who signs in", KNDL_STR("at", what),
             KNDL_I64("status", status));
    return kndl_fail(err, KNDL_UNAVAILABLE, "GitHub cannot answer at the moment");
}

/* Asks; an answer that is JSON, whatever its status. */
static int ask(struct oauth *oauth, const struct kndl_http_request *request, const char *what,
               int *ret_status, struct kndl_json **ret_json, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_http_response_done) struct kndl_http_response response = {0};
    struct kndl_error cause = {0};

    if (kndl_http_do(oauth->http, request, &response, &cause) < 0)
        return unavailable(what, 0, err);
    int parsed =
        kndl_json_parse(kndl_buf_slice(&response.body), ANSWER_BYTES_MAX, ret_json, &cause);
    *ret_status = response.status;
    if (response.body.size > 0)
        explicit_bzero(response.body.data, response.body.size);
    return parsed < 0 ? unavailable(what, response.status, err) : 0;
}

/* The form of the exchange; it holds the client's secret. */
static void write_form(const struct oauth *oauth, struct kndl_slice browser, const char *code,
                       struct kndl_buf *out)
{
    char verifier[HEX_SIZE];

    derive("kndl/verifier", browser, verifier);
    kndl_buf_reserve(out, 4096); /* so that no copy of the secret is left behind */
    kndl_buf_append_text(out, "client_id=");
    append_encoded(out, kndl_env_get("GITHUB_CLIENT_ID"));
    kndl_buf_append_text(out, "&client_secret=");
    append_encoded(out, (const char *)oauth->secret.data);
    kndl_buf_append_text(out, "&code=");
    append_encoded(out, code);
    kndl_buf_append_text(out, "&redirect_uri=");
    append_redirect(out);
    kndl_buf_printf(out, "&code_verifier=%s", verifier);
    explicit_bzero(verifier, sizeof verifier);
}

/* GitHub's errors come as 200, too: {"error": "bad_verification_code", …}. */
static int exchange(struct oauth *oauth, struct kndl_slice browser, const char *code,
                    struct kndl_secret *ret_token, struct kndl_error *err)
{
    static const char *const headers[] = {"Accept: application/json",
                                          "Content-Type: application/x-www-form-urlencoded", NULL};
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf url = {0};
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf form = {0};
    KNDL_CLEANUP(free_json) struct kndl_json *json = NULL;
    int status;

    kndl_buf_printf(&url, "%s/login/oauth/access_token", kndl_env_get("HUB_GITHUB_URL"));
    write_form(oauth, browser, code, &form);
    const struct kndl_http_request request = {
        .method = "POST",
        .url = kndl_buf_text(&url),
        .headers = headers,
        .body = kndl_buf_slice(&form),
        .timeout_ms = TIMEOUT_MS,
        .response_bytes_max = ANSWER_BYTES_MAX,
    };
    int result = ask(oauth, &request, "the exchange", &status, &json, err);
    explicit_bzero(form.data, form.size);
    if (result < 0)
        return -1;

    const struct kndl_value *root = kndl_json_root(json);
    const char *token = kndl_json_text(kndl_json_get(root, "access_token"), "");
    const char *error = kndl_json_text(kndl_json_get(root, "error"), "");
    if (status == 200 && token[0] != '\0') {
        kndl_secret_copy(ret_token, kndl_slice_of(token));
        return 0;
    }
    if (strcmp(error, "incorrect_client_credentials") == 0 ||
        strcmp(error, "redirect_uri_mismatch") == 0)
        kndl_log(KNDL_ERROR,
                 "GitHub refuses this Hub's client: check GITHUB_CLIENT_ID, its secret "
                 "and its callback URL",
                 KNDL_STR("error", error));
    if (error[0] != '\0' && status < 500)
        return kndl_fail(err, KNDL_UNAUTHENTICATED, "GitHub refuses the code");
    return unavailable("the exchange", status, err);
}

static int find_user(struct oauth *oauth, const struct kndl_secret *token, struct kndl_arena *arena,
                     struct github_user *ret_user, struct kndl_error *err)
{
    static const char *const headers[] = {"Accept: application/vnd.github+json",
                                          "X-GitHub-Api-Version: 2022-11-28", NULL};
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf url = {0};
    KNDL_CLEANUP(free_json) struct kndl_json *json = NULL;
    int status;

    kndl_buf_printf(&url, "%s/user", kndl_env_get("HUB_GITHUB_API_URL"));
    const struct kndl_http_request request = {
        .method = "GET",
        .url = kndl_buf_text(&url),
        .headers = headers,
        .bearer = token,
        .timeout_ms = TIMEOUT_MS,
        .response_bytes_max = ANSWER_BYTES_MAX,
    };
    if (ask(oauth, &request, "the user", &status, &json, err) < 0)
        return -1;
    const struct kndl_value *root = kndl_json_root(json);
    *ret_user = (struct github_user){
        .id = kndl_json_i64(kndl_json_get(root, "id"), 0),
        .login = kndl_arena_copy(arena, kndl_json_text(kndl_json_get(root, "login"), "")),
        .name = kndl_arena_copy(arena, kndl_json_text(kndl_json_get(root, "name"), "")),
    };
    if (status == 401)
        return kndl_fail(err, KNDL_UNAUTHENTICATED, "GitHub refuses its own token");
    if (status != 200 || ret_user->id <= 0 || ret_user->login[0] == '\0')
        return unavailable("the user", status, err);
    return 0;
}

int oauth_find_user(struct oauth *oauth, struct kndl_slice browser, const char *code,
                    struct kndl_arena *arena, struct github_user *ret_user, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_secret_done) struct kndl_secret token = {0};

    if (code[0] == '\0' || strlen(code) > CODE_CHARS_MAX)
        return kndl_fail(err, KNDL_UNAUTHENTICATED, "there is no code");
    if (exchange(oauth, browser, code, &token, err) < 0)
        return -1;
    return find_user(oauth, &token, arena, ret_user, err);
}
