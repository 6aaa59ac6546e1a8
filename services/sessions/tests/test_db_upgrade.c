/* AC-10: what an older release left, on a real PostgreSQL. */

#include <string.h>

#include "dispatch.h"
#include "fakes.h"
#include "rpc.h"
#include "stage.h"

struct copy { /* of the service, as it starts */
    struct kndl_bus bus;
    struct sessions sessions;
};

static void start_copy(struct copy *copy, struct stage *stage, bool has_token)
{
    *copy = (struct copy){.bus = {.peers = {.has_token = has_token}}};
    copy->sessions = (struct sessions){.store = stage->store, .bus = &copy->bus};
}

static const char *make_active(struct stage *stage, const char *person, const char *runner)
{
    stage_attend(stage, runner, NULL, 0);
    const char *id = stage_make(stage, person, runner, "");
    stage_run(stage, runner, id);
    return id;
}

/* The last Event of a Session that is a note with this code, or NULL; *ret_count: how many are. */
static const Kndl__Event__V1__Note *find_note(struct stage *stage, const char *id, const char *code,
                                              size_t *ret_count)
{
    const Kndl__Event__V1__Note *note = NULL;
    Kndl__Event__V1__Event **events;
    size_t count = stage_events(stage, id, &events);

    *ret_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (events[i]->kind_case == KNDL__EVENT__V1__EVENT__KIND_NOTE &&
            strcmp(events[i]->note->note_code, code) == 0) {
            note = events[i]->note;
            (*ret_count)++;
        }
    }
    return note;
}

static void ac_10_sessions_whose_creator_has_no_token_go_to_sleep_and_say_why(void **state)
{
    struct stage *stage = *state;
    Kndl__Event__V1__Event **events;
    struct copy copy;

    const char *id = make_active(stage, "bob", "r1");
    start_copy(&copy, stage, false);
    assert_int_equal(kndl_test_task(&upgrade_task, &copy.sessions).code, KNDL_OK);
    assert_int_equal(stage_read(stage, id).state, LIFE(GOING_TO_SLEEP));
    assert_string_equal(stage_read(stage, id).reason_code, "no_setup_token");
    assert_non_null(strstr(stage_read(stage, id).reason, "no setup token"));
    size_t count = stage_events(stage, id, &events);
    assert_string_equal(events[count - 1]->state_changed->reason_code, "no_setup_token");
    assert_true(copy.bus.viewers.changes > 0);

    stage_deliver(stage, id);
    stage_end(stage, "r1", id, 0, END_COMMANDED);
    assert_int_equal(stage_read(stage, id).state, LIFE(ASLEEP));
    assert_string_equal(stage_read(stage, id).reason_code, "no_setup_token");
}

static void ac_10_what_waits_in_them_does_not_wake_them_and_stays(void **state)
{
    struct stage *stage = *state;
    struct copy copy;

    const char *id = make_active(stage, "bob", "r2");
    stage_leave_prompt(id, "bob", "later");
    start_copy(&copy, stage, false);
    kndl_test_task(&upgrade_task, &copy.sessions);
    stage_deliver(stage, id);
    stage_end(stage, "r2", id, 0, END_COMMANDED);
    assert_null(stage_claim(stage, id, DELIVER_START));
    assert_int_equal(stage_read(stage, id).state, LIFE(ASLEEP));
    assert_int_equal(stage_view(stage, id).queue_count, 1);

    /* With a token of their own again, the Creator says when. */
    const struct asked resumes = {"bob", id, "resume", 0};
    struct session session;
    assert_int_equal(store_resume_queue(stage->store, stage->arena, &resumes, &session,
                                        &stage->changes, &stage->err),
                     0);
    assert_non_null(stage_claim(stage, id, DELIVER_START));
}

static void ac_10_a_creator_with_a_token_is_left_alone(void **state)
{
    struct stage *stage = *state;
    struct copy copy;

    const char *id = make_active(stage, "bob", "r3");
    stage_leave_prompt(id, "bob", "later");
    start_copy(&copy, stage, true);
    kndl_test_task(&upgrade_task, &copy.sessions);
    assert_int_equal(stage_read(stage, id).state, LIFE(ACTIVE));
    assert_int_equal(stage_view(stage, id).queue_count, 1);
    assert_int_equal(copy.bus.viewers.changes, 0);
}

