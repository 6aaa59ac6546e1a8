#pragma once

/*
 * A copy of the mod for one start (CC-04), so that an update never changes a running Turn: the
 * two plugins' files, nothing that links elsewhere, at most a few hundred KiB. Older copies in the
 * same folder are removed first.
 */

#include "kndl/error.h"

struct disk;

void mod_copy(struct disk *disk, const char *from, const char *to,
              void (*done)(void *data, const struct kndl_error *err), void *data);
