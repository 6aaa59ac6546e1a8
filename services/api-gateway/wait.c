/* Waiting for Events on behalf of a client. */

#include "wait.h"

#include <stdlib.h>

#include "kndl/clock.h"
#include "kndl/guard.h"
#include "kndl/mem.h"
#include "kndl/sessions/v1/sessions_service.pb-c.h"
#include "live.h"

#define V1(name) Kndl__Sessions__V1__##name

enum {
    WAIT_MS_MAX = 25000,
    AGAIN_MS = 5000,
    ANSWER_MS = 1000, /* of the caller's time, kept for the last question */
};

struct wait {
    struct gateway *gateway;
    struct wait *next; /* links gateway->waits */
    struct wait *prev;
    int64_t until_ms;
    bool has_answered; /* the owner did, once */
    bool is_stirred;   /* a live message came while the owner was asked */
    struct live_listener *listener;
    struct kndl_timer *timer;
};

static int64_t at_most(int64_t value, int64_t most)
{
    return value < most ? value : most;
}

static void ask_again(void *data)
{
    struct call *call = data;

    if (call->ask != NULL)
        call->wait->is_stirred = true;
    else
        call_forward(call);
}

static void on_live(const ProtobufCMessage *message, struct kndl_slice data, void *user_data)
{
    struct call *call = user_data;

    (void)message;
    (void)data;
    /* By the timer: asking may answer a client, whose next request would use the arena in which
     * the message still is. */
    kndl_timer_start(call->wait->timer, 0, 0);
}

int wait_begin(struct call *call, struct kndl_slice packed, struct kndl_error *err)
{
    struct gateway *gateway = call->gateway;
    ProtobufCAllocator allocator = kndl_arena_allocator(gateway->arena);
    ProtobufCMessage *message;

    if (kndl_guard_unpack(&kndl__sessions__v1__list_events_request__descriptor, packed, &allocator,
                          &message, err) < 0)
        return -1;
    const V1(ListEventsRequest) *request = (const void *)message;
    if (request->wait_ms <= 0 || !kndl_id_is_valid(request->session_id) ||
        request->page_case != KNDL__SESSIONS__V1__LIST_EVENTS_REQUEST__PAGE_AFTER_SEQ)
        return 0; /* the owner says what is wrong, if anything is */

    int64_t now_ms = kndl_clock_ms();
    struct wait *wait = kndl_new0(struct wait);
    wait->until_ms = now_ms + at_most(request->wait_ms, WAIT_MS_MAX);
    if (wait->until_ms > call->deadline_ms - ANSWER_MS)
        wait->until_ms = call->deadline_ms - ANSWER_MS;
    wait->gateway = gateway;
    wait->next = gateway->waits;
    if (wait->next != NULL)
        wait->next->prev = wait;
    gateway->waits = wait;
    wait->listener = live_join(gateway, request->session_id, KNDL_LIVE_EVENT, on_live, call);
    wait->timer = kndl_timer_new(gateway->loop, ask_again, call);
    call->wait = wait;
    return 0;
}

static bool is_empty(struct call *call, struct kndl_slice data)
{
    ProtobufCMessage *message;
    struct kndl_error err;

    kndl_arena_reset(call->gateway->arena);
    ProtobufCAllocator allocator = kndl_arena_allocator(call->gateway->arena);
    if (kndl_guard_unpack(&kndl__sessions__v1__list_events_response__descriptor, data, &allocator,
                          &message, &err) < 0)
        return false;
    return ((const V1(ListEventsResponse) *)(const void *)message)->n_events == 0;
}

bool wait_holds(struct call *call, const struct kndl_reply *reply)
{
    struct wait *wait = call->wait;
    int64_t left_ms = wait->until_ms - kndl_clock_ms();
    bool is_ok = reply->err.code == KNDL_OK;
    bool is_worth_trying =
        is_ok || (wait->has_answered && (reply->err.code == KNDL_UNAVAILABLE ||
                                         reply->err.code == KNDL_DEADLINE_EXCEEDED));

    if (left_ms <= 0 || !is_worth_trying || (is_ok && !is_empty(call, reply->data)) ||
        call->gateway->is_draining)
        return false;
    wait->has_answered = true;
    if (wait->is_stirred && is_ok) {
        wait->is_stirred = false;
        call_forward(call);
    } else {
        kndl_timer_start(wait->timer, (uint64_t)at_most(left_ms, AGAIN_MS), 0);
    }
    return true;
}

void wait_end(struct call *call)
{
    struct wait *wait = call->wait;

    if (wait == NULL)
        return;
    if (wait->prev != NULL)
        wait->prev->next = wait->next;
    else
        wait->gateway->waits = wait->next;
    if (wait->next != NULL)
        wait->next->prev = wait->prev;
    live_leave(wait->listener);
    kndl_timer_free(wait->timer);
    free(wait);
    call->wait = NULL;
}

void wait_end_all(struct gateway *gateway)
{
    for (struct wait *wait = gateway->waits; wait != NULL; wait = wait->next)
        kndl_timer_start(wait->timer, 0, 0);
}
