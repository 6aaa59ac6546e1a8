/*
 * Asking: requests share one subscription for their answers, and each has a number. What waits is
 * ended exactly once, by the answer, by its deadline or by the end of the connection: whoever
 * takes it out of the table calls its callback.
 */

#include "connection.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kndl/clock.h"
#include "kndl/guard.h"
#include "kndl/id.h"
#include "kndl/mem.h"
#include "subject.h"

enum { TIMEOUT_MS_MAX = 120000 };

struct pending {
    struct pending *next; /* of its bucket */
    uint64_t number;
    int64_t deadline_ms;
    kndl_reply_fn fn;
    void *data;
    char trace[KNDL_TOKEN_CHARS_MAX + 1];
    char target[KNDL_TOKEN_CHARS_MAX + 1]; /* whom it was asked of, for messages */
    bool is_command;                       /* a Runner's id, then */
};

static const char *actor_kind(const struct kndl_actor *actor)
{
    switch (actor->kind) {
    case KNDL_PERSON:
        return "person";
    case KNDL_RUNNER:
        return "runner";
    case KNDL_SERVICE:
        return "service";
    }
    return "service";
}

void kndl_request_target(const struct kndl_request *request, char target[KNDL_TOKEN_CHARS_MAX + 1])
{
    if (kndl_family_of(request->service) == KNDL_FAMILY_COMMAND)
        snprintf(target, KNDL_TOKEN_CHARS_MAX + 1, "%s", request->runner_id);
    else
        kndl_subject_token(request->service->package, 1, target);
}

static int check_token(const char *text, const char *what, struct kndl_error *err)
{
    if (kndl_token_is_plain(text))
        return 0;
    return kndl_fail(err, KNDL_INVALID_ARGUMENT, "%s is none", what);
}

static int write_subject(struct kndl_bus *bus, const struct kndl_request *request,
                         struct kndl_buf *out, struct kndl_error *err)
{
    enum kndl_family family = kndl_family_of(request->service);
    struct kndl_route route = {
        .method = request->method,
        .runner_id = family == KNDL_FAMILY_COMMAND ? request->runner_id : bus->runner_id,
        .instance_id = request->instance_id,
        .session_id = request->session_id,
    };

    if (protobuf_c_service_descriptor_get_method_by_name(request->service, request->method) == NULL)
        return kndl_fail(err, KNDL_UNIMPLEMENTED, "%s has no method of that name",
                         request->service->name);
    if (family != KNDL_FAMILY_RPC && check_token(route.runner_id, "the Runner's id", err) < 0)
        return -1;
    if (family == KNDL_FAMILY_RAW &&
        (check_token(route.instance_id, "the instance's id", err) < 0 ||
         check_token(route.session_id, "the Session's id", err) < 0))
        return -1;
    kndl_subject_write(out, request->service, &route);
    return 0;
}

static natsStatus set_headers(natsMsg *message, const struct kndl_request *request,
                              const char *trace)
{
    char actor[KNDL_TOKEN_CHARS_MAX + 16];
    char number[64];
    natsStatus s = natsMsgHeader_Set(message, KNDL_HEADER_TRACE, trace);

    snprintf(actor, sizeof actor, "%s/%s", actor_kind(&request->actor), request->actor.id);
    if (s == NATS_OK)
        s = natsMsgHeader_Set(message, KNDL_HEADER_ACTOR, actor);
    snprintf(number, sizeof number, "%" PRIu32, request->timeout_ms);
    if (s == NATS_OK)
        s = natsMsgHeader_Set(message, KNDL_HEADER_TIMEOUT, number);
    snprintf(number, sizeof number, "%s %" PRId64, kndl_boot_id(),
             kndl_clock_ms() + request->timeout_ms);
    if (s == NATS_OK)
        s = natsMsgHeader_Set(message, KNDL_HEADER_DEADLINE, number);
    return s;
}

