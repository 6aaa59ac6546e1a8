#pragma once

/*
 * What this Runner asks of the Hub, with answers on the loop. A question may be repeated until it
 * got an answer that another try would not change.
 *
 * Belongs to the loop's thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "kndl/error.h"

struct kndl_bus;
struct kndl_loop;
struct hub;
struct hub_ask;

struct hub *hub_new(struct kndl_loop *loop, struct kndl_bus *bus, const char *runner_id);
/* The bus must be closed before, and the loop freed after. */
void hub_free(struct hub *hub);

struct hub_question {
    const ProtobufCServiceDescriptor *service;
    const char *method;
    const ProtobufCMessage *request; /* packed at once */
    const char *instance_id;         /* of RedactorRawService, else NULL */
    const char *session_id;          /* of RedactorRawService, else NULL */
    uint32_t timeout_ms;             /* 0: five seconds */
    bool repeat; /* while the Hub is away, busy or silent, with growing pauses up to 5 s */
};

/* On the loop, once. `response` is NULL on failure; both are borrowed, and wiped afterwards. */
typedef void (*hub_fn)(void *data, const struct kndl_error *err, const ProtobufCMessage *response);

/* Never fails here. The ask is gone once fn was called. */
struct hub_ask *hub_ask(struct hub *hub, const struct hub_question *question, hub_fn fn,
                        void *data);

/* fn is not called any more. NULL is allowed. */
void hub_drop(struct hub_ask *ask);

/* Sends what has no answer (deltas). May be lost. */
void hub_post(struct hub *hub, const struct hub_question *question);
