/*
 * The handlers, with a real PostgreSQL behind them and other services in memory (fakes.c): AC-06,
 * AC-08, CR-01, CR-02, CR-05, EV-02, EV-08.
 */

#include <string.h>

#include "dispatch.h"
#include "fakes.h"
#include "kndl/secret.h"
#include "kndl/sessions/v1/sessions_internal_service.pb-c.h"
#include "kndl/sessions/v1/sessions_runner_service.pb-c.h"
#include "kndl/sessions/v1/sessions_service.pb-c.h"
#include "kndl/token.h"
#include "rpc.h"
#include "stage.h"

#define V1(name) Kndl__Sessions__V1__##name
#define INIT(NAME) KNDL__SESSIONS__V1__##NAME##__INIT

struct fixture {
    struct stage *stage;
    struct peers peers;
    struct runners runners;
    struct live live;
    struct sessions sessions;
    struct kndl_test_answer answer; /* of the last call */
};

static void set_up(struct fixture *f, void **state)
{
    *f = (struct fixture){.stage = *state, .peers = {.has_token = true}};
    f->sessions = (struct sessions){
        .store = f->stage->store, .peers = &f->peers, .runners = &f->runners, .live = &f->live};
    stage_attend(f->stage, "r1", NULL, 0);
}

static enum kndl_code call(struct fixture *f, const char *person, const char *method,
                           const ProtobufCMessage *req)
{
    kndl_test_done(&f->answer);
    f->answer = kndl_test_call(sessions_service, &f->sessions, person, method, req);
    return f->answer.err.code;
}

static enum kndl_code report(struct fixture *f, const char *runner, const char *method,
                             const ProtobufCMessage *req)
{
    kndl_test_done(&f->answer);
    f->answer = kndl_test_runner_call(sessions_runner_service, &f->sessions, runner, method, req);
    return f->answer.err.code;
}

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
    struct fixture f;

    set_up(&f, state);
    const char *id = stage_make_active(f.stage, "");
    f.peers.meanwhile = remove_ada;
    f.peers.data = &f;
    assert_int_equal(send(&f, "ada", id, "m1", "go on"), KNDL_UNAUTHENTICATED);
    assert_string_equal(f.answer.err.message, "sign in first");
    assert_int_equal(stage_view(f.stage, id).queue_count, 0);
    assert_true(stage_read(f.stage, id).queue_paused);

    /* A Member again, by an Invite: what they ask from then on counts. */
    f.peers.meanwhile = NULL;
    assert_int_equal(send(&f, "ada", id, "m2", "go on"), KNDL_OK);
    assert_int_equal(stage_view(f.stage, id).queue_count, 1);
    kndl_test_done(&f.answer);
}

static void a_session_is_made_with_its_first_prompt_masked(void **state)
{
    struct fixture f;

    set_up(&f, state);
    assert_int_equal(create(&f, "ada", "c1", "say the secret"), KNDL_OK);
    const V1(CreateSessionResponse) *resp = (V1(CreateSessionResponse) *)f.answer.response;
    assert_int_equal(resp->session->state, LIFE(STARTING));
    assert_true(resp->session->is_creator);
    assert_string_equal(resp->session->title, "say the ******");
    assert_string_equal(resp->prompt->text, "say the ******");
    assert_int_equal(resp->prompt->place, 1);
    assert_ptr_equal(f.answer.wake, &dispatch_task);
    assert_int_equal(f.peers.last_phase, 1);
    assert_int_equal(f.live.changes, 1);
    kndl_test_done(&f.answer);
}

static void
cr_01_without_a_setup_token_nothing_is_made_and_the_message_says_what_to_do(void **state)
{
    struct fixture f;

    set_up(&f, state);
    size_t before = count_of(&f, "ada");
    f.peers.has_token = false;
    assert_int_equal(create(&f, "ada", "t1", "hello"), KNDL_ABORTED);
    assert_non_null(strstr(f.answer.err.message, "you have no setup token: "));
    assert_int_equal(count_of(&f, "ada"), before);
    assert_int_equal(f.peers.assignments, 0);

    /* The same request works once there is one. */
    f.peers.has_token = true;
    assert_int_equal(create(&f, "ada", "t1", "hello"), KNDL_OK);
    kndl_test_done(&f.answer);
}

