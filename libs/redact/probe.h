#pragma once

/* The filter of long forms over a text, many pieces at once where the processor can. */

#include <stddef.h>
#include <stdint.h>

#include "filter.h"

/* The first of the places at, at + 8, at + 16 ... whose 8 bytes may begin a piece; `size` if none
 * of them does before the text ends. 64 bytes behind the text may be read. */
typedef size_t (*probe_fn)(const struct filter *filter, const uint8_t *text, size_t at,
                           size_t size);

/* As in normalise.h. */
probe_fn probe_best(void);
probe_fn probe_plain(void);
probe_fn probe_avx2(void);
probe_fn probe_avx512(void);
