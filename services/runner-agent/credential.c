/* RUNNER_TOKEN for a JWT, again and again. */

#include "credential.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hub_http.h"
#include "kndl/arena.h"
#include "kndl/bus.h"
#include "kndl/clock.h"
#include "kndl/http.h"
#include "kndl/json.h"
#include "kndl/log.h"
#include "kndl/mem.h"
#include "kndl/nkey.h"
#include "kndl/sessions/v1/sessions_internal_service.pb-c.h"
#include "kndl/version.h"
#include "own_release.h"
#include "update.h"

#define SV1(name) Kndl__Sessions__V1__##name

enum {
    ASK_MS = 15000,
    ANSWER_BYTES_MAX = 16 * 1024,
    CLOSE_S = 1,
    SOON_MS = 1000,         /* there is news of the update, which the Hub hears by being asked */
    REFUSED_MS = 60 * 1000, /* it turned this Runner away */
    /* Of how long a JWT lasts: where the Hub refuses, or is away, while the older one still holds,
     * it is asked again after that; and one that ends sooner is not worth a connection. */
    AGAIN_PART = 60,
    SPARE_PART = 120,
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
    struct kndl_nkey key; /* after the start read alone */
    struct hub_http *http;
    struct update *update;
    void (*on_update)(void *data);
    void *data;
    char *runner_id; /* NULL: it has not begun */

    pthread_t thread;
    pthread_mutex_t lock; /* for all below */
    pthread_cond_t changed;
    struct grant grant;
    int64_t ask_at_ms;
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
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf note = {0};

    (void)update_note(credential->update, &note);
    kndl_buf_printf(out,
                    "{\"userPublic\":\"%s\",\"protocol\":%d,\"version\":\"%s\",\"updateNote\":",
                    credential->key.public, own_release.protocol, own_release.version);
    kndl_json_append_string(out, kndl_buf_text(&note));
    kndl_buf_append_char(out, '}');
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
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf body = {0};
    struct kndl_http_response response = {0};
    int64_t asked_at_ms = kndl_clock_ms();
    int result;

    write_body(credential, &body);
    if (hub_http_ask(credential->http, "/runner/credential", kndl_buf_slice(&body), ASK_MS,
                     ANSWER_BYTES_MAX, &response, err) < 0)
        return -1;
    if (response.status == 200)
        result = read_grant(&response, asked_at_ms, ret_grant, err);
    else
        result = read_refusal(&response, err);
    kndl_http_response_done(&response);
    return result;
}

/* ---- a newer release ---- */

/* After the Hub's answer. True: this Runner gives way to another release. *ret_is_news: what the
 * Hub was told of the update is not so any more. */
static bool look(struct credential *credential, bool is_refused, bool *ret_is_news)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf unused = {0};
    unsigned notes = update_note(credential->update, &unused);
    bool gives_way =
        update_look(credential->update, is_refused, hub_http_get_file, credential->http);

    *ret_is_news = update_note(credential->update, &unused) != notes;
    return gives_way;
}

/* Asks, and keeps what came. */
static int renew(struct credential *credential, struct kndl_error *err)
{
    struct grant grant = {0};

    if (ask(credential, &grant, err) < 0)
        return -1;
    /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): it is there, or ask() failed */
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

/* Sleeps until it is time to ask, with the lock held; false: it is over. */
static bool wait_turn(struct credential *credential)
{
    while (!credential->is_over && kndl_clock_ms() < credential->ask_at_ms) {
        struct timespec until = in_ms(credential->ask_at_ms - kndl_clock_ms());

        pthread_cond_timedwait(&credential->changed, &credential->lock, &until);
    }
    return !credential->is_over;
}

/* The loop is there until this is over. */
static void tell_update(struct credential *credential)
{
    pthread_mutex_lock(&credential->lock);
    bool is_over = credential->is_over;
    pthread_mutex_unlock(&credential->lock);
    if (!is_over)
        credential->on_update(credential->data);
}

