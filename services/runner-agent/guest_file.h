#pragma once

/*
 * Files that a Sandbox may have made: Workspace, config directory. Whatever they are, nothing
 * outside of `directory` is read or written, nothing blocks for ever, and nothing is read beyond
 * its limit. A child opens them with openat2 (in root, no magic links, no other mounts), regular
 * files only, with the Sandbox's own rights and no capability.
 *
 * `directory` is a folder of the host whose path is ours; `path` lies beneath it and may be
 * anybody's.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kndl/slice.h"
#include "sandbox.h"

/* Where: the Sandbox whose rights count, and the folder. */
struct guest_place {
    const char *sandbox;
    const char *directory;
};

/* `bytes` is what was there from `offset` on, at most `most`; `size` is the file's. NOT_FOUND,
 * PERMISSION_DENIED (not a regular file, or a path that leads away). */
typedef void (*guest_read_fn)(void *data, const struct sandbox_answer *answer,
                              struct kndl_slice bytes, uint64_t size);
void guest_file_read(struct sandbox_host *host, const struct guest_place *place, const char *path,
                     uint64_t offset, size_t most, guest_read_fn fn, void *data);

/* Whole and at once: a temporary file, fsync, rename over what is there. Missing folders are made
 * (0700). */
void guest_file_write(struct sandbox_host *host, const struct guest_place *place, const char *path,
                      struct kndl_slice bytes, uint32_t mode, sandbox_fn fn, void *data);

struct guest_entry {
    const char *name;
    bool is_directory;
    bool is_regular;
    uint64_t size;
    int64_t changed_ms;
};
/* What lies in that folder, not below: at most 1000 entries, in no order. */
typedef void (*guest_list_fn)(void *data, const struct sandbox_answer *answer,
                              const struct guest_entry *entries, size_t count);
void guest_file_list(struct sandbox_host *host, const struct guest_place *place, const char *path,
                     guest_list_fn fn, void *data);