static void a_prompt_of_blanks_or_a_command_is_refused_with_what_to_do(void **state)
{
    struct fixture f;

    set_up(&f, state);
    const char *id = stage_make(f.stage, "ada", "r1", "");
    assert_int_equal(send(&f, "ada", id, "b2", ""), KNDL_INVALID_ARGUMENT);
    assert_int_equal(send(&f, "ada", id, "b3", " \n\t"), KNDL_INVALID_ARGUMENT);
    assert_int_equal(send(&f, "ada", id, "b4", "/compact"), KNDL_INVALID_ARGUMENT);
    assert_non_null(strstr(f.answer.err.message, "begin it with another word"));
    assert_int_equal(create(&f, "ada", "b5", "/etc/hosts"), KNDL_INVALID_ARGUMENT);
    assert_int_equal(create(&f, "ada", "b6", "read /etc/hosts"), KNDL_OK);
    kndl_test_done(&f.answer);
}

static void a_prompt_that_cannot_be_masked_is_not_stored(void **state)
{
    struct fixture f;

    set_up(&f, state);
    const char *id = stage_make(f.stage, "ada", "r1", "");
    f.peers.redactor_down = true;
    assert_int_equal(send(&f, "ada", id, "p1", "hello"), KNDL_UNAVAILABLE);
    assert_int_equal(stage_view(f.stage, id).queue_count, 0);
    assert_int_equal(create(&f, "ada", "m1", "hello"), KNDL_UNAVAILABLE);
}

static void ac_06_without_access_a_session_answers_as_if_it_did_not_exist(void **state)
{
    static const char absent[] = "cccccccccccccccccccccccccc";
    V1(GetSessionRequest) get = INIT(GET_SESSION_REQUEST);
    V1(ListEventsRequest) list = INIT(LIST_EVENTS_REQUEST);
    struct fixture f;
    struct kndl_error hidden;

    set_up(&f, state);
    const char *id = stage_make(f.stage, "ada", "r1", "");
    f.peers.hides_repo = true;
    get.session_id = list.session_id = (char *)id;
    assert_int_equal(call(&f, "ada", "GetSession", &get.base), KNDL_NOT_FOUND);
    hidden = f.answer.err;
    assert_int_equal(call(&f, "ada", "ListEvents", &list.base), KNDL_NOT_FOUND);
    assert_int_equal(send(&f, "ada", id, "p1", "hello"), KNDL_NOT_FOUND);
    assert_int_equal(count_of(&f, "ada"), 0);

    get.session_id = (char *)absent;
    assert_int_equal(call(&f, "ada", "GetSession", &get.base), KNDL_NOT_FOUND);
    assert_string_equal(strchr(hidden.message, ' ') + 28, strchr(f.answer.err.message, ' ') + 28);
    get.session_id = (char *)"../../etc";
    assert_int_equal(call(&f, "ada", "GetSession", &get.base), KNDL_NOT_FOUND);
}

/* Every method of a Session that changes something, by somebody who may see it. */
static void ac_08_only_the_creator_drives(void **state)
{
    struct fixture f;

    set_up(&f, state);
    const char *id = stage_make(f.stage, "ada", "r1", "");
    V1(CancelPromptRequest) cancel = INIT(CANCEL_PROMPT_REQUEST);
    V1(ResumeQueueRequest) resume = INIT(RESUME_QUEUE_REQUEST);
    V1(AnswerQuestionRequest) answer = INIT(ANSWER_QUESTION_REQUEST);
    V1(StopTurnRequest) stop = INIT(STOP_TURN_REQUEST);
    V1(SleepSessionRequest) sleep = INIT(SLEEP_SESSION_REQUEST);
    V1(WakeSessionRequest) wake = INIT(WAKE_SESSION_REQUEST);
    cancel.session_id = resume.session_id = answer.session_id = (char *)id;
    stop.session_id = sleep.session_id = wake.session_id = (char *)id;

    assert_int_equal(send(&f, "eve", id, "p1", "hello"), KNDL_PERMISSION_DENIED);
    assert_int_equal(call(&f, "eve", "CancelPrompt", &cancel.base), KNDL_PERMISSION_DENIED);
    assert_int_equal(call(&f, "eve", "ResumeQueue", &resume.base), KNDL_PERMISSION_DENIED);
    assert_int_equal(call(&f, "eve", "AnswerQuestion", &answer.base), KNDL_PERMISSION_DENIED);
    assert_int_equal(call(&f, "eve", "StopTurn", &stop.base), KNDL_PERMISSION_DENIED);
    assert_int_equal(call(&f, "eve", "SleepSession", &sleep.base), KNDL_PERMISSION_DENIED);
    assert_int_equal(call(&f, "eve", "WakeSession", &wake.base), KNDL_PERMISSION_DENIED);
    assert_int_equal(f.peers.masked, 0);

    V1(GetSessionRequest) get = INIT(GET_SESSION_REQUEST);
    get.session_id = (char *)id;
    assert_int_equal(call(&f, "eve", "GetSession", &get.base), KNDL_OK);
    assert_false(((V1(GetSessionResponse) *)f.answer.response)->session->is_creator);
    kndl_test_done(&f.answer);
}

