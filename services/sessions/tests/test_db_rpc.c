/*
 * The handlers, with a real PostgreSQL behind them and other services in memory (fakes.c): AC-06,
 * AC-08, CR-01, CR-02, CR-05, EV-02, EV-08.
 */

#include <string.h>

#include "dispatch.h"
#include "fixture.h"
#include "kndl/secret.h"
#include "kndl/sessions/v1/sessions_internal_service.pb-c.h"
#include "kndl/sessions/v1/sessions_runner_service.pb-c.h"
#include "kndl/sessions/v1/sessions_service.pb-c.h"
#include "kndl/token.h"

#define V1(name) Kndl__Sessions__V1__##name
#define INIT(NAME) KNDL__SESSIONS__V1__##NAME##__INIT

static enum kndl_code create(struct fixture *f, const char *person, const char *request,
                             const char *prompt)
{
    V1(CreateSessionRequest) req = INIT(CREATE_SESSION_REQUEST);

    req.request_id = (char *)request;
    req.repo_name = (char *)"demo/hello";
    req.prompt = (char *)prompt;
    return call(f, person, "CreateSession", &req.base);
}

static enum kndl_code send(struct fixture *f, const char *person, const char *session,
                           const char *request, const char *text)
{
    V1(SendPromptRequest) req = INIT(SEND_PROMPT_REQUEST);

    req.session_id = (char *)session;
    req.request_id = (char *)request;
    req.text = (char *)text;
    return call(f, person, "SendPrompt", &req.base);
}

static size_t count_of(struct fixture *f, const char *person)
{
    V1(ListSessionsRequest) req = INIT(LIST_SESSIONS_REQUEST);

    req.limit = 200;
    assert_int_equal(call(f, person, "ListSessions", &req.base), KNDL_OK);
    return ((V1(ListSessionsResponse) *)f->answer.response)->n_sessions;
}

static void remove_ada(void *data)
{
    struct fixture *f = data;

    assert_int_equal(store_put_removed_to_sleep(f->stage->store, f->stage->arena, "ada",
                                                &f->stage->changes, &f->stage->err),
                     0);
}

/* AC-09, CR-04: whatever was on its way when they were removed comes too late. */
static void a_prompt_that_races_its_creators_removal_is_not_queued(void **state)
{
    struct fixture *f = *state;

    const char *id = stage_make_active(f->stage, "");
    f->bus.peers.meanwhile = remove_ada;
    f->bus.peers.data = f;
    assert_int_equal(send(f, "ada", id, "m1", "go on"), KNDL_UNAUTHENTICATED);
    assert_string_equal(f->answer.err.message, "sign in first");
    assert_int_equal(stage_view(f->stage, id).queue_count, 0);
    assert_true(stage_read(f->stage, id).queue_paused);

    /* A Member again, by an Invite: what they ask from then on counts. */
    f->bus.peers.meanwhile = NULL;
    assert_int_equal(send(f, "ada", id, "m2", "go on"), KNDL_OK);
    assert_int_equal(stage_view(f->stage, id).queue_count, 1);
}

static void a_session_is_made_with_its_first_prompt_masked(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(create(f, "ada", "c1", "say the secret"), KNDL_OK);
    const V1(CreateSessionResponse) *resp = (V1(CreateSessionResponse) *)f->answer.response;
    assert_int_equal(resp->session->state, LIFE(STARTING));
    assert_true(resp->session->is_creator);
    assert_string_equal(resp->session->title, "say the ******");
    assert_string_equal(resp->prompt->text, "say the ******");
    assert_int_equal(resp->prompt->place, 1);
    assert_ptr_equal(f->answer.wake, &dispatch_task);
    assert_int_equal(f->bus.peers.last_phase, 1);
    assert_int_equal(f->bus.viewers.changes, 1);
}

