#pragma once

/*
 * What streams at the moment, on the Runner's disk beside the spool: raw text, so nowhere else
 * (docs/adr/0009). Two files are written in turn, so that a process that dies in the middle leaves
 * the one before. They are not synced: they outlive this process, and its host as far as the kernel
 * wrote them by itself.
 */

#include <stddef.h>
#include <stdint.h>

#include "disk.h"
#include "kndl/runner/v1/open_blocks.pb-c.h"

/*
 * Writes them off the loop, before whatever the disk is given afterwards; `turn` is one more each
 * time. Returns how many bytes that is. RESOURCE_EXHAUSTED: the disk is full; the one before stays.
 * `done` may be NULL.
 */
size_t blocks_file_write(struct disk *disk, const char *directory, uint64_t turn,
                         const Kndl__Runner__V1__OpenBlocks *blocks, disk_done_fn done, void *data);

/* Nothing streams. */
void blocks_file_remove(struct disk *disk, const char *directory);

/* The newest that is whole, to be freed, and its turn; NULL: there is none. */
Kndl__Runner__V1__OpenBlocks *blocks_file_read(const char *directory, uint64_t *ret_turn);
