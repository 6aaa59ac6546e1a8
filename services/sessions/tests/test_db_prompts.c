/* Prompts, questions and stops on a real PostgreSQL: EV-02, EV-03, EV-04. */

#include <string.h>

#include "stage.h"

#define KIND(name) KNDL__EVENT__V1__EVENT__KIND_##name
#define PROMPT_STATE(name) KNDL__SESSIONS__V1__QUEUED_PROMPT__STATE__STATE_##name

static Kndl__Sessions__V1__QueuedPrompt *only_prompt(struct stage *stage, const char *id)
{
    struct view view = stage_view(stage, id);

    assert_int_equal(view.queue_count, 1);
    return view.queue[0];
}

static void ev_02_a_prompt_is_handed_and_then_delivered(void **state)
{
    struct stage *stage = *state;
    const char *id = stage_make_active(stage, "hello there\nsecond line");
    const struct delivery *due = stage_claim(stage, id, DELIVER_PROMPT);

    assert_non_null(due);
    assert_memory_equal(due->sealed.data, "sealed", 6);
    assert_string_equal(stage_read(stage, id).title, "hello there");
    assert_int_equal(only_prompt(stage, id)->state, PROMPT_STATE(HANDED));
    assert_int_equal(store_settle_delivery(stage->store, stage->arena, due, &stage->err), 0);

    Kndl__Event__V1__Event *said[] = {
        stage_turn_started(stage, "t1", due->id),
        stage_prompt(stage, due->id, "hello there\nsecond line"),
    };
    stage_append(stage, "r1", id, 1, said, 2);
    assert_int_equal(stage_view(stage, id).queue_count, 0);
    assert_true(stage_read(stage, id).turn_open);
}

static int send(struct stage *stage, const char *id, const char *request)
{
    const struct asked asked = {"ada", id, request, 0};
    Kndl__Sessions__V1__QueuedPrompt *queued;

    return store_append_prompt(stage->store, stage->arena, &asked, "next", kndl_slice("s", 1),
                               &queued, &stage->changes, &stage->err);
}

static int report(struct stage *stage, const char *id, const char *prompt,
                  enum prompt_outcome outcome)
{
    const struct run_of run = {"r1", id, 0};

    return store_report_prompt(stage->store, stage->arena, &run, prompt, outcome, "a hook said no",
                               &stage->changes, &stage->err);
}

/* One at a time, also while the Turn of the first is still on its way to be seen. */
static void ev_02_the_next_prompt_waits_for_the_turn_of_the_first(void **state)
{
    struct stage *stage = *state;
    const char *id = stage_make_active(stage, "first");
    const struct delivery *due = stage_claim(stage, id, DELIVER_PROMPT);

    store_settle_delivery(stage->store, stage->arena, due, &stage->err);
    send(stage, id, "q2");
    assert_null(stage_claim(stage, id, DELIVER_PROMPT));
    report(stage, id, due->id, PROMPT_STARTED);
    assert_null(stage_claim(stage, id, DELIVER_PROMPT));

    Kndl__Event__V1__Event *said[] = {stage_turn_started(stage, "t1", due->id),
                                      stage_turn_ended(stage, "t1", "")};
    stage_append(stage, "r1", id, 1, said, 1);
    assert_null(stage_claim(stage, id, DELIVER_PROMPT));
    stage_append(stage, "r1", id, 2, said + 1, 1);
    assert_non_null(stage_claim(stage, id, DELIVER_PROMPT));

    /* The report of the first, late, changes nothing. */
    report(stage, id, due->id, PROMPT_STARTED);
    assert_int_equal(stage_read(stage, id).turn_expected_until_ms, 0);
}

static const Kndl__Event__V1__Note *last_note(struct stage *stage, const char *id)
{
    Kndl__Event__V1__Event **events;
    size_t count = stage_events(stage, id, &events);

    while (count-- > 0)
        if (events[count]->kind_case == KIND(NOTE))
            return events[count]->note;
    fail_msg("there is no note");
    return NULL;
}

static void ev_02_a_refused_prompt_says_why_and_a_taken_back_one_waits_again(void **state)
{
    struct stage *stage = *state;
    const char *id = stage_make_active(stage, "first");
    const struct delivery *due = stage_claim(stage, id, DELIVER_PROMPT);

    report(stage, id, due->id, PROMPT_REQUEUE);
    assert_int_equal(only_prompt(stage, id)->state, PROMPT_STATE(QUEUED));
    due = stage_claim(stage, id, DELIVER_PROMPT);
    assert_non_null(due);
    assert_memory_equal(due->sealed.data, "sealed", 6);
    report(stage, id, due->id, PROMPT_REFUSED);
    assert_int_equal(stage_view(stage, id).queue_count, 0);
    assert_non_null(strstr(last_note(stage, id)->text, "refused: “first”. a hook said no"));
    assert_null(stage_claim(stage, id, DELIVER_PROMPT));
}

