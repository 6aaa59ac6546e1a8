/* A Session whose Runner is away and comes back: LI-06, LI-07. */

#include "steps.h"

static void li_06_frozen_while_its_runner_is_away_and_active_if_it_still_runs(void **state)
{
    struct stage *stage = *state;

    stage_attend(stage, "r6", NULL, 0);
    const char *id = stage_make(stage, "ada", "r6", "");
    stage_run(stage, "r6", id);
    go_away(stage);
    assert_state(stage, id, LIFE(FROZEN), "runner_away");
    assert_int_equal(prompt(stage, "ada", id, "p1"), 0);
    assert_null(stage_claim(stage, id, DELIVER_PROMPT));

    stage_attend(stage, "r6", running(stage, id), 1);
    assert_state(stage, id, LIFE(ACTIVE), "runner_back");
    assert_non_null(stage_claim(stage, id, DELIVER_PROMPT));
}

static void li_06_asleep_if_it_does_not_run_any_more_and_woken_for_what_waits(void **state)
{
    struct stage *stage = *state;
    Kndl__Event__V1__Event *said[] = {stage_turn_started(stage, "t1", ""),
                                      stage_subagent(stage, "agent1")};
    Kndl__Event__V1__Event **events;

    stage_attend(stage, "r6", NULL, 0);
    const char *id = stage_make(stage, "ada", "r6", "");
    stage_run(stage, "r6", id);
    stage_append(stage, "r6", id, 1, said, 2);
    go_away(stage);
    prompt(stage, "ada", id, "p1");
    stage_reconnect(stage, "r6", NULL, 0);
    assert_state(stage, id, LIFE(ASLEEP), "run_lost");
    size_t count = stage_events(stage, id, &events);
    assert_int_equal(find_kind(events, count, KIND(SUBAGENT_ENDED))->subagent_ended->status,
                     KNDL__EVENT__V1__SUBAGENT_ENDED__STATUS__STATUS_INTERRUPTED);
    stage_deliver(stage, id);
    assert_state(stage, id, LIFE(WAKING), "prompt_waits");
}

/* LI-07: a restarted Runner takes its runs back, and says STARTING until it has. */
static void li_07_frozen_until_a_restarted_runner_has_taken_its_run_back(void **state)
{
    struct stage *stage = *state;

    stage_attend(stage, "r6", NULL, 0);
    const char *id = stage_make(stage, "ada", "r6", "");
    const struct attended taking = {id, 1, RUN_STARTING, 0};
    stage_run(stage, "r6", id);
    go_away(stage);
    stage_reconnect(stage, "r6", &taking, 1);
    assert_state(stage, id, LIFE(FROZEN), "runner_away");
    stage_reconnect(stage, "r6", running(stage, id), 1);
    assert_state(stage, id, LIFE(ACTIVE), "runner_back");
}

static void a_start_goes_on_when_its_runner_was_away_for_a_while(void **state)
{
    struct stage *stage = *state;

    stage_attend(stage, "r6", NULL, 0);
    const char *id = stage_make(stage, "ada", "r6", "");
    const struct attended starting = {id, 1, RUN_STARTING, 0};
    stage_deliver(stage, id);
    go_away(stage);
    assert_state(stage, id, LIFE(FROZEN), "runner_away");
    stage_attend(stage, "r6", &starting, 1);
    assert_state(stage, id, LIFE(STARTING), "runner_back");

    /* The report that it is up was lost: its Runner lists it all the same. */
    stage_attend(stage, "r6", running(stage, id), 1);
    assert_state(stage, id, LIFE(ACTIVE), "running");
}

static void an_asleep_session_with_a_prompt_says_that_its_runner_is_away(void **state)
{
    struct stage *stage = *state;

    stage_attend(stage, "r6", NULL, 0);
    const char *id = stage_make(stage, "ada", "r6", "");
    stage_run(stage, "r6", id);
    put_to_sleep(stage, "ada", id, "s1");
    stage_deliver(stage, id);
    stage_end(stage, "r6", id, 0, END_COMMANDED);
    go_away(stage);
    assert_state(stage, id, LIFE(ASLEEP), "asked");
    assert_int_equal(wake(stage, "ada", id, "w1"), -1);
    assert_int_equal(stage->err.code, KNDL_ABORTED);
    prompt(stage, "ada", id, "p1");
    freeze(stage);
    assert_state(stage, id, LIFE(FROZEN), "runner_away");
    stage_attend(stage, "r6", NULL, 0);
    assert_state(stage, id, LIFE(ASLEEP), "runner_back");
    stage_deliver(stage, id);
    assert_state(stage, id, LIFE(WAKING), "prompt_waits");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(li_06_frozen_while_its_runner_is_away_and_active_if_it_still_runs),
        cmocka_unit_test(li_06_asleep_if_it_does_not_run_any_more_and_woken_for_what_waits),
        cmocka_unit_test(li_07_frozen_until_a_restarted_runner_has_taken_its_run_back),
        cmocka_unit_test(a_start_goes_on_when_its_runner_was_away_for_a_while),
        cmocka_unit_test(an_asleep_session_with_a_prompt_says_that_its_runner_is_away),
    };

    return cmocka_run_group_tests_name("sessions away, stored", tests, stage_open, stage_close);
}