static void ev_02_ten_prompts_wait_and_one_can_be_cancelled(void **state)
{
    V1(CancelPromptRequest) cancel = INIT(CANCEL_PROMPT_REQUEST);
    struct fixture f;
    char request[] = "p0";

    set_up(&f, state);
    const char *id = stage_make(f.stage, "ada", "r1", "");
    for (int i = 0; i < QUEUE_COUNT_MAX; i++, request[1]++)
        assert_int_equal(send(&f, "ada", id, request, "hello"), KNDL_OK);
    assert_int_equal(send(&f, "ada", id, "px", "hello"), KNDL_RESOURCE_EXHAUSTED);

    cancel.session_id = (char *)id;
    cancel.request_id = (char *)"k1";
    cancel.prompt_id = stage_view(f.stage, id).queue[3]->id;
    assert_int_equal(call(&f, "ada", "CancelPrompt", &cancel.base), KNDL_OK);
    assert_int_equal(((V1(CancelPromptResponse) *)f.answer.response)->prompt->state,
                     KNDL__SESSIONS__V1__QUEUED_PROMPT__STATE__STATE_CANCELLED);
    assert_int_equal(stage_view(f.stage, id).queue_count, QUEUE_COUNT_MAX - 1);
    assert_int_equal(send(&f, "ada", id, "px", "hello"), KNDL_OK);
    kndl_test_done(&f.answer);
}

static void ev_02_a_prompt_that_was_handed_cannot_be_cancelled(void **state)
{
    V1(CancelPromptRequest) cancel = INIT(CANCEL_PROMPT_REQUEST);
    struct fixture f;

    set_up(&f, state);
    const char *id = stage_make(f.stage, "ada", "r1", "hello");
    stage_run(f.stage, "r1", id);
    cancel.session_id = (char *)id;
    cancel.request_id = (char *)"k1";
    cancel.prompt_id = (char *)stage_claim(f.stage, id, DELIVER_PROMPT)->id;
    assert_int_equal(call(&f, "ada", "CancelPrompt", &cancel.base), KNDL_ABORTED);
}

static void what_is_too_long_or_nonsense_is_refused(void **state)
{
    static char big[64 * 1024 + 2];
    V1(CreateSessionRequest) req = INIT(CREATE_SESSION_REQUEST);
    struct fixture f;

    set_up(&f, state);
    const char *id = stage_make(f.stage, "ada", "r1", "");
    memset(big, 'x', sizeof big - 1);
    assert_int_equal(send(&f, "ada", id, "p1", big), KNDL_INVALID_ARGUMENT);
    assert_int_equal(send(&f, "ada", id, "p1", ""), KNDL_INVALID_ARGUMENT);
    assert_int_equal(send(&f, "ada", id, "", "hello"), KNDL_INVALID_ARGUMENT);
    assert_int_equal(send(&f, "ada", id, "a b", "hello"), KNDL_INVALID_ARGUMENT);
    req.request_id = (char *)"c1";
    req.repo_name = (char *)"demo/hello";
    req.model = (char *)"x; rm -rf";
    assert_int_equal(call(&f, "ada", "CreateSession", &req.base), KNDL_INVALID_ARGUMENT);
    req.model = (char *)"--debug";
    assert_int_equal(call(&f, "ada", "CreateSession", &req.base), KNDL_INVALID_ARGUMENT);
    req.model = (char *)"claude-opus-4-5[1m]";
    req.effort = (char *)"extreme";
    assert_int_equal(call(&f, "ada", "CreateSession", &req.base), KNDL_INVALID_ARGUMENT);
}

