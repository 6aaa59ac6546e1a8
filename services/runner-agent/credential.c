/* RUNNER_TOKEN for a JWT, again and again. */

#include "credential.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kndl/arena.h"
#include "kndl/bus.h"
#include "kndl/clock.h"
#include "kndl/http.h"
#include "kndl/json.h"
#include "kndl/log.h"
#include "kndl/mem.h"
#include "kndl/nkey.h"
#include "kndl/secret.h"
#include "kndl/sessions/v1/sessions_internal_service.pb-c.h"
#include "kndl/version.h"
#include "own_release.h"

#define SV1(name) Kndl__Sessions__V1__##name

enum {
    ASK_MS = 15000,
    ANSWER_BYTES_MAX = 16 * 1024,
    TOKEN_FILE_BYTES_MAX = 512,
    /* Of how long a JWT lasts: where the Hub refuses, or is away, while the older one still holds,
     * it is asked again after that; and one that ends sooner is not worth a connection. */
    AGAIN_PART = 60,
    SPARE_PART = 120,
};

const struct kndl_env credential_env[] = {
    {"RUNNER_HUB_URL", NULL, "where the Hub is, as people reach it; http only on loopback"},
    {"RUNNER_TOKEN_FILE", "", "file with the RUNNER_TOKEN that the Owner was shown; mode 0600"},
    {"RUNNER_TOKEN", "", "the token itself, where there is no file"},
    {NULL, NULL, NULL},
};

/* One JWT. */
struct grant {
    char *jwt;
    char *runner_id;
    int64_t lasts_ms;
    int64_t until_ms; /* kndl_clock_ms() */
    int64_t renew_at_ms;
};

struct credential {
    struct kndl_nkey key;     /* after the start read alone */
    char *url;                /* of POST /runner/credential */
    char *runner_id;          /* NULL: it has not begun */
    struct kndl_secret token; /* RUNNER_TOKEN; empty: in a file */
    const char *token_file;

    pthread_t thread;
    pthread_mutex_t lock; /* for all below */
    pthread_cond_t changed;
    struct grant grant;
    bool is_over;
};

static void grant_done(struct grant *grant)
{
    free(grant->jwt);
    free(grant->runner_id);
    *grant = (struct grant){0};
}

/* ---- asking the Hub ---- */

static void write_body(const struct credential *credential, struct kndl_buf *out)
{
    kndl_buf_printf(out, "{\"userPublic\":\"%s\",\"protocol\":%d,\"version\":\"%s\"}",
                    credential->key.public, own_release.protocol, own_release.version);
}

static int read_token(const struct credential *credential, struct kndl_secret *ret_token,
                      struct kndl_error *err)
{
    if (credential->token_file[0] != '\0')
        return kndl_secret_read_file(credential->token_file, TOKEN_FILE_BYTES_MAX, ret_token, err);
    kndl_secret_copy(ret_token, kndl_slice(credential->token.data, credential->token.size));
    return 0;
}

static void free_json(struct kndl_json **json)
{
    kndl_json_free(*json);
}

/* What the Hub says against it. Whatever a proxy in front answers is the Hub being away. */
static int read_refusal(const struct kndl_http_response *response, struct kndl_error *err)
{
    KNDL_CLEANUP(free_json) struct kndl_json *json = NULL;
    struct kndl_error ignored;
    const char *code = "";
    const char *message = "";

    if (kndl_json_parse(kndl_buf_slice(&response->body), ANSWER_BYTES_MAX, &json, &ignored) == 0) {
        code = kndl_json_text(kndl_json_get(kndl_json_root(json), "code"), "");
        message = kndl_json_text(kndl_json_get(kndl_json_root(json), "message"), "");
    }
    if (response->status == 401)
        return kndl_fail(err, KNDL_UNAUTHENTICATED,
                         "the Hub does not know this RUNNER_TOKEN (any more): have the Owner "
                         "register this Runner or rotate its token");
    if (strcmp(code, "failed_precondition") == 0)
        return kndl_fail(err, KNDL_FAILED_PRECONDITION, "%.300s", message);
    return kndl_fail(err, KNDL_UNAVAILABLE, "the Hub answers %d %.200s", response->status, message);
}

static void done_arena(struct kndl_arena **arena)
{
    kndl_arena_free(*arena);
}

static int read_grant(const struct kndl_http_response *response, int64_t asked_at_ms,
                      struct grant *ret_grant, struct kndl_error *err)
{
    KNDL_CLEANUP(done_arena) struct kndl_arena *arena = kndl_arena_new(KNDL_ARENA_PLAIN);
    ProtobufCMessage *message;

