#pragma once

/*
 * One program as it is now: its process, how often it was started again, when next.
 * All times are kndl_clock_ms(), but `since_wall_ms`.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "backoff.h"
#include "logbook.h"
#include "plan.h"

enum program_state {
    PROGRAM_STOPPED, /* wanted so */
    PROGRAM_WAITING, /* ended; starts at due_ms */
    PROGRAM_RUNNING,
    PROGRAM_STOPPING, /* was told to end; is killed at due_ms */
};

struct program {
    struct plan_program plan; /* owned */
    enum program_state state;
    bool again;      /* STOPPING: start anew once it ended */
    bool gone;       /* STOPPING: the plan has it no more; forget it once it ended */
    pid_t pid;       /* 0 if there is none */
    int last_status; /* of waitpid(), from its last end */
    int64_t started_ms;
    int64_t since_wall_ms; /* of the present state */
    int64_t due_ms;
    uint64_t restarts; /* starts that nobody asked for */
    struct backoff backoff;
    struct logbook *log; /* from its first start on, for all its processes */
};

/* Starts a program that has no process; one that cannot be started waits as if it had ended. */
void program_start(struct program *program, const char *logs, int64_t now_ms);

/* Tells it to end; without a process it is stopped at once. A repeat does nothing. */
void program_stop(struct program *program, int64_t now_ms);

/* Its process ended with `status`. */
void program_ended(struct program *program, int status, int64_t now_ms);

/* Does what is due; returns when something will be next, or INT64_MAX. */
int64_t program_tick(struct program *program, const char *logs, int64_t now_ms);

/* Forgets it; it has no process. */
void program_done(struct program *program);

const char *program_state_name(enum program_state state);
