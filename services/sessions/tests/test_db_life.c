/* The life of a Session on a real PostgreSQL, while its Runner is there: LI-01, LI-02, LI-04,
 * CR-01, CR-04. */

#include <string.h>

#include "steps.h"

static void li_01_each_change_is_an_event_that_says_why(void **state)
{
    struct stage *stage = *state;
    Kndl__Event__V1__Event **events;

    stage_attend(stage, "r1", NULL, 0);
    const char *id = stage_make(stage, "ada", "r1", "");
    assert_state(stage, id, LIFE(STARTING), "created");
    stage_run(stage, "r1", id);
    assert_state(stage, id, LIFE(ACTIVE), "running");
    assert_int_equal(stage_events(stage, id, &events), 2);
    assert_int_equal(events[0]->state_changed->state, LIFE(STARTING));
    assert_string_equal(events[0]->state_changed->reason_code, "created");
    assert_int_equal(events[1]->state_changed->state, LIFE(ACTIVE));
}

static void li_02_it_is_asleep_only_when_its_runner_reports_it_stopped(void **state)
{
    struct stage *stage = *state;

    const char *id = stage_make_active(stage, "");
    assert_int_equal(put_to_sleep(stage, "ada", id, "s1"), 0);
    assert_state(stage, id, LIFE(GOING_TO_SLEEP), "asked");
    stage_deliver(stage, id);

    /* Past its deadline it still goes to sleep, and the stop is sent again. */
    stage_pass(61 * 1000);
    stage_attend(stage, "r1", running(stage, id), 1);
    stage_overdue(stage);
    assert_state(stage, id, LIFE(GOING_TO_SLEEP), "asked");
    assert_non_null(stage_claim(stage, id, DELIVER_STOP_RUN));

    assert_int_equal(stage_end(stage, "r1", id, 0, END_COMMANDED), 1);
    assert_state(stage, id, LIFE(ASLEEP), "asked");
}

static void li_02_a_prompt_sent_while_it_goes_to_sleep_wakes_it_then(void **state)
{
    struct stage *stage = *state;

    const char *id = stage_make_active(stage, "");
    put_to_sleep(stage, "ada", id, "s1");
    assert_int_equal(prompt(stage, "ada", id, "p1"), 0);
    stage_deliver(stage, id);
    assert_state(stage, id, LIFE(GOING_TO_SLEEP), "asked");

    stage_end(stage, "r1", id, 0, END_COMMANDED);
    const struct delivery *start = stage_claim(stage, id, DELIVER_START);
    assert_non_null(start);
    assert_int_equal(start->run, 2);
    assert_true(start->conversation_exists);
    assert_state(stage, id, LIFE(WAKING), "prompt_waits");
}

static void the_end_of_a_run_waits_for_its_last_event(void **state)
{
    struct stage *stage = *state;
    Kndl__Event__V1__Event *event = stage_text(stage, "last words");

    const char *id = stage_make_active(stage, "");
    put_to_sleep(stage, "ada", id, "s1");
    assert_int_equal(stage_end(stage, "r1", id, 1, END_COMMANDED), 1);
    assert_state(stage, id, LIFE(GOING_TO_SLEEP), "asked");
    assert_int_equal(stage_append(stage, "r1", id, 1, &event, 1), 2);
    assert_state(stage, id, LIFE(ASLEEP), "asked");
}

/* Nothing comes after a kill: the Hub closes what was open. */
static void a_run_that_dies_leaves_nothing_open(void **state)
{
    struct stage *stage = *state;
    Kndl__Event__V1__Event *said[] = {stage_turn_started(stage, "t1", ""),
                                      stage_subagent(stage, "agent1"), stage_question(stage, "q1")};
    Kndl__Event__V1__Event **events;

    const char *id = stage_make_active(stage, "");
    stage_append(stage, "r1", id, 1, said, 3);
    assert_true(stage_read(stage, id).turn_open);
    assert_int_equal(stage_read(stage, id).open_questions, 1);
    assert_int_equal(stage_view(stage, id).subagent_count, 1);

    stage_end(stage, "r1", id, 3, END_EXITED);
    size_t count = stage_events(stage, id, &events);
    assert_int_equal(find_kind(events, count, KIND(ANSWER))->answer->outcome,
                     KNDL__EVENT__V1__ANSWER__OUTCOME__OUTCOME_UNANSWERED);
    assert_int_equal(find_kind(events, count, KIND(SUBAGENT_ENDED))->subagent_ended->status,
                     KNDL__EVENT__V1__SUBAGENT_ENDED__STATUS__STATUS_INTERRUPTED);
    assert_string_equal(find_kind(events, count, KIND(SUBAGENT_ENDED))->subagent_id, "agent1");
    assert_int_equal(find_kind(events, count, KIND(TURN_ENDED))->turn_ended->reason,
                     KNDL__EVENT__V1__TURN_ENDED__REASON__REASON_INTERRUPTED);
    assert_string_equal(find_kind(events, count, KIND(NOTE))->note->text, "the last lines");
    assert_false(stage_read(stage, id).turn_open);
    assert_int_equal(stage_view(stage, id).subagent_count, 0);
    assert_int_equal(stage_view(stage, id).question_count, 0);
}

