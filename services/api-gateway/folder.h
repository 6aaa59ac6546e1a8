#pragma once

/* A folder that is kept in memory: read once at the start, with limits. */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "kndl/error.h"
#include "kndl/slice.h"

struct folder_options {
    const char *setting; /* names it in errors */
    const char *dir;
    size_t files_max;
    size_t bytes_max; /* of all files */
    bool takes_hidden;
};

/* A file: its path below the folder, as "assets/app.js", and its bytes, which are the callee's to
 * free() from here on, also where it fails. */
typedef int (*folder_fn)(void *data, const char *path, struct kndl_slice bytes, mode_t mode,
                         struct kndl_error *err);

/* Tells every regular file, eight folders deep at most, in no order. Links and what is neither file
 * nor folder are left out. Fails with KNDL_INVALID_ARGUMENT, naming the setting. */
int folder_read(const struct folder_options *options, folder_fn fn, void *data,
                struct kndl_error *err);