/* Checks a request and makes its message; `trace` gets the one it travels with. */
static int make_message(struct kndl_bus *bus, const struct kndl_request *request, const char *reply,
                        char trace[KNDL_TOKEN_CHARS_MAX + 1], natsMsg **ret_message,
                        struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf subject = {0};
    natsMsg *message = NULL;

    if (request->timeout_ms == 0 || request->timeout_ms > TIMEOUT_MS_MAX)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "a request may take 1 to %d ms",
                         TIMEOUT_MS_MAX);
    if (request->data.size > KNDL_MESSAGE_BYTES_MAX)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "the request has %zu bytes; the most is %d",
                         request->data.size, KNDL_MESSAGE_BYTES_MAX);
    if (check_token(request->actor.id, "the actor's id", err) < 0 ||
        write_subject(bus, request, &subject, err) < 0)
        return -1;
    if (request->trace != NULL && !kndl_token_is_plain(request->trace))
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "the trace is none");
    if (request->trace != NULL)
        memcpy(trace, request->trace, strlen(request->trace) + 1);
    else
        kndl_id_new(trace);
    if (!kndl_bus_is_connected(bus) || atomic_load(&bus->closing))
        return kndl_fail(err, KNDL_UNAVAILABLE, "NATS is away; " KNDL_BACK_SOON);

    natsStatus s = natsMsg_Create(&message, kndl_buf_text(&subject), reply,
                                  (const char *)request->data.data, (int)request->data.size);
    if (s == NATS_OK)
        s = set_headers(message, request, trace);
    if (s != NATS_OK) {
        natsMsg_Destroy(message);
        return kndl_nats_fail(err, s, "a request");
    }
    *ret_message = message;
    return 0;
}

static void add_pending(struct kndl_bus *bus, struct pending *pending)
{
    struct pending **bucket = &bus->pending[pending->number % KNDL_PENDING_BUCKETS];

    pthread_mutex_lock(&bus->lock);
    pending->next = *bucket;
    *bucket = pending;
    if (pending->deadline_ms < bus->next_deadline_ms) {
        bus->next_deadline_ms = pending->deadline_ms;
        pthread_cond_broadcast(&bus->changed);
    }
    pthread_mutex_unlock(&bus->lock);
}

/* Who gets it here, and nobody else, ends it. NULL: another did. */
static struct pending *take_pending(struct kndl_bus *bus, uint64_t number)
{
    struct pending **at = &bus->pending[number % KNDL_PENDING_BUCKETS];
    struct pending *found;

    pthread_mutex_lock(&bus->lock);
    while (*at != NULL && (*at)->number != number)
        at = &(*at)->next;
    found = *at;
    if (found != NULL)
        *at = found->next;
    pthread_mutex_unlock(&bus->lock);
    return found;
}

static void end_pending(struct pending *pending, const struct kndl_reply *reply)
{
    pending->fn(reply, pending->data);
    free(pending);
}

static void fail_pending(struct pending *pending, enum kndl_code code, const char *why)
{
    struct kndl_reply reply = {.trace = pending->trace};

    kndl_fail(&reply.err, code, "%s", why);
    end_pending(pending, &reply);
}

/* Takes out all that are due by then, in a list. */
static struct pending *take_due(struct kndl_bus *bus, int64_t now_ms)
{
    struct pending *due = NULL;

    bus->next_deadline_ms = INT64_MAX;
    for (size_t i = 0; i < KNDL_PENDING_BUCKETS; i++) {
        for (struct pending **at = &bus->pending[i]; *at != NULL;) {
            struct pending *pending = *at;
            if (pending->deadline_ms <= now_ms) {
                *at = pending->next;
                pending->next = due;
                due = pending;
                continue;
            }
            if (pending->deadline_ms < bus->next_deadline_ms)
                bus->next_deadline_ms = pending->deadline_ms;
            at = &pending->next;
        }
    }
    return due;
}

void kndl_requests_fail(struct kndl_bus *bus, enum kndl_code code, const char *why)
{
    pthread_mutex_lock(&bus->lock);
    struct pending *due = take_due(bus, INT64_MAX);
    pthread_mutex_unlock(&bus->lock);

    while (due != NULL) {
        struct pending *next = due->next;
        fail_pending(due, code, why);
        due = next;
    }
}

static void time_out(struct pending *due)
{
    while (due != NULL) {
        struct pending *next = due->next;
        struct kndl_reply reply = {.trace = due->trace};
        kndl_fail(&reply.err, KNDL_DEADLINE_EXCEEDED,
                  "%s did not answer in time; it may have been done", due->target);
        end_pending(due, &reply);
        due = next;
    }
}

