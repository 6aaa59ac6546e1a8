/* What several dispatchers claim, on a real PostgreSQL. */

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kndl/mem.h"
#include "stage.h"

enum { CLAIMERS = 4, SESSIONS = 60 };

/* One copy's dispatcher: takes what is due until nothing is, and keeps which starts it took. */
struct claimer {
    pthread_t thread;
    struct store *store;
    char ids[SESSIONS * 2][KNDL_ID_SIZE + 8];
    size_t count;
    struct kndl_error err;
};

/* By all claimers so far. */
static _Atomic size_t settled;

static void *claim_all(void *data)
{
    struct claimer *claimer = data;
    struct kndl_arena *arena = kndl_arena_new(KNDL_ARENA_PLAIN);
    const struct delivery *due;
    struct changes changes = {0};

    for (;;) {
        if (store_claim_delivery(claimer->store, arena, &due, &changes, &claimer->err) < 0)
            break;
        if (due == NULL)
            break;
        if (due->id != NULL) /* what secrets hears has none */
            strcpy(claimer->ids[claimer->count++], due->id);
        if (store_settle_delivery(claimer->store, arena, due, &claimer->err) < 0)
            break;
        settled++;
    }
    kndl_arena_free(arena);
    return NULL;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Claims with four connections side by side; how many different things were taken, once each. */
static size_t claim_with_four(void)
{
    struct claimer *claimers = kndl_new_array(struct claimer, CLAIMERS);
    char(*all)[KNDL_ID_SIZE + 8] = kndl_alloc(CLAIMERS * SESSIONS * 2, sizeof *all);
    size_t count = 0;

    for (size_t i = 0; i < CLAIMERS; i++)
        claimers[i].store = stage_connect();
    for (size_t i = 0; i < CLAIMERS; i++)
        pthread_create(&claimers[i].thread, NULL, claim_all, &claimers[i]);
    for (size_t i = 0; i < CLAIMERS; i++) {
        pthread_join(claimers[i].thread, NULL);
        if (claimers[i].err.code != KNDL_OK)
            fail_msg("%s", claimers[i].err.message);
        store_close(claimers[i].store);
        for (size_t j = 0; j < claimers[i].count; j++)
            strcpy(all[count++], claimers[i].ids[j]);
    }
    qsort(all, count, sizeof *all, by_text);
    for (size_t i = 1; i < count; i++)
        assert_string_not_equal(all[i - 1], all[i]);
    free(all);
    free(claimers);
    return count;
}

static void four_claimers_take_each_start_once(void **state)
{
    struct stage *stage = *state;

    stage_attend(stage, "r1", NULL, 0);
    for (size_t i = 0; i < SESSIONS; i++)
        stage_make(stage, "ada", "r1", "");
    assert_int_equal(claim_with_four(), SESSIONS);
    assert_int_equal(claim_with_four(), 0);
}

static void four_claimers_take_each_prompt_once_and_one_of_a_session_at_a_time(void **state)
{
    struct stage *stage = *state;

    const char *ids[SESSIONS];

    stage_attend(stage, "r2", NULL, 0);
    for (size_t i = 0; i < SESSIONS; i++) {
        Kndl__Sessions__V1__QueuedPrompt *queued;

        ids[i] = stage_make(stage, "ada", "r2", "first");
        const struct asked asked = {"ada", ids[i], "q2", 0};
        store_append_prompt(stage->store, stage->arena, &asked, "second", kndl_slice("s", 1),
                            &queued, &stage->changes, &stage->err);
    }
    stage_deliver(stage, "");
    for (size_t i = 0; i < SESSIONS; i++) {
        const struct run_of run = {"r2", ids[i], 0};

        store_report_running(stage->store, stage->arena, &run, "", &stage->changes, &stage->err);
    }
    assert_int_equal(claim_with_four(), SESSIONS);
    assert_int_equal(claim_with_four(), 0);
}

/* A Runner's reports: what it says of a start comes while the start is being settled. */
struct reporter {
    pthread_t thread;
    struct store *store;
    const char *const *ids;
    _Atomic bool *stops;
    struct kndl_error err;
};

static void *report_all(void *data)
{
    struct reporter *reporter = data;
    struct kndl_arena *arena = kndl_arena_new(KNDL_ARENA_PLAIN);
    struct changes changes = {0};

    while (!*reporter->stops) {
        const struct run_of run = {"r7", reporter->ids[settled % SESSIONS], 1};

        if (store_report_step(reporter->store, arena, &run, "clone", 1, &changes, &reporter->err) <
            0)
            break;
    }
    kndl_arena_free(arena);
    return NULL;
}

/* Was a deadlock: the one held a run's row and looked for its Session, the other the reverse. */
static void reports_and_claims_are_never_in_each_others_way(void **state)
{
    enum { REPORTERS = 3 };
    struct stage *stage = *state;
    struct reporter reporters[REPORTERS] = {0};
    const char *ids[SESSIONS];
    _Atomic bool stops = false;

    stage_attend(stage, "r7", NULL, 0);
    for (size_t i = 0; i < SESSIONS; i++)
        ids[i] = stage_make(stage, "ada", "r7", "");
    settled = 0;
    for (size_t i = 0; i < REPORTERS; i++) {
        reporters[i].store = stage_connect();
        reporters[i].ids = ids;
        reporters[i].stops = &stops;
        pthread_create(&reporters[i].thread, NULL, report_all, &reporters[i]);
    }
    assert_int_equal(claim_with_four(), SESSIONS);
    stops = true;
    for (size_t i = 0; i < REPORTERS; i++) {
        pthread_join(reporters[i].thread, NULL);
        store_close(reporters[i].store);
        if (reporters[i].err.code != KNDL_OK)
            fail_msg("%s", reporters[i].err.message);
    }
}

/* A copy dies with what it claimed: ten seconds later it is due again, and may be repeated. */
static void what_a_dead_copy_claimed_is_due_again(void **state)
{
    struct stage *stage = *state;

    stage_attend(stage, "r3", NULL, 0);
    const char *id = stage_make(stage, "ada", "r3", "");
    const struct delivery *first = stage_claim(stage, id, DELIVER_START);
    assert_non_null(first);
    assert_null(stage_claim(stage, id, DELIVER_START));
    stage_pass(10001);
    const struct delivery *again = stage_claim(stage, id, DELIVER_START);
    assert_string_equal(again->id, first->id);
}

static void a_runner_that_does_not_answer_delays_no_other(void **state)
{
    struct stage *stage = *state;

    stage_attend(stage, "r4", NULL, 0);
    stage_attend(stage, "r5", NULL, 0);
    const char *silent = stage_make(stage, "ada", "r4", "");
    const char *other = stage_make(stage, "ada", "r5", "");
    const struct delivery *due = stage_claim(stage, silent, DELIVER_START);

    store_release_delivery(stage->store, stage->arena, due, true, &stage->changes, &stage->err);
    assert_null(stage_claim(stage, silent, DELIVER_START));
    stage_deliver(stage, other);
    stage_pass(600);
    due = stage_claim(stage, silent, DELIVER_START);
    assert_non_null(due);

    /* The pause grows, and ends when the Runner takes something. */
    store_release_delivery(stage->store, stage->arena, due, true, &stage->changes, &stage->err);
    stage_pass(600);
    assert_null(stage_claim(stage, silent, DELIVER_START));
    stage_pass(600);
    due = stage_claim(stage, silent, DELIVER_START);
    assert_non_null(due);
    assert_int_equal(store_settle_delivery(stage->store, stage->arena, due, &stage->err), 0);
}

static void secrets_hears_of_a_run_s_end_before_the_next_one_starts(void **state)
{
    struct stage *stage = *state;
    const struct delivery *due;
    struct session session;

    stage_attend(stage, "r7", NULL, 0);
    const char *id = stage_make(stage, "ada", "r7", "");
    const struct asked asked = {"ada", id, "w1", 0};
    stage_run(stage, "r7", id);
    stage_end(stage, "r7", id, 0, END_COMMANDED);
    assert_int_equal(store_wake_session(stage->store, stage->arena, &asked, true, &session,
                                        &stage->changes, &stage->err),
                     0);
    due = stage_claim(stage, id, DELIVER_ASSIGNMENT);
    assert_non_null(due);
    assert_int_equal(due->run, 1);
    assert_int_equal(due->assignment, 5);
    store_release_delivery(stage->store, stage->arena, due, false, &stage->changes, &stage->err);
    assert_null(stage_claim(stage, id, DELIVER_START));
    stage_pass(1001);
    due = stage_claim(stage, id, DELIVER_START);
    assert_int_equal(due->run, 2);
}

static void nothing_is_sent_to_a_runner_that_is_away(void **state)
{
    struct stage *stage = *state;
    size_t count;

    stage_attend(stage, "r8", NULL, 0);
    const char *id = stage_make(stage, "ada", "r8", "");
    stage_pass(21 * 1000);
    store_mark_silent(stage->store, stage->arena, &count, &stage->err);
    assert_null(stage_claim(stage, id, DELIVER_START));
    stage_attend(stage, "r8", NULL, 0);
    assert_non_null(stage_claim(stage, id, DELIVER_START));
}

/* AC-09: what a Member left waiting does not bring their Claude Code back. */
static void ac_09_a_removed_members_prompts_are_cancelled_and_wake_nothing(void **state)
{
    struct stage *stage = *state;
    Kndl__Sessions__V1__QueuedPrompt *queued;
    Kndl__Event__V1__Event **events;

    stage_attend(stage, "r9", NULL, 0);
    const char *active = stage_make(stage, "bob", "r9", "");
    const char *dozing = stage_make(stage, "bob", "r9", "");
    stage_run(stage, "r9", active);
    stage_run(stage, "r9", dozing);
    const struct asked sleep = {"bob", dozing, "s1", 0};
    struct session session;
    store_sleep_session(stage->store, stage->arena, &sleep, &session, &stage->changes, &stage->err);
    for (size_t i = 0; i < 2; i++) {
        const struct asked asked = {"bob", i == 0 ? active : dozing, "q1", 0};

        assert_int_equal(store_append_prompt(stage->store, stage->arena, &asked, "go on",
                                             kndl_slice("s", 1), &queued, &stage->changes,
                                             &stage->err),
                         0);
    }
    assert_int_equal(
        store_put_removed_to_sleep(stage->store, stage->arena, "bob", &stage->changes, &stage->err),
        0);
    for (size_t i = 0; i < 2; i++) {
        const char *id = i == 0 ? active : dozing;

        stage_deliver(stage, id);
        stage_end(stage, "r9", id, 0, END_COMMANDED);
        assert_null(stage_claim(stage, id, DELIVER_START));
        assert_int_equal(stage_read(stage, id).state, LIFE(ASLEEP));
        assert_int_equal(stage_view(stage, id).queue_count, 0);
        size_t count = stage_events(stage, id, &events);
        const Kndl__Event__V1__Event *note = NULL;
        for (size_t j = 0; j < count; j++)
            if (events[j]->kind_case == KNDL__EVENT__V1__EVENT__KIND_NOTE)
                note = events[j];
        assert_non_null(note);
        assert_string_equal(note->note->note_code, "prompt_cancelled");
        assert_non_null(strstr(note->note->text, "go on"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_claimers_take_each_start_once),
        cmocka_unit_test(four_claimers_take_each_prompt_once_and_one_of_a_session_at_a_time),
        cmocka_unit_test(reports_and_claims_are_never_in_each_others_way),
        cmocka_unit_test(what_a_dead_copy_claimed_is_due_again),
        cmocka_unit_test(a_runner_that_does_not_answer_delays_no_other),
        cmocka_unit_test(secrets_hears_of_a_run_s_end_before_the_next_one_starts),
        cmocka_unit_test(nothing_is_sent_to_a_runner_that_is_away),
        cmocka_unit_test(ac_09_a_removed_members_prompts_are_cancelled_and_wake_nothing),
    };
    return cmocka_run_group_tests_name("sessions claims", tests, stage_open, stage_close);
}
