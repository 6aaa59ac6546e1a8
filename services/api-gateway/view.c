/*
 * Three numbers decide: `sent`, the newest Event that the client has; `known`, the newest that we
 * heard of; and the version of the rest. Whenever they differ something is asked, one thing of a
 * kind at a time, and every answer looks again.
 */

#include "view.h"

#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "kndl/clock.h"
#include "kndl/code.h"
#include "kndl/guard.h"
#include "kndl/id.h"
#include "kndl/log.h"
#include "kndl/mem.h"
#include "kndl/sessions/v1/sessions_service.pb-c.h"
#include "live.h"

#define GATEWAY(name) Kndl__Gateway__V1__##name
#define SESSIONS(name) Kndl__Sessions__V1__##name

enum {
    ASK_MS = 10000,
    PAGE = 200,
    REQUEST_BYTES_MAX = 128,
    RETRY_TICKS_MAX = 8,
    /* Before access_until: so that the answer is here in time, whatever the clocks' difference. */
    EARLY_MS = 2000,
    /* What streams is dropped when so much waits already. */
    DELTA_QUEUE_BYTES_MAX = 512 * 1024,
};

struct view {
    struct socket *socket;
    uint32_t channel;
    char session_id[KNDL_ID_SIZE];
    bool is_open;    /* the client has a first View */
    bool is_stale;   /* the View is to be asked again */
    bool is_lagging; /* the View that came was old: ask again at the next tick */
    bool is_blocked; /* the queue is full: nothing is asked until it is empty */
    int64_t sent;
    int64_t known;
    int64_t version;         /* of the View that the client has */
    int64_t known_version;   /* heard of */
    int64_t access_until_ms; /* kndl_clock_wall_ms(); 0: not said */
    unsigned retry_ticks;    /* until a failed question is asked again; 0: none failed */
    unsigned failures;
    struct ask *asked_view;
    struct ask *asked_events;
    struct live_listener *events;
    struct live_listener *deltas;
};

static void pump(struct view *view);

uint32_t view_channel(const struct view *view)
{
    return view->channel;
}