static void
cr_01_without_a_setup_token_nothing_is_made_and_the_message_says_what_to_do(void **state)
{
    struct fixture *f = *state;

    size_t before = count_of(f, "ada");
    f->bus.peers.has_token = false;
    assert_int_equal(create(f, "ada", "t1", "hello"), KNDL_ABORTED);
    assert_non_null(strstr(f->answer.err.message, "you have no setup token: "));
    assert_int_equal(count_of(f, "ada"), before);
    assert_int_equal(f->bus.peers.assignments, 0);

    /* The same request works once there is one. */
    f->bus.peers.has_token = true;
    assert_int_equal(create(f, "ada", "t1", "hello"), KNDL_OK);
}

static void a_prompt_of_blanks_or_a_command_is_refused_with_what_to_do(void **state)
{
    struct fixture *f = *state;

    const char *id = stage_make(f->stage, "ada", "r1", "");
    assert_int_equal(send(f, "ada", id, "b2", ""), KNDL_INVALID_ARGUMENT);
    assert_int_equal(send(f, "ada", id, "b3", " \n\t"), KNDL_INVALID_ARGUMENT);
    assert_int_equal(send(f, "ada", id, "b4", "/compact"), KNDL_INVALID_ARGUMENT);
    assert_non_null(strstr(f->answer.err.message, "begin it with another word"));
    assert_int_equal(create(f, "ada", "b5", "/etc/hosts"), KNDL_INVALID_ARGUMENT);
    assert_int_equal(create(f, "ada", "b6", "read /etc/hosts"), KNDL_OK);
}

static void a_prompt_that_cannot_be_masked_is_not_stored(void **state)
{
    struct fixture *f = *state;

    const char *id = stage_make(f->stage, "ada", "r1", "");
    f->bus.peers.redactor_down = true;
    assert_int_equal(send(f, "ada", id, "p1", "hello"), KNDL_UNAVAILABLE);
    assert_non_null(strstr(f->answer.err.message, "what you wrote was not taken"));
    assert_int_equal(stage_view(f->stage, id).queue_count, 0);
    assert_int_equal(create(f, "ada", "m1", "hello"), KNDL_UNAVAILABLE);
    assert_non_null(strstr(f->answer.err.message, "what you wrote was not taken"));
}

static void ac_06_without_access_a_session_answers_as_if_it_did_not_exist(void **state)
{
    struct fixture *f = *state;
    static const char absent[] = "cccccccccccccccccccccccccc";
    V1(GetSessionRequest) get = INIT(GET_SESSION_REQUEST);
    V1(ListEventsRequest) list = INIT(LIST_EVENTS_REQUEST);
    struct kndl_error hidden;

    const char *id = stage_make(f->stage, "ada", "r1", "");
    f->bus.peers.hides_repo = true;
    get.session_id = list.session_id = (char *)id;
    assert_int_equal(call(f, "ada", "GetSession", &get.base), KNDL_NOT_FOUND);
    hidden = f->answer.err;
    assert_int_equal(call(f, "ada", "ListEvents", &list.base), KNDL_NOT_FOUND);
    assert_int_equal(send(f, "ada", id, "p1", "hello"), KNDL_NOT_FOUND);
    assert_int_equal(count_of(f, "ada"), 0);

    get.session_id = (char *)absent;
    assert_int_equal(call(f, "ada", "GetSession", &get.base), KNDL_NOT_FOUND);
    assert_string_equal(strchr(hidden.message, ' ') + 28, strchr(f->answer.err.message, ' ') + 28);
    get.session_id = (char *)"../../etc";
    assert_int_equal(call(f, "ada", "GetSession", &get.base), KNDL_NOT_FOUND);
}

