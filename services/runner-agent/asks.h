#pragma once

/*
 * The questions of one Session that the Hub has not answered. Each is answered to its callback
 * once, however many are out, or dropped with the Session. Who asks bounds how often: nothing here
 * does.
 *
 * Belongs to the loop's thread.
 */

#include <stddef.h>

#include "hub.h"

struct asks;
struct session;

/* `note` is what was given with the question. */
typedef void (*session_answer_fn)(struct session *session, const char *note,
                                  const struct kndl_error *err, const ProtobufCMessage *response);

/* Of this Session, whom the callbacks get. */
struct asks *asks_new(struct hub *hub, struct session *session);
/* Drops what is out, without callbacks. NULL is allowed. */
void asks_free(struct asks *asks);

/* Asks. `note` (at most 63 bytes) is copied; fn may be NULL, and may free the asks. */
void asks_put(struct asks *asks, const struct hub_question *question, session_answer_fn fn,
              const char *note);
