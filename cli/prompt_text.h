#pragma once

/* The text of a prompt: a word of the command line, or standard input. */

#include "kndl/buf.h"
#include "kndl/error.h"

/* `word` NULL or "-" reads standard input to its end. Up to 65,536 bytes, not empty. */
int prompt_text_read(const char *word, struct kndl_buf *out, struct kndl_error *err);
