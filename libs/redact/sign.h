#pragma once

/*
 * A cheap look at a backslash or percent sign: can a form be here that is read in a lane from
 * this sign on? For most signs in ordinary text the answer is no, and no lane is read.
 */

#include <stddef.h>
#include <stdint.h>

#include "filter.h"

/* Of one sign; eight bytes before it may be read. */
int sign_may_matter(const struct filters *filters, const uint8_t *text, size_t size, size_t at);

enum { SIGNS_AT_ONCE = 256, SIFT_SLACK = 16 };

/*
 * Of the signs at these places, rising, keeps those that may matter; returns how many. kept[] may
 * be written over by SIFT_SLACK. Eight bytes before the text and 64 behind it may be read. What
 * stands before the text, if anything, has been scanned with it.
 */
typedef size_t (*sift_fn)(const struct filters *filters, const uint8_t *text, size_t size,
                          const uint16_t *places, size_t count, uint32_t *kept);

/* As in normalise.h. */
sift_fn sift_best(void);
sift_fn sift_plain(void);
sift_fn sift_avx512(void);
