/* Two buckets that fill by themselves. */

#include "budget.h"

enum { THOUSANDTHS = 1000 };

static int64_t fill(int64_t left, int64_t per_s, int64_t reserve, int64_t passed_ms)
{
    int64_t most = reserve * THOUSANDTHS;

    if (passed_ms > most / per_s) /* also keeps the product small */
        return most;
    left += passed_ms * per_s;
    return left > most ? most : left;
}

void budget_init(struct budget *budget, int64_t now_ms)
{
    *budget = (struct budget){
        .work = (int64_t)BUDGET_WORK_RESERVE * THOUSANDTHS,
        .events = (int64_t)BUDGET_EVENTS_RESERVE * THOUSANDTHS,
        .at_ms = now_ms,
    };
}

static void refill(struct budget *budget, int64_t now_ms)
{
    int64_t passed_ms = now_ms - budget->at_ms;

    budget->at_ms = now_ms;
    budget->work = fill(budget->work, BUDGET_WORK_PER_S, BUDGET_WORK_RESERVE, passed_ms);
    budget->events = fill(budget->events, BUDGET_EVENTS_PER_S, BUDGET_EVENTS_RESERVE, passed_ms);
}

static int seconds_of(int64_t owed, int64_t per_s)
{
    return owed < 0 ? (int)(-owed / (per_s * THOUSANDTHS)) + 1 : 1;
}

bool budget_allows(struct budget *budget, int64_t now_ms, int *ret_again_s)
{
    int work_s, events_s;

    refill(budget, now_ms);
    if (budget->work > 0 && budget->events > 0)
        return true;
    work_s = seconds_of(budget->work, BUDGET_WORK_PER_S);
    events_s = seconds_of(budget->events, BUDGET_EVENTS_PER_S);
    *ret_again_s = work_s > events_s ? work_s : events_s;
    if (budget->over_since_ms == 0)
        budget->over_since_ms = now_ms;
    budget->refused_at_ms = now_ms;
    return false;
}

void budget_spend(struct budget *budget, size_t bytes, size_t values)
{
    budget->work -= ((int64_t)bytes + (int64_t)values * BUDGET_VALUE_WORK) * THOUSANDTHS;
}

void budget_spend_events(struct budget *budget, size_t events)
{
    budget->events -= (int64_t)events * THOUSANDTHS;
}

bool budget_is_long_over(struct budget *budget, int64_t now_ms)
{
    if (budget->over_since_ms == 0)
        return false;
    if (now_ms - budget->refused_at_ms >= BUDGET_LONG_MS) {
        budget->over_since_ms = 0;
        budget->is_told = false;
        return false;
    }
    if (budget->is_told || now_ms - budget->over_since_ms < BUDGET_LONG_MS)
        return false;
    budget->is_told = true;
    return true;
}