    if (kndl_json_to_message(kndl_buf_slice(&response->body),
                             &kndl__sessions__v1__mint_runner_credential_response__descriptor,
                             arena, &message, err) < 0)
        return kndl_fail(err, KNDL_UNAVAILABLE, "the Hub's answer cannot be read");
    const SV1(MintRunnerCredentialResponse) *answer = (const void *)message;
    if (answer->jwt[0] == '\0' || answer->runner_id[0] == '\0' || answer->lasts_ms <= 0)
        return kndl_fail(err, KNDL_UNAVAILABLE, "the Hub's answer lacks what it is asked for");
    *ret_grant = (struct grant){
        .jwt = kndl_strdup(answer->jwt),
        .runner_id = kndl_strdup(answer->runner_id),
        .lasts_ms = answer->lasts_ms,
        .until_ms = asked_at_ms + answer->lasts_ms,
        .renew_at_ms = asked_at_ms + answer->lasts_ms * 2 / 3,
    };
    return 0;
}

/* Asks once. Any thread: nothing of the credential is changed. */
static int ask(const struct credential *credential, struct grant *ret_grant, struct kndl_error *err)
{
    static const char *const headers[] = {"Content-Type: application/json", NULL};
    KNDL_CLEANUP(kndl_secret_done) struct kndl_secret token = {0};
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf body = {0};
    struct kndl_http_response response = {0};
    int64_t asked_at_ms = kndl_clock_ms();
    int result;

    if (read_token(credential, &token, err) < 0)
        return -1;
    write_body(credential, &body);
    struct kndl_http *http = kndl_http_new("kndl-runner/" KNDL_VERSION);
    const struct kndl_http_request request = {
        .method = "POST",
        .url = credential->url,
        .headers = headers,
        .bearer = &token,
        .body = kndl_buf_slice(&body),
        .timeout_ms = ASK_MS,
        .response_bytes_max = ANSWER_BYTES_MAX,
    };
    if (kndl_http_do(http, &request, &response, err) < 0) {
        kndl_http_free(http);
        return -1;
    }
    if (response.status == 200)
        result = read_grant(&response, asked_at_ms, ret_grant, err);
    else
        result = read_refusal(&response, err);
    kndl_http_response_done(&response);
    kndl_http_free(http);
    return result;
}

/* Asks, and keeps what came. */
static int renew(struct credential *credential, struct kndl_error *err)
{
    struct grant grant;

    if (ask(credential, &grant, err) < 0)
        return -1;
    if (strcmp(grant.runner_id, credential->runner_id) != 0) {
        grant_done(&grant);
        return kndl_fail(err, KNDL_FAILED_PRECONDITION,
                         "this RUNNER_TOKEN is another Runner's: stop this Runner before you give "
                         "it another's");
    }
    pthread_mutex_lock(&credential->lock);
    grant_done(&credential->grant);
    credential->grant = grant;
    pthread_mutex_unlock(&credential->lock);
    kndl_log(KNDL_INFO, "the credential is new", KNDL_STR("runner", credential->runner_id));
    return 0;
}

/* ---- the thread ---- */

static struct timespec in_ms(int64_t ms)
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += ms / 1000;
    at.tv_nsec += (ms % 1000) * 1000000;
    if (at.tv_nsec >= 1000000000) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000;
    }
    return at;
}

static void *keep(void *data)
{
    struct credential *credential = data;
    struct kndl_error err;
    int64_t at_ms;

    pthread_mutex_lock(&credential->lock);
    at_ms = credential->grant.renew_at_ms;
    while (!credential->is_over) {
        int64_t now_ms = kndl_clock_ms();

        if (now_ms < at_ms) {
            struct timespec until = in_ms(at_ms - now_ms);
            pthread_cond_timedwait(&credential->changed, &credential->lock, &until);
            continue;
        }
        pthread_mutex_unlock(&credential->lock);
        bool is_new = renew(credential, &err) == 0;
        if (!is_new)
            kndl_log(KNDL_WARNING, "the credential could not be renewed",
                     KNDL_STR("why", err.message));
        pthread_mutex_lock(&credential->lock);
        at_ms = is_new ? credential->grant.renew_at_ms
                       : kndl_clock_ms() + credential->grant.lasts_ms / AGAIN_PART;
    }
    pthread_mutex_unlock(&credential->lock);
    return NULL;
}

/* ---- for the bus ---- */

