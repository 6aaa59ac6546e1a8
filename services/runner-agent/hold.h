#pragma once

/*
 * The process that keeps the relay's listening socket of one Sandbox open, from its start to its
 * stop, so that a mod's request waits in the backlog while the Runner is away instead of being
 * refused, and no guest can take the port meanwhile.
 */

#include <stdint.h>
#include <sys/types.h>

#include "box.h"
#include "kndl/error.h"

/* Starts `runner-agent hold` for the namespace of `init` and waits until it listens. In a verb
 * child. */
int hold_start(const struct box *box, pid_t init, uint16_t port, struct kndl_error *err);

/* Ends it; none is fine. */
void hold_stop(const struct box *box);

/* A copy of its socket. Does not block; in any process. NOT_FOUND: nobody holds one. */
int hold_socket(const char *name, int *ret_fd, struct kndl_error *err);
