#pragma once

/*
 * Commands for Runners. A Runner answers "taken", at once; what comes of it is a report to
 * SessionsRunnerService. A command may be repeated: the Runner knows it by its ids.
 */

#include <stdbool.h>

struct delivery;
struct kndl_bus;
struct kndl_call;
struct kndl_error;

/*
 * Sends the delivery's command and waits a second at most. If it was not taken it fails into
 * call->err; KNDL_DEADLINE_EXCEEDED alone means that it may have been.
 */
int runners_command(struct kndl_bus *bus, struct kndl_call *call, const struct delivery *delivery);

/* Says that a Runner was removed, so that redactor drops its streams at once. May be lost: every
 * row refuses it all the same. */
void runners_publish_removed(struct kndl_bus *bus, const char *runner_id);
