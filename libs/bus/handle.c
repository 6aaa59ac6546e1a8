/* One message: from the subscription into a lane, and from there through its handler. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "kndl/clock.h"
#include "kndl/guard.h"
#include "kndl/id.h"
#include "kndl/log.h"
#include "kndl/mem.h"
#include "kndl/rpc.h"
#include "promise.h"
#include "server.h"

enum {
    TIMEOUT_MS_DEFAULT = 10000,
    TIMEOUT_MS_MAX = 120000,
    ACTOR_CHARS = 80,
    /* What people send to a service with locked arenas: locked memory is scarce. */
    SECRET_REQUEST_BYTES_MAX = 256 * 1024,
};

/* What outlives the handler where it deferred its answer. */
struct receipt {
    struct kndl_promise promise; /* first: a promise is a receipt */
    struct server *server;
    struct method_stats *stats;
    const char *method;
    int64_t taken_us;
    char to[KNDL_SUBJECT_BYTES_MAX]; /* "" where no answer is wanted */
    char trace[KNDL_TOKEN_CHARS_MAX + 1];
    char actor[ACTOR_CHARS];
};

struct handling {
    struct kndl_deferral deferral; /* first: call->reply points here */
    struct kndl_call call;
    struct receipt receipt;
    bool is_answered;
};

static int64_t read_number(const char *text, int64_t fallback)
{
    char *end;

    if (text == NULL)
        return fallback;
    long long number = strtoll(text, &end, 10);
    return end == text || *end != '\0' || number < 0 ? fallback : number;
}

/*
 * Until when somebody waits: so long from its arrival. Where the caller is on this host, its own
 * deadline says it too, which finds what the connection or a stopped process kept back. Wall
 * clocks are never compared: they may be wrong.
 */
static int64_t read_deadline(natsMsg *message)
{
    int64_t now_ms = kndl_clock_ms();
    int64_t left =
        read_number(kndl_message_header(message, KNDL_HEADER_TIMEOUT), TIMEOUT_MS_DEFAULT);
    const char *deadline = kndl_message_header(message, KNDL_HEADER_DEADLINE);
    size_t id_size = strlen(kndl_boot_id());

    if (left > TIMEOUT_MS_MAX)
        left = TIMEOUT_MS_MAX;
    if (deadline != NULL && id_size > 0 && strncmp(deadline, kndl_boot_id(), id_size) == 0 &&
        deadline[id_size] == ' ') {
        int64_t until_ms = read_number(deadline + id_size + 1, now_ms + left);
        return until_ms < now_ms + left ? until_ms : now_ms + left;
    }
    return now_ms + left;
}

static void read_trace(natsMsg *message, char trace[KNDL_TOKEN_CHARS_MAX + 1])
{
    const char *given = kndl_message_header(message, KNDL_HEADER_TRACE);

    if (kndl_token_is_plain(given))
        memcpy(trace, given, strlen(given) + 1);
    else
        kndl_id_new(trace);
}

