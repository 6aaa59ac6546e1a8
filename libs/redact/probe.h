#pragma once

/* The filter of long forms over a text, many pieces at once where the processor can. */

#include <stddef.h>
#include <stdint.h>

#include "filter.h"

/* The first of the places at, at + 12, at + 24 ... whose 4 bytes may be a piece; `size` if none of
 * them is before the text ends. BLOCK_SLACK_BYTES behind the text may be read. */
typedef size_t (*probe_fn)(const struct filter *filter, const uint8_t *text, size_t at,
                           size_t size);

/* As in normalise.h. */
probe_fn probe_best(void);
probe_fn probe_plain(void);
probe_fn probe_avx2(void);
probe_fn probe_avx512(void);