/* Every method of a Session that changes something, by somebody who may see it. */
static void ac_08_only_the_creator_drives(void **state)
{
    struct fixture *f = *state;

    const char *id = stage_make(f->stage, "ada", "r1", "");
    V1(CancelPromptRequest) cancel = INIT(CANCEL_PROMPT_REQUEST);
    V1(ResumeQueueRequest) resume = INIT(RESUME_QUEUE_REQUEST);
    V1(AnswerQuestionRequest) answer = INIT(ANSWER_QUESTION_REQUEST);
    V1(StopTurnRequest) stop = INIT(STOP_TURN_REQUEST);
    V1(SleepSessionRequest) sleep = INIT(SLEEP_SESSION_REQUEST);
    V1(WakeSessionRequest) wake = INIT(WAKE_SESSION_REQUEST);
    cancel.session_id = resume.session_id = answer.session_id = (char *)id;
    stop.session_id = sleep.session_id = wake.session_id = (char *)id;

    assert_int_equal(send(f, "eve", id, "p1", "hello"), KNDL_PERMISSION_DENIED);
    assert_int_equal(call(f, "eve", "CancelPrompt", &cancel.base), KNDL_PERMISSION_DENIED);
    assert_int_equal(call(f, "eve", "ResumeQueue", &resume.base), KNDL_PERMISSION_DENIED);
    assert_int_equal(call(f, "eve", "AnswerQuestion", &answer.base), KNDL_PERMISSION_DENIED);
    assert_int_equal(call(f, "eve", "StopTurn", &stop.base), KNDL_PERMISSION_DENIED);
    assert_int_equal(call(f, "eve", "SleepSession", &sleep.base), KNDL_PERMISSION_DENIED);
    assert_int_equal(call(f, "eve", "WakeSession", &wake.base), KNDL_PERMISSION_DENIED);
    assert_int_equal(f->bus.peers.masked, 0);

    V1(GetSessionRequest) get = INIT(GET_SESSION_REQUEST);
    get.session_id = (char *)id;
    assert_int_equal(call(f, "eve", "GetSession", &get.base), KNDL_OK);
    assert_false(((V1(GetSessionResponse) *)f->answer.response)->session->is_creator);
}

static void ev_02_ten_prompts_wait_and_one_can_be_cancelled(void **state)
{
    struct fixture *f = *state;
    V1(CancelPromptRequest) cancel = INIT(CANCEL_PROMPT_REQUEST);
    char request[] = "p0";

    const char *id = stage_make(f->stage, "ada", "r1", "");
    for (int i = 0; i < QUEUE_COUNT_MAX; i++, request[1]++)
        assert_int_equal(send(f, "ada", id, request, "hello"), KNDL_OK);
    assert_int_equal(send(f, "ada", id, "px", "hello"), KNDL_RESOURCE_EXHAUSTED);

    cancel.session_id = (char *)id;
    cancel.request_id = (char *)"k1";
    cancel.prompt_id = stage_view(f->stage, id).queue[3]->id;
    assert_int_equal(call(f, "ada", "CancelPrompt", &cancel.base), KNDL_OK);
    assert_int_equal(((V1(CancelPromptResponse) *)f->answer.response)->prompt->state,
                     KNDL__SESSIONS__V1__QUEUED_PROMPT__STATE__STATE_CANCELLED);
    assert_int_equal(stage_view(f->stage, id).queue_count, QUEUE_COUNT_MAX - 1);
    assert_int_equal(send(f, "ada", id, "px", "hello"), KNDL_OK);
}

static void ev_02_a_prompt_that_was_handed_cannot_be_cancelled(void **state)
{
    struct fixture *f = *state;
    V1(CancelPromptRequest) cancel = INIT(CANCEL_PROMPT_REQUEST);

    const char *id = stage_make(f->stage, "ada", "r1", "hello");
    stage_run(f->stage, "r1", id);
    cancel.session_id = (char *)id;
    cancel.request_id = (char *)"k1";
    cancel.prompt_id = (char *)stage_claim(f->stage, id, DELIVER_PROMPT)->id;
    assert_int_equal(call(f, "ada", "CancelPrompt", &cancel.base), KNDL_ABORTED);
}

