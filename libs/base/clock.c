/* The wall clock and the monotonic clock, with a shift for tests. */

#include "kndl/clock.h"

#include <stdatomic.h>
#include <time.h>

static atomic_llong shift_ms;

static int64_t read_us(clockid_t id)
{
    struct timespec now;

    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000 +
           (int64_t)atomic_load_explicit(&shift_ms, memory_order_relaxed) * 1000;
}

int64_t kndl_clock_wall_ms(void)
{
    return read_us(CLOCK_REALTIME) / 1000;
}

int64_t kndl_clock_ms(void)
{
    return read_us(CLOCK_MONOTONIC) / 1000;
}

int64_t kndl_clock_us(void)
{
    return read_us(CLOCK_MONOTONIC);
}

void kndl_clock_shift(int64_t ms)
{
    atomic_fetch_add(&shift_ms, ms);
}