void *kndl_requests_time(void *data)
{
    struct kndl_bus *bus = data;

    pthread_mutex_lock(&bus->lock);
    while (!bus->timer_stops) {
        int64_t now_ms = kndl_clock_ms();
        if (bus->next_deadline_ms == INT64_MAX) {
            pthread_cond_wait(&bus->changed, &bus->lock);
            continue;
        }
        if (bus->next_deadline_ms > now_ms) {
            struct timespec until = kndl_wait_until(bus->next_deadline_ms - now_ms);
            pthread_cond_timedwait(&bus->changed, &bus->lock, &until);
            continue;
        }
        struct pending *due = take_due(bus, now_ms);
        pthread_mutex_unlock(&bus->lock);
        time_out(due);
        pthread_mutex_lock(&bus->lock);
    }
    pthread_mutex_unlock(&bus->lock);
    return NULL;
}

static void fail_away(const struct pending *pending, struct kndl_error *err)
{
    if (pending->is_command)
        kndl_fail(err, KNDL_UNAVAILABLE, "the Runner %s is away and nothing reached it",
                  pending->target);
    else
        kndl_fail(err, KNDL_UNAVAILABLE,
                  "%s, a part of the Hub, is away and nothing reached it; " KNDL_BACK_SOON,
                  pending->target);
}

/* What an answer's headers say, if it is a refusal. */
static void read_error(natsMsg *message, const struct pending *pending, struct kndl_error *err)
{
    const char *code = kndl_message_header(message, KNDL_HEADER_CODE);
    const char *why = kndl_message_header(message, KNDL_HEADER_ERROR);

    if (natsMsg_IsNoResponders(message)) {
        fail_away(pending, err);
        return;
    }
    if (code == NULL)
        return;
    long number = strtol(code, NULL, 10);
    bool is_known = number > KNDL_OK && number <= KNDL_UNAUTHENTICATED;
    kndl_fail(err, is_known ? (enum kndl_code)number : KNDL_UNKNOWN, "%s", why == NULL ? "" : why);
}

void kndl_requests_take(natsConnection *nats, natsSubscription *sub, natsMsg *message, void *data)
{
    struct kndl_bus *bus = data;
    const char *number = strrchr(natsMsg_GetSubject(message), '.');
    struct pending *pending = take_pending(bus, strtoull(number + 1, NULL, 10));

    (void)nats;
    (void)sub;
    if (pending != NULL) {
        const char *trace = kndl_message_header(message, KNDL_HEADER_TRACE);
        struct kndl_reply reply = {.trace = trace == NULL ? pending->trace : trace};
        read_error(message, pending, &reply.err);
        if (reply.err.code == KNDL_OK)
            reply.data = kndl_message_data(message);
        end_pending(pending, &reply);
    }
    kndl_message_done(message);
}

int kndl_bus_send(struct kndl_bus *bus, const struct kndl_request *request, kndl_reply_fn fn,
                  void *data, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf reply = {0};
    struct pending *pending = kndl_new0(struct pending);
    natsMsg *message = NULL;

    pthread_mutex_lock(&bus->lock);
    uint64_t number = ++bus->last_number;
    pthread_mutex_unlock(&bus->lock);
    kndl_buf_printf(&reply, "%s.%" PRIu64, bus->inbox, number);
    if (make_message(bus, request, kndl_buf_text(&reply), pending->trace, &message, err) < 0) {
        free(pending);
        return -1;
    }
    pending->number = number;
    pending->deadline_ms = kndl_clock_ms() + request->timeout_ms;
    pending->fn = fn;
    pending->data = data;
    kndl_request_target(request, pending->target);
    pending->is_command = kndl_family_of(request->service) == KNDL_FAMILY_COMMAND;
    add_pending(bus, pending);

    natsStatus s = natsConnection_PublishMsg(bus->nats, message);
    kndl_message_done(message);
    if (s == NATS_OK)
        return 0;
    pending = take_pending(bus, number);
    if (pending == NULL)
        return 0; /* the loss of the connection has ended it already */
    free(pending);
    return kndl_nats_fail(err, s, "a request");
}

int kndl_bus_post(struct kndl_bus *bus, const struct kndl_request *request, struct kndl_error *err)
{
    char trace[KNDL_TOKEN_CHARS_MAX + 1];
    natsMsg *message = NULL;

    if (make_message(bus, request, NULL, trace, &message, err) < 0)
        return -1;
    natsStatus s = natsConnection_PublishMsg(bus->nats, message);
    kndl_message_done(message);
    return s == NATS_OK ? 0 : kndl_nats_fail(err, s, "a post");
}
