#pragma once

/*
 * Time, in one place so that tests can move it. Safe from any thread; the shift is set by tests
 * before threads start.
 */

#include <stdint.h>

/* Milliseconds since 1970, of this host's wall clock: for what is shown and stored. */
int64_t kndl_clock_wall_ms(void);

/* Milliseconds and microseconds that only go forward: for deadlines and durations. */
int64_t kndl_clock_ms(void);
int64_t kndl_clock_us(void);

/* For tests: moves both clocks by so many milliseconds from now on. */
void kndl_clock_shift(int64_t ms);
