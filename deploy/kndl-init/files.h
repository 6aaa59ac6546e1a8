#pragma once

/* Files of kndl-init: written whole or not at all, with an owner. One thread. */

#include <sys/types.h>

#include "kndl/error.h"
#include "kndl/secret.h"
#include "kndl/slice.h"

/* uid -1: stays with who runs this. */
int files_make_dir(const char *path, mode_t mode, uid_t uid, struct kndl_error *err);

/* By a temporary file beside it and a rename. */
int files_write(const char *path, mode_t mode, uid_t uid, struct kndl_slice content,
                struct kndl_error *err);