static void what_is_too_long_or_nonsense_is_refused(void **state)
{
    struct fixture *f = *state;
    static char big[64 * 1024 + 2];
    V1(CreateSessionRequest) req = INIT(CREATE_SESSION_REQUEST);

    const char *id = stage_make(f->stage, "ada", "r1", "");
    memset(big, 'x', sizeof big - 1);
    assert_int_equal(send(f, "ada", id, "p1", big), KNDL_INVALID_ARGUMENT);
    assert_int_equal(send(f, "ada", id, "p1", ""), KNDL_INVALID_ARGUMENT);
    assert_int_equal(send(f, "ada", id, "", "hello"), KNDL_INVALID_ARGUMENT);
    assert_int_equal(send(f, "ada", id, "a b", "hello"), KNDL_INVALID_ARGUMENT);
    req.request_id = (char *)"c1";
    req.repo_name = (char *)"demo/hello";
    req.model = (char *)"x; rm -rf";
    assert_int_equal(call(f, "ada", "CreateSession", &req.base), KNDL_INVALID_ARGUMENT);
    req.model = (char *)"--debug";
    assert_int_equal(call(f, "ada", "CreateSession", &req.base), KNDL_INVALID_ARGUMENT);
    req.model = (char *)"claude-opus-4-5[1m]";
    req.effort = (char *)"extreme";
    assert_int_equal(call(f, "ada", "CreateSession", &req.base), KNDL_INVALID_ARGUMENT);
}

static void ev_08_a_page_says_whether_there_is_more_at_exactly_its_limit(void **state)
{
    struct fixture *f = *state;
    V1(ListEventsRequest) req = INIT(LIST_EVENTS_REQUEST);
    Kndl__Event__V1__Event *said[98];

    const char *id = stage_make(f->stage, "ada", "r1", "");
    stage_run(f->stage, "r1", id);
    for (size_t i = 0; i < 98; i++)
        said[i] = stage_text(f->stage, "x");
    stage_append(f->stage, "r1", id, 1, said, 98);

    req.session_id = (char *)id;
    req.limit = 100;
    assert_int_equal(call(f, "eve", "ListEvents", &req.base), KNDL_OK);
    const V1(ListEventsResponse) *resp = (V1(ListEventsResponse) *)f->answer.response;
    assert_int_equal(resp->n_events, 100);
    assert_false(resp->has_more);
    assert_int_equal(resp->last_seq, 100);

    req.limit = 99;
    call(f, "eve", "ListEvents", &req.base);
    resp = (V1(ListEventsResponse) *)f->answer.response;
    assert_true(resp->has_more);
    assert_int_equal(resp->events[0]->seq, 2);

    req.page_case = KNDL__SESSIONS__V1__LIST_EVENTS_REQUEST__PAGE_AFTER_SEQ;
    req.after_seq = 50;
    req.limit = 50;
    call(f, "eve", "ListEvents", &req.base);
    resp = (V1(ListEventsResponse) *)f->answer.response;
    assert_int_equal(resp->events[0]->seq, 51);
    assert_false(resp->has_more);
    req.limit = 49;
    call(f, "eve", "ListEvents", &req.base);
    assert_true(((V1(ListEventsResponse) *)f->answer.response)->has_more);
    req.limit = 201;
    assert_int_equal(call(f, "eve", "ListEvents", &req.base), KNDL_INVALID_ARGUMENT);
}

