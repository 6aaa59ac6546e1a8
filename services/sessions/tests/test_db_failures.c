/* Starts and wakes that fail for reasons that are sessions' own to find: docs/failures.md. */

#include <string.h>

#include "life.h"
#include "stage.h"

static void assert_failed(struct stage *stage, const char *id, const char *code)
{
    struct session session = stage_read(stage, id);

    assert_string_equal(life_name(session.state), life_name(LIFE(FAILED)));
    assert_string_equal(session.reason_code, code);
    assert_non_null(strstr(session.reason, "Retry"));
}

static void wake(struct stage *stage, const char *id, const char *request)
{
    const struct asked asked = {"ada", id, request, 0};
    struct session session;

    assert_int_equal(store_wake_session(stage->store, stage->arena, &asked, true, &session,
                                        &stage->changes, &stage->err),
                     0);
}

/* Asleep after a run, and woken: run 2 is on its way. */
static const char *make_waking(struct stage *stage)
{
    const char *id;

    stage_attend(stage, "r1", NULL, 0);
    id = stage_make(stage, "ada", "r1", "");
    stage_run(stage, "r1", id);
    stage_end(stage, "r1", id, 0, END_EXITED);
    wake(stage, id, "w1");
    stage_deliver(stage, id);
    return id;
}

static void retry_works(struct stage *stage, const char *id)
{
    wake(stage, id, "retry");
    stage_run(stage, "r1", id);
    assert_string_equal(life_name(stage_read(stage, id).state), life_name(LIFE(ACTIVE)));
}

static void wake_timeout_a_wake_that_takes_longer_than_two_minutes(void **state)
{
    struct stage *stage = *state;
    const char *id = make_waking(stage);
    const struct attended waking = {id, 2, RUN_STARTING, 0};

    stage_pass(2 * 60 * 1000 - 1000);
    stage_attend(stage, "r1", &waking, 1);
    stage_overdue(stage);
    assert_string_equal(life_name(stage_read(stage, id).state), life_name(LIFE(WAKING)));
    stage_pass(2000);
    stage_attend(stage, "r1", &waking, 1);
    stage_overdue(stage);
    assert_failed(stage, id, "wake_timeout");
    assert_non_null(stage_claim(stage, id, DELIVER_STOP_RUN));
    stage_end(stage, "r1", id, 0, END_COMMANDED);
    retry_works(stage, id);
}

static void start_lost_a_start_that_its_runner_does_not_know_any_more(void **state)
{
    struct stage *stage = *state;
    const char *id;

    stage_attend(stage, "r1", NULL, 0);
    id = stage_make(stage, "ada", "r1", "");
    stage_deliver(stage, id);
    stage_pass(60 * 1000); /* one that was just handed over may not be in its list yet */
    stage_reconnect(stage, "r1", NULL, 0);
    assert_failed(stage, id, "start_lost");
    retry_works(stage, id);
}

static void start_failed_where_the_runner_gives_no_better_reason(void **state)
{
    struct stage *stage = *state;
    const char *id;

    stage_attend(stage, "r1", NULL, 0);
    id = stage_make(stage, "ada", "r1", "");
    stage_deliver(stage, id);
    stage_end(stage, "r1", id, 0, END_FAILED);
    assert_failed(stage, id, "start_failed");
    retry_works(stage, id);
}

static void run_failed_where_the_runner_gives_no_better_reason(void **state)
{
    struct stage *stage = *state;
    const char *id;

    stage_attend(stage, "r1", NULL, 0);
    id = stage_make(stage, "ada", "r1", "");
    stage_run(stage, "r1", id);
    stage_end(stage, "r1", id, 0, END_FAILED);
    assert_failed(stage, id, "run_failed");
    retry_works(stage, id);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wake_timeout_a_wake_that_takes_longer_than_two_minutes),
        cmocka_unit_test(start_lost_a_start_that_its_runner_does_not_know_any_more),
        cmocka_unit_test(start_failed_where_the_runner_gives_no_better_reason),
        cmocka_unit_test(run_failed_where_the_runner_gives_no_better_reason),
    };
    return cmocka_run_group_tests_name("sessions failures", tests, stage_open, stage_close);
}
