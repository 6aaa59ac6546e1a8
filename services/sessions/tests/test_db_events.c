/* Events on a real PostgreSQL: EV-01, EV-07, EV-08, and what keeps strangers out. */

#include <stdio.h>
#include <string.h>

#include "stage.h"

#define KIND(name) KNDL__EVENT__V1__EVENT__KIND_##name

static struct batch batch_of(const char *id, int64_t first_n, Kndl__Event__V1__Event **events,
                             size_t count)
{
    return (struct batch){
        .runner_id = "r1",
        .session_id = id,
        .run = 1,
        .first_n = first_n,
        .events = events,
        .count = count,
        .mod_token_hash = stage_token,
    };
}

static int append(struct stage *stage, const struct batch *batch, int64_t *ret_expected)
{
    return store_append_events(stage->store, stage->arena, batch, ret_expected, &stage->changes,
                               &stage->err);
}

static void ev_01_events_are_numbered_without_a_gap(void **state)
{
    struct stage *stage = *state;
    const char *id = stage_make_active(stage, "");
    Kndl__Event__V1__Event *said[] = {stage_text(stage, "one"), stage_text(stage, "two")};
    Kndl__Event__V1__Event **events;

    assert_int_equal(stage_append(stage, "r1", id, 1, said, 2), 3);
    assert_int_equal(stage_events(stage, id, &events), 4);
    assert_string_equal(events[2]->text->text, "one");
    assert_int_equal(events[3]->run, 1);
    assert_true(events[3]->at_ms > 0);
}

/* Faults 15: sessions died after its commit and before its answer; the batch comes again. */
static void a_batch_that_comes_again_is_stored_once(void **state)
{
    struct stage *stage = *state;
    const char *id = stage_make_active(stage, "");
    Kndl__Event__V1__Event *said[] = {stage_text(stage, "one"), stage_text(stage, "two"),
                                      stage_text(stage, "three")};
    Kndl__Event__V1__Event **events;

    assert_int_equal(stage_append(stage, "r1", id, 1, said, 2), 3);
    assert_int_equal(stage_append(stage, "r1", id, 1, said, 2), 3);
    assert_int_equal(stage_append(stage, "r1", id, 1, said, 3), 4);
    assert_int_equal(stage_events(stage, id, &events), 5);
}

static void a_batch_that_leaves_a_gap_is_not_taken(void **state)
{
    struct stage *stage = *state;
    const char *id = stage_make_active(stage, "");
    Kndl__Event__V1__Event *said[] = {stage_text(stage, "five")};
    Kndl__Event__V1__Event **events;

    assert_int_equal(stage_append(stage, "r1", id, 5, said, 1), 1);
    assert_int_equal(stage_events(stage, id, &events), 2);

    /* Unless its Runner has lost what came before: then it is said. */
    struct batch batch = batch_of(id, 5, said, 1);
    int64_t expected;
    batch.gap = true;
    assert_int_equal(append(stage, &batch, &expected), 0);
    assert_int_equal(expected, 6);
    assert_int_equal(stage_events(stage, id, &events), 4);
    assert_string_equal(events[2]->note->note_code, "events_lost");
    assert_string_equal(events[3]->text->text, "five");
}

static int tell_waiting(struct stage *stage, const char *id, int64_t run)
{
    const struct run_of run_of = {"r1", id, run};

    return store_report_waiting(stage->store, stage->arena, &run_of, "output_waits",
                                &stage->changes, &stage->err);
}

static void the_next_batch_ends_that_output_waits(void **state)
{
    struct stage *stage = *state;
    const char *id = stage_make_active(stage, "");
    Kndl__Event__V1__Event *said[] = {stage_text(stage, "one"), stage_text(stage, "two")};
    int64_t version;

    assert_int_equal(tell_waiting(stage, id, 1), 0);
    version = stage_read(stage, id).view_version;
    assert_int_equal(stage_append(stage, "r1", id, 1, said, 1), 2);
    assert_string_equal(stage_read(stage, id).waits_code, "");
    assert_int_equal(stage_read(stage, id).view_version, version + 1);

    /* One that is stored already was let through all the same. */
    assert_int_equal(tell_waiting(stage, id, 1), 0);
    assert_int_equal(stage_append(stage, "r1", id, 1, said, 1), 2);
    assert_string_equal(stage_read(stage, id).waits_code, "");
}