const char *view_session(const struct view *view)
{
    return view->session_id;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static struct ask *ask_sessions(struct view *view, const char *method,
                                const ProtobufCMessage *request, ask_fn fn)
{
    uint8_t packed[REQUEST_BYTES_MAX];

    if (protobuf_c_message_get_packed_size(request) > sizeof packed)
        abort(); /* an id and some numbers */
    size_t size = protobuf_c_message_pack(request, packed);
    return ask_send(view->socket->gateway,
                    &(struct kndl_request){
                        .service = &kndl__sessions__v1__sessions_service__descriptor,
                        .method = method,
                        .actor = {KNDL_PERSON, view->socket->principal.id},
                        .timeout_ms = ASK_MS,
                        .data = kndl_slice(packed, size),
                    },
                    fn, view);
}

/* NULL: malformed, which a service of ours never is. */
static void *unpack(struct view *view, const ProtobufCMessageDescriptor *type,
                    struct kndl_slice data)
{
    struct gateway *gateway = view->socket->gateway;
    ProtobufCMessage *message;

    kndl_arena_reset(gateway->arena);
    ProtobufCAllocator allocator = kndl_arena_allocator(gateway->arena);
    if (kndl_guard_unpack(type, data, &allocator, &message, NULL) < 0)
        return NULL;
    return message;
}

static bool will_pass(enum kndl_code code)
{
    return code == KNDL_UNAVAILABLE || code == KNDL_DEADLINE_EXCEEDED ||
           code == KNDL_RESOURCE_EXHAUSTED || code == KNDL_INTERNAL;
}

/* A question failed: it is asked again in a moment, unless the answer is final. False: freed. */
static bool survive(struct view *view, const struct kndl_error *err)
{
    if (!will_pass(err->code)) {
        socket_end_view(view->socket, view, err);
        return false;
    }
    if (view->failures < 3)
        view->failures++;
    view->retry_ticks = 1u << view->failures;
    if (view->retry_ticks > RETRY_TICKS_MAX)
        view->retry_ticks = RETRY_TICKS_MAX;
    return true;
}

/* ---- Events ---- */

/*
 * Sends those behind `sent`, if they follow it. False: there is a gap, or the queue is full.
 * relay_at_us: when the first of them came to the relay, for ./dev bench; 0: long ago.
 */
static bool send_events(struct view *view, Kndl__Event__V1__Event **events, size_t count,
                        int64_t relay_at_us)
{
    GATEWAY(Events) body = KNDL__GATEWAY__V1__EVENTS__INIT;
    GATEWAY(ServerFrame) frame = KNDL__GATEWAY__V1__SERVER_FRAME__INIT;

    while (count > 0 && events[0]->seq <= view->sent) {
        events++;
        count--;
    }
    if (count == 0)
        return true;
    for (size_t i = 0; i < count; i++)
        if (events[i]->seq != view->sent + 1 + (int64_t)i)
            return false;
    body.channel = view->channel;
    body.events = events;
    body.n_events = count;
    frame.kind_case = KNDL__GATEWAY__V1__SERVER_FRAME__KIND_EVENTS;
    frame.events = &body;
    if (!socket_send(view->socket, &frame)) {
        view->is_blocked = true;
        return false;
    }
    view->sent = events[count - 1]->seq;
    if (relay_at_us > 0)
        kndl_log(KNDL_INFO, "events sent", KNDL_STR("session", view->session_id),
                 KNDL_I64("seq", view->sent), KNDL_I64("relay_at_us", relay_at_us),
                 KNDL_I64("sent_us", kndl_clock_us()));
    return true;
}

static void on_events(const struct kndl_reply *reply, void *data)
{
    struct view *view = data;

    view->asked_events = NULL;
    if (reply->err.code != KNDL_OK) {
        if (survive(view, &reply->err))
            pump(view);
        return;
    }
    view->failures = 0;
    SESSIONS(ListEventsResponse) *page =
        unpack(view, &kndl__sessions__v1__list_events_response__descriptor, reply->data);
    if (page == NULL)
        return;
    bool is_whole = send_events(view, page->events, page->n_events, 0);
    /* Nothing more there, or a hole in what the owner says: what was heard of was wrong. */
    if (page->n_events == 0 || (!is_whole && !view->is_blocked))
        view->known = view->sent;
    else
        view->known = larger(view->known, page->last_seq);
    pump(view);
}

static void ask_events(struct view *view)
{
    SESSIONS(ListEventsRequest) request = KNDL__SESSIONS__V1__LIST_EVENTS_REQUEST__INIT;

    request.session_id = view->session_id;
    request.page_case = KNDL__SESSIONS__V1__LIST_EVENTS_REQUEST__PAGE_AFTER_SEQ;
    request.after_seq = view->sent;
    request.limit = PAGE;
    view->asked_events = ask_sessions(view, "ListEvents", &request.base, on_events);
}

static void on_live(const ProtobufCMessage *message, struct kndl_slice data, void *user_data)
{
    struct view *view = user_data;
    const GATEWAY(Live) *live = (const void *)message;

    (void)data;
    view->known = larger(view->known, live->last_seq);
    view->known_version = larger(view->known_version, live->view_version);
    if (view->is_open && !view->is_blocked && view->asked_events == NULL)
        (void)send_events(view, live->events, live->n_events, live->relay_at_us);
    pump(view);
}

static void on_deltas(const ProtobufCMessage *message, struct kndl_slice data, void *user_data)
{
    struct view *view = user_data;
    const GATEWAY(LiveDeltas) *live = (const void *)message;
    GATEWAY(Deltas) body = KNDL__GATEWAY__V1__DELTAS__INIT;
    GATEWAY(ServerFrame) frame = KNDL__GATEWAY__V1__SERVER_FRAME__INIT;

    (void)data;
    if (!view->is_open || live->n_deltas == 0 ||
        kndl_web_socket_queued(view->socket->web) > DELTA_QUEUE_BYTES_MAX)
        return;
    body.channel = view->channel;
    body.deltas = live->deltas;
    body.n_deltas = live->n_deltas;
    frame.kind_case = KNDL__GATEWAY__V1__SERVER_FRAME__KIND_DELTAS;
    frame.deltas = &body;
    (void)socket_send(view->socket, &frame);
}

/* ---- the View ---- */

static bool send_view(struct view *view, SESSIONS(OpenViewResponse) * answer)
{
    GATEWAY(View) body = KNDL__GATEWAY__V1__VIEW__INIT;
    GATEWAY(ServerFrame) frame = KNDL__GATEWAY__V1__SERVER_FRAME__INIT;

    /* Events that went out while it was asked. */
    while (answer->n_events > 0 && answer->events[0]->seq <= view->sent) {
        answer->events++;
        answer->n_events--;
    }
    body.channel = view->channel;
    body.view = answer;
    body.is_first = !view->is_open;
    frame.kind_case = KNDL__GATEWAY__V1__SERVER_FRAME__KIND_VIEW;
    frame.view = &body;
    return socket_send(view->socket, &frame);
}

static void on_view(const struct kndl_reply *reply, void *data)
{
    struct view *view = data;

    view->asked_view = NULL;
    if (reply->err.code != KNDL_OK) {
        view->is_stale = true;
        if (survive(view, &reply->err))
            pump(view);
        return;
    }
    view->failures = 0;
    SESSIONS(OpenViewResponse) *answer =
        unpack(view, &kndl__sessions__v1__open_view_response__descriptor, reply->data);
    if (answer == NULL)
        return;
    if (answer->session != NULL)
        view->known = larger(view->known, answer->session->last_seq);
    if (!send_view(view, answer)) {
        view->is_stale = view->is_blocked = true;
        return;
    }
    if (answer->n_events > 0)
        view->sent = answer->events[answer->n_events - 1]->seq;
    view->is_open = true;
    view->version = answer->view_version;
    view->known_version = larger(view->known_version, view->version);
    view->access_until_ms = answer->access_until_ms;
    view->is_lagging = view->known_version > view->version;
    pump(view);
}

static void ask_view(struct view *view)
{
    SESSIONS(OpenViewRequest) request = KNDL__SESSIONS__V1__OPEN_VIEW_REQUEST__INIT;

    view->is_stale = false;
    request.session_id = view->session_id;
    request.after_seq = view->sent;
    view->asked_view = ask_sessions(view, "OpenView", &request.base, on_view);
}

/* Asks for whatever the client lacks. */
static void pump(struct view *view)
{
    if (view->is_blocked || view->retry_ticks > 0)
        return;
    if (view->asked_view == NULL && !view->is_lagging &&
        (view->is_stale || view->known_version > view->version))
        ask_view(view);
    if (view->is_open && view->asked_events == NULL && view->known > view->sent)
        ask_events(view);
}

/* ---- from the socket ---- */

struct view *view_open(struct socket *socket, const GATEWAY(Open) * open)
{
    struct gateway *gateway = socket->gateway;
    struct view *view = kndl_new0(struct view);

    view->socket = socket;
    view->channel = open->channel;
    memcpy(view->session_id, open->session_id, KNDL_ID_SIZE);
    view->sent = open->after_seq;
    /* Before it asks, so that nothing falls between. */
    view->events = live_join(gateway, view->session_id, KNDL_LIVE_EVENT, on_live, view);
    view->deltas = live_join(gateway, view->session_id, KNDL_LIVE_DELTA, on_deltas, view);
    ask_view(view);
    return view;
}

void view_free(struct view *view)
{
    ask_cancel(view->asked_view);
    ask_cancel(view->asked_events);
    live_leave(view->events);
    live_leave(view->deltas);
    free(view);
}

void view_take_head(struct view *view, const SESSIONS(HeadsResponse__Head) * head)
{
    if (head == NULL) {
        view_check(view);
        return;
    }
    view->known = larger(view->known, head->last_seq);
    view->known_version = larger(view->known_version, head->view_version);
    pump(view);
}

void view_check(struct view *view)
{
    view->is_stale = true;
    pump(view);
}

void view_tick(struct view *view)
{
    view->is_lagging = false;
    if (view->retry_ticks > 0)
        view->retry_ticks--;
    if (view->access_until_ms > 0 && view->asked_view == NULL &&
        kndl_clock_wall_ms() > view->access_until_ms - EARLY_MS)
        view->is_stale = true;
    pump(view);
}

void view_drained(struct view *view)
{
    view->is_blocked = false;
    pump(view);
}