/* FNV-1a of a token of the subject; 0 if there is none. */
static uint32_t hash_token(const char *subject, unsigned index)
{
    char token[KNDL_TOKEN_CHARS_MAX + 1];
    uint32_t hash = 2166136261u;

    if (!kndl_subject_token(subject, index, token))
        return 0;
    for (const char *c = token; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    return hash == 0 ? 1 : hash;
}

/* One Session, one worker. NULL: the subject names no Session. */
static struct lane *raw_lane(struct server *server, const char *subject)
{
    uint32_t hash = hash_token(subject, server->service->pin_token - 1);

    return hash == 0 ? NULL : &server->raw[hash % KNDL_RAW_WORKERS];
}

/* Which Runner a message comes from, as its subject proves. */
static uint32_t runner_of(const struct family *family, const char *subject)
{
    if (family->kind == KNDL_FAMILY_RPC)
        return 0;
    return hash_token(subject, family->kind == KNDL_FAMILY_RAW ? 3 : 2);
}

static void refuse(struct server *server, natsMsg *message, enum kndl_code code, const char *why)
{
    const char *to = natsMsg_GetReply(message);
    char trace[KNDL_TOKEN_CHARS_MAX + 1];
    struct kndl_error err;

    kndl_fail(&err, code, "%s, a part of the Hub, %s", server->service->name, why);
    read_trace(message, trace);
    if (to != NULL)
        kndl_answer_send(server->bus, to, trace, NULL, &err);
}

/* Once a second at most: whoever tries it must not fill the log. */
static void log_astray(struct server *server, const char *subject, const char *to)
{
    int64_t now_ms = kndl_clock_ms();
    int64_t last_ms = atomic_load(&server->astray_logged_ms);

    atomic_fetch_add(&server->astray_count, 1);
    if (last_ms != 0 && now_ms - last_ms < 1000)
        return;
    atomic_store(&server->astray_logged_ms, now_ms);
    kndl_log(KNDL_WARNING, "dropped a call whose answer would go astray",
             KNDL_STR("subject", subject), KNDL_STR("reply", to),
             KNDL_U64("count", atomic_load(&server->astray_count)));
}

void server_take(natsConnection *nats, natsSubscription *sub, natsMsg *message, void *data)
{
    struct family *family = data;
    struct server *server = family->server;
    const char *subject = natsMsg_GetSubject(message);
    const char *to = natsMsg_GetReply(message);
    const struct job job = {
        .message = message,
        .family = family,
        .deadline_ms = read_deadline(message),
        .taken_us = kndl_clock_us(),
        .is_shared = family->kind == KNDL_FAMILY_RUNNER,
        .runner = runner_of(family, subject),
    };

    (void)nats;
    (void)sub;
    if (to != NULL &&
        (strlen(to) >= KNDL_SUBJECT_BYTES_MAX || !kndl_reply_is_allowed(subject, to))) {
        log_astray(server, subject, to);
        kndl_message_done(message);
        return;
    }
    struct lane *lane = family->kind == KNDL_FAMILY_RAW && server->service->pin_token > 0
                            ? raw_lane(server, subject)
                            : &server->calls;
    if (lane == NULL) {
        kndl_message_done(message);
        return;
    }
    switch (lane_put(lane, &job)) {
    case LANE_TAKEN:
        return;
    case LANE_FULL:
        refuse(server, message, KNDL_RESOURCE_EXHAUSTED, "is busy; try again in a moment");
        break;
    case LANE_NOT_READY:
        refuse(server, message, KNDL_UNAVAILABLE, "is just starting; try again in a moment");
        break;
    }
    kndl_message_done(message);
}

static void log_call(const struct receipt *receipt, enum kndl_code code)
{
    kndl_log(receipt->to[0] == '\0' && code == KNDL_OK ? KNDL_DEBUG : KNDL_INFO, "call",
             KNDL_STR("method", receipt->method), KNDL_I64("code", code),
             KNDL_I64("ms", (kndl_clock_us() - receipt->taken_us) / 1000),
             KNDL_STR("actor", receipt->actor), KNDL_STR("trace", receipt->trace));
}

static void answer(const struct receipt *receipt, const ProtobufCMessage *response,
                   const struct kndl_error *err)
{
    enum kndl_code code = response != NULL       ? KNDL_OK
                          : err->code == KNDL_OK ? KNDL_INTERNAL
                                                 : err->code;

    if (receipt->to[0] != '\0')
        kndl_answer_send(receipt->server->bus, receipt->to, receipt->trace, response, err);
    if (receipt->stats != NULL) {
        atomic_fetch_add(&receipt->stats->requests, 1);
        atomic_fetch_add(&receipt->stats->busy_us,
                         (unsigned long long)(kndl_clock_us() - receipt->taken_us));
        if (code != KNDL_OK) {
            atomic_fetch_add(&receipt->stats->errors, 1);
            atomic_store(&receipt->stats->last_code, (int)code);
        }
    }
    log_call(receipt, code);
}

static void keep(struct kndl_promise *promise, const ProtobufCMessage *response,
                 const struct kndl_error *err)
{
    struct receipt *receipt = (struct receipt *)promise;
    struct server *server = receipt->server;

    answer(receipt, response, err);
    free(receipt);
    pthread_mutex_lock(&server->lock);
    server->promises--;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

static struct kndl_promise *defer(struct kndl_call *call)
{
    struct handling *handling = call->reply;
    struct receipt *receipt = kndl_new0(struct receipt);
    struct server *server = handling->receipt.server;

    *receipt = handling->receipt;
    receipt->promise.keep = keep;
    pthread_mutex_lock(&server->lock);
    server->promises++;
    pthread_mutex_unlock(&server->lock);
    return &receipt->promise;
}

static void send_answer(const ProtobufCMessage *response, void *data)
{
    struct kndl_call *call = data;
    struct handling *handling = call->reply;

    handling->is_answered = true;
    if (!call->deferred)
        answer(&handling->receipt, response, &call->err);
}

/* Splits kind/id into the call's actor; its id points into `text`. */
static bool read_actor(char *text, struct kndl_actor *ret_actor)
{
    char *slash = strchr(text, '/');

    if (slash == NULL || !kndl_token_is_plain(slash + 1))
        return false;
    size_t size = (size_t)(slash - text);
    if (size == strlen("person") && memcmp(text, "person", size) == 0)
        ret_actor->kind = KNDL_PERSON;
    else if (size == strlen("runner") && memcmp(text, "runner", size) == 0)
        ret_actor->kind = KNDL_RUNNER;
    else if (size == strlen("service") && memcmp(text, "service", size) == 0)
        ret_actor->kind = KNDL_SERVICE;
    else
        return false;
    ret_actor->id = slash + 1;
    return true;
}

static bool is_internal(const ProtobufCServiceDescriptor *service)
{
    return strstr(service->short_name, "InternalService") != NULL;
}

/* Who asks: by the subject where that proves it, else by what the asking service vouches for. */
static int find_actor(const struct job *job, struct kndl_call *call)
{
    const char *given = kndl_message_header(job->message, KNDL_HEADER_ACTOR);
    const char *subject = natsMsg_GetSubject(job->message);
    bool is_raw = job->family->kind == KNDL_FAMILY_RAW;
    char token[KNDL_TOKEN_CHARS_MAX + 1];

    if (job->family->kind != KNDL_FAMILY_RPC) {
        if (!kndl_subject_token(subject, is_raw ? 3 : 2, token))
            return kndl_fail(&call->err, KNDL_UNAUTHENTICATED, "the subject names no Runner");
        call->runner_id = kndl_arena_copy(call->arena, token);
        call->actor.kind = KNDL_RUNNER;
        call->actor.id = call->runner_id;
        if (is_raw) {
            if (!kndl_subject_token(subject, 4, token))
                return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT, "the subject names no Session");
            call->session_id = kndl_arena_copy(call->arena, token);
        }
        return 0;
    }
    if (given != NULL && strlen(given) < ACTOR_CHARS &&
        read_actor(kndl_arena_copy(call->arena, given), &call->actor) &&
        (call->actor.kind == KNDL_PERSON || is_internal(job->family->service->descriptor)))
        return 0;
    return kndl_fail(&call->err, KNDL_UNAUTHENTICATED,
                     is_internal(job->family->service->descriptor) ? "nobody asks"
                                                                   : "no person asks");
}

static const ProtobufCMethodDescriptor *find_method(const struct job *job)
{
    const ProtobufCServiceDescriptor *service = job->family->service->descriptor;
    const char *name = strrchr(natsMsg_GetSubject(job->message), '.') + 1;

    if (job->family->kind == KNDL_FAMILY_RAW)
        return &service->methods[0];
    return protobuf_c_service_descriptor_get_method_by_name(service, name);
}

static void name_actor(struct receipt *receipt, const struct kndl_actor *actor)
{
    static const char *const kinds[] = {
        [KNDL_PERSON] = "person",
        [KNDL_RUNNER] = "runner",
        [KNDL_SERVICE] = "service",
    };

    if (actor->id != NULL)
        snprintf(receipt->actor, sizeof receipt->actor, "%s/%s", kinds[actor->kind], actor->id);
}

/* All that must be right before the handler sees it; the request lives in the call's arena. */
static int read_call(const struct job *job, struct handling *handling,
                     ProtobufCMessage **ret_request)
{
    struct kndl_call *call = &handling->call;
    const ProtobufCServiceDescriptor *service = job->family->service->descriptor;
    ProtobufCAllocator allocator = kndl_arena_allocator(call->arena);

    call->method = find_method(job);
    if (call->method == NULL)
        return kndl_fail(&call->err, KNDL_UNIMPLEMENTED, "%s has no such method", service->name);
    handling->receipt.method = call->method->name;
    handling->receipt.stats = &job->family->stats[call->method - service->methods];
    if (find_actor(job, call) < 0)
        return -1;
    name_actor(&handling->receipt, &call->actor);
    kndl_log_context(call->trace, handling->receipt.actor);
    if (job->family->server->service->arena == KNDL_ARENA_SECRET &&
        job->family->kind == KNDL_FAMILY_RPC && !is_internal(service) &&
        kndl_message_data(job->message).size > SECRET_REQUEST_BYTES_MAX)
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT,
                         "the request has %zu bytes; the most is %d",
                         kndl_message_data(job->message).size, SECRET_REQUEST_BYTES_MAX);
    return kndl_guard_unpack(call->method->input, kndl_message_data(job->message), &allocator,
                             ret_request, &call->err);
}

