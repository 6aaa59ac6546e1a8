/* Asking and waiting, from a worker or a task; and how many workers may wait for whom. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "connection.h"
#include "kndl/clock.h"
#include "kndl/guard.h"
#include "subject.h"

enum { CALL_MS_MAX = 10000, PLACE_MS_MAX = 50 };

/* A worker that waits. The answer is copied into its arena while it sleeps. */
struct waiter {
    pthread_mutex_t lock;
    pthread_cond_t done_cond;
    struct kndl_arena *arena;
    bool is_done;
    struct kndl_error err;
    struct kndl_slice data;
};

static void wake_waiter(const struct kndl_reply *reply, void *data)
{
    struct waiter *waiter = data;

    pthread_mutex_lock(&waiter->lock);
    waiter->err = reply->err;
    if (reply->data.size > 0) {
        void *copy = kndl_arena_alloc(waiter->arena, reply->data.size);
        memcpy(copy, reply->data.data, reply->data.size);
        waiter->data = kndl_slice(copy, reply->data.size);
    }
    waiter->is_done = true;
    pthread_cond_signal(&waiter->done_cond);
    pthread_mutex_unlock(&waiter->lock);
}

static int wait_for_answer(struct kndl_bus *bus, const struct kndl_request *request,
                           struct kndl_arena *arena, struct kndl_slice *ret_data,
                           struct kndl_error *err)
{
    struct waiter waiter = {.lock = PTHREAD_MUTEX_INITIALIZER, .arena = arena};
    int status;

    pthread_cond_init(&waiter.done_cond, NULL);
    status = kndl_bus_send(bus, request, wake_waiter, &waiter, err);
    if (status == 0) {
        pthread_mutex_lock(&waiter.lock);
        while (!waiter.is_done)
            pthread_cond_wait(&waiter.done_cond, &waiter.lock);
        pthread_mutex_unlock(&waiter.lock);
        *ret_data = waiter.data;
        if (waiter.err.code != KNDL_OK) {
            *err = waiter.err;
            status = -1;
        }
    }
    pthread_cond_destroy(&waiter.done_cond);
    return status;
}

/* Where workers are counted that wait for this target, with the lock held; a free place if none
 * does. NULL: there is none. */
static struct target *find_target(struct kndl_bus *bus, const char *name)
{
    struct target *target = NULL;

    for (size_t i = 0; i < KNDL_TARGETS_MAX; i++) {
        struct target *at = &bus->targets[i];
        if (at->waiting > 0 && strcmp(at->name, name) == 0)
            return at;
        if (at->waiting == 0 && target == NULL)
            target = at;
    }
    return target;
}

static bool has_place(const struct kndl_bus *bus, const struct target *target)
{
    return target != NULL && target->waiting < bus->waits_max;
}

/* Waits, with the lock held, until less than half of the workers wait for the target; NULL if none
 * of them comes back for so long. */
static struct target *wait_for_place(struct kndl_bus *bus, const char *name)
{
    struct timespec until = kndl_wait_until(PLACE_MS_MAX);
    struct target *target = find_target(bus, name);
    uint64_t returned = target == NULL ? 0 : target->returned;

    while (!has_place(bus, target)) {
        bool is_over = pthread_cond_timedwait(&bus->place_free, &bus->lock, &until) != 0;
        target = find_target(bus, name);
        if (!is_over || has_place(bus, target))
            continue;
        if (target == NULL || target->returned == returned)
            return NULL;
        /* Others were quicker. */
        returned = target->returned;
        until = kndl_wait_until(PLACE_MS_MAX);
    }
    return target;
}

/*
 * Counts a worker in. Where half of them wait for that target already, one of those is mostly back
 * in a millisecond: only a target that is really slow is refused.
 */
static int begin_wait(struct kndl_bus *bus, const char *name, struct target **ret_target,
                      struct kndl_error *err)
{
    pthread_mutex_lock(&bus->lock);
    struct target *target = wait_for_place(bus, name);
    if (target != NULL) {
        snprintf(target->name, sizeof target->name, "%s", name);
        target->waiting++;
    }
    pthread_mutex_unlock(&bus->lock);
    if (target == NULL)
        return kndl_fail(err, KNDL_RESOURCE_EXHAUSTED, "%s is slow to answer; try again", name);
    *ret_target = target;
    return 0;
}

static void end_wait(struct kndl_bus *bus, struct target *target)
{
    pthread_mutex_lock(&bus->lock);
    target->waiting--;
    target->returned++;
    pthread_cond_broadcast(&bus->place_free);
    pthread_mutex_unlock(&bus->lock);
}

/* What is left for a call made within `call`; 0: nothing. */
static uint32_t time_left(const struct kndl_call *call)
{
    int64_t left = CALL_MS_MAX;

    if (call->deadline_ms != 0)
        left = call->deadline_ms - kndl_clock_ms();
    if (left <= 0)
        return 0;
    return (uint32_t)(left > CALL_MS_MAX ? CALL_MS_MAX : left);
}

int kndl_bus_call(struct kndl_bus *bus, struct kndl_call *call,
                  const ProtobufCServiceDescriptor *service, const char *method,
                  const char *runner_id, const ProtobufCMessage *message,
                  ProtobufCMessage **ret_response)
{
    const ProtobufCMethodDescriptor *found =
        protobuf_c_service_descriptor_get_method_by_name(service, method);
    ProtobufCAllocator allocator = kndl_arena_allocator(call->arena);
    char name[KNDL_TOKEN_CHARS_MAX + 1] = "";
    struct target *target = NULL;
    struct kndl_slice data = {0};

    if (found == NULL || found->input != message->descriptor)
        abort();
    size_t size = protobuf_c_message_get_packed_size(message);
    if (size > KNDL_MESSAGE_BYTES_MAX)
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT,
                         "the request has %zu bytes; the most is %d", size, KNDL_MESSAGE_BYTES_MAX);
    uint8_t *bytes = kndl_arena_alloc(call->arena, size);
    protobuf_c_message_pack(message, bytes);

    const struct kndl_request request = {
        .service = service,
        .method = method,
        .runner_id = runner_id,
        .actor = call->actor,
        .trace = call->trace,
        .timeout_ms = time_left(call),
        .data = kndl_slice(bytes, size),
    };
    if (request.timeout_ms == 0)
        return kndl_fail(&call->err, KNDL_DEADLINE_EXCEEDED, "the time for this call is over");
    if (kndl_family_of(service) == KNDL_FAMILY_COMMAND && !kndl_token_is_plain(runner_id))
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT, "the Runner's id is none");
    kndl_request_target(&request, name);

    /* A task's thread is nobody's worker. */
    if (call->reply != NULL && bus->waits_max > 0 && begin_wait(bus, name, &target, &call->err) < 0)
        return -1;
    int status = wait_for_answer(bus, &request, call->arena, &data, &call->err);
    if (target != NULL)
        end_wait(bus, target);
    if (status < 0)
        return -1;
    if (kndl_guard_unpack(found->output, data, &allocator, ret_response, &call->err) < 0) {
        kndl_wrap(&call->err, "the answer of %s", name);
        call->err.code = KNDL_INTERNAL;
        return -1;
    }
    return 0;
}
