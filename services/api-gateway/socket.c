/* A socket's frames, and the second hand that keeps it honest. */

#include "socket.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "kndl/clock.h"
#include "kndl/code.h"
#include "kndl/guard.h"
#include "kndl/id.h"
#include "kndl/log.h"
#include "kndl/mem.h"
#include "kndl/permit.h"
#include "kndl/sessions/v1/sessions_service.pb-c.h"
#include "kndl/version.h"
#include "rate.h"
#include "view.h"
#include "watch.h"

#define GATEWAY(name) Kndl__Gateway__V1__##name
#define SESSIONS(name) Kndl__Sessions__V1__##name

enum {
    SWEEP_MS = 250, /* how often the sockets are looked at; the rest is by the clock */
    TICK_MS = 1000,
    HEADS_MS = 5000,
    CREDENTIAL_MS = 10000,
    PING_MS = 15000,
    SILENT_MS = 25000, /* a ping's interval and ten seconds for its answer */
    STUCK_MS = 30000,  /* the queue does not get shorter */
    ASK_MS = 5000,
};

/* ---- frames out ---- */

bool socket_send(struct socket *socket, GATEWAY(ServerFrame) * frame)
{
    struct gateway *gateway = socket->gateway;
    size_t size = protobuf_c_message_get_packed_size(&frame->base);

    kndl_buf_clear(&gateway->frame);
    uint8_t *at = (uint8_t *)kndl_buf_reserve(&gateway->frame, size);
    protobuf_c_message_pack(&frame->base, at);
    return kndl_web_socket_send(socket->web, kndl_slice(at, size));
}

/* What a client must hear: a socket that has no room for it is of no use. */
static void send_or_close(struct socket *socket, GATEWAY(ServerFrame) * frame)
{
    if (!socket_send(socket, frame))
        kndl_web_socket_close(socket->web, SOCKET_CLOSE_TRY_LATER);
}

static void send_closed(struct socket *socket, uint32_t channel, const struct kndl_error *err)
{
    GATEWAY(Closed) body = KNDL__GATEWAY__V1__CLOSED__INIT;
    GATEWAY(ServerFrame) frame = KNDL__GATEWAY__V1__SERVER_FRAME__INIT;

    body.channel = channel;
    body.code = (char *)kndl_code_names(err->code)->word;
    body.message = (char *)err->message;
    frame.kind_case = KNDL__GATEWAY__V1__SERVER_FRAME__KIND_CLOSED;
    frame.closed = &body;
    send_or_close(socket, &frame);
}

void socket_end_view(struct socket *socket, struct view *view, const struct kndl_error *err)
{
    uint32_t channel = view_channel(view);

    for (int i = 0; i < SOCKET_CHANNELS_MAX; i++)
        if (socket->views[i] == view)
            socket->views[i] = NULL;
    view_free(view);
    send_closed(socket, channel, err);
}

static void send_welcome(struct socket *socket)
{
    GATEWAY(Welcome) body = KNDL__GATEWAY__V1__WELCOME__INIT;
    GATEWAY(ServerFrame) frame = KNDL__GATEWAY__V1__SERVER_FRAME__INIT;
    char version[80];

    snprintf(version, sizeof version, "%s %s", KNDL_VERSION, files_version(socket->gateway));
    body.version = version;
    body.person_id = socket->principal.id;
    frame.kind_case = KNDL__GATEWAY__V1__SERVER_FRAME__KIND_WELCOME;
    frame.welcome = &body;
    send_or_close(socket, &frame);
}

/* ---- frames in ---- */

static struct view **find_view(struct socket *socket, uint32_t channel)
{
    for (int i = 0; i < SOCKET_CHANNELS_MAX; i++)
        if (socket->views[i] != NULL && view_channel(socket->views[i]) == channel)
            return &socket->views[i];
    return NULL;
}