static void output_waits_in_the_newest_run_until_it_is_over(void **state)
{
    struct stage *stage = *state;
    const char *id = stage_make_active(stage, "");

    assert_int_equal(tell_waiting(stage, id, 2), -1);
    assert_int_equal(stage->err.code, KNDL_NOT_FOUND);
    assert_int_equal(tell_waiting(stage, id, 1), 0);
    stage_end(stage, "r1", id, 0, END_COMMANDED);
    assert_string_equal(stage_read(stage, id).waits_code, "");
    assert_int_equal(tell_waiting(stage, id, 1), -1);
    assert_int_equal(stage->err.code, KNDL_ABORTED);
}

static void a_batch_with_an_older_mod_token_stores_nothing(void **state)
{
    struct stage *stage = *state;
    const char *id = stage_make_active(stage, "");
    Kndl__Event__V1__Event *said[] = {stage_text(stage, "one")};
    Kndl__Event__V1__Event **events;
    const struct run_of run = {"r1", id, 1};
    uint8_t newer[32] = {9};
    int64_t expected;

    assert_int_equal(store_put_mod_token(stage->store, stage->arena, &run,
                                         kndl_slice(newer, sizeof newer), &stage->err),
                     0);
    assert_int_equal(stage_append(stage, "r1", id, 1, said, 1), 1);
    assert_int_equal(stage_events(stage, id, &events), 2);
    struct batch batch = batch_of(id, 1, said, 1);
    batch.mod_token_hash = kndl_slice(newer, sizeof newer);
    assert_int_equal(append(stage, &batch, &expected), 0);
    assert_int_equal(expected, 2);
}

static void a_runner_appends_to_its_own_sessions_alone(void **state)
{
    struct stage *stage = *state;
    const char *id = stage_make_active(stage, "");
    Kndl__Event__V1__Event *said[] = {stage_text(stage, "one")};
    struct batch batch = batch_of(id, 1, said, 1);
    int64_t expected;

    batch.runner_id = "r2";
    assert_int_equal(append(stage, &batch, &expected), -1);
    assert_int_equal(stage->err.code, KNDL_NOT_FOUND);
    batch = batch_of("bbbbbbbbbbbbbbbbbbbbbbbbbb", 1, said, 1);
    assert_int_equal(append(stage, &batch, &expected), -1);
    assert_int_equal(stage->err.code, KNDL_NOT_FOUND);
}

/* A state is the Hub's to tell, whatever a hostile Runner sends. */
static void a_runner_cannot_tell_a_state(void **state)
{
    struct stage *stage = *state;
    const char *id = stage_make_active(stage, "");
    Kndl__Event__V1__StateChanged changed = KNDL__EVENT__V1__STATE_CHANGED__INIT;
    Kndl__Event__V1__Event event = KNDL__EVENT__V1__EVENT__INIT;
    Kndl__Event__V1__Event *said[] = {&event, stage_text(stage, "after it")};
    Kndl__Event__V1__Event **events;

    changed.state = LIFE(ARCHIVED);
    event.kind_case = KIND(STATE_CHANGED);
    event.state_changed = &changed;
    assert_int_equal(stage_append(stage, "r1", id, 1, said, 2), 3);
    assert_int_equal(stage_events(stage, id, &events), 3);
    assert_int_equal(stage_read(stage, id).state, LIFE(ACTIVE));
}

/* Nor make rows that no index holds: one such Event would block all that come after it. */
static void handles_that_claude_code_never_made_are_passed_over(void **state)
{
    struct stage *stage = *state;
    const char *id = stage_make_active(stage, "");
    static char big[10001];
    Kndl__Event__V1__Event **events;

    memset(big, 'x', sizeof big - 1);
    Kndl__Event__V1__Event *said[] = {stage_subagent(stage, big), stage_question(stage, big),
                                      stage_turn_started(stage, big, ""),
                                      stage_text(stage, "after them")};
    assert_int_equal(stage_append(stage, "r1", id, 1, said, 4), 5);
    assert_int_equal(stage_events(stage, id, &events), 3);
    assert_string_equal(events[2]->text->text, "after them");
}

/* What code in a Sandbox can make the mod say may not make its Session unreadable, nor the Hub
 * slow: a view is one message. */
