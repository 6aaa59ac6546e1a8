/*
 * Sessions follow their Repos: a new name, an App that goes or is suspended, and comes back. The
 * handlers and the task, with a real PostgreSQL; other services are fakes.c's.
 */

#include <stdlib.h>
#include <string.h>

#include "dispatch.h"
#include "fakes.h"
#include "kndl/mem.h"
#include "kndl/sessions/v1/sessions_service.pb-c.h"
#include "rpc.h"
#include "stage.h"

#define V1(name) Kndl__Sessions__V1__##name
#define INIT(NAME) KNDL__SESSIONS__V1__##NAME##__INIT

struct fixture {
    struct stage *stage;
    struct kndl_bus bus;
    struct sessions sessions;
    struct kndl_error err; /* of the last call */
    const char *id;        /* of a Session that is Active */
};

static int set_up(void **state)
{
    struct fixture *f = kndl_new0(struct fixture);

    *f = (struct fixture){.stage = *state, .bus = {.peers = {.has_token = true}}};
    *state = f;
    f->sessions = (struct sessions){.store = f->stage->store, .bus = &f->bus};
    stage_attend(f->stage, "r1", NULL, 0);
    f->id = stage_make(f->stage, "ada", "r1", "");
    stage_run(f->stage, "r1", f->id);
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    free(f);
    return 0;
}

static void follow(struct fixture *f)
{
    assert_int_equal(kndl_test_task(&repos_task, &f->sessions).code, KNDL_OK);
}

static enum kndl_code ask(struct fixture *f, const char *method, const ProtobufCMessage *req)
{
    struct kndl_test_answer answer =
        kndl_test_call(sessions_service, &f->sessions, "ada", method, req);

    f->err = answer.err;
    kndl_test_done(&answer);
    return f->err.code;
}

static enum kndl_code wake(struct fixture *f, const char *request)
{
    V1(WakeSessionRequest) req = INIT(WAKE_SESSION_REQUEST);

    req.session_id = (char *)f->id;
    req.request_id = (char *)request;
    return ask(f, "WakeSession", &req.base);
}

static enum kndl_code send(struct fixture *f, const char *request)
{
    V1(SendPromptRequest) req = INIT(SEND_PROMPT_REQUEST);

    req.session_id = (char *)f->id;
    req.request_id = (char *)request;
    req.text = (char *)"go on";
    return ask(f, "SendPrompt", &req.base);
}

/* As its page shows it; `text` holds the reason's code. */
static life_state shown(struct fixture *f, char text[64])
{
    V1(GetSessionRequest) req = INIT(GET_SESSION_REQUEST);

    req.session_id = (char *)f->id;
    struct kndl_test_answer answer =
        kndl_test_call(sessions_service, &f->sessions, "grace", "GetSession", &req.base);
    assert_int_equal(answer.err.code, KNDL_OK);
    const V1(Session) *session = ((V1(GetSessionResponse) *)answer.response)->session;
    life_state state = session->state;
    assert_true(strlen(session->reason_code) < 64);
    strcpy(text, session->reason_code);
    kndl_test_done(&answer);
    return state;
}

static void a_renamed_repo_has_its_new_name_in_its_sessions(void **state)
{
    struct fixture *f = *state;

    follow(f);
    assert_int_equal(f->bus.viewers.changes, 0);
    f->bus.peers.repo_name = "other/hi";
    follow(f);
    assert_string_equal(stage_read(f->stage, f->id).repo_name, "other/hi");
    assert_int_equal(stage_read(f->stage, f->id).state, LIFE(ACTIVE));
    assert_true(f->bus.viewers.changes > 0); /* lists of Sessions show it */
    f->bus.peers.repo_name = NULL;
    follow(f);
    (void)stage_deliver(f->stage, f->id);
}

