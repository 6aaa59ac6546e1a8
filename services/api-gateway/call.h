#pragma once

/*
 * A call of a public method: Connect's unary POST, from the request to the answer. The bytes are
 * checked against the budget and forwarded; only JSON, ListEvents and SignOut are looked into.
 */

#include "ask.h"
#include "kndl/buf.h"
#include "kndl/id.h"
#include "methods.h"
#include "people.h"
#include "request_data.h"

struct call {
    struct request_data base;
    struct gateway *gateway;
    struct kndl_web_request *request;
    const ProtobufCServiceDescriptor *service;
    const ProtobufCMethodDescriptor *descriptor;
    const struct kndl_public *row;
    char trace[KNDL_ID_SIZE];
    bool is_json;
    struct principal principal;
    int64_t deadline_ms; /* kndl_clock_ms() */
    struct ask *ask;     /* on its way */
    struct wait *wait;   /* ListEvents with wait_ms */
    struct kndl_timer *delay;
    struct kndl_error refusal; /* answered after the delay */
    bool has_packed;
    struct kndl_buf packed; /* what is forwarded, where that isn't the body as it came */
};

/* The request is a POST on a path of the API. Owned by the request from here on. */
void call_begin(struct gateway *gateway, struct kndl_web_request *request, const char *trace);

/* The client went away. */
void call_abort(struct call *call);

/* For wait.c: asks the owner (again); what comes is for the wait first. */
void call_forward(struct call *call);
