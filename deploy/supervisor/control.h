#pragma once

/*
 * The supervisor's socket: datagrams of text, one request each, answered to whoever sent it. Who
 * may write to the socket's file (root) may ask.
 */

#include "kndl/buf.h"
#include "kndl/error.h"

enum { CONTROL_REQUEST_BYTES_MAX = 256, CONTROL_ANSWER_BYTES_MAX = 64 * 1024 };

/* Returns the listening socket, or -1. Replaces what stands at the path. */
int control_listen(const char *path, struct kndl_error *err);

typedef void (*control_answer_fn)(void *context, const char *request, struct kndl_buf *answer);

/* Answers every request that waits. */
void control_serve(int fd, control_answer_fn fn, void *context);

/* Asks a supervisor and appends what it answered; fails with KNDL_UNAVAILABLE after 5 s. */
int control_ask(const char *path, const char *request, struct kndl_buf *answer,
                struct kndl_error *err);
