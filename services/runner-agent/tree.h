#pragma once

/* Folders that somebody else may have filled. In verb children only. */

#include "kndl/error.h"

/* Deletes what is at `path`, never following a link and never crossing into another mount; absent
 * is success. */
int tree_remove(const char *path, struct kndl_error *err);
