#pragma once

/*
 * How long to wait before a program that ended is started again: at once the first time, then
 * longer and longer, to 30 s. Who ran for a minute starts over.
 */

#include <stdint.h>

enum { BACKOFF_FIRST_MS = 500, BACKOFF_MOST_MS = 30 * 1000, BACKOFF_FORGIVEN_MS = 60 * 1000 };

struct backoff {
    unsigned ended; /* times in a row, without a minute between */
};

/*
 * The pause in milliseconds after a program ended that had run for `ran_ms`. `random` (any
 * number) spreads the pause between its half and its whole, so that what ended together does not
 * start together.
 */
int64_t backoff_next(struct backoff *backoff, int64_t ran_ms, uint32_t random);
