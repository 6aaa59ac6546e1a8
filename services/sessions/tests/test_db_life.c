/* The life of a Session on a real PostgreSQL: LI-01, LI-02, LI-04, LI-06, LI-07, CR-01, CR-04. */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stage.h"

#define KIND(name) KNDL__EVENT__V1__EVENT__KIND_##name

static void assert_state(struct stage *stage, const char *id, life_state state, const char *code)
{
    struct session session = stage_read(stage, id);

    assert_string_equal(life_name(session.state), life_name(state));
    assert_string_equal(session.reason_code, code);
}

static const struct attended *running(struct stage *stage, const char *id)
{
    struct attended *run = kndl_arena_alloc(stage->arena, sizeof *run);

    *run = (struct attended){id, stage_read(stage, id).run, RUN_RUNNING, 0};
    return run;
}

static int put_to_sleep(struct stage *stage, const char *person, const char *id,
                        const char *request)
{
    const struct asked asked = {person, id, request, 0};
    struct session session;

    return store_sleep_session(stage->store, stage->arena, &asked, &session, &stage->changes,
                               &stage->err);
}

static int wake(struct stage *stage, const char *person, const char *id, const char *request)
{
    const struct asked asked = {person, id, request, 0};
    struct session session;

    return store_wake_session(stage->store, stage->arena, &asked, true, &session, &stage->changes,
                              &stage->err);
}

static int prompt(struct stage *stage, const char *person, const char *id, const char *request)
{
    const struct asked asked = {person, id, request, 0};
    Kndl__Sessions__V1__QueuedPrompt *queued;

    return store_append_prompt(stage->store, stage->arena, &asked, "hello", kndl_slice("sealed", 6),
                               &queued, &stage->changes, &stage->err);
}

static void start_turn(struct stage *stage, const char *runner, const char *id)
{
    Kndl__Event__V1__Event *started = stage_turn_started(stage, "t1", "");

    stage_append(stage, runner, id, 1, &started, 1);
}

static void freeze(struct stage *stage)
{
    size_t count;
    bool found;

    assert_int_equal(store_mark_silent(stage->store, stage->arena, &count, &stage->err), 0);
    do
        assert_int_equal(
            store_freeze_next(stage->store, stage->arena, &found, &stage->changes, &stage->err), 0);
    while (found);
}

/* Runners are silent for so long that they are away, and what runs on them is Frozen. */
static void go_away(struct stage *stage)
{
    stage_pass(21 * 1000);
    freeze(stage);
}

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

    stage_attend(stage, "r1", NULL, 0);
    const char *id = stage_make(stage, "ada", "r1", "");
    stage_run(stage, "r1", id);
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

    stage_attend(stage, "r1", NULL, 0);
    const char *id = stage_make(stage, "ada", "r1", "");
    stage_run(stage, "r1", id);
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

    stage_attend(stage, "r1", NULL, 0);
    const char *id = stage_make(stage, "ada", "r1", "");
    stage_run(stage, "r1", id);
    put_to_sleep(stage, "ada", id, "s1");
    assert_int_equal(stage_end(stage, "r1", id, 1, END_COMMANDED), 1);
    assert_state(stage, id, LIFE(GOING_TO_SLEEP), "asked");
    assert_int_equal(stage_append(stage, "r1", id, 1, &event, 1), 2);
    assert_state(stage, id, LIFE(ASLEEP), "asked");
}

static const Kndl__Event__V1__Event *find_kind(Kndl__Event__V1__Event **events, size_t count,
                                               Kndl__Event__V1__Event__KindCase kind)
{
    while (count-- > 0)
        if (events[count]->kind_case == kind)
            return events[count];
    fail_msg("there is no Event of kind %d", (int)kind);
    return NULL;
}