static void li_04_a_claude_code_that_exits_is_not_restarted_in_a_loop(void **state)
{
    struct stage *stage = *state;

    const char *id = stage_make_active(stage, "");
    start_turn(stage, "r1", id);
    assert_int_equal(prompt(stage, "ada", id, "p1"), 0);
    stage_end(stage, "r1", id, 1, END_EXITED);
    assert_state(stage, id, LIFE(ASLEEP), "claude_exited");

    /* The prompt that waited does not wake it, whatever time passes ... */
    stage_deliver(stage, id);
    assert_state(stage, id, LIFE(ASLEEP), "claude_exited");

    /* ... but the next one does. */
    assert_int_equal(prompt(stage, "ada", id, "p2"), 0);
    stage_deliver(stage, id);
    assert_state(stage, id, LIFE(WAKING), "prompt_waits");
}

static void li_04_it_wakes_when_its_runner_next_connects(void **state)
{
    struct stage *stage = *state;

    const char *id = stage_make_active(stage, "");
    start_turn(stage, "r1", id);
    prompt(stage, "ada", id, "p1");
    stage_end(stage, "r1", id, 1, END_EXITED);
    stage_deliver(stage, id);
    assert_state(stage, id, LIFE(ASLEEP), "claude_exited");
    stage_reconnect(stage, "r1", NULL, 0);
    stage_deliver(stage, id);
    assert_state(stage, id, LIFE(WAKING), "prompt_waits");
}

static void a_claude_code_that_exits_at_once_fails_the_start_and_retry_works(void **state)
{
    struct stage *stage = *state;

    stage_attend(stage, "r1", NULL, 0);
    const char *id = stage_make(stage, "ada", "r1", "");
    stage_deliver(stage, id);
    stage_end(stage, "r1", id, 0, END_EXITED);
    assert_state(stage, id, LIFE(FAILED), "claude_exited");
    assert_true(strlen(stage_read(stage, id).reason) > 0);
    assert_int_equal(prompt(stage, "ada", id, "p1"), -1);
    assert_int_equal(stage->err.code, KNDL_ABORTED);

    assert_int_equal(wake(stage, "ada", id, "w1"), 0);
    assert_state(stage, id, LIFE(STARTING), "asked");
    stage_run(stage, "r1", id);
    assert_state(stage, id, LIFE(ACTIVE), "running");
}

static void li_01_a_start_that_takes_too_long_fails_and_is_stopped(void **state)
{
    struct stage *stage = *state;
    const struct ending ending = {0, END_COMMANDED, "", "", "", false};
    int64_t expected;

    stage_attend(stage, "r1", NULL, 0);
    const char *id = stage_make(stage, "ada", "r1", "");
    const struct attended starting = {id, 1, RUN_STARTING, 0};
    const struct run_of first = {"r1", id, 1};
    stage_deliver(stage, id);
    stage_pass(15 * 60 * 1000 + 1000);
    stage_attend(stage, "r1", &starting, 1);
    stage_overdue(stage);
    assert_state(stage, id, LIFE(FAILED), "start_timeout");
    assert_non_null(stage_claim(stage, id, DELIVER_STOP_RUN));

    /* Retry waits for the end of the run that is still being stopped. */
    assert_int_equal(wake(stage, "ada", id, "w1"), 0);
    assert_null(stage_claim(stage, id, DELIVER_START));
    assert_int_equal(store_report_ended(stage->store, stage->arena, &first, &ending, &expected,
                                        &stage->changes, &stage->err),
                     0);
    assert_state(stage, id, LIFE(STARTING), "asked");
    assert_int_equal(stage_claim(stage, id, DELIVER_START)->run, 2);
}