static void a_flood_of_subagents_and_questions_leaves_a_view_that_fits(void **state)
{
    enum { FLOOD = 400, VIEW_BYTES_MAX = 300 * 1024 };
    struct stage *stage = *state;
    const char *id = stage_make_active(stage, "");
    Kndl__Event__V1__Event *said[2 * FLOOD];
    static char text[12 * 1024 + 1];
    struct view view;
    size_t bytes = 0;

    memset(text, 'x', sizeof text - 1);
    for (size_t i = 0; i < FLOOD; i++) {
        char name[32];

        snprintf(name, sizeof name, "flood%zu", i);
        said[i] = stage_subagent(stage, name);
        said[i]->subagent_started->description = text;
        said[i]->subagent_started->agent_type = text;
        said[FLOOD + i] = stage_question(stage, name);
        said[FLOOD + i]->question->questions[0]->question = text;
    }
    assert_int_equal(stage_append(stage, "r1", id, 1, said, 2 * FLOOD), 2 * FLOOD + 1);
    view = stage_view(stage, id);
    assert_true(view.subagent_count > 0 && view.question_count > 0);
    for (size_t i = 0; i < view.subagent_count; i++)
        bytes += kndl__sessions__v1__subagent__get_packed_size(view.subagents[i]);
    for (size_t i = 0; i < view.question_count; i++)
        bytes += kndl__sessions__v1__open_question__get_packed_size(view.questions[i]);
    assert_true(bytes < VIEW_BYTES_MAX);
}

static void a_question_longer_than_people_are_asked_is_an_event_alone(void **state)
{
    struct stage *stage = *state;
    const char *id = stage_make_active(stage, "");
    Kndl__Event__V1__Event *said[] = {stage_question(stage, "long"),
                                      stage_question(stage, "short")};
    static char text[100 * 1024 + 1];
    Kndl__Event__V1__Event **events;

    memset(text, 'x', sizeof text - 1);
    said[0]->question->questions[0]->question = text;
    assert_int_equal(stage_append(stage, "r1", id, 1, said, 2), 3);
    assert_int_equal(stage_events(stage, id, &events), 4);
    assert_int_equal(stage_view(stage, id).question_count, 1);
    assert_string_equal(stage_view(stage, id).questions[0]->question->id, "short");
}

static void a_queue_of_the_longest_prompts_leaves_a_view_that_fits(void **state)
{
    enum { PROMPT_BYTES = 64 * 1024, QUEUE_BYTES_MAX = 200 * 1024 };
    struct stage *stage = *state;
    const char *id = stage_make_active(stage, "");
    char *text = kndl_arena_alloc(stage->arena, PROMPT_BYTES + 1);
    struct view view;
    size_t bytes = 0;

    memset(text, 'x', PROMPT_BYTES);
    for (int i = 0; i < QUEUE_COUNT_MAX; i++) {
        Kndl__Sessions__V1__QueuedPrompt *queued;
        char request[32];
        const struct asked asked = {"ada", id, request, 0};

        snprintf(request, sizeof request, "long%d", i);
        assert_int_equal(store_append_prompt(stage->store, stage->arena, &asked, text,
                                             kndl_slice("s", 1), &queued, &stage->changes,
                                             &stage->err),
                         0);
    }
    view = stage_view(stage, id);
    assert_int_equal(view.queue_count, QUEUE_COUNT_MAX);
    assert_int_equal(strlen(view.queue[0]->text), PROMPT_BYTES);
    for (size_t i = 0; i < view.queue_count; i++)
        bytes += kndl__sessions__v1__queued_prompt__get_packed_size(view.queue[i]);
    assert_true(bytes < QUEUE_BYTES_MAX);
}

/* What a run says after it was settled is history and changes nothing (decisions 5). */
static void late_events_of_an_older_run_are_history_alone(void **state)
{
    struct stage *stage = *state;
    const char *id = stage_make_active(stage, "");
    Kndl__Event__V1__Event *late[] = {stage_turn_started(stage, "t1", "")};
    int64_t expected;

    stage_pass(11 * 1000);
    stage_attend(stage, "r1", NULL, 0);
    assert_int_equal(stage_read(stage, id).state, LIFE(ASLEEP));
    struct batch batch = batch_of(id, 1, late, 1);
    assert_int_equal(append(stage, &batch, &expected), 0);
    assert_int_equal(expected, 2);
    assert_false(stage_read(stage, id).turn_open);
}

/* Replayed after a sleep, a run's mod token adds nothing: its Runner said which Event was the last.
 */