static void ev_08_a_page_says_whether_there_is_more_at_exactly_its_limit(void **state)
{
    V1(ListEventsRequest) req = INIT(LIST_EVENTS_REQUEST);
    struct fixture f;
    Kndl__Event__V1__Event *said[98];

    set_up(&f, state);
    const char *id = stage_make(f.stage, "ada", "r1", "");
    stage_run(f.stage, "r1", id);
    for (size_t i = 0; i < 98; i++)
        said[i] = stage_text(f.stage, "x");
    stage_append(f.stage, "r1", id, 1, said, 98);

    req.session_id = (char *)id;
    req.limit = 100;
    assert_int_equal(call(&f, "eve", "ListEvents", &req.base), KNDL_OK);
    const V1(ListEventsResponse) *resp = (V1(ListEventsResponse) *)f.answer.response;
    assert_int_equal(resp->n_events, 100);
    assert_false(resp->has_more);
    assert_int_equal(resp->last_seq, 100);

    req.limit = 99;
    call(&f, "eve", "ListEvents", &req.base);
    resp = (V1(ListEventsResponse) *)f.answer.response;
    assert_true(resp->has_more);
    assert_int_equal(resp->events[0]->seq, 2);

    req.page_case = KNDL__SESSIONS__V1__LIST_EVENTS_REQUEST__PAGE_AFTER_SEQ;
    req.after_seq = 50;
    req.limit = 50;
    call(&f, "eve", "ListEvents", &req.base);
    resp = (V1(ListEventsResponse) *)f.answer.response;
    assert_int_equal(resp->events[0]->seq, 51);
    assert_false(resp->has_more);
    req.limit = 49;
    call(&f, "eve", "ListEvents", &req.base);
    assert_true(((V1(ListEventsResponse) *)f.answer.response)->has_more);
    req.limit = 201;
    assert_int_equal(call(&f, "eve", "ListEvents", &req.base), KNDL_INVALID_ARGUMENT);
}

static void ev_07_a_view_begins_where_the_viewer_stopped(void **state)
{
    V1(OpenViewRequest) req = INIT(OPEN_VIEW_REQUEST);
    V1(HeadsRequest) heads = INIT(HEADS_REQUEST);
    struct fixture f;

    set_up(&f, state);
    const char *id = stage_make(f.stage, "ada", "r1", "hello");
    stage_run(f.stage, "r1", id);
    req.session_id = (char *)id;
    req.after_seq = 1;
    assert_int_equal(call(&f, "eve", "OpenView", &req.base), KNDL_OK);
    const V1(OpenViewResponse) *view = (V1(OpenViewResponse) *)f.answer.response;
    assert_int_equal(view->n_events, 1);
    assert_int_equal(view->events[0]->seq, 2);
    assert_int_equal(view->n_queue, 1);
    assert_true(view->access_until_ms > 0);
    int64_t version = view->view_version;

    heads.n_session_ids = 2;
    heads.session_ids = (char *[]){(char *)id, (char *)"nothing"};
    assert_int_equal(call(&f, "eve", "Heads", &heads.base), KNDL_OK);
    const V1(HeadsResponse) *found = (V1(HeadsResponse) *)f.answer.response;
    assert_int_equal(found->n_heads, 1);
    assert_int_equal(found->heads[0]->last_seq, 2);
    assert_int_equal(found->heads[0]->view_version, version);
    f.peers.hides_repo = true;
    call(&f, "eve", "Heads", &heads.base);
    assert_int_equal(((V1(HeadsResponse) *)f.answer.response)->n_heads, 0);
    kndl_test_done(&f.answer);
}