static void cr_04_a_token_that_is_removed_puts_awake_sessions_to_sleep_and_says_why(void **state)
{
    struct stage *stage = *state;

    stage_attend(stage, "r1", NULL, 0);
    stage_attend(stage, "r6", NULL, 0);
    const char *active = stage_make(stage, "bob", "r1", "");
    const char *starting = stage_make(stage, "bob", "r1", "");
    const char *frozen = stage_make(stage, "bob", "r6", "");
    const char *other = stage_make(stage, "eve", "r1", "");
    stage_run(stage, "r1", active);
    stage_run(stage, "r6", frozen);
    stage_run(stage, "r1", other);
    start_turn(stage, "r1", active);
    stage_pass(15 * 1000);
    const struct attended on_r1[] = {
        *running(stage, active), *running(stage, other), {starting, 1, RUN_STARTING, 0}};
    stage_attend(stage, "r1", on_r1, 3);
    stage_pass(6 * 1000);
    freeze(stage);
    assert_state(stage, frozen, LIFE(FROZEN), "runner_away");

    assert_int_equal(store_put_person_to_sleep(stage->store, stage->arena, "bob", false, 3,
                                               &stage->changes, &stage->err),
                     0);
    assert_state(stage, active, LIFE(GOING_TO_SLEEP), "setup_token_removed");
    assert_state(stage, starting, LIFE(GOING_TO_SLEEP), "setup_token_removed");
    assert_state(stage, frozen, LIFE(FROZEN), "runner_away");
    assert_state(stage, other, LIFE(ACTIVE), "running");

    /* A Frozen one when its Runner is back. */
    stage_attend(stage, "r6", running(stage, frozen), 1);
    assert_state(stage, frozen, LIFE(GOING_TO_SLEEP), "setup_token_removed");

    /* A repeat does nothing to what was woken since. */
    stage_deliver(stage, active);
    stage_end(stage, "r1", active, 1, END_COMMANDED);
    assert_state(stage, active, LIFE(ASLEEP), "setup_token_removed");
    wake(stage, "bob", active, "w1");
    store_put_person_to_sleep(stage->store, stage->arena, "bob", false, 3, &stage->changes,
                              &stage->err);
    assert_state(stage, active, LIFE(WAKING), "asked");
}

/* CR-04, AC-09 */
static void cr_04_the_sessions_of_a_removed_member_go_to_sleep_and_say_why(void **state)
{
    struct stage *stage = *state;

    stage_attend(stage, "r1", NULL, 0);
    const char *active = stage_make(stage, "bob", "r1", "");
    const char *other = stage_make(stage, "eve", "r1", "");
    stage_run(stage, "r1", active);
    stage_run(stage, "r1", other);
    start_turn(stage, "r1", active);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(store_put_removed_to_sleep(stage->store, stage->arena, "bob",
                                                    &stage->changes, &stage->err),
                         0);
        assert_state(stage, active, LIFE(GOING_TO_SLEEP), "member_removed");
        assert_state(stage, other, LIFE(ACTIVE), "running");
    }
}

static void cr_01_a_token_that_anthropic_refuses_fails_the_session_and_says_what_to_do(void **state)
{
    struct stage *stage = *state;
    Kndl__Event__V1__Event *said[] = {
        stage_turn_started(stage, "t1", ""),
        stage_turn_ended(stage, "t1", "authentication_failed"),
    };

    const char *id = stage_make_active(stage, "");
    stage_append(stage, "r1", id, 1, said, 2);
    assert_state(stage, id, LIFE(FAILED), "setup_token_refused");
    assert_non_null(strstr(stage_read(stage, id).reason, "replace it"));
    assert_non_null(stage_claim(stage, id, DELIVER_STOP_RUN));
    stage_end(stage, "r1", id, 2, END_COMMANDED);
    assert_state(stage, id, LIFE(FAILED), "setup_token_refused");
    assert_int_equal(wake(stage, "ada", id, "w1"), 0);
    stage_run(stage, "r1", id);
    assert_state(stage, id, LIFE(ACTIVE), "running");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(li_01_each_change_is_an_event_that_says_why),
        cmocka_unit_test(li_02_it_is_asleep_only_when_its_runner_reports_it_stopped),
        cmocka_unit_test(li_02_a_prompt_sent_while_it_goes_to_sleep_wakes_it_then),
        cmocka_unit_test(the_end_of_a_run_waits_for_its_last_event),
        cmocka_unit_test(a_run_that_dies_leaves_nothing_open),
        cmocka_unit_test(li_04_a_claude_code_that_exits_is_not_restarted_in_a_loop),
        cmocka_unit_test(li_04_it_wakes_when_its_runner_next_connects),
        cmocka_unit_test(a_claude_code_that_exits_at_once_fails_the_start_and_retry_works),
        cmocka_unit_test(li_01_a_start_that_takes_too_long_fails_and_is_stopped),
        cmocka_unit_test(cr_04_a_token_that_is_removed_puts_awake_sessions_to_sleep_and_says_why),
        cmocka_unit_test(cr_04_the_sessions_of_a_removed_member_go_to_sleep_and_say_why),
        cmocka_unit_test(
            cr_01_a_token_that_anthropic_refuses_fails_the_session_and_says_what_to_do),
    };

    return cmocka_run_group_tests_name("sessions life, stored", tests, stage_open, stage_close);
}
