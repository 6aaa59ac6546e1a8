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
struct runners;

int runners_open(struct kndl_bus *bus, struct runners **ret_runners, struct kndl_error *err);
void runners_close(struct runners *runners);

/*
 * Sends the delivery's command and waits a second at most. If it was not taken it fails into
 * call->err; KNDL_DEADLINE_EXCEEDED alone means that it may have been.
 */
int runners_command(struct runners *runners, struct kndl_call *call,
                    const struct delivery *delivery);

/* Says that a Runner was removed, so that redactor drops its streams at once. May be lost: every
 * row refuses it all the same. */
void runners_publish_removed(struct runners *runners, const char *runner_id);