static void ev_07_a_view_begins_where_the_viewer_stopped(void **state)
{
    struct fixture *f = *state;
    V1(OpenViewRequest) req = INIT(OPEN_VIEW_REQUEST);
    V1(HeadsRequest) heads = INIT(HEADS_REQUEST);

    const char *id = stage_make(f->stage, "ada", "r1", "hello");
    stage_run(f->stage, "r1", id);
    req.session_id = (char *)id;
    req.after_seq = 1;
    assert_int_equal(call(f, "eve", "OpenView", &req.base), KNDL_OK);
    const V1(OpenViewResponse) *view = (V1(OpenViewResponse) *)f->answer.response;
    assert_int_equal(view->n_events, 1);
    assert_int_equal(view->events[0]->seq, 2);
    assert_int_equal(view->n_queue, 1);
    assert_true(view->access_until_ms > 0);
    int64_t version = view->view_version;

    heads.n_session_ids = 2;
    heads.session_ids = (char *[]){(char *)id, (char *)"nothing"};
    assert_int_equal(call(f, "eve", "Heads", &heads.base), KNDL_OK);
    const V1(HeadsResponse) *found = (V1(HeadsResponse) *)f->answer.response;
    assert_int_equal(found->n_heads, 1);
    assert_int_equal(found->heads[0]->last_seq, 2);
    assert_int_equal(found->heads[0]->view_version, version);
    f->bus.peers.hides_repo = true;
    call(f, "eve", "Heads", &heads.base);
    assert_int_equal(((V1(HeadsResponse) *)f->answer.response)->n_heads, 0);
}

static void health_tells_of_the_redactor_and_of_runners_that_are_there(void **state)
{
    struct fixture *f = *state;
    V1(GetHealthRequest) req = INIT(GET_HEALTH_REQUEST);
    const V1(GetHealthResponse) *seen;

    f->answer = kndl_test_call(sessions_internal_service, &f->sessions, "api_gateway", "GetHealth",
                               &req.base);
    seen = (const V1(GetHealthResponse) *)f->answer.response;
    assert_true(seen->redactor_answers);
    int32_t there = seen->runners;
    assert_true(there >= 1);

    stage_pass(21 * 1000);
    f->bus.peers.redactor_down = true;
    kndl_test_done(&f->answer);
    f->answer = kndl_test_call(sessions_internal_service, &f->sessions, "api_gateway", "GetHealth",
                               &req.base);
    seen = (const V1(GetHealthResponse) *)f->answer.response;
    assert_false(seen->redactor_answers);
    assert_int_equal(seen->runners, 0);
}

static void cr_05_a_mod_token_is_kept_as_a_hash_and_given_for_a_live_run_alone(void **state)
{
    struct fixture *f = *state;
    V1(IssueModTokenRequest) req = INIT(ISSUE_MOD_TOKEN_REQUEST);
    V1(AppendEventsRequest) batch = INIT(APPEND_EVENTS_REQUEST);
    uint8_t hash[KNDL_HASH_BYTES];

    const char *id = stage_make(f->stage, "ada", "r1", "");
    stage_deliver(f->stage, id);
    req.session_id = batch.session_id = (char *)id;
    req.run = batch.run = 1;
    assert_int_equal(report(f, "r1", "IssueModToken", &req.base), KNDL_OK);
    const char *token = ((V1(IssueModTokenResponse) *)f->answer.response)->token;
    assert_true(kndl_token_is_valid(KNDL_TOKEN_MOD, kndl_slice_of(token)));

    /* Its SHA-256 is what counts, and what is kept. */
    kndl_hash(kndl_slice_of(token), hash);
    batch.runner_id = (char *)"r1";
    batch.first_n = 1;
    batch.n_events = 1;
    batch.events = (Kndl__Event__V1__Event *[]){stage_text(f->stage, "x")};
    batch.mod_token_hash.data = hash;
    batch.mod_token_hash.len = sizeof hash;
    kndl_test_done(&f->answer);
    f->answer = kndl_test_call(sessions_internal_service, &f->sessions, "redactor", "AppendEvents",
                               &batch.base);
    assert_int_equal(((V1(AppendEventsResponse) *)f->answer.response)->expected_n, 2);

    assert_int_equal(report(f, "r2", "IssueModToken", &req.base), KNDL_NOT_FOUND);
    stage_end(f->stage, "r1", id, 1, END_COMMANDED);
    assert_int_equal(report(f, "r1", "IssueModToken", &req.base), KNDL_ABORTED);
}