void server_handle(struct server *server, const struct job *job, void *state,
                   struct kndl_arena *arena)
{
    const char *to = natsMsg_GetReply(job->message);
    ProtobufCService *service = job->family->service;
    ProtobufCMessage *request;
    struct handling handling = {
        .deferral = {.defer = defer},
        .call = {.state = state, .arena = arena, .deadline_ms = job->deadline_ms},
        .receipt = {.server = server, .method = "", .taken_us = job->taken_us},
    };
    struct kndl_call *call = &handling.call;

    if (job->deadline_ms <= kndl_clock_ms()) {
        kndl_log(KNDL_INFO, "dropped a call that nobody waits for any more",
                 KNDL_STR("subject", natsMsg_GetSubject(job->message)));
        return;
    }
    if (to != NULL)
        memcpy(handling.receipt.to, to, strlen(to) + 1);
    read_trace(job->message, handling.receipt.trace);
    call->trace = handling.receipt.trace;
    call->reply = &handling;
    if (read_call(job, &handling, &request) < 0)
        send_answer(NULL, call);
    else
        service->invoke(service, (unsigned)(call->method - service->descriptor->methods), request,
                        send_answer, call);
    if (!handling.is_answered)
        abort();
    kndl_log_context(NULL, NULL);
    if (call->wake != NULL)
        server_wake(server, call->wake);
}
