/* The pause before the next start, as pure arithmetic. */

#include "backoff.h"

int64_t backoff_next(struct backoff *backoff, int64_t ran_ms, uint32_t random)
{
    int64_t pause_ms = BACKOFF_FIRST_MS;

    if (ran_ms >= BACKOFF_FORGIVEN_MS)
        backoff->ended = 0;
    backoff->ended++;
    if (backoff->ended == 1)
        return 0;
    for (unsigned n = 2; n < backoff->ended && pause_ms < BACKOFF_MOST_MS; n++)
        pause_ms *= 2;
    if (pause_ms > BACKOFF_MOST_MS)
        pause_ms = BACKOFF_MOST_MS;
    return pause_ms / 2 + random % (pause_ms / 2 + 1);
}
