#pragma once

/*
 * What waits for the disk, off the loop: one thread that does one piece of work after the other,
 * in the order they were given (an fsync may take longer than a callback of the loop may).
 *
 * All but `work` runs on the loop's thread.
 */

#include <stddef.h>

#include "kndl/error.h"

struct kndl_loop;
struct disk;

struct disk *disk_new(struct kndl_loop *loop);

/* Does what was given, forgets who waits for it, and ends the thread. */
void disk_free(struct disk *disk);

/* On the disk's thread: touches nothing but the job. Fails as every function of ours does. */
typedef int (*disk_work_fn)(void *job, struct kndl_error *err);
/* On the loop, once. err.code is KNDL_OK when it was done. */
typedef void (*disk_done_fn)(void *job, const struct kndl_error *err);

void disk_do(struct disk *disk, disk_work_fn work, disk_done_fn done, void *job);

/*
 * A file written whole and at once: a temporary one beside it, fsync, rename, fsync of the
 * folder. Bytes are copied. `done` gets `data`.
 */
void disk_write_file(struct disk *disk, const char *path, const void *bytes, size_t size,
                     disk_done_fn done, void *data);

/* Removes a file; absent is success. */
void disk_remove_file(struct disk *disk, const char *path, disk_done_fn done, void *data);

/* The same at once, for the start, before anything else runs. */
int disk_write_file_now(const char *path, const void *bytes, size_t size, struct kndl_error *err);
