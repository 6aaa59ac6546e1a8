#pragma once

/* The half of the download that comes after npm, in verb children. */

#include "kndl/error.h"

/*
 * Checks the tarball that lies in `folder`, unpacks it there and moves Claude Code to `place`
 * (a folder, which appears whole). DATA_LOSS, reason wrong_hash, where it is not the pinned one:
 * `place` is not touched then.
 */
int download_install(const char *folder, const char *place, struct kndl_error *err);
