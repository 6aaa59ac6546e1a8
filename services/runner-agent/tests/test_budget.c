/* What one Sandbox may cost the loop: a reserve, a rate, and who waits is told for how long. */

#include "budget.h"

#include "kndl/testing.h"

static void what_claude_code_does_at_its_busiest_is_never_refused(void **unused)
{
    struct budget budget;
    int again_s;

    (void)unused;
    budget_init(&budget, 1000);
    /* Ten minutes of 100 Events and of 1000 short pieces of text each second. */
    for (int64_t now_ms = 1000; now_ms < 601000; now_ms += 100) {
        assert_true(budget_allows(&budget, now_ms, &again_s));
        budget_spend(&budget, 100 * 200, 100 * 12);
        budget_spend_events(&budget, 10);
    }
    assert_false(budget_is_long_over(&budget, 601000));
}

static void more_work_than_the_reserve_waits_until_it_is_paid_back(void **unused)
{
    struct budget budget;
    size_t taken = 0;
    int again_s = 0;

    (void)unused;
    budget_init(&budget, 1000);
    while (budget_allows(&budget, 1000, &again_s)) {
        budget_spend(&budget, 512 * 1024, 0);
        taken++;
    }
    assert_int_equal(taken, BUDGET_WORK_RESERVE / (512 * 1024));
    assert_int_equal(again_s, 1);
    assert_false(budget_allows(&budget, 1000, &again_s));
    assert_true(budget_allows(&budget, 1001, &again_s));
    budget_spend(&budget, 8 * BUDGET_WORK_PER_S, 0);
    assert_false(budget_allows(&budget, 1001, &again_s));
    assert_int_equal(again_s, 8); /* less what a millisecond brought */
    assert_true(budget_allows(&budget, 1001 + 8000, &again_s));
}

static void a_value_costs_as_much_as_many_bytes(void **unused)
{
    struct budget budget;
    int again_s;

    (void)unused;
    budget_init(&budget, 0);
    budget_spend(&budget, 0, BUDGET_WORK_RESERVE / BUDGET_VALUE_WORK);
    assert_false(budget_allows(&budget, 0, &again_s));
}

static void a_flood_of_events_is_held_to_its_rate(void **unused)
{
    struct budget budget;
    size_t taken = 0;
    int again_s;

    (void)unused;
    budget_init(&budget, 0);
    for (int64_t now_ms = 0; now_ms < 60000; now_ms += 10)
        if (budget_allows(&budget, now_ms, &again_s)) {
            budget_spend_events(&budget, 100);
            taken += 100;
        }
    assert_in_range(taken, BUDGET_EVENTS_RESERVE + 59 * BUDGET_EVENTS_PER_S,
                    BUDGET_EVENTS_RESERVE + 60 * BUDGET_EVENTS_PER_S + 100);
}

static void a_long_time_over_it_is_told_once_until_it_has_ended(void **unused)
{
    struct budget budget;
    unsigned told = 0;
    int again_s;

    (void)unused;
    budget_init(&budget, 1);
    for (int64_t now_ms = 1; now_ms < 60000; now_ms += 100) {
        if (budget_allows(&budget, now_ms, &again_s))
            budget_spend_events(&budget, 1000);
        told += budget_is_long_over(&budget, now_ms);
    }
    assert_int_equal(told, 1);
    assert_false(budget_is_long_over(&budget, 60000 + BUDGET_LONG_MS));
    budget_spend_events(&budget, 10 * BUDGET_EVENTS_RESERVE);
    for (int64_t now_ms = 70000; now_ms < 80000; now_ms += 100) {
        (void)budget_allows(&budget, now_ms, &again_s);
        told += budget_is_long_over(&budget, now_ms);
    }
    assert_int_equal(told, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_claude_code_does_at_its_busiest_is_never_refused),
        cmocka_unit_test(more_work_than_the_reserve_waits_until_it_is_paid_back),
        cmocka_unit_test(a_value_costs_as_much_as_many_bytes),
        cmocka_unit_test(a_flood_of_events_is_held_to_its_rate),
        cmocka_unit_test(a_long_time_over_it_is_told_once_until_it_has_ended),
    };
    return cmocka_run_group_tests_name("runner-agent budget", tests, NULL, NULL);
}
