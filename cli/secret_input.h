#pragma once

/* A secret from standard input, never from argv. */

#include <stddef.h>

#include "kndl/error.h"
#include "kndl/secret.h"

/*
 * From a terminal one line, asked for with `prompt` and not shown while it is typed; else all that
 * comes, without one line break at its end. Text: it ends with its NUL. Fails with
 * KNDL_INVALID_ARGUMENT beyond `most` bytes, or if there is a NUL in it. A signal that ends the
 * process ends it after the terminal is as it was.
 */
int secret_input_read(const char *prompt, size_t most, struct kndl_secret *ret_text,
                      struct kndl_error *err);
