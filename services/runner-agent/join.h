#pragma once

/*
 * The way onto the Hub, at the start: the first credential, then NATS. Each is tried until the Hub
 * is there and takes this Runner, with pauses that double to 5 s and are spread, so that Runners
 * that lost the same Hub do not come back as one.
 */

#include <stdbool.h>

#include "kndl/error.h"

struct runner;

/*
 * Runs the loop until this Runner is on the Hub (runner->id and runner->bus are set then), SIGTERM
 * came (*ret_stopped) or the loop was stopped otherwise. Fails with what another try would not
 * change, as credential_begin() and kndl_bus_open() do. Nothing else may be on the loop yet: a try
 * blocks it.
 */
int join_hub(struct runner *runner, bool *ret_stopped, struct kndl_error *err);
