#pragma once

/* What the loop side of the namespace backend shares: arguments of a verb, and its answer. */

#include <stddef.h>
#include <stdint.h>

#include "child.h"
#include "sandbox.h"

struct sandbox_host {
    struct children *children;         /* borrowed */
    uint64_t execs;                    /* commands so far; names their pid files */
    struct sandbox_process *processes; /* commands that run */
};

/* Forgets the commands that run, without callbacks; they go on. */
void exec_forget_all(struct sandbox_host *host);

/* "name=value" strings, owned, NULL-ended once one is there. */
struct args {
    char **items;
    size_t count;
};
void args_add(struct args *args, const char *name, const char *value);
void args_add_number(struct args *args, const char *name, uint64_t value);
void args_done(struct args *args);

struct sandbox_answer answer_of(const struct child_end *end);

/* A verb whose answer is only that it was done. fn may be NULL. */
void start_simple(struct sandbox_host *host, const char *verb, const struct args *args,
                  struct kndl_slice input, int64_t deadline_ms, sandbox_fn fn, void *data);
