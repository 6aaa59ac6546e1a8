#pragma once

/* A short piece of a stream at once, in registers, where the processor can. */

#include <stddef.h>

#include "kndl/redact.h"

enum { SHORT_BYTES = 64 };

/*
 * Takes a piece of at most SHORT_BYTES with the same outcome as bulk_take(), if nothing in it is
 * masked or rare. Returns its bytes; 0 if it did nothing.
 */
typedef size_t (*take_short_fn)(struct kndl_redact_stream *stream, struct kndl_slice piece,
                                struct kndl_buf *out);

/* NULL where the processor lacks it. */
take_short_fn take_short_avx512(void);