static void cr_01_without_a_setup_token_a_session_does_not_wake(void **state)
{
    struct fixture *f = *state;
    V1(WakeSessionRequest) req = INIT(WAKE_SESSION_REQUEST);

    const char *id = stage_make(f->stage, "ada", "r1", "");
    stage_run(f->stage, "r1", id);
    stage_end(f->stage, "r1", id, 0, END_COMMANDED);
    req.session_id = (char *)id;
    req.request_id = (char *)"w1";
    f->bus.peers.has_token = false;
    assert_int_equal(call(f, "ada", "WakeSession", &req.base), KNDL_ABORTED);
    assert_string_equal(f->answer.err.message, NO_SETUP_TOKEN);
    assert_int_equal(stage_read(f->stage, id).state, LIFE(ASLEEP));
    f->bus.peers.has_token = true;
    assert_int_equal(call(f, "ada", "WakeSession", &req.base), KNDL_OK);

    /* A repeat is answered alike, whatever became of the token since. */
    f->bus.peers.has_token = false;
    assert_int_equal(call(f, "ada", "WakeSession", &req.base), KNDL_OK);
}

static void
a_git_token_is_masked_before_it_is_given_and_for_a_run_of_that_runner_alone(void **state)
{
    struct fixture *f = *state;
    V1(MintGitTokenRequest) req = INIT(MINT_GIT_TOKEN_REQUEST);

    const char *id = stage_make(f->stage, "ada", "r1", "");
    stage_deliver(f->stage, id);
    req.session_id = (char *)id;
    req.use = KNDL__SESSIONS__V1__MINT_GIT_TOKEN_REQUEST__USE__USE_CLONE;
    assert_int_equal(report(f, "r2", "MintGitToken", &req.base), KNDL_NOT_FOUND);
    assert_int_equal(f->bus.peers.put_masks, 0);
    assert_int_equal(report(f, "r1", "MintGitToken", &req.base), KNDL_OK);
    const V1(MintGitTokenResponse) *resp = (V1(MintGitTokenResponse) *)f->answer.response;
    assert_string_equal(resp->token, "ghs_read");
    assert_int_equal(resp->mask_version, 1);
    stage_end(f->stage, "r1", id, 0, END_COMMANDED);
    assert_int_equal(report(f, "r1", "MintGitToken", &req.base), KNDL_ABORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(a_prompt_that_races_its_creators_removal_is_not_queued),
        TEST(a_session_is_made_with_its_first_prompt_masked),
        TEST(cr_01_without_a_setup_token_nothing_is_made_and_the_message_says_what_to_do),
        TEST(a_prompt_of_blanks_or_a_command_is_refused_with_what_to_do),
        TEST(a_prompt_that_cannot_be_masked_is_not_stored),
        TEST(ac_06_without_access_a_session_answers_as_if_it_did_not_exist),
        TEST(ac_08_only_the_creator_drives),
        TEST(ev_02_ten_prompts_wait_and_one_can_be_cancelled),
        TEST(ev_02_a_prompt_that_was_handed_cannot_be_cancelled),
        TEST(what_is_too_long_or_nonsense_is_refused),
        TEST(ev_08_a_page_says_whether_there_is_more_at_exactly_its_limit),
        TEST(ev_07_a_view_begins_where_the_viewer_stopped),
        TEST(cr_01_without_a_setup_token_a_session_does_not_wake),
        TEST(cr_05_a_mod_token_is_kept_as_a_hash_and_given_for_a_live_run_alone),
        TEST(a_git_token_is_masked_before_it_is_given_and_for_a_run_of_that_runner_alone),
        TEST(health_tells_of_the_redactor_and_of_runners_that_are_there),
    };
    struct kndl_error err;

    if (kndl_crypt_init(&err) < 0)
        return 1;
    return cmocka_run_group_tests_name("sessions rpc", tests, stage_open, stage_close);
}
