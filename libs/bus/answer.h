#pragma once

/* Answering, private to libs/bus. Any thread. */

#include "connection.h"

/* `response` packed, or `err` where it is NULL, to a reply subject that was checked. An error
 * that isn't the caller's fault says "internal error" outside and its cause in the log. */
void kndl_answer_send(struct kndl_bus *bus, const char *to, const char *trace,
                      const ProtobufCMessage *response, const struct kndl_error *err);
