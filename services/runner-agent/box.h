#pragma once

/*
 * What the disk knows of a Sandbox of the namespace backend, under RUNNER_HOME:
 *
 *   sandboxes/<name>/     0711: lock, spec, config.json, *.pid, layer/, root/, binds/, files/
 *   oci/                  the runtime's own state
 *
 * In verb children only. Whoever has a box open holds its lock, so that two commands about
 * one Sandbox wait for each other, also across a restart of the Runner.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "kndl/error.h"
#include "sandbox.h"

enum { BOX_PATH_SIZE = 512 };

struct box {
    char name[SANDBOX_NAME_CHARS_MAX + 1];
    char dir[BOX_PATH_SIZE - 128];
    int lock;
    char *spec;        /* as create wrote it; NULL: no spec yet */
    const char **args; /* the spec's "name=value", NULL-ended */
};

enum box_how {
    BOX_EXISTING,
    BOX_CREATE,
    BOX_LOOK, /* reads the spec only, and waits for nobody */
};

/* Waits for the lock. NOT_FOUND where it does not exist and is not to be made. */
int box_open(struct box *box, const char *name, enum box_how how, struct kndl_error *err);
void box_done(struct box *box);

/* Deletes all of it; it must be open. */
int box_remove(struct box *box, struct kndl_error *err);

void box_path(const struct box *box, const char *leaf, char ret_path[BOX_PATH_SIZE]);
/* "<RUNNER_HOME>/<leaf>" */
void box_home_path(const char *leaf, char ret_path[BOX_PATH_SIZE]);

/* A file of the box, replaced at once. */
int box_write(const struct box *box, const char *leaf, const void *bytes, size_t size,
              uint32_t mode, struct kndl_error *err);
bool box_has(const struct box *box, const char *leaf);
void box_unlink(const struct box *box, const char *leaf);

/* A process, by pid and start time, so that another one of the same number is not taken for it. */
int box_write_pid(const struct box *box, const char *leaf, pid_t pid, struct kndl_error *err);
/* The same as a struct program_daemon's record. */
struct box_record {
    const struct box *box;
    const char *leaf;
};
int box_record_pid(void *record, pid_t pid, struct kndl_error *err);
/* The process if it lives, and a pidfd of it (the caller's); 0 otherwise. */
pid_t box_read_pid(const struct box *box, const char *leaf, int *ret_pidfd);
/* The same without opening the box: of `name`, for what must not wait for its lock. */
pid_t box_find_pid(const char *name, const char *leaf, int *ret_pidfd);

/* The names in sandboxes/, one callback each. */
int box_each(void (*fn)(void *data, const char *name), void *data, struct kndl_error *err);

/* [a-z0-9-], 1 to 63. */
bool box_name_is_valid(const char *name);
