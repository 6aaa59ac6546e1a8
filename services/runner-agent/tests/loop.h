#pragma once

/* A loop of the test's own, by poll(2): runs until `done` says so, and ends the test after a
 * minute. It also reaps, as the Runner does on SIGCHLD. */

#include <stdbool.h>

struct children;
struct kndl_loop;

void loop_run(struct kndl_loop *loop, struct children *children, const bool *done);