static void health_tells_of_the_redactor_and_of_runners_that_are_there(void **state)
{
    V1(GetHealthRequest) req = INIT(GET_HEALTH_REQUEST);
    const V1(GetHealthResponse) *seen;
    struct fixture f;

    set_up(&f, state);
    f.answer = kndl_test_call(sessions_internal_service, &f.sessions, "api_gateway", "GetHealth",
                              &req.base);
    seen = (const V1(GetHealthResponse) *)f.answer.response;
    assert_true(seen->redactor_answers);
    int32_t there = seen->runners;
    assert_true(there >= 1);

    stage_pass(21 * 1000);
    f.peers.redactor_down = true;
    kndl_test_done(&f.answer);
    f.answer = kndl_test_call(sessions_internal_service, &f.sessions, "api_gateway", "GetHealth",
                              &req.base);
    seen = (const V1(GetHealthResponse) *)f.answer.response;
    assert_false(seen->redactor_answers);
    assert_int_equal(seen->runners, 0);
    kndl_test_done(&f.answer);
}

static void cr_05_a_mod_token_is_kept_as_a_hash_and_given_for_a_live_run_alone(void **state)
{
    V1(IssueModTokenRequest) req = INIT(ISSUE_MOD_TOKEN_REQUEST);
    V1(AppendEventsRequest) batch = INIT(APPEND_EVENTS_REQUEST);
    struct fixture f;
    uint8_t hash[KNDL_HASH_BYTES];

    set_up(&f, state);
    const char *id = stage_make(f.stage, "ada", "r1", "");
    stage_deliver(f.stage, id);
    req.session_id = batch.session_id = (char *)id;
    req.run = batch.run = 1;
    assert_int_equal(report(&f, "r1", "IssueModToken", &req.base), KNDL_OK);
    const char *token = ((V1(IssueModTokenResponse) *)f.answer.response)->token;
    assert_true(kndl_token_is_valid(KNDL_TOKEN_MOD, kndl_slice_of(token)));

    /* Its SHA-256 is what counts, and what is kept. */
    kndl_hash(kndl_slice_of(token), hash);
    batch.runner_id = (char *)"r1";
    batch.first_n = 1;
    batch.n_events = 1;
    batch.events = (Kndl__Event__V1__Event *[]){stage_text(f.stage, "x")};
    batch.mod_token_hash.data = hash;
    batch.mod_token_hash.len = sizeof hash;
    kndl_test_done(&f.answer);
    f.answer = kndl_test_call(sessions_internal_service, &f.sessions, "redactor", "AppendEvents",
                              &batch.base);
    assert_int_equal(((V1(AppendEventsResponse) *)f.answer.response)->expected_n, 2);

    assert_int_equal(report(&f, "r2", "IssueModToken", &req.base), KNDL_NOT_FOUND);
    stage_end(f.stage, "r1", id, 1, END_COMMANDED);
    assert_int_equal(report(&f, "r1", "IssueModToken", &req.base), KNDL_ABORTED);
}

static void cr_01_without_a_setup_token_a_session_does_not_wake(void **state)
{
    V1(WakeSessionRequest) req = INIT(WAKE_SESSION_REQUEST);
    struct fixture f;

    set_up(&f, state);
    const char *id = stage_make(f.stage, "ada", "r1", "");
    stage_run(f.stage, "r1", id);
    stage_end(f.stage, "r1", id, 0, END_COMMANDED);
    req.session_id = (char *)id;
    req.request_id = (char *)"w1";
    f.peers.has_token = false;
    assert_int_equal(call(&f, "ada", "WakeSession", &req.base), KNDL_ABORTED);
    assert_string_equal(f.answer.err.message, NO_SETUP_TOKEN);
    assert_int_equal(stage_read(f.stage, id).state, LIFE(ASLEEP));
    f.peers.has_token = true;
    assert_int_equal(call(&f, "ada", "WakeSession", &req.base), KNDL_OK);

    /* A repeat is answered alike, whatever became of the token since. */
    f.peers.has_token = false;
    assert_int_equal(call(&f, "ada", "WakeSession", &req.base), KNDL_OK);
    kndl_test_done(&f.answer);
}