/* Claude Code died while it had the prompt: it is never typed again by itself. */
static void ev_02_a_prompt_that_may_have_been_sent_is_not_sent_again(void **state)
{
    struct stage *stage = *state;
    const char *id = stage_make_active(stage, "first");
    const struct delivery *due = stage_claim(stage, id, DELIVER_PROMPT);

    store_settle_delivery(stage->store, stage->arena, due, &stage->err);
    stage_end(stage, "r1", id, 0, END_COMMANDED);
    assert_int_equal(stage_view(stage, id).queue_count, 0);
    assert_string_equal(last_note(stage, id)->note_code, "prompt_unsure");
    assert_int_equal(stage_deliver(stage, id), 1); /* secrets hears of the end */
    assert_int_equal(stage_read(stage, id).state, LIFE(ASLEEP));
}

static void ev_02_a_prompt_that_was_surely_not_taken_waits_again(void **state)
{
    struct stage *stage = *state;
    const char *id = stage_make_active(stage, "first");
    const struct delivery *due = stage_claim(stage, id, DELIVER_PROMPT);

    store_release_delivery(stage->store, stage->arena, due, false, &stage->changes, &stage->err);
    assert_int_equal(only_prompt(stage, id)->state, PROMPT_STATE(QUEUED));

    /* Its Runner has a pause first. */
    assert_null(stage_claim(stage, id, DELIVER_PROMPT));
    stage_pass(1000);
    due = stage_claim(stage, id, DELIVER_PROMPT);
    assert_non_null(due);

    /* Nobody knows whether it was taken: the same is sent again, to the same run, never queued. */
    store_release_delivery(stage->store, stage->arena, due, true, &stage->changes, &stage->err);
    assert_int_equal(only_prompt(stage, id)->state, PROMPT_STATE(HANDED));
    stage_pass(2000);
    assert_string_equal(stage_claim(stage, id, DELIVER_PROMPT)->id, due->id);
    stage_end(stage, "r1", id, 0, END_EXITED);
    assert_int_equal(stage_view(stage, id).queue_count, 0);
}

static int answer(struct stage *stage, const char *person, const char *id, const char *request,
                  size_t count)
{
    const struct asked asked = {person, id, request, 0};

    return store_answer_question(stage->store, stage->arena, &asked, "q1", count, "blue",
                                 kndl_slice("s", 1), &stage->changes, &stage->err);
}

static void ev_03_a_question_is_answered_once_and_by_the_creator_alone(void **state)
{
    struct stage *stage = *state;
    const char *id = stage_make_active(stage, "");
    Kndl__Event__V1__Event *said[] = {stage_turn_started(stage, "t1", ""),
                                      stage_question(stage, "q1")};
    Kndl__Event__V1__Answer given = KNDL__EVENT__V1__ANSWER__INIT;
    Kndl__Event__V1__Event event = KNDL__EVENT__V1__EVENT__INIT;
    Kndl__Event__V1__Event *heard[] = {&event};
    Kndl__Event__V1__Event **events;

    stage_append(stage, "r1", id, 1, said, 2);
    assert_int_equal(stage_view(stage, id).question_count, 1);
    assert_int_equal(answer(stage, "eve", id, "a0", 1), -1);
    assert_int_equal(stage->err.code, KNDL_PERMISSION_DENIED);
    assert_int_equal(answer(stage, "ada", id, "a0", 2), -1);
    assert_int_equal(stage->err.code, KNDL_INVALID_ARGUMENT);
    assert_int_equal(answer(stage, "ada", id, "a1", 1), 0);
    assert_true(stage_view(stage, id).questions[0]->answered);
    assert_int_equal(answer(stage, "ada", id, "a2", 1), -1);
    assert_int_equal(stage->err.code, KNDL_ABORTED);
    assert_string_equal(stage_claim(stage, id, DELIVER_ANSWER)->target_id, "q1");

    given.question_id = (char *)"q1";
    given.outcome = KNDL__EVENT__V1__ANSWER__OUTCOME__OUTCOME_ANSWERED;
    event.kind_case = KIND(ANSWER);
    event.answer = &given;
    stage_append(stage, "r1", id, 3, heard, 1);
    assert_int_equal(stage_view(stage, id).question_count, 0);
    size_t count = stage_events(stage, id, &events);
    assert_string_equal(events[count - 1]->answer->person_id, "ada");
}