static int check_open(struct socket *socket, const GATEWAY(Open) * open, struct kndl_error *err)
{
    if (rate_take(socket->gateway, RATE_READ, socket->principal.id, err) < 0)
        return -1;
    if (!kndl_id_is_valid(open->session_id))
        return kndl_session_absent(open->session_id, err);
    if (open->after_seq < 0)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "after_seq is negative");
    return 0;
}

static void take_open(struct socket *socket, const GATEWAY(Open) * open)
{
    struct view **room = NULL;
    struct kndl_error err;

    if (open->channel == 0 || find_view(socket, open->channel) != NULL) {
        kndl_web_socket_close(socket->web, SOCKET_CLOSE_BAD_FRAME);
        return;
    }
    for (int i = 0; i < SOCKET_CHANNELS_MAX && room == NULL; i++)
        if (socket->views[i] == NULL)
            room = &socket->views[i];
    if (room == NULL)
        kndl_fail(&err, KNDL_RESOURCE_EXHAUSTED, "a socket has at most %d channels",
                  SOCKET_CHANNELS_MAX);
    else if (check_open(socket, open, &err) == 0) {
        *room = view_open(socket, open);
        return;
    }
    send_closed(socket, open->channel, &err);
}

static void take_close(struct socket *socket, uint32_t channel)
{
    struct view **view = find_view(socket, channel);

    if (view == NULL)
        return; /* ended by us meanwhile */
    view_free(*view);
    *view = NULL;
}

static void take_ping(struct socket *socket, GATEWAY(Ping) * ping)
{
    GATEWAY(ServerFrame) frame = KNDL__GATEWAY__V1__SERVER_FRAME__INIT;

    frame.kind_case = KNDL__GATEWAY__V1__SERVER_FRAME__KIND_PONG;
    frame.pong = ping;
    (void)socket_send(socket, &frame);
}

static void take_watch(struct socket *socket, bool on)
{
    if (on && socket->watch == NULL) {
        socket->watch = watch_open(socket);
    } else if (!on) {
        watch_free(socket->watch);
        socket->watch = NULL;
    }
}

void socket_frame(struct kndl_web_socket *web, struct kndl_slice bytes, void *data)
{
    struct socket *socket = data;
    struct gateway *gateway = socket->gateway;
    ProtobufCMessage *message;

    kndl_arena_reset(gateway->arena);
    ProtobufCAllocator allocator = kndl_arena_allocator(gateway->arena);
    if (kndl_guard_unpack(&kndl__gateway__v1__client_frame__descriptor, bytes, &allocator, &message,
                          NULL) < 0) {
        kndl_web_socket_close(web, SOCKET_CLOSE_BAD_FRAME);
        return;
    }
    GATEWAY(ClientFrame) *frame = (void *)message;
    switch (frame->kind_case) {
    case KNDL__GATEWAY__V1__CLIENT_FRAME__KIND_OPEN:
        take_open(socket, frame->open);
        break;
    case KNDL__GATEWAY__V1__CLIENT_FRAME__KIND_CLOSE:
        take_close(socket, frame->close->channel);
        break;
    case KNDL__GATEWAY__V1__CLIENT_FRAME__KIND_PING:
        take_ping(socket, frame->ping);
        break;
    case KNDL__GATEWAY__V1__CLIENT_FRAME__KIND_WATCH:
        take_watch(socket, frame->watch->on);
        break;
    case KNDL__GATEWAY__V1__CLIENT_FRAME__KIND__NOT_SET:
    default: /* of a newer page */
        break;
    }
}

void socket_drained(struct kndl_web_socket *web, void *data)
{
    struct socket *socket = data;

    (void)web;
    for (int i = 0; i < SOCKET_CHANNELS_MAX; i++)
        if (socket->views[i] != NULL)
            view_drained(socket->views[i]);
}

/* ---- each second ---- */

static const SESSIONS(HeadsResponse__Head) *
    find_head(const SESSIONS(HeadsResponse) * answer, const char *session_id)
{
    for (size_t i = 0; i < answer->n_heads; i++)
        if (strcmp(answer->heads[i]->session_id, session_id) == 0)
            return answer->heads[i];
    return NULL;
}