static void
a_git_token_is_masked_before_it_is_given_and_for_a_run_of_that_runner_alone(void **state)
{
    V1(MintGitTokenRequest) req = INIT(MINT_GIT_TOKEN_REQUEST);
    struct fixture f;

    set_up(&f, state);
    const char *id = stage_make(f.stage, "ada", "r1", "");
    stage_deliver(f.stage, id);
    req.session_id = (char *)id;
    req.use = KNDL__SESSIONS__V1__MINT_GIT_TOKEN_REQUEST__USE__USE_CLONE;
    assert_int_equal(report(&f, "r2", "MintGitToken", &req.base), KNDL_NOT_FOUND);
    assert_int_equal(f.peers.put_masks, 0);
    assert_int_equal(report(&f, "r1", "MintGitToken", &req.base), KNDL_OK);
    const V1(MintGitTokenResponse) *resp = (V1(MintGitTokenResponse) *)f.answer.response;
    assert_string_equal(resp->token, "ghs_read");
    assert_int_equal(resp->mask_version, 1);
    stage_end(f.stage, "r1", id, 0, END_COMMANDED);
    assert_int_equal(report(&f, "r1", "MintGitToken", &req.base), KNDL_ABORTED);
}

static V1(Session) *shown(struct fixture *f, const char *id)
{
    V1(GetSessionRequest) req = INIT(GET_SESSION_REQUEST);

    req.session_id = (char *)id;
    assert_int_equal(call(f, "ada", "GetSession", &req.base), KNDL_OK);
    return ((V1(GetSessionResponse) *)f->answer.response)->session;
}

/* The redactor fails closed: what it cannot mask waits, and that is to be seen. */
static void output_that_waits_is_shown_until_it_flows_again(void **state)
{
    V1(ReportWaitingRequest) req = INIT(REPORT_WAITING_REQUEST);
    struct fixture f;
    int64_t version;

    set_up(&f, state);
    f.peers.redactor_down = true;
    const char *id = stage_make(f.stage, "ada", "r1", "");
    stage_run(f.stage, "r1", id);
    version = stage_read(f.stage, id).view_version;
    req.session_id = (char *)id;
    req.run = 1;
    req.is_waiting = true;
    req.reason_code = (char *)"because";
    assert_int_equal(report(&f, "r1", "ReportWaiting", &req.base), KNDL_INVALID_ARGUMENT);
    req.reason_code = (char *)"output_waits";
    assert_int_equal(report(&f, "r2", "ReportWaiting", &req.base), KNDL_NOT_FOUND);
    assert_int_equal(report(&f, "r1", "ReportWaiting", &req.base), KNDL_OK);
    assert_int_equal(report(&f, "r1", "ReportWaiting", &req.base), KNDL_OK);
    assert_int_equal(stage_read(f.stage, id).view_version, version + 1);
    assert_int_equal(shown(&f, id)->state, LIFE(ACTIVE));
    assert_string_equal(shown(&f, id)->reason_code, "output_waits");
    assert_non_null(strstr(shown(&f, id)->reason, "waits on the Runner"));
    req.reason_code = (char *)"spool_full";
    assert_int_equal(report(&f, "r1", "ReportWaiting", &req.base), KNDL_OK);
    assert_string_equal(shown(&f, id)->reason_code, "spool_full");

    req.is_waiting = false;
    assert_int_equal(report(&f, "r1", "ReportWaiting", &req.base), KNDL_OK);
    assert_string_equal(shown(&f, id)->reason, "");
    assert_int_equal(stage_read(f.stage, id).view_version, version + 3);
    kndl_test_done(&f.answer);
}

/* Nothing that the Runner said may be shown then, but that and why it failed. */
static void an_end_is_told_although_a_value_to_mask_cannot_be_read_any_more(void **state)
{
    V1(ReportEndedRequest) req = INIT(REPORT_ENDED_REQUEST);
    struct fixture f;

    set_up(&f, state);
    const char *id = stage_make(f.stage, "ada", "r1", "");
    stage_deliver(f.stage, id);
    req.session_id = (char *)id;
    req.run = 1;
    req.cause = KNDL__SESSIONS__V1__REPORT_ENDED_REQUEST__CAUSE__CAUSE_FAILED;
    req.reason_code = (char *)"setup_token_unavailable";
    req.reason = (char *)"unmasked reason";
    req.last_output = (char *)"unmasked output";
    f.peers.mask_unreadable = true;
    assert_int_equal(report(&f, "r1", "ReportEnded", &req.base), KNDL_OK);
    struct session session = stage_read(f.stage, id);
    assert_int_equal(session.state, LIFE(FAILED));
    assert_string_equal(session.reason_code, "setup_token_unavailable");
    assert_non_null(strstr(session.reason, "set the setup token"));
    assert_null(strstr(session.reason, "unmasked"));
    Kndl__Event__V1__Event **events;
    size_t count = stage_events(f.stage, id, &events);
    for (size_t i = 0; i < count; i++)
        assert_int_not_equal(events[i]->kind_case, KNDL__EVENT__V1__EVENT__KIND_NOTE);
    kndl_test_done(&f.answer);
}

