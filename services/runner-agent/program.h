#pragma once

/*
 * Runs another program from inside a verb child, by argv and without a shell, and waits for it.
 * One thread; the environment is PATH and LANG alone.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "kndl/buf.h"
#include "kndl/error.h"

struct program {
    const char *const *argv;
    const char *input;           /* its stdin; NULL: /dev/null */
    const char *const *env;      /* besides; NULL-ended, may be NULL */
    const char *cwd;             /* NULL: / */
    int netns;                   /* a network namespace to run in; 0: this one */
    int64_t deadline_ms;         /* 0: 60 s */
    struct kndl_buf *output;     /* stdout and stderr, at most 64 KiB; may be NULL */
    bool (*on_wait)(void *data); /* asked every 500 ms; false kills it; may be NULL */
    void *data;
};

/* Fails with KNDL_INTERNAL and the end of what it printed when it is missing or exits other than
 * 0, DEADLINE_EXCEEDED when it was killed. */
int program_run(const struct program *program, struct kndl_error *err);

enum program_mounts {
    PROGRAM_HOST_MOUNTS,
    PROGRAM_OWN_MOUNTS, /* what it unmounts stays mounted for everybody else; a copy of all mounts
                           stays with it, so that it should leave them behind at once */
};

/* A program that outlives this process, in a session of its own. */
struct program_daemon {
    const char *const *argv;
    const char *const *env; /* as above */
    enum program_mounts mounts;
    const char *log; /* a path: its output */
    /* Writes down its pid before it begins, so that one is never lost, whoever is killed. */
    int (*record)(void *data, pid_t pid, struct kndl_error *err);
    void *data;
};

/* Starts it and waits, at most 10 s, until it writes a byte to its descriptor 3. On failure it is
 * gone again. */
int program_start(const struct program_daemon *daemon, struct kndl_error *err);

/* Looks in the usual places, as the programs above are looked for. */
bool program_find(const char *name, char *ret_path, size_t size);
