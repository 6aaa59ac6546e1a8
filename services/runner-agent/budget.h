#pragma once

/*
 * What one Sandbox may cost its Runner's loop, which all Sandboxes of the host share: so much work
 * a second, and so many Events, each with a reserve that Claude Code at its busiest does not use
 * up. Both may be overdrawn by one request, which is then paid back before the next one is taken.
 *
 * Work is counted in what a byte of text costs to read; a value of JSON costs BUDGET_VALUE_WORK.
 * Pure: times are the caller's, kndl_clock_ms(). Belongs to the loop's thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    BUDGET_VALUE_WORK = 64,              /* measured: bench/bench_batch.c */
    BUDGET_WORK_PER_S = 4 * 1024 * 1024, /* some 6 % of a loop */
    BUDGET_WORK_RESERVE = 32 * 1024 * 1024,
    BUDGET_EVENTS_PER_S = 200,
    BUDGET_EVENTS_RESERVE = 5000,
    BUDGET_LONG_MS = 5000, /* so long over it is worth telling */
};

struct budget {
    int64_t work, events;                 /* left, in thousandths; below 0: owed */
    int64_t at_ms;                        /* as of then */
    int64_t over_since_ms, refused_at_ms; /* 0: not over it */
    bool is_told;
};

void budget_init(struct budget *budget, int64_t now_ms);

/* May a request be taken? If not, *ret_again_s is when it may: 1 or more. */
bool budget_allows(struct budget *budget, int64_t now_ms, int *ret_again_s);

/* It was taken, and cost that. */
void budget_spend(struct budget *budget, size_t bytes, size_t values);
void budget_spend_events(struct budget *budget, size_t events);

/* True once each time that it has been over its budget for BUDGET_LONG_MS. */
bool budget_is_long_over(struct budget *budget, int64_t now_ms);
