#pragma once

/*
 * What Sessions say now: one subscription for each Session and kind, however many listen. Messages
 * are checked and unpacked once, on the loop.
 */

#include "gateway.h"

struct live_listener;

/* `message` is a kndl.gateway.v1.Live, LiveDeltas or a kndl.sessions.v1.Session, by `what`. It
 * and `data` (its bytes) are borrowed, in gateway->arena. A listener may leave in its callback. */
typedef void (*live_fn)(const ProtobufCMessage *message, struct kndl_slice data, void *user_data);

/* session_id NULL: every Session. Never fails: while the bus is away nothing comes. */
struct live_listener *live_join(struct gateway *gateway, const char *session_id,
                                enum kndl_live what, live_fn fn, void *user_data);

/* NULL is allowed. */
void live_leave(struct live_listener *listener);

void live_open(struct gateway *gateway);
/* All have left. */
void live_close(struct gateway *gateway);
