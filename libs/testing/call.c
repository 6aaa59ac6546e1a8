/* A worker without a bus: unpack, call, pack. */

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "child.h"
#include "kndl/clock.h"
#include "kndl/guard.h"
#include "kndl/mem.h"
#include "kndl/testing.h"
#include "promise.h"

enum { CALL_SECONDS_MAX = 30 };

/* Shared by the call and the promise it may have become. */
struct reply {
    struct kndl_deferral deferral; /* first: call->reply points here */
    struct kndl_promise promise;
    struct kndl_call call;
    pthread_mutex_t lock; /* for all below */
    pthread_cond_t kept_cond;
    bool is_kept;
    struct kndl_error err;
    ProtobufCMessage *response;
};

/* Packs and unpacks, so that a test sees what a caller on the bus would. */
static ProtobufCMessage *carry(const ProtobufCMessage *message, ProtobufCAllocator *allocator)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    uint8_t *bytes = kndl_alloc(size + 1, 1);
    ProtobufCMessage *copy = NULL;
    struct kndl_error err;

    protobuf_c_message_pack(message, bytes);
    if (kndl_guard_unpack(message->descriptor, kndl_slice(bytes, size), allocator, &copy, &err) < 0)
        child_die("the bus would refuse the message: %s", err.message);
    free(bytes);
    return copy;
}

static void settle(struct reply *reply, const ProtobufCMessage *response,
                   const struct kndl_error *err)
{
    pthread_mutex_lock(&reply->lock);
    reply->is_kept = true;
    if (response != NULL)
        reply->response = carry(response, NULL);
    else
        reply->err = *err;
    pthread_cond_signal(&reply->kept_cond);
    pthread_mutex_unlock(&reply->lock);
}

static void keep(struct kndl_promise *promise, const ProtobufCMessage *response,
                 const struct kndl_error *err)
{
    settle((struct reply *)((char *)promise - offsetof(struct reply, promise)), response, err);
}

static struct kndl_promise *defer(struct kndl_call *call)
{
    struct reply *reply = call->reply;

    reply->promise.keep = keep;
    return &reply->promise;
}

static void take_response(const ProtobufCMessage *message, void *data)
{
    struct kndl_call *call = data;

    if (!call->deferred)
        settle(call->reply, message, &call->err);
}

/* A promise may be kept by another thread, later. */
static void wait_until_kept(struct reply *reply)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += CALL_SECONDS_MAX;
    pthread_mutex_lock(&reply->lock);
    while (!reply->is_kept)
        if (pthread_cond_timedwait(&reply->kept_cond, &reply->lock, &until) != 0)
            child_die("the promise of %s was not kept", reply->call.method->name);
    pthread_mutex_unlock(&reply->lock);
}

static struct kndl_test_answer call_as(ProtobufCService *service, const struct kndl_call *as,
                                       const char *method, const ProtobufCMessage *request)
{
    const ProtobufCMethodDescriptor *found =
        protobuf_c_service_descriptor_get_method_by_name(service->descriptor, method);
    struct kndl_arena *arena = kndl_arena_new(KNDL_ARENA_PLAIN);
    ProtobufCAllocator allocator = kndl_arena_allocator(arena);
    struct reply *reply = kndl_new0(struct reply);

    if (found == NULL || found->input != request->descriptor)
        child_die("%s has no method %s with that request", service->descriptor->name, method);
    pthread_mutex_init(&reply->lock, NULL);
    pthread_cond_init(&reply->kept_cond, NULL);
    reply->deferral.defer = defer;
    reply->call = *as;
    reply->call.method = found;
    reply->call.arena = arena;
    reply->call.trace = "test";
    reply->call.deadline_ms = kndl_clock_ms() + CALL_SECONDS_MAX * 1000;
    reply->call.reply = reply;

    service->invoke(service, (unsigned)(found - service->descriptor->methods),
                    carry(request, &allocator), take_response, &reply->call);
    wait_until_kept(reply);
    const struct kndl_test_answer answer = {reply->err, reply->response, reply->call.wake};
    pthread_cond_destroy(&reply->kept_cond);
    pthread_mutex_destroy(&reply->lock);
    free(reply);
    kndl_arena_free(arena);
    return answer;
}

struct kndl_test_answer kndl_test_call(ProtobufCService *service, void *state, const char *person,
                                       const char *method, const ProtobufCMessage *request)
{
    struct kndl_call as = {.state = state};

    as.actor.kind = KNDL_PERSON;
    as.actor.id = person;
    return call_as(service, &as, method, request);
}

struct kndl_test_answer kndl_test_runner_call(ProtobufCService *service, void *state,
                                              const char *runner, const char *method,
                                              const ProtobufCMessage *request)
{
    struct kndl_call as = {.state = state, .runner_id = runner};

    as.actor.kind = KNDL_RUNNER;
    as.actor.id = runner;
    return call_as(service, &as, method, request);
}

struct kndl_test_answer kndl_test_raw_call(ProtobufCService *service, void *state,
                                           const char *runner, const char *session,
                                           const ProtobufCMessage *request)
{
    struct kndl_call as = {.state = state, .runner_id = runner, .session_id = session};

    as.actor.kind = KNDL_RUNNER;
    as.actor.id = runner;
    return call_as(service, &as, service->descriptor->methods[0].name, request);
}

void kndl_test_done(struct kndl_test_answer *answer)
{
    if (answer->response != NULL)
        protobuf_c_message_free_unpacked(answer->response, NULL);
    answer->response = NULL;
}

struct kndl_error kndl_test_task(const struct kndl_task *task, void *state)
{
    struct kndl_call call = {.state = state, .trace = "test"};

    call.actor.kind = KNDL_SERVICE;
    call.actor.id = task->name;
    call.arena = kndl_arena_new(KNDL_ARENA_PLAIN);
    if (task->run(&call) == 0 && call.err.code != KNDL_OK)
        child_die("task %s succeeded with an error: %s", task->name, call.err.message);
    kndl_arena_free(call.arena);
    return call.err;
}