/* Renews, looks for a newer release, and says when to do so again. */
static int64_t take_turn(struct credential *credential)
{
    struct kndl_error err = {0};
    bool is_new = renew(credential, &err) == 0;
    bool is_news = false;

    if (!is_new)
        kndl_log(KNDL_WARNING, "the credential could not be renewed", KNDL_STR("why", err.message));
    if ((is_new || err.code == KNDL_FAILED_PRECONDITION) && look(credential, !is_new, &is_news))
        tell_update(credential);
    pthread_mutex_lock(&credential->lock);
    int64_t at_ms = is_new ? credential->grant.renew_at_ms
                           : kndl_clock_ms() + credential->grant.lasts_ms / AGAIN_PART;
    pthread_mutex_unlock(&credential->lock);
    return !is_new && is_news ? kndl_clock_ms() + SOON_MS : at_ms;
}

static void *keep(void *data)
{
    struct credential *credential = data;
    bool unused;

    if (look(credential, false, &unused))
        tell_update(credential);
    pthread_mutex_lock(&credential->lock);
    while (wait_turn(credential)) {
        pthread_mutex_unlock(&credential->lock);
        int64_t at_ms = take_turn(credential);
        pthread_mutex_lock(&credential->lock);
        credential->ask_at_ms = at_ms;
    }
    pthread_mutex_unlock(&credential->lock);
    return NULL;
}

void credential_ask_soon(struct credential *credential)
{
    pthread_mutex_lock(&credential->lock);
    credential->ask_at_ms = 0;
    pthread_cond_signal(&credential->changed);
    pthread_mutex_unlock(&credential->lock);
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

static void free_credential(struct credential *credential)
{
    grant_done(&credential->grant);
    kndl_nkey_done(&credential->key);
    pthread_cond_destroy(&credential->changed);
    pthread_mutex_destroy(&credential->lock);
    free(credential->runner_id);
    hub_http_free(credential->http);
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

int credential_open(const struct credential_options *options, struct credential **ret_credential,
                    struct kndl_error *err)
{
    struct credential *credential = kndl_new0(struct credential);

    credential->update = options->update;
    credential->on_update = options->on_update;
    credential->data = options->data;
    make_lock(credential);
    kndl_nkey_new(KNDL_NKEY_USER, &credential->key);
    if (hub_http_new(&credential->http, err) < 0) {
        free_credential(credential);
        return -1;
    }
    *ret_credential = credential;
    return 0;
}

int credential_begin(struct credential *credential, uint64_t *ret_pause_ms, struct kndl_error *err)
{
    bool is_news;

    if (ask(credential, &credential->grant, err) < 0) {
        if (err->code != KNDL_FAILED_PRECONDITION)
            return -1;
        kndl_log(KNDL_ERROR, "the Hub turns this Runner away", KNDL_STR("why", err->message));
        if (look(credential, true, &is_news))
            return kndl_fail(err, KNDL_ABORTED, "a newer release takes over");
        *ret_pause_ms = is_news ? SOON_MS : REFUSED_MS;
        return -1;
    }
    credential->runner_id = kndl_strdup(credential->grant.runner_id);
    credential->ask_at_ms = credential->grant.renew_at_ms;
    if (pthread_create(&credential->thread, NULL, keep, credential) != 0)
        abort();
    return 0;
}

void credential_close(struct credential *credential)
{
    struct timespec until;

    if (update_is_ready(credential->update))
        hub_http_hand_on_token(credential->http);
    if (credential->runner_id == NULL) {
        free_credential(credential);
        return;
    }
    pthread_mutex_lock(&credential->lock);
    credential->is_over = true;
    pthread_cond_signal(&credential->changed);
    pthread_mutex_unlock(&credential->lock);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += CLOSE_S;
    if (pthread_timedjoin_np(credential->thread, NULL, &until) != 0)
        return; /* it asks the Hub, and this process ends */
    free_credential(credential);
}
