#include "masked.h"

#include <inttypes.h>

#include "kndl/clock.h"

void masked_write(const struct screen *screen, const Kndl__Secrets__V1__Masked *masked)
{
    if (masked == NULL)
        return;
    if (masked->count == 0) {
        fputs("not masked yet", screen->out);
        return;
    }
    fprintf(screen->out, "masked %" PRId64 " time%s, last ", masked->count,
            masked->count == 1 ? "" : "s");
    screen_ago(screen, masked->last_at_ms, kndl_clock_wall_ms());
}
