/* One batch in flight. */

#include "forward.h"

#include <stdlib.h>
#include <string.h>

#include "hub.h"
#include "kndl/arena.h"
#include "kndl/log.h"
#include "kndl/loop.h"
#include "kndl/mem.h"
#include "kndl/redactor/v1/redactor_service.pb-c.h"
#include "spool.h"

#define RV1(name) Kndl__Redactor__V1__##name

enum {
    BATCH_BYTES_MAX = 800 * 1024, /* of 900 KB, for what is around the Events */
    BATCH_EVENTS_MAX = 200,
    /* A copy of redactor that hangs is left for another after that. Where it was only slow, or the
     * database behind it, what it did counts: the next answer says how far Events are stored. */
    PUT_MS = 5000,
    OPEN_MS = 2000,
    PAUSE_MS_LEAST = 50,
    PAUSE_MS_MOST = 3000,
    WAITING_AFTER_MS = 5000,
};

enum state { IDLE, OPENING, READY, IN_FLIGHT, PAUSED };

struct forward {
    struct forward_options options;
    char *session_id;
    enum state state;
    char *instance_id; /* NULL: no stream is open */
    struct kndl_secret mod_token;
    int64_t mask_version;
    int64_t next_n; /* what sessions expects */
    bool is_gap;
    int64_t relay_at_us;
    uint64_t pause_ms;
    struct kndl_timer *timer;
    struct kndl_timer *failing; /* runs from the first failure until something was taken */
    bool is_failing, is_waiting;
    struct hub_ask *ask;
    struct kndl_arena *arena;
};

static void move(struct forward *forward);

static void go_on(void *data)
{
    struct forward *forward = data;

    forward->state = forward->instance_id == NULL ? IDLE : READY;
    move(forward);
}

static void tell_waiting(struct forward *forward, bool is_waiting)
{
    forward->is_waiting = is_waiting;
    if (forward->options.on_waiting != NULL)
        forward->options.on_waiting(forward->options.data, is_waiting);
}

/* It fails for long. Is there anything that waits? */
static void fails_for_long(void *data)
{
    struct forward *forward = data;

    if (!forward->is_waiting && !forward_is_drained(forward))
        tell_waiting(forward, true);
}

static void begins_to_fail(struct forward *forward)
{
    uint64_t after_ms = forward->options.waiting_after_ms;

    if (forward->is_failing)
        return;
    forward->is_failing = true;
    after_ms = after_ms == 0 ? WAITING_AFTER_MS : after_ms;
    kndl_timer_start(forward->failing, after_ms, after_ms);
}

static void fails_no_more(struct forward *forward)
{
    if (!forward->is_failing)
        return;
    forward->is_failing = false;
    kndl_timer_stop(forward->failing);
    if (forward->is_waiting)
        tell_waiting(forward, false);
}

struct forward *forward_new(const struct forward_options *options)
{
    struct forward *forward = kndl_new0(struct forward);

    forward->options = *options;
    forward->session_id = kndl_strdup(options->session_id);
    forward->timer = kndl_timer_new(options->loop, go_on, forward);
    forward->failing = kndl_timer_new(options->loop, fails_for_long, forward);
    forward->arena = kndl_arena_new(KNDL_ARENA_PLAIN);
    forward->next_n = spool_first_n(options->spool);
    return forward;
}

void forward_free(struct forward *forward)
{
    if (forward == NULL)
        return;
    hub_drop(forward->ask);
    kndl_timer_free(forward->failing);
    kndl_timer_free(forward->timer);
    kndl_arena_free(forward->arena);
    kndl_secret_done(&forward->mod_token);
    free(forward->instance_id);
    free(forward->session_id);
    free(forward);
}

void forward_set_token(struct forward *forward, const struct kndl_secret *mod_token)
{
    kndl_secret_done(&forward->mod_token);
    kndl_secret_copy(&forward->mod_token, kndl_slice(mod_token->data, mod_token->size));
    move(forward);
}

void forward_set_mask_version(struct forward *forward, int64_t version)
{
    if (version > forward->mask_version)
        forward->mask_version = version;
}

void forward_wake(struct forward *forward, int64_t relay_at_us)
{
    if (relay_at_us > forward->relay_at_us)
        forward->relay_at_us = relay_at_us;
    move(forward);
}

bool forward_is_drained(const struct forward *forward)
{
    return forward->next_n > spool_last_n(forward->options.spool);
}

static void pause_for_a_while(struct forward *forward)
{
    forward->state = PAUSED;
    forward->pause_ms = forward->pause_ms == 0 ? PAUSE_MS_LEAST : 2 * forward->pause_ms;
    if (forward->pause_ms > PAUSE_MS_MOST)
        forward->pause_ms = PAUSE_MS_MOST;
    kndl_timer_start(forward->timer, forward->pause_ms, 0);
}

static void failed(struct forward *forward, const char *what, const struct kndl_error *err)
{
    kndl_log(KNDL_WARNING, "events wait", KNDL_STR("session", forward->session_id),
             KNDL_STR("what", what), KNDL_STR("why", err->message),
             KNDL_I64("next_n", forward->next_n));
    if (err->code == KNDL_PERMISSION_DENIED || err->code == KNDL_UNAUTHENTICATED)
        if (forward->options.on_refused != NULL)
            forward->options.on_refused(forward->options.data, err);
    if (err->code == KNDL_UNAVAILABLE || err->code == KNDL_DEADLINE_EXCEEDED ||
        err->code == KNDL_FAILED_PRECONDITION) /* a value to mask cannot be read */
        begins_to_fail(forward);
    free(kndl_steal(&forward->instance_id));
    pause_for_a_while(forward);
}

