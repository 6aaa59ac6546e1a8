#pragma once

/* A request to a service, whose answer comes to the loop. */

#include "gateway.h"

struct ask;

/* Borrowed for the callback. */
typedef void (*ask_fn)(const struct kndl_reply *reply, void *data);

/*
 * Sends; fn is called once, later, on the loop, also if sending failed, unless it is cancelled
 * first. The handle is over when fn was called.
 */
struct ask *ask_send(struct gateway *gateway, const struct kndl_request *request, ask_fn fn,
                     void *data);

/* fn will not be called. NULL is allowed. */
void ask_cancel(struct ask *ask);