/* It may have another owner, whose token for git is another installation's. */
static void an_awake_sessions_runner_is_told_of_a_new_name_and_an_asleep_ones_is_not(void **state)
{
    struct fixture *f = *state;

    follow(f);
    assert_null(stage_claim(f->stage, f->id, DELIVER_RENEW_GIT));
    f->bus.peers.repo_name = "other/hi";
    follow(f);
    const struct delivery *due = stage_claim(f->stage, f->id, DELIVER_RENEW_GIT);
    assert_non_null(due);
    assert_int_equal(due->run, 1);
    assert_int_equal(store_settle_delivery(f->stage->store, f->stage->arena, due, &f->stage->err),
                     0);
    follow(f);
    assert_null(stage_claim(f->stage, f->id, DELIVER_RENEW_GIT));

    stage_end(f->stage, "r1", f->id, 0, END_EXITED);
    f->bus.peers.repo_name = NULL;
    follow(f);
    assert_null(stage_claim(f->stage, f->id, DELIVER_RENEW_GIT));
}

/* AC-05 */
static void ac_05_a_session_whose_repo_is_gone_sleeps_and_is_read_only(void **state)
{
    struct fixture *f = *state;
    char code[64];

    f->bus.peers.repo_problem = "repo_gone";
    follow(f);
    assert_int_equal(stage_read(f->stage, f->id).state, LIFE(GOING_TO_SLEEP));
    stage_deliver(f->stage, f->id);
    stage_end(f->stage, "r1", f->id, 0, END_COMMANDED);
    assert_int_equal(shown(f, code), LIFE(ASLEEP));
    assert_string_equal(code, "repo_gone");

    assert_int_equal(wake(f, "w1"), KNDL_ABORTED);
    assert_non_null(strstr(f->err.message, "the GitHub App is not on it any more"));
    assert_int_equal(send(f, "p1"), KNDL_ABORTED);
    assert_non_null(strstr(f->err.message, "takes no prompts"));

    f->bus.peers.repo_problem = NULL;
    follow(f);
    assert_int_equal(wake(f, "w2"), KNDL_OK);
    assert_int_equal(shown(f, code), LIFE(WAKING));
    assert_string_equal(code, "asked");
}

/* AC-05: what waited in the queue waits on, and wakes the Session once the App is back. */
static void ac_05_a_prompt_that_waited_does_not_wake_a_session_whose_app_is_suspended(void **state)
{
    struct fixture *f = *state;
    char code[64];

    assert_int_equal(send(f, "q1"), KNDL_OK);
    f->bus.peers.repo_problem = "repo_suspended";
    follow(f);
    stage_end(f->stage, "r1", f->id, 0, END_COMMANDED);
    stage_deliver(f->stage, f->id);
    assert_int_equal(shown(f, code), LIFE(ASLEEP));
    assert_string_equal(code, "repo_suspended");

    f->bus.peers.repo_problem = NULL;
    follow(f);
    stage_deliver(f->stage, f->id);
    assert_int_equal(stage_read(f->stage, f->id).state, LIFE(WAKING));
}

static void a_session_that_slept_already_says_what_became_of_its_repo(void **state)
{
    struct fixture *f = *state;
    char code[64];

    stage_end(f->stage, "r1", f->id, 0, END_EXITED);
    assert_int_equal(shown(f, code), LIFE(ASLEEP));
    f->bus.peers.repo_problem = "repo_suspended";
    follow(f);
    assert_int_equal(shown(f, code), LIFE(ASLEEP));
    assert_string_equal(code, "repo_suspended");
    f->bus.peers.repo_problem = NULL;
    follow(f);
    shown(f, code);
    assert_string_not_equal(code, "repo_suspended");
}

/* AC-07 */
static void ac_07_while_github_cannot_answer_sessions_go_on(void **state)
{
    struct fixture *f = *state;

    f->bus.peers.access_down = true;
    f->bus.peers.repo_problem = "repo_gone";
    follow(f);
    assert_int_equal(stage_read(f->stage, f->id).state, LIFE(ACTIVE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(a_renamed_repo_has_its_new_name_in_its_sessions),
        TEST(an_awake_sessions_runner_is_told_of_a_new_name_and_an_asleep_ones_is_not),
        TEST(ac_05_a_session_whose_repo_is_gone_sleeps_and_is_read_only),
        TEST(ac_05_a_prompt_that_waited_does_not_wake_a_session_whose_app_is_suspended),
        TEST(a_session_that_slept_already_says_what_became_of_its_repo),
        TEST(ac_07_while_github_cannot_answer_sessions_go_on),
    };

    return cmocka_run_group_tests(tests, stage_open, stage_close);
}