static void faults_36_a_run_that_its_runner_ended_takes_no_more(void **state)
{
    struct stage *stage = *state;
    const char *id = stage_make_active(stage, "");
    Kndl__Event__V1__Event *events[] = {stage_turn_started(stage, "t1", "")};
    struct batch batch = batch_of(id, 1, events, 1);
    int64_t expected;

    assert_int_equal(append(stage, &batch, &expected), 0);
    assert_int_equal(stage_end(stage, "r1", id, 1, END_EXITED), 2);
    assert_int_equal(stage_read(stage, id).state, LIFE(ASLEEP));
    int64_t last_seq = stage_read(stage, id).last_seq;
    batch = batch_of(id, 2, events, 1);
    assert_int_equal(append(stage, &batch, &expected), 0);
    assert_int_equal(expected, 2);
    assert_int_equal(stage_read(stage, id).last_seq, last_seq);
}

static size_t page(struct stage *stage, const char *id, int64_t after, int64_t before,
                   int64_t limit, Kndl__Event__V1__Event ***ret_events)
{
    size_t count;

    assert_int_equal(store_read_page(stage->store, stage->arena, id, after, before, limit,
                                     ret_events, &count, &stage->err),
                     0);
    return count;
}

static void ev_08_pages_go_back_and_forth_without_a_gap(void **state)
{
    struct stage *stage = *state;
    const char *id = stage_make_active(stage, "");
    Kndl__Event__V1__Event *said[98];
    Kndl__Event__V1__Event **events;
    char text[16];

    for (size_t i = 0; i < 98; i++) {
        snprintf(text, sizeof text, "%zu", i);
        said[i] = stage_text(stage, text);
    }
    stage_append(stage, "r1", id, 1, said, 98); /* 100 with two states */
    assert_int_equal(page(stage, id, 0, INT64_MAX, 50, &events), 50);
    assert_int_equal(events[0]->seq, 51);
    assert_int_equal(events[49]->seq, 100);
    assert_int_equal(page(stage, id, 0, 51, 50, &events), 50);
    assert_int_equal(events[0]->seq, 1);
    assert_int_equal(page(stage, id, 0, 1, 50, &events), 0);
    assert_int_equal(page(stage, id, 98, 0, 50, &events), 2);
    assert_int_equal(page(stage, id, 100, 0, 50, &events), 0);
    assert_int_equal(page(stage, id, 0, 0, 100, &events), 100);
}

static void a_page_of_big_events_is_cut_so_that_it_fits_a_message(void **state)
{
    struct stage *stage = *state;
    const char *id = stage_make_active(stage, "");
    static char big[64 * 1024 + 1];
    Kndl__Event__V1__Event *said[10];
    Kndl__Event__V1__Event **events;

    memset(big, 'x', sizeof big - 1);
    for (size_t i = 0; i < 10; i++)
        said[i] = stage_text(stage, big);
    stage_append(stage, "r1", id, 1, said, 10);
    size_t count = page(stage, id, 0, INT64_MAX, 200, &events);
    assert_int_equal(count, 7);
    assert_int_equal(events[count - 1]->seq, 12);
    count = page(stage, id, 2, 0, 200, &events);
    assert_int_equal(count, 7);
    assert_int_equal(events[0]->seq, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ev_01_events_are_numbered_without_a_gap),
        cmocka_unit_test(a_batch_that_comes_again_is_stored_once),
        cmocka_unit_test(a_batch_that_leaves_a_gap_is_not_taken),
        cmocka_unit_test(the_next_batch_ends_that_output_waits),
        cmocka_unit_test(output_waits_in_the_newest_run_until_it_is_over),
        cmocka_unit_test(a_batch_with_an_older_mod_token_stores_nothing),
        cmocka_unit_test(a_runner_appends_to_its_own_sessions_alone),
        cmocka_unit_test(a_runner_cannot_tell_a_state),
        cmocka_unit_test(a_flood_of_subagents_and_questions_leaves_a_view_that_fits),
        cmocka_unit_test(a_question_longer_than_people_are_asked_is_an_event_alone),
        cmocka_unit_test(a_queue_of_the_longest_prompts_leaves_a_view_that_fits),
        cmocka_unit_test(handles_that_claude_code_never_made_are_passed_over),
        cmocka_unit_test(late_events_of_an_older_run_are_history_alone),
        cmocka_unit_test(faults_36_a_run_that_its_runner_ended_takes_no_more),
        cmocka_unit_test(ev_08_pages_go_back_and_forth_without_a_gap),
        cmocka_unit_test(a_page_of_big_events_is_cut_so_that_it_fits_a_message),
    };
    return cmocka_run_group_tests_name("sessions events", tests, stage_open, stage_close);
}
