#pragma once

/* Giving up rights, in verb children that touch what others made. */

#include <stdint.h>
#include <sys/types.h>

#include "kndl/error.h"

/* Becomes that uid and gid with no groups, no capability and no way to get any back. */
int confine(uid_t uid, struct kndl_error *err);