/* Nothing comes after a kill: the Hub closes what was open. */
static void a_run_that_dies_leaves_nothing_open(void **state)
{
    struct stage *stage = *state;
    Kndl__Event__V1__Event *said[] = {stage_turn_started(stage, "t1", ""),
                                      stage_subagent(stage, "agent1"), stage_question(stage, "q1")};
    Kndl__Event__V1__Event **events;

    stage_attend(stage, "r1", NULL, 0);
    const char *id = stage_make(stage, "ada", "r1", "");
    stage_run(stage, "r1", id);
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

    stage_attend(stage, "r1", NULL, 0);
    const char *id = stage_make(stage, "ada", "r1", "");
    stage_run(stage, "r1", id);
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

    stage_attend(stage, "r1", NULL, 0);
    const char *id = stage_make(stage, "ada", "r1", "");
    stage_run(stage, "r1", id);
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

    stage_attend(stage, "r1", NULL, 0);
    const char *id = stage_make(stage, "ada", "r1", "");
    stage_run(stage, "r1", id);
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

/* One thing that may happen to a Session at any time. What it fails with does not matter. */
static void happen(struct stage *stage, const char *id, unsigned i, unsigned *seed)
{
    const struct run_of run = {"r9", id, stage_read(stage, id).run};
    const struct ending ending = {0, (enum end_cause)(1 + rand_r(seed) % 4), "", "", "", true};
    char request[32];
    int64_t expected;

    snprintf(request, sizeof request, "x%u", i);
    const char *name = kndl_arena_copy(stage->arena, request);
    switch (rand_r(seed) % 12) {
    case 0:
        wake(stage, "zoe", id, name);
        break;
    case 1:
        put_to_sleep(stage, "zoe", id, name);
        break;
    case 2:
        prompt(stage, "zoe", id, name);
        break;
    case 3:
        go_away(stage);
        break;
    case 4:
        stage_attend(stage, "r9", running(stage, id), 1);
        break;
    case 5:
        stage_reconnect(stage, "r9", NULL, 0);
        break;
    case 6:
        store_report_running(stage->store, stage->arena, &run, "", &stage->changes, &stage->err);
        break;
    case 7:
        store_report_ended(stage->store, stage->arena, &run, &ending, &expected, &stage->changes,
                           &stage->err);
        break;
    case 8:
        stage_pass(rand_r(seed) % 1000000);
        stage_overdue(stage);
        break;
    case 9:
        store_put_person_to_sleep(stage->store, stage->arena, "zoe", rand_r(seed) % 2 == 0, i + 1,
                                  &stage->changes, &stage->err);
        break;
    default:
        stage_deliver(stage, id);
        break;
    }
}

/* What is told of its states is a walk along the table that ends where it is. */
static void assert_legal_walk(struct stage *stage, const char *id)
{
    Kndl__Event__V1__Event **events;
    size_t count = stage_events(stage, id, &events);
    life_state was = LIFE(UNSPECIFIED);

    for (size_t i = 0; i < count; i++) {
        if (events[i]->kind_case != KIND(STATE_CHANGED))
            continue;
        assert_true(life_can(was, events[i]->state_changed->state));
        was = events[i]->state_changed->state;
    }
    assert_int_equal(was, stage_read(stage, id).state);
    assert_true(count > 20);
}

static void li_01_whatever_happens_in_any_order_only_legal_edges_are_taken(void **state)
{
    struct stage *stage = *state;
    unsigned seed = 20;

    stage_attend(stage, "r9", NULL, 0);
    const char *id = stage_make(stage, "zoe", "r9", "");
    for (unsigned i = 0; i < 800; i++)
        happen(stage, id, i, &seed);
    assert_legal_walk(stage, id);
}

struct actor {
    pthread_t thread;
    struct stage stage; /* a connection and an arena of its own */
    const char *id;
    unsigned seed;
};

static void *act(void *data)
{
    struct actor *actor = data;

    for (unsigned i = 0; i < 150; i++)
        happen(&actor->stage, actor->id, actor->seed * 1000 + i, &actor->seed);
    return NULL;
}

/* Faults 20: the same side by side. The table is asserted at each change, and a deadlock would be
 * an error of a step that may not fail. */
static void li_01_six_at_once_take_legal_edges_alone(void **state)
{
    enum { ACTORS = 6 };
    struct stage *stage = *state;
    struct actor actors[ACTORS];

    stage_attend(stage, "r9", NULL, 0);
    const char *id = stage_make(stage, "zoe", "r9", "");
    for (unsigned i = 0; i < ACTORS; i++) {
        actors[i] = (struct actor){.id = id, .seed = i + 1};
        actors[i].stage.store = stage_connect();
        actors[i].stage.arena = kndl_arena_new(KNDL_ARENA_PLAIN);
        pthread_create(&actors[i].thread, NULL, act, &actors[i]);
    }
    for (unsigned i = 0; i < ACTORS; i++) {
        pthread_join(actors[i].thread, NULL);
        store_close(actors[i].stage.store);
        kndl_arena_free(actors[i].stage.arena);
    }
    assert_legal_walk(stage, id);
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
        cmocka_unit_test(li_06_frozen_while_its_runner_is_away_and_active_if_it_still_runs),
        cmocka_unit_test(li_06_asleep_if_it_does_not_run_any_more_and_woken_for_what_waits),
        cmocka_unit_test(li_07_frozen_until_a_restarted_runner_has_taken_its_run_back),
        cmocka_unit_test(a_start_goes_on_when_its_runner_was_away_for_a_while),
        cmocka_unit_test(an_asleep_session_with_a_prompt_says_that_its_runner_is_away),
        cmocka_unit_test(cr_04_a_token_that_is_removed_puts_awake_sessions_to_sleep_and_says_why),
        cmocka_unit_test(cr_04_the_sessions_of_a_removed_member_go_to_sleep_and_say_why),
        cmocka_unit_test(
            cr_01_a_token_that_anthropic_refuses_fails_the_session_and_says_what_to_do),
        cmocka_unit_test(li_01_whatever_happens_in_any_order_only_legal_edges_are_taken),
        cmocka_unit_test(li_01_six_at_once_take_legal_edges_alone),
    };
    return cmocka_run_group_tests_name("sessions life, stored", tests, stage_open, stage_close);
}
