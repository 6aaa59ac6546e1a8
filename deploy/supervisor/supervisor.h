#pragma once

/*
 * The programs of a plan, kept running, and their logs. One thread; nothing here blocks but
 * supervisor_wait() and supervisor_shut_down().
 */

#include <stdint.h>
#include <sys/types.h>

#include "kndl/buf.h"
#include "kndl/error.h"
#include "plan.h"
#include "program.h"

struct supervisor {
    const char *plan_path; /* borrowed */
    char *socket;
    char *logs;
    struct program *programs; /* in the plan's order */
    size_t count;
};

/* Reads the plan; nothing is started yet. */
int supervisor_open(const char *plan_path, struct supervisor *ret_supervisor,
                    struct kndl_error *err);
void supervisor_close(struct supervisor *supervisor);

void supervisor_start_all(struct supervisor *supervisor);

/* Reaps every child that ended: the plan's, and orphans that came to this process. */
void supervisor_reap(struct supervisor *supervisor);

/* Waits until a program writes, one of these two has something to read (-1: none) or the time is
 * over (-1: never), and writes down what programs wrote. */
void supervisor_wait(struct supervisor *supervisor, int signals, int control, int timeout_ms);

/* Does what is due and returns the milliseconds to the next time, or -1. */
int supervisor_tick(struct supervisor *supervisor);

/* "status", "reload", or "stop", "start" and "restart" with a name; writes the answer's text. */
void supervisor_ask(struct supervisor *supervisor, const char *request, struct kndl_buf *answer);

/* Ends all in reverse order, then every orphan that is left. Returns when no child is left. */
void supervisor_shut_down(struct supervisor *supervisor);