static void why_a_start_failed_is_masked_before_it_is_stored(void **state)
{
    V1(ReportEndedRequest) req = INIT(REPORT_ENDED_REQUEST);
    struct fixture f;

    set_up(&f, state);
    const char *id = stage_make(f.stage, "ada", "r1", "");
    stage_deliver(f.stage, id);
    req.session_id = (char *)id;
    req.run = 1;
    req.cause = KNDL__SESSIONS__V1__REPORT_ENDED_REQUEST__CAUSE__CAUSE_FAILED;
    req.reason_code = (char *)"clone_failed";
    req.reason = (char *)"the clone with secret failed";
    req.last_output = (char *)"fatal: secret";
    f.peers.redactor_down = true;
    assert_int_equal(report(&f, "r1", "ReportEnded", &req.base), KNDL_UNAVAILABLE);
    assert_int_equal(stage_read(f.stage, id).state, LIFE(STARTING));
    f.peers.redactor_down = false;
    assert_int_equal(report(&f, "r2", "ReportEnded", &req.base), KNDL_NOT_FOUND);
    assert_int_equal(report(&f, "r1", "ReportEnded", &req.base), KNDL_OK);
    struct session session = stage_read(f.stage, id);
    assert_int_equal(session.state, LIFE(FAILED));
    assert_string_equal(session.reason_code, "clone_failed");
    assert_string_equal(session.reason, "the clone with ****** failed");
    kndl_test_done(&f.answer);
}

/* A value that the cut goes through. */
static void what_a_runner_says_is_masked_whole_before_it_is_cut(void **state)
{
    enum { REASON_MOST = 1024, OUTPUT_MOST = 16 * 1024, SEEN = 3 };
    static const char value[] = "secret";
    V1(ReportEndedRequest) req = INIT(REPORT_ENDED_REQUEST);
    char reason[REASON_MOST + 64] = {0};
    char output[sizeof value + OUTPUT_MOST] = {0};
    struct fixture f;

    set_up(&f, state);
    const char *id = stage_make(f.stage, "ada", "r1", "");
    stage_deliver(f.stage, id);
    memset(reason, 'a', sizeof reason - 1);
    memcpy(reason + REASON_MOST - SEEN, value, sizeof value - 1);
    memset(output, 'a', OUTPUT_MOST + sizeof value - 1 - SEEN);
    memcpy(output, value, sizeof value - 1);
    req.session_id = (char *)id;
    req.run = 1;
    req.cause = KNDL__SESSIONS__V1__REPORT_ENDED_REQUEST__CAUSE__CAUSE_FAILED;
    req.reason_code = (char *)"clone_failed";
    req.reason = reason;
    req.last_output = output;
    assert_int_equal(report(&f, "r1", "ReportEnded", &req.base), KNDL_OK);
    struct session session = stage_read(f.stage, id);
    assert_int_equal(strlen(session.reason), REASON_MOST);
    assert_string_equal(session.reason + REASON_MOST - SEEN, "***");
    Kndl__Event__V1__Event **events;
    size_t count = stage_events(f.stage, id, &events);
    size_t notes = 0;
    for (size_t i = 0; i < count; i++) {
        if (events[i]->kind_case != KNDL__EVENT__V1__EVENT__KIND_NOTE)
            continue;
        notes++;
        assert_int_equal(strlen(events[i]->note->text), OUTPUT_MOST);
        assert_memory_equal(events[i]->note->text, "***aaa", 6);
    }
    assert_int_equal(notes, 1);
    kndl_test_done(&f.answer);
}

