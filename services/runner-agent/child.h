#pragma once

/*
 * `runner-agent <verb>` children: what may block for more than 10 ms runs in a process of its own
 * and says what came of it over a socket, with file descriptors if need be. The other end, inside
 * the child, is verb.h.
 *
 * All belongs to the loop's thread. A child's environment is clean (PATH and the settings of
 * sandbox_env); arguments that are not secret go in argv, secrets on stdin. Nothing here waits.
 *
 * Their ends, and those of all other processes, are taken by reaper.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "kndl/error.h"
#include "kndl/slice.h"

struct kndl_loop;
struct reaper;
struct children;
struct child;

/* In main(), before the first thread is there: keeps SIGCHLD for children_new(), and no process of
 * this Runner ever leaves a core, which would lay tokens on a disk. */
void children_prepare(void);

struct children *children_new(struct kndl_loop *loop);
/* Kills what is left and forgets it, without callbacks. */
void children_free(struct children *children);

struct kndl_loop *children_loop(const struct children *children);
/* Lives as long as `children`. */
struct reaper *children_reaper(const struct children *children);

enum { CHILD_VALUES_MAX = 64, CHILD_FDS_MAX = 4, CHILD_MESSAGE_BYTES_MAX = 48 * 1024 };

/* What a child says: a word, and values by name. Borrowed for the length of the callback. */
struct child_message {
    const char *word;
    const char *names[CHILD_VALUES_MAX];
    const char *values[CHILD_VALUES_MAX];
    size_t count;
    int fds[CHILD_FDS_MAX]; /* closed after the callback unless it put -1 in their place */
    size_t fd_count;
};

/* The value, "" where there is none. */
const char *child_value(const struct child_message *message, const char *name);
uint64_t child_number(const struct child_message *message, const char *name);

struct child_end {
    struct kndl_error err;      /* OK: it did it */
    const char *reason;         /* "" or one word, as struct sandbox_answer has it */
    struct child_message *last; /* its result, empty on failure; never NULL */
    int64_t took_ms;
};

typedef void (*child_message_fn)(void *data, struct child_message *message);
typedef void (*child_end_fn)(void *data, const struct child_end *end);

struct child_options {
    const char *verb;
    const char *const *args;     /* NULL-ended, "name=value"; NULL: none */
    struct kndl_slice input;     /* its stdin, any size; may be secret */
    int64_t deadline_ms;         /* killed after that: DEADLINE_EXCEEDED; 0: none */
    int64_t idle_ms;             /* killed after so long without a message; 0: never */
    child_message_fn on_message; /* progress; may be NULL */
    child_end_fn on_end;         /* once; may be NULL */
    void *data;
};

/* Starts it; never fails here (on_end tells, later). The child is gone after on_end. */
struct child *child_start(struct children *children, const struct child_options *options);

/* Kills it; on_end follows with CANCELLED. */
void child_kill(struct child *child);