static char *copy_jwt(struct credential *credential)
{
    const struct grant *grant = &credential->grant;
    char *jwt = NULL;

    pthread_mutex_lock(&credential->lock);
    if (kndl_clock_ms() + grant->lasts_ms / SPARE_PART < grant->until_ms)
        jwt = kndl_strdup(credential->grant.jwt);
    pthread_mutex_unlock(&credential->lock);
    return jwt;
}

/* On a thread of NATS's that connects. A stale JWT twice would close the connection for good. */
static char *give_jwt(void *data)
{
    struct credential *credential = data;
    char *jwt = copy_jwt(credential);
    struct kndl_error err;

    if (jwt != NULL)
        return jwt;
    if (renew(credential, &err) < 0)
        kndl_log(KNDL_WARNING, "the credential could not be renewed", KNDL_STR("why", err.message));
    return copy_jwt(credential);
}

static void sign(void *data, struct kndl_slice nonce, uint8_t ret_signature[64])
{
    const struct credential *credential = data;

    kndl_nkey_sign(&credential->key, nonce, ret_signature);
}

struct kndl_bus_signer credential_signer(struct credential *credential)
{
    return (struct kndl_bus_signer){give_jwt, sign, credential};
}

const char *credential_runner_id(const struct credential *credential)
{
    return credential->runner_id;
}

/* ---- beginning and end ---- */

static bool begins(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static bool is_loopback(const char *url)
{
    const char *host = url + strlen("http://");
    size_t size = strcspn(host, ":/");

    if (!begins(url, "http://"))
        return false;
    return begins(host, "[::1]") || (size == strlen("localhost") && begins(host, "localhost")) ||
           (begins(host, "127.") && strspn(host, "0123456789.") == size);
}

/* A RUNNER_TOKEN travels in it, so it is TLS wherever others could listen. */
static int read_url(struct credential *credential, struct kndl_error *err)
{
    const char *url = kndl_env_get("RUNNER_HUB_URL");
    struct kndl_buf whole = {0};
    size_t size = strlen(url);

    if (!begins(url, "https://") && !is_loopback(url))
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "RUNNER_HUB_URL is %s; it begins with https://, or is on loopback", url);
    while (size > 0 && url[size - 1] == '/')
        size--;
    kndl_buf_append(&whole, url, size);
    kndl_buf_append_text(&whole, "/runner/credential");
    credential->url = kndl_buf_take(&whole);
    return 0;
}

static int read_settings(struct credential *credential, struct kndl_error *err)
{
    const char *token = kndl_env_get("RUNNER_TOKEN");

    credential->token_file = kndl_env_get("RUNNER_TOKEN_FILE");
    if (credential->token_file[0] == '\0' && token[0] == '\0')
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "RUNNER_TOKEN_FILE is not set: it names the file with the token that the "
                         "Owner was shown when registering this Runner");
    if (token[0] != '\0') {
        kndl_secret_copy(&credential->token, kndl_slice_of(token));
        kndl_env_forget("RUNNER_TOKEN");
    }
    return read_url(credential, err);
}

static void free_credential(struct credential *credential)
{
    grant_done(&credential->grant);
    kndl_secret_done(&credential->token);
    kndl_nkey_done(&credential->key);
    pthread_cond_destroy(&credential->changed);
    pthread_mutex_destroy(&credential->lock);
    free(credential->runner_id);
    free(credential->url);
    free(credential);
}

static void make_lock(struct credential *credential)
{
    pthread_condattr_t monotonic;

    pthread_mutex_init(&credential->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&credential->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

int credential_open(struct credential **ret_credential, struct kndl_error *err)
{
    struct credential *credential = kndl_new0(struct credential);

    make_lock(credential);
    kndl_nkey_new(KNDL_NKEY_USER, &credential->key);
    if (read_settings(credential, err) < 0) {
        free_credential(credential);
        return -1;
    }
    *ret_credential = credential;
    return 0;
}

int credential_begin(struct credential *credential, struct kndl_error *err)
{
    if (ask(credential, &credential->grant, err) < 0)
        return -1;
    credential->runner_id = kndl_strdup(credential->grant.runner_id);
    if (pthread_create(&credential->thread, NULL, keep, credential) != 0)
        abort();
    return 0;
}

void credential_close(struct credential *credential)
{
    if (credential->runner_id == NULL) {
        free_credential(credential);
        return;
    }
    pthread_mutex_lock(&credential->lock);
    credential->is_over = true;
    pthread_cond_signal(&credential->changed);
    pthread_mutex_unlock(&credential->lock);
    pthread_join(credential->thread, NULL);
    free_credential(credential);
}