static void a_runner_of_another_protocol_is_turned_away_and_told_why(void **state)
{
    V1(AttendRequest) req = INIT(ATTEND_REQUEST);
    uint8_t key[32] = {1};
    struct fixture f;

    set_up(&f, state);
    req.protocol = 0;
    req.version = (char *)"0.1";
    assert_int_equal(report(&f, "r1", "Attend", &req.base), KNDL_FAILED_PRECONDITION);
    assert_non_null(strstr(f.answer.err.message, "update the Runner"));
    req.protocol = 1;
    req.seal_key.data = key;
    req.seal_key.len = sizeof key;
    req.hostname = (char *)"caf\xc3\xa9";
    assert_int_equal(report(&f, "r1", "Attend", &req.base), KNDL_INVALID_ARGUMENT);
    req.hostname = (char *)"cafe";
    assert_int_equal(report(&f, "r1", "Attend", &req.base), KNDL_OK);
    kndl_test_done(&f.answer);
}

static void a_runner_is_told_which_runs_should_not_be(void **state)
{
    V1(AttendRequest) req = INIT(ATTEND_REQUEST);
    V1(AttendRequest__Run) gone = INIT(ATTEND_REQUEST__RUN), here = INIT(ATTEND_REQUEST__RUN);
    uint8_t key[32] = {1};
    struct fixture f;

    set_up(&f, state);
    const char *id = stage_make(f.stage, "ada", "r1", "");
    stage_run(f.stage, "r1", id);
    here.session_id = (char *)id;
    here.run = gone.run = 1;
    here.phase = gone.phase = KNDL__SESSIONS__V1__ATTEND_REQUEST__PHASE__PHASE_RUNNING;
    gone.session_id = (char *)"dddddddddddddddddddddddddd";
    req.protocol = 1;
    req.instance_id = (char *)"i1";
    req.seal_key.data = key;
    req.seal_key.len = sizeof key;
    req.n_runs = 2;
    req.runs = (V1(AttendRequest__Run) *[]){&here, &gone};
    assert_int_equal(report(&f, "r1", "Attend", &req.base), KNDL_OK);
    const V1(AttendResponse) *resp = (V1(AttendResponse) *)f.answer.response;
    assert_int_equal(resp->n_stop_session_ids, 1);
    assert_string_equal(resp->stop_session_ids[0], gone.session_id);
    kndl_test_done(&f.answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_prompt_that_races_its_creators_removal_is_not_queued),
        cmocka_unit_test(a_session_is_made_with_its_first_prompt_masked),
        cmocka_unit_test(
            cr_01_without_a_setup_token_nothing_is_made_and_the_message_says_what_to_do),
        cmocka_unit_test(a_prompt_of_blanks_or_a_command_is_refused_with_what_to_do),
        cmocka_unit_test(a_prompt_that_cannot_be_masked_is_not_stored),
        cmocka_unit_test(ac_06_without_access_a_session_answers_as_if_it_did_not_exist),
        cmocka_unit_test(ac_08_only_the_creator_drives),
        cmocka_unit_test(ev_02_ten_prompts_wait_and_one_can_be_cancelled),
        cmocka_unit_test(ev_02_a_prompt_that_was_handed_cannot_be_cancelled),
        cmocka_unit_test(what_is_too_long_or_nonsense_is_refused),
        cmocka_unit_test(ev_08_a_page_says_whether_there_is_more_at_exactly_its_limit),
        cmocka_unit_test(ev_07_a_view_begins_where_the_viewer_stopped),
        cmocka_unit_test(cr_01_without_a_setup_token_a_session_does_not_wake),
        cmocka_unit_test(cr_05_a_mod_token_is_kept_as_a_hash_and_given_for_a_live_run_alone),
        cmocka_unit_test(
            a_git_token_is_masked_before_it_is_given_and_for_a_run_of_that_runner_alone),
        cmocka_unit_test(health_tells_of_the_redactor_and_of_runners_that_are_there),
        cmocka_unit_test(output_that_waits_is_shown_until_it_flows_again),
        cmocka_unit_test(why_a_start_failed_is_masked_before_it_is_stored),
        cmocka_unit_test(what_a_runner_says_is_masked_whole_before_it_is_cut),
        cmocka_unit_test(an_end_is_told_although_a_value_to_mask_cannot_be_read_any_more),
        cmocka_unit_test(a_runner_of_another_protocol_is_turned_away_and_told_why),
        cmocka_unit_test(a_runner_is_told_which_runs_should_not_be),
    };
    struct kndl_error err;

    if (kndl_crypt_init(&err) < 0)
        return 1;
    return cmocka_run_group_tests_name("sessions rpc", tests, stage_open, stage_close);
}
