#pragma once

/* A secret from standard input, never from argv. */

#include <stddef.h>

#include "kndl/error.h"
#include "kndl/secret.h"

enum secret_shape {
    SECRET_LINE,  /* from a terminal one line */
    SECRET_LINES, /* from a terminal all up to Ctrl-D */
};

/*
 * From a terminal it is asked for with `prompt` and not shown while it is typed; else it is all
 * that comes. Without one line break at its end. Text: it ends with its NUL. Fails with
 * KNDL_INVALID_ARGUMENT beyond `most` bytes, if there is a NUL in it, or if several lines were
 * pasted where one is asked for. A signal that ends the process ends it after the terminal is as it
 * was.
 */
int secret_input_read(const char *prompt, enum secret_shape shape, size_t most,
                      struct kndl_secret *ret_text, struct kndl_error *err);