static void ac_10_a_look_waits_for_secrets_and_is_taken_once(void **state)
{
    struct stage *stage = *state;
    struct copy copy;

    const char *id = make_active(stage, "bob", "r4");
    start_copy(&copy, stage, false);
    copy.bus.peers.secrets_down = true;
    assert_int_equal(kndl_test_task(&upgrade_task, &copy.sessions).code, KNDL_UNAVAILABLE);
    assert_int_equal(stage_read(stage, id).state, LIFE(ACTIVE));
    copy.bus.peers.secrets_down = false;
    assert_int_equal(kndl_test_task(&upgrade_task, &copy.sessions).code, KNDL_OK);
    assert_int_equal(stage_read(stage, id).state, LIFE(GOING_TO_SLEEP));

    /* What is woken since is a token's matter, not an upgrade's. */
    const char *later = make_active(stage, "bob", "r5");
    assert_int_equal(kndl_test_task(&upgrade_task, &copy.sessions).code, KNDL_OK);
    assert_int_equal(stage_read(stage, later).state, LIFE(ACTIVE));
}

static void ac_10_prompts_of_others_are_shown_as_cancelled(void **state)
{
    struct stage *stage = *state;
    struct copy first, second;
    size_t count;

    const char *id = make_active(stage, "bob", "r6");
    stage_leave_prompt(id, "eve", "delete everything");
    stage_leave_prompt(id, "bob", "carry on");
    stage_leave_prompt(id, "mallory", "and the backups");
    start_copy(&first, stage, true);
    start_copy(&second, stage, true);
    assert_int_equal(kndl_test_task(&upgrade_task, &first.sessions).code, KNDL_OK);
    assert_int_equal(kndl_test_task(&upgrade_task, &second.sessions).code, KNDL_OK);

    struct view view = stage_view(stage, id);
    assert_int_equal(view.queue_count, 1);
    assert_string_equal(view.queue[0]->text, "carry on");
    assert_int_equal(stage_read(stage, id).queued_count, 1);
    const Kndl__Event__V1__Note *note = find_note(stage, id, "prompt_cancelled", &count);
    assert_int_equal(count, 2);
    assert_non_null(strstr(note->text, "and the backups"));
    assert_non_null(strstr(note->text, "only the Creator"));
    assert_int_equal(second.bus.viewers.changes, 0);

    /* The Creator's own goes on. */
    const struct delivery *due = stage_claim(stage, id, DELIVER_PROMPT);
    assert_non_null(due);
    assert_int_equal(stage_read(stage, id).queued_count, 0);
}

/* Between an older copy's end and the look of a newer one. */
static void ac_10_nobody_elses_prompt_is_ever_handed_over_or_wakes(void **state)
{
    struct stage *stage = *state;
    struct session session;

    const char *id = make_active(stage, "bob", "r7");
    stage_leave_prompt(id, "eve", "delete everything");
    assert_null(stage_claim(stage, id, DELIVER_PROMPT));
    const struct asked asked = {"bob", id, "s1", 0};
    store_sleep_session(stage->store, stage->arena, &asked, &session, &stage->changes, &stage->err);
    stage_deliver(stage, id);
    stage_end(stage, "r7", id, 0, END_COMMANDED);
    assert_null(stage_claim(stage, id, DELIVER_START));
    assert_int_equal(stage_read(stage, id).state, LIFE(ASLEEP));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ac_10_sessions_whose_creator_has_no_token_go_to_sleep_and_say_why),
        cmocka_unit_test(ac_10_what_waits_in_them_does_not_wake_them_and_stays),
        cmocka_unit_test(ac_10_a_creator_with_a_token_is_left_alone),
        cmocka_unit_test(ac_10_a_look_waits_for_secrets_and_is_taken_once),
        cmocka_unit_test(ac_10_prompts_of_others_are_shown_as_cancelled),
        cmocka_unit_test(ac_10_nobody_elses_prompt_is_ever_handed_over_or_wakes),
    };
    return cmocka_run_group_tests_name("sessions upgrade", tests, stage_open, stage_close);
}