static void opened(void *data, const struct kndl_error *err, const ProtobufCMessage *response)
{
    struct forward *forward = data;
    const RV1(OpenResponse) *open = (const void *)response;

    forward->ask = NULL;
    if (response == NULL) {
        failed(forward, "open", err);
        return;
    }
    forward->instance_id = kndl_strdup(open->instance_id);
    forward->state = READY;
    if (forward_is_drained(forward))
        fails_no_more(forward); /* else its first batch tells */
    if (forward->options.on_opened != NULL)
        forward->options.on_opened(forward->options.data);
    move(forward);
}

static void open_stream(struct forward *forward)
{
    RV1(OpenRequest) request = KNDL__REDACTOR__V1__OPEN_REQUEST__INIT;
    struct hub_question question = {
        .service = &kndl__redactor__v1__redactor_runner_service__descriptor,
        .method = "Open",
        .request = &request.base,
        .timeout_ms = OPEN_MS,
    };

    request.session_id = forward->session_id;
    request.run = forward->options.run;
    request.mask_version = forward->mask_version;
    forward->state = OPENING;
    forward->ask = hub_ask(forward->options.hub, &question, opened, forward);
}

static void put_answered(void *data, const struct kndl_error *err, const ProtobufCMessage *response)
{
    struct forward *forward = data;
    const RV1(PutResponse) *put = (const void *)response;
    bool was_gap = forward->is_gap;
    int64_t expected, sent_from = forward->next_n;

    forward->ask = NULL;
    if (response == NULL) {
        failed(forward, "put", err);
        return;
    }
    expected = put->expected_n;
    forward->state = READY;
    if (expected < 1 || expected > spool_last_n(forward->options.spool) + 1) {
        kndl_log(KNDL_ERROR, "sessions expects an Event that never was",
                 KNDL_STR("session", forward->session_id), KNDL_I64("expected_n", expected));
        pause_for_a_while(forward);
        return;
    }
    forward->is_gap = expected < spool_first_n(forward->options.spool);
    forward->next_n = forward->is_gap ? spool_first_n(forward->options.spool) : expected;
    if (expected <= sent_from && !(forward->is_gap && !was_gap)) {
        pause_for_a_while(forward); /* nothing was taken: not at once again */
        return;
    }
    forward->pause_ms = 0;
    fails_no_more(forward);
    spool_forget(forward->options.spool, expected - 1);
    if (forward_is_drained(forward) && forward->options.on_drained != NULL)
        forward->options.on_drained(forward->options.data);
    else
        move(forward);
}

/* What each Put says, and to whom it goes: the copy that opened the stream. `request` is borrowed.
 */
static struct hub_question begin_put(const struct forward *forward, int64_t relay_at_us,
                                     RV1(PutRequest) * request)
{
    *request = (RV1(PutRequest))KNDL__REDACTOR__V1__PUT_REQUEST__INIT;
    request->run = forward->options.run;
    request->mask_version = forward->mask_version;
    request->mod_token = (ProtobufCBinaryData){forward->mod_token.size, forward->mod_token.data};
    request->relay_at_us = relay_at_us;
    return (struct hub_question){
        .service = &kndl__redactor__v1__redactor_raw_service__descriptor,
        .method = "Put",
        .request = &request->base,
        .instance_id = forward->instance_id,
        .session_id = forward->session_id,
    };
}

static void put(struct forward *forward)
{
    RV1(PutRequest) request;
    struct hub_question question = begin_put(forward, forward->relay_at_us, &request);
    struct kndl_error err = {0};

    question.timeout_ms = PUT_MS;
    if (spool_read(forward->options.spool, forward->next_n, BATCH_EVENTS_MAX, BATCH_BYTES_MAX,
                   forward->arena, &request.events, &request.n_events, &err) < 0) {
        failed(forward, "read the spool", &err);
        return;
    }
    request.first_n = forward->next_n;
    request.gap = forward->is_gap;
    forward->state = IN_FLIGHT;
    forward->ask = hub_ask(forward->options.hub, &question, put_answered, forward);
    kndl_arena_reset(forward->arena);
}

/* Whatever can be done next. */
static void move(struct forward *forward)
{
    if (forward->mod_token.data == NULL)
        return;
    switch (forward->state) {
    case IDLE:
        open_stream(forward);
        break;
    case READY:
        if (!forward_is_drained(forward))
            put(forward);
        break;
    case OPENING:
    case IN_FLIGHT:
    case PAUSED:
        break;
    }
}

void forward_deltas(struct forward *forward, Kndl__Event__V1__Delta *const *pieces, size_t count,
                    const char *ended_turn_id, int64_t relay_at_us)
{
    RV1(PutRequest) request;
    struct hub_question question = begin_put(forward, relay_at_us, &request);

    /* Nobody has seen a block's start then, so it is shown by its Event. */
    if (forward->instance_id == NULL)
        return;
    request.deltas = (Kndl__Event__V1__Delta **)pieces;
    request.n_deltas = count;
    request.ended_turn_id = (char *)ended_turn_id;
    hub_post(forward->options.hub, &question);
}