static void ev_03_an_answer_that_did_not_arrive_can_be_given_again(void **state)
{
    struct stage *stage = *state;
    const char *id = stage_make_active(stage, "");
    Kndl__Event__V1__Event *said[] = {stage_question(stage, "q1")};
    const struct run_of run = {"r1", id, 1};

    stage_append(stage, "r1", id, 1, said, 1);
    answer(stage, "ada", id, "a1", 1);
    const struct delivery *due = stage_claim(stage, id, DELIVER_ANSWER);
    store_settle_delivery(stage->store, stage->arena, due, &stage->err);
    assert_int_equal(store_report_command(stage->store, stage->arena, &run, due->id, false, "",
                                          &stage->changes, &stage->err),
                     0);
    assert_false(stage_view(stage, id).questions[0]->answered);
    assert_int_equal(answer(stage, "ada", id, "a2", 1), 0);
}

static void a_question_that_its_turn_leaves_open_is_unanswered(void **state)
{
    struct stage *stage = *state;
    const char *id = stage_make_active(stage, "");
    Kndl__Event__V1__Event *said[] = {stage_turn_started(stage, "t1", ""),
                                      stage_question(stage, "q1"),
                                      stage_turn_ended(stage, "t1", "")};
    Kndl__Event__V1__Event **events;

    stage_append(stage, "r1", id, 1, said, 3);
    size_t count = stage_events(stage, id, &events);
    assert_int_equal(events[count - 2]->answer->outcome,
                     KNDL__EVENT__V1__ANSWER__OUTCOME__OUTCOME_UNANSWERED);
    assert_int_equal(answer(stage, "ada", id, "a1", 1), -1);
    assert_int_equal(stage->err.code, KNDL_ABORTED);
}

static void ev_04_a_stop_names_its_turn_and_pauses_the_queue(void **state)
{
    struct stage *stage = *state;
    const char *id = stage_make_active(stage, "");
    const struct asked asked = {"ada", id, "s1", 0}, other = {"ada", id, "s2", 0};
    Kndl__Event__V1__Event *said[] = {stage_turn_started(stage, "t1", ""),
                                      stage_turn_ended(stage, "t1", "")};
    const char *turn;

    assert_int_equal(store_stop_turn(stage->store, stage->arena, &asked, "", &turn, &stage->changes,
                                     &stage->err),
                     -1);
    assert_int_equal(stage->err.code, KNDL_ABORTED);
    stage_append(stage, "r1", id, 1, said, 1);
    assert_int_equal(store_stop_turn(stage->store, stage->arena, &asked, "t0", &turn,
                                     &stage->changes, &stage->err),
                     -1);
    assert_int_equal(stage->err.code, KNDL_ABORTED);
    send(stage, id, "q1");
    assert_int_equal(store_stop_turn(stage->store, stage->arena, &other, "", &turn, &stage->changes,
                                     &stage->err),
                     0);
    assert_string_equal(turn, "t1");
    assert_string_equal(stage_claim(stage, id, DELIVER_STOP_TURN)->target_id, "t1");

    /* The prompt that waited is not sent when the Turn has ended, until somebody says so. */
    stage_append(stage, "r1", id, 2, said + 1, 1);
    assert_true(stage_read(stage, id).queue_paused);
    assert_null(stage_claim(stage, id, DELIVER_PROMPT));
    send(stage, id, "q2");
    assert_false(stage_read(stage, id).queue_paused);
    assert_non_null(stage_claim(stage, id, DELIVER_PROMPT));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ev_02_a_prompt_is_handed_and_then_delivered),
        cmocka_unit_test(ev_02_the_next_prompt_waits_for_the_turn_of_the_first),
        cmocka_unit_test(ev_02_a_refused_prompt_says_why_and_a_taken_back_one_waits_again),
        cmocka_unit_test(ev_02_a_prompt_that_may_have_been_sent_is_not_sent_again),
        cmocka_unit_test(ev_02_a_prompt_that_was_surely_not_taken_waits_again),
        cmocka_unit_test(ev_03_a_question_is_answered_once_and_by_the_creator_alone),
        cmocka_unit_test(ev_03_an_answer_that_did_not_arrive_can_be_given_again),
        cmocka_unit_test(a_question_that_its_turn_leaves_open_is_unanswered),
        cmocka_unit_test(ev_04_a_stop_names_its_turn_and_pauses_the_queue),
    };
    return cmocka_run_group_tests_name("sessions prompts", tests, stage_open, stage_close);
}