/* A view whose head is missing asks OpenView, which says why. */
static void on_heads(const struct kndl_reply *reply, void *data)
{
    struct socket *socket = data;
    struct gateway *gateway = socket->gateway;
    ProtobufCMessage *message;

    socket->heads = NULL;
    kndl_arena_reset(gateway->arena);
    ProtobufCAllocator allocator = kndl_arena_allocator(gateway->arena);
    if (reply->err.code != KNDL_OK ||
        kndl_guard_unpack(&kndl__sessions__v1__heads_response__descriptor, reply->data, &allocator,
                          &message, NULL) < 0)
        return;
    for (int i = 0; i < SOCKET_CHANNELS_MAX; i++)
        if (socket->views[i] != NULL)
            view_take_head(socket->views[i],
                           find_head((const void *)message, view_session(socket->views[i])));
}

static void ask_heads(struct socket *socket)
{
    SESSIONS(HeadsRequest) request = KNDL__SESSIONS__V1__HEADS_REQUEST__INIT;
    char *ids[SOCKET_CHANNELS_MAX];
    uint8_t packed[SOCKET_CHANNELS_MAX * (KNDL_ID_CHARS + 2)];

    for (int i = 0; i < SOCKET_CHANNELS_MAX; i++)
        if (socket->views[i] != NULL)
            ids[request.n_session_ids++] = (char *)view_session(socket->views[i]);
    if (request.n_session_ids == 0 || socket->heads != NULL)
        return;
    request.session_ids = ids;
    size_t size = protobuf_c_message_pack(&request.base, packed);
    socket->heads = ask_send(socket->gateway,
                             &(struct kndl_request){
                                 .service = &kndl__sessions__v1__sessions_service__descriptor,
                                 .method = "Heads",
                                 .actor = {KNDL_PERSON, socket->principal.id},
                                 .timeout_ms = ASK_MS,
                                 .data = kndl_slice(packed, size),
                             },
                             on_heads, socket);
}

static void on_credential(const struct kndl_reply *reply, void *data)
{
    struct socket *socket = data;
    struct credential credential = socket->principal.credential;
    struct principal principal;
    struct kndl_error err;

    socket->credential = NULL;
    if (people_read(socket->gateway, &credential, reply, &principal, &err) == 0) {
        if (strcmp(principal.id, socket->principal.id) != 0)
            kndl_web_socket_close(socket->web, SOCKET_CLOSE_SIGNED_OUT);
    } else if (err.code == KNDL_UNAUTHENTICATED) {
        kndl_web_socket_close(socket->web, SOCKET_CLOSE_SIGNED_OUT);
    } /* else repo-access is away: those in stay */
}

static void check_credential(struct socket *socket)
{
    struct principal principal;

    if (socket->credential == NULL &&
        !people_find(socket->gateway, &socket->principal.credential, &principal))
        socket->credential =
            people_ask(socket->gateway, &socket->principal.credential, NULL, on_credential, socket);
}

/* Does the client still read what it is sent? */
static bool is_stuck(struct socket *socket, int64_t now_ms)
{
    size_t queued = kndl_web_socket_queued(socket->web);

    if (queued == 0 || queued < socket->queued)
        socket->moved_ms = now_ms;
    socket->queued = queued;
    return now_ms - socket->moved_ms > STUCK_MS;
}

/* Is it time? Then the next time is set. */
static bool is_due(int64_t *at_ms, int64_t now_ms, int64_t period_ms)
{
    if (now_ms < *at_ms)
        return false;
    *at_ms = now_ms + period_ms;
    return true;
}

