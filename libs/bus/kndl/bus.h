#pragma once

/*
 * The bus: one connection to NATS, calls to services and Runners, live subjects.
 *
 * A bus belongs to the process and may be used from any thread. Callbacks run on threads of the
 * bus: they must not block, and hand over to the caller's own loop or queue.
 *
 * Subjects are derived from the contract and never typed. Every message is checked (size, depth,
 * elements, UTF-8, no NUL: kndl/guard.h) before it is unpacked. A call carries its actor, its
 * trace and its deadline; a server drops what is past it. While the connection is down, calls
 * fail with KNDL_UNAVAILABLE at once; nothing is buffered. A connection that closed for good
 * ends the process (the supervisor starts it again).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "kndl/error.h"
#include "kndl/rpc.h"
#include "kndl/slice.h"

struct kndl_bus;

/*
 * Credentials that change: asked at each connect and reconnect, on a thread of the bus that waits
 * for them. `data` must outlive the bus.
 */
struct kndl_bus_signer {
    char *(*jwt)(void *data); /* the user's JWT of now, for the bus to free; NULL: there is none */
    void (*sign)(void *data, struct kndl_slice nonce, uint8_t ret_signature[64]);
    void *data;
};

struct kndl_bus_options {
    const char *url;        /* nats://host:port */
    const char *creds_file; /* a user's credentials as kndl-init made them; NULL with a signer */
    const struct kndl_bus_signer *signer; /* NULL with a creds_file; copied */
    const char *user;                     /* the word of the service; "runner" for a Runner */
    const char *runner_id; /* NULL but for a Runner: its calls go by its own subjects */
    bool send_asap;        /* answers leave at once: for calls, not for bulk events */
};

/*
 * Connects; strings are copied. Fails with KNDL_UNAVAILABLE while the server is away and with
 * KNDL_UNAUTHENTICATED if it refuses the credentials.
 */
int kndl_bus_open(const struct kndl_bus_options *options, struct kndl_bus **ret_bus,
                  struct kndl_error *err);

/* Drains, so that what was taken is answered, and closes. */
void kndl_bus_close(struct kndl_bus *bus);

bool kndl_bus_is_connected(struct kndl_bus *bus);

/* One request, made from the descriptors. `data` is the packed request, borrowed for the call. */
struct kndl_request {
    const ProtobufCServiceDescriptor *service;
    const char *method;      /* its name, as in the .proto */
    const char *runner_id;   /* of a kndl.runner.v1 command: whom it is for; else NULL */
    const char *instance_id; /* of RedactorRawService: which copy; else NULL */
    const char *session_id;  /* of RedactorRawService; else NULL */
    struct kndl_actor actor;
    const char *trace; /* NULL: a new one */
    uint32_t timeout_ms;
    struct kndl_slice data;
};

/* What came back. On failure err says why and data is empty. Borrowed for the callback. */
struct kndl_reply {
    struct kndl_error err;
    struct kndl_slice data;
    const char *trace;
};

typedef void (*kndl_reply_fn)(const struct kndl_reply *reply, void *data);

/*
 * Sends a request; `fn` is called exactly once, on a thread of the bus, also for the timeout. If
 * this itself fails, it is not called.
 */
int kndl_bus_send(struct kndl_bus *bus, const struct kndl_request *request, kndl_reply_fn fn,
                  void *data, struct kndl_error *err);

/* Publishes without wanting an answer (a batch of deltas). May be lost. */
int kndl_bus_post(struct kndl_bus *bus, const struct kndl_request *request, struct kndl_error *err);

/*
 * Calls and waits, from a worker or task: actor, trace and what is left of the deadline are the
 * call's. The response is unpacked into call->arena. Fails into call->err with the answer's code;
 * KNDL_UNAVAILABLE if nobody serves it, KNDL_DEADLINE_EXCEEDED if no answer came (it may have
 * been done), KNDL_RESOURCE_EXHAUSTED if half of the workers wait for that service
 * and none of them is back within 50 ms.
 */
int kndl_bus_call(struct kndl_bus *bus, struct kndl_call *call,
                  const ProtobufCServiceDescriptor *service, const char *method,
                  const char *runner_id, const ProtobufCMessage *request,
                  ProtobufCMessage **ret_response);

/*
 * KNDL_CALL(V1, SecretsInternalService, PutMask, bus, call, &request, &response): the same with
 * types checked; `response` is a pointer to a pointer of the response's type. `descriptor` is
 * protobuf-c's, such as kndl__secrets__v1__secrets_internal_service__descriptor.
 */
#define KNDL_CALL(package, Method, descriptor, bus, call, request, ret_response)                   \
    ({                                                                                             \
        const package(Method##Request) *request_ = (request);                                      \
        package(Method##Response) **response_ = (ret_response);                                    \
        kndl_bus_call(bus, call, &(descriptor), #Method, NULL, &request_->base,                    \
                      (ProtobufCMessage **)response_);                                             \
    })

/* The live subjects of a Session: what viewers see now. Lost ones are found by number. */
enum kndl_live {
    KNDL_LIVE_EVENT,   /* kndl.gateway.v1.Live, from sessions */
    KNDL_LIVE_DELTA,   /* kndl.gateway.v1.LiveDeltas, from redactor */
    KNDL_LIVE_SUMMARY, /* kndl.sessions.v1.Session, from sessions: for lists */
};

int kndl_bus_publish_live(struct kndl_bus *bus, const char *session_id, enum kndl_live what,
                          const ProtobufCMessage *message, struct kndl_error *err);

/* A fact of the caller's own, kndl.fact.<user>.<what>: makes things sooner, may be lost. */
int kndl_bus_publish_fact(struct kndl_bus *bus, const char *what, const ProtobufCMessage *message,
                          struct kndl_error *err);

struct kndl_subscription;

/* A message that came by a subscription. Borrowed for the callback. */
typedef void (*kndl_message_fn)(const char *subject, struct kndl_slice data, void *user_data);

/* Subscribes to a Session's live subject; session_id NULL: every Session's. Not in a queue. */
int kndl_bus_subscribe_live(struct kndl_bus *bus, const char *session_id, enum kndl_live what,
                            kndl_message_fn fn, void *data, struct kndl_subscription **ret_sub,
                            struct kndl_error *err);

/* Subscribes to an owner's facts, "*" for all of them. */
int kndl_bus_subscribe_fact(struct kndl_bus *bus, const char *owner, const char *what,
                            kndl_message_fn fn, void *data, struct kndl_subscription **ret_sub,
                            struct kndl_error *err);

/* No callback of it runs after this returned. NULL is allowed. */
void kndl_bus_unsubscribe(struct kndl_subscription *sub);

/*
 * Serves commands to one Runner (kndl.runner.<runner>.cmd.*) on `fn`, for a process that works on
 * a loop: fn is called on a thread of the bus, hands over, and the loop answers with
 * kndl_bus_answer() exactly once.
 */
struct kndl_command {
    const ProtobufCMethodDescriptor *method;
    ProtobufCMessage *request; /* unpacked; freed by kndl_bus_answer */
    struct kndl_error err;     /* for the answer */
    void *reply;               /* the bus's own */
};
typedef void (*kndl_command_fn)(struct kndl_command *command, void *data);

int kndl_bus_serve_commands(struct kndl_bus *bus, const ProtobufCServiceDescriptor *service,
                            kndl_command_fn fn, void *data, struct kndl_error *err);

/* Answers with `response`, or with command->err where response is NULL, and frees the command.
 * From any thread. */
void kndl_bus_answer(struct kndl_bus *bus, struct kndl_command *command,
                     const ProtobufCMessage *response);
