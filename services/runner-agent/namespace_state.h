#pragma once

/*
 * What the disk knows of a Sandbox of the namespace backend, under RUNNER_HOME:
 *
 *   sandboxes/<name>/     0711: lock, spec, config.json, *.pid, layer/, root/, binds/, files/
 *   oci/                  the runtime's own state
 *
 * In verb children only. Whoever has the state open holds its lock, so that two commands about
 * one Sandbox wait for each other, also across a restart of the Runner.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "kndl/error.h"
#include "sandbox.h"

enum { STATE_PATH_SIZE = 512 };

struct state {
    char name[SANDBOX_NAME_CHARS_MAX + 1];
    char dir[STATE_PATH_SIZE - 128];
    int lock;
    char *spec;        /* as create wrote it; NULL: no spec yet */
    const char **args; /* the spec's "name=value", NULL-ended */
};

enum state_open { STATE_EXISTING, STATE_CREATE };

/* Waits for the lock. NOT_FOUND where it does not exist and is not to be made. */
int state_open(struct state *state, const char *name, enum state_open how, struct kndl_error *err);
void state_done(struct state *state);

/* Deletes all of it; the state must be open. */
int state_remove(struct state *state, struct kndl_error *err);

void state_path(const struct state *state, const char *leaf, char ret_path[STATE_PATH_SIZE]);
/* "<RUNNER_HOME>/<leaf>" */
void state_home_path(const char *leaf, char ret_path[STATE_PATH_SIZE]);

/* A file of the state, replaced at once. */
int state_write(const struct state *state, const char *leaf, const void *bytes, size_t size,
                uint32_t mode, struct kndl_error *err);
bool state_has(const struct state *state, const char *leaf);
void state_unlink(const struct state *state, const char *leaf);

/* A process, by pid and start time, so that another one of the same number is not taken for it. */
int state_write_pid(const struct state *state, const char *leaf, pid_t pid, struct kndl_error *err);
/* The process if it lives, and a pidfd of it (the caller's); 0 otherwise. */
pid_t state_read_pid(const struct state *state, const char *leaf, int *ret_pidfd);
/* The same without opening the state: of `name`, for what must not wait for its lock. */
pid_t state_find_pid(const char *name, const char *leaf, int *ret_pidfd);

/* The names in sandboxes/, one callback each. */
int state_each(void (*fn)(void *data, const char *name), void *data, struct kndl_error *err);

/* [a-z0-9-], 1 to 63. */
bool state_name_is_valid(const char *name);