static void tick(struct socket *socket, int64_t now_ms)
{
    if (is_stuck(socket, now_ms)) {
        kndl_web_socket_close(socket->web, SOCKET_CLOSE_TRY_LATER);
        return;
    }
    if (now_ms - kndl_web_socket_heard_ms(socket->web) > SILENT_MS) {
        kndl_web_socket_close(socket->web, SOCKET_CLOSE_DEAD);
        return;
    }
    if (is_due(&socket->ping_ms, now_ms, PING_MS))
        kndl_web_socket_ping(socket->web);
    if (is_due(&socket->credential_ms, now_ms, CREDENTIAL_MS))
        check_credential(socket);
    if (is_due(&socket->heads_ms, now_ms, HEADS_MS))
        ask_heads(socket);
    for (int i = 0; i < SOCKET_CHANNELS_MAX; i++)
        if (socket->views[i] != NULL)
            view_tick(socket->views[i]);
}

static void sweep(void *data)
{
    struct gateway *gateway = data;
    int64_t now_ms = kndl_clock_ms();

    for (struct socket *socket = gateway->sockets->first; socket != NULL; socket = socket->next)
        if (is_due(&socket->tick_ms, now_ms, TICK_MS))
            tick(socket, now_ms);
}

/* ---- coming and going ---- */

struct socket *socket_new(struct gateway *gateway, const struct principal *principal)
{
    struct socket *socket = kndl_new0(struct socket);

    socket->gateway = gateway;
    socket->principal = *principal;
    return socket;
}

void socket_opened(struct kndl_web_socket *web, void *data)
{
    struct socket *socket = data;
    struct sockets *sockets = socket->gateway->sockets;

    socket->web = web;
    socket->moved_ms = kndl_clock_ms();
    socket->tick_ms = socket->moved_ms + TICK_MS;
    socket->ping_ms = socket->moved_ms + PING_MS;
    socket->credential_ms = socket->moved_ms + CREDENTIAL_MS;
    socket->heads_ms = socket->moved_ms + HEADS_MS;
    socket->next = sockets->first;
    if (socket->next != NULL)
        socket->next->prev = socket;
    sockets->first = socket;
    send_welcome(socket);
}

void socket_closed(struct kndl_web_socket *web, void *data)
{
    struct socket *socket = data;

    (void)web;
    ask_cancel(socket->heads);
    ask_cancel(socket->credential);
    for (int i = 0; i < SOCKET_CHANNELS_MAX; i++)
        if (socket->views[i] != NULL)
            view_free(socket->views[i]);
    watch_free(socket->watch);
    if (socket->prev != NULL)
        socket->prev->next = socket->next;
    else
        socket->gateway->sockets->first = socket->next;
    if (socket->next != NULL)
        socket->next->prev = socket->prev;
    free(socket);
}

int sockets_count(const struct gateway *gateway, const char *person)
{
    int count = 0;

    for (struct socket *socket = gateway->sockets->first; socket != NULL; socket = socket->next)
        count += strcmp(socket->principal.id, person) == 0;
    return count;
}

void sockets_check(struct gateway *gateway, const char *person_id)
{
    for (struct socket *socket = gateway->sockets->first; socket != NULL; socket = socket->next) {
        if (person_id[0] != '\0' && strcmp(socket->principal.id, person_id) != 0)
            continue;
        /* An answer that is on its way may be older than the fact. */
        ask_cancel(socket->credential);
        socket->credential = NULL;
        check_credential(socket);
        if (socket->watch != NULL)
            watch_check(socket->watch);
        for (int i = 0; i < SOCKET_CHANNELS_MAX; i++)
            if (socket->views[i] != NULL)
                view_check(socket->views[i]);
    }
}

void sockets_dismiss(struct gateway *gateway)
{
    for (struct socket *socket = gateway->sockets->first; socket != NULL; socket = socket->next)
        kndl_web_socket_close(socket->web, SOCKET_CLOSE_RESTART);
}

void sockets_open(struct gateway *gateway)
{
    gateway->sockets = kndl_new0(struct sockets);
    gateway->sockets->timer = kndl_timer_new(gateway->loop, sweep, gateway);
    kndl_timer_start(gateway->sockets->timer, SWEEP_MS, SWEEP_MS);
}

void sockets_close(struct gateway *gateway)
{
    kndl_timer_free(gateway->sockets->timer);
    free(gateway->sockets);
    kndl_buf_done(&gateway->frame);
}
