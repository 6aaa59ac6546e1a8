#pragma once

/* How a deferred call is answered; shared with libs/testing, whose calls have no bus. */

#include "kndl/rpc.h"

/* What call->reply points to: makes the promise of the call that is being handled. */
struct kndl_deferral {
    struct kndl_promise *(*defer)(struct kndl_call *call);
};

/* The first member of a promise. `keep` frees it. */
struct kndl_promise {
    void (*keep)(struct kndl_promise *promise, const ProtobufCMessage *response,
                 const struct kndl_error *err);
};
