/*
 * What Runners report, with a real PostgreSQL behind the handlers and other services in memory
 * (fakes.c).
 */

#include <string.h>

#include "fixture.h"
#include "kndl/secret.h"
#include "kndl/sessions/v1/sessions_runner_service.pb-c.h"
#include "kndl/sessions/v1/sessions_service.pb-c.h"

#define V1(name) Kndl__Sessions__V1__##name
#define INIT(NAME) KNDL__SESSIONS__V1__##NAME##__INIT

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
    struct fixture *f = *state;
    V1(ReportWaitingRequest) req = INIT(REPORT_WAITING_REQUEST);
    int64_t version;

    f->bus.peers.redactor_down = true;
    const char *id = stage_make(f->stage, "ada", "r1", "");
    stage_run(f->stage, "r1", id);
    version = stage_read(f->stage, id).view_version;
    req.session_id = (char *)id;
    req.run = 1;
    req.is_waiting = true;
    req.reason_code = (char *)"because";
    assert_int_equal(report(f, "r1", "ReportWaiting", &req.base), KNDL_INVALID_ARGUMENT);
    req.reason_code = (char *)"output_waits";
    assert_int_equal(report(f, "r2", "ReportWaiting", &req.base), KNDL_NOT_FOUND);
    assert_int_equal(report(f, "r1", "ReportWaiting", &req.base), KNDL_OK);
    assert_int_equal(report(f, "r1", "ReportWaiting", &req.base), KNDL_OK);
    assert_int_equal(stage_read(f->stage, id).view_version, version + 1);
    assert_int_equal(shown(f, id)->state, LIFE(ACTIVE));
    assert_string_equal(shown(f, id)->reason_code, "output_waits");
    assert_non_null(strstr(shown(f, id)->reason, "waits on the Runner"));
    req.reason_code = (char *)"spool_full";
    assert_int_equal(report(f, "r1", "ReportWaiting", &req.base), KNDL_OK);
    assert_string_equal(shown(f, id)->reason_code, "spool_full");

    req.is_waiting = false;
    assert_int_equal(report(f, "r1", "ReportWaiting", &req.base), KNDL_OK);
    assert_string_equal(shown(f, id)->reason, "");
    assert_int_equal(stage_read(f->stage, id).view_version, version + 3);
}

/* The report that a start failed. */
static V1(ReportEndedRequest) failed(const char *id, const char *code, const char *reason,
                                     const char *last_output)
{
    V1(ReportEndedRequest) req = INIT(REPORT_ENDED_REQUEST);

    req.session_id = (char *)id;
    req.run = 1;
    req.cause = KNDL__SESSIONS__V1__REPORT_ENDED_REQUEST__CAUSE__CAUSE_FAILED;
    req.reason_code = (char *)code;
    req.reason = (char *)reason;
    req.last_output = (char *)last_output;
    return req;
}

/* Nothing that the Runner said may be shown then, but that and why it failed. */
static void an_end_is_told_although_a_value_to_mask_cannot_be_read_any_more(void **state)
{
    struct fixture *f = *state;

    const char *id = stage_make(f->stage, "ada", "r1", "");
    stage_deliver(f->stage, id);
    V1(ReportEndedRequest) req =
        failed(id, "setup_token_unavailable", "unmasked reason", "unmasked output");
    f->bus.peers.mask_unreadable = true;
    assert_int_equal(report(f, "r1", "ReportEnded", &req.base), KNDL_OK);
    struct session session = stage_read(f->stage, id);
    assert_int_equal(session.state, LIFE(FAILED));
    assert_string_equal(session.reason_code, "setup_token_unavailable");
    assert_non_null(strstr(session.reason, "set the setup token"));
    assert_null(strstr(session.reason, "unmasked"));
    Kndl__Event__V1__Event **events;
    size_t count = stage_events(f->stage, id, &events);
    for (size_t i = 0; i < count; i++)
        assert_int_not_equal(events[i]->kind_case, KNDL__EVENT__V1__EVENT__KIND_NOTE);
}

static void why_a_start_failed_is_masked_before_it_is_stored(void **state)
{
    struct fixture *f = *state;

    const char *id = stage_make(f->stage, "ada", "r1", "");
    stage_deliver(f->stage, id);
    V1(ReportEndedRequest) req =
        failed(id, "clone_failed", "the clone with secret failed", "fatal: secret");
    f->bus.peers.redactor_down = true;
    assert_int_equal(report(f, "r1", "ReportEnded", &req.base), KNDL_UNAVAILABLE);
    assert_string_equal(f->answer.err.message, "redactor does not answer");
    assert_int_equal(stage_read(f->stage, id).state, LIFE(STARTING));
    f->bus.peers.redactor_down = false;
    assert_int_equal(report(f, "r2", "ReportEnded", &req.base), KNDL_NOT_FOUND);
    assert_int_equal(report(f, "r1", "ReportEnded", &req.base), KNDL_OK);
    struct session session = stage_read(f->stage, id);
    assert_int_equal(session.state, LIFE(FAILED));
    assert_string_equal(session.reason_code, "clone_failed");
    assert_string_equal(session.reason, "the clone with ****** failed");
}

/* A value that the cut goes through. */
static void what_a_runner_says_is_masked_whole_before_it_is_cut(void **state)
{
    struct fixture *f = *state;
    enum { REASON_MOST = 1024, OUTPUT_MOST = 16 * 1024, SEEN = 3 };
    static const char value[] = "secret";
    char reason[REASON_MOST + 64] = {0};
    char output[sizeof value + OUTPUT_MOST] = {0};

    const char *id = stage_make(f->stage, "ada", "r1", "");
    stage_deliver(f->stage, id);
    memset(reason, 'a', sizeof reason - 1);
    memcpy(reason + REASON_MOST - SEEN, value, sizeof value - 1);
    memset(output, 'a', OUTPUT_MOST + sizeof value - 1 - SEEN);
    memcpy(output, value, sizeof value - 1);
    V1(ReportEndedRequest) req = failed(id, "clone_failed", reason, output);
    assert_int_equal(report(f, "r1", "ReportEnded", &req.base), KNDL_OK);
    struct session session = stage_read(f->stage, id);
    assert_int_equal(strlen(session.reason), REASON_MOST);
    assert_string_equal(session.reason + REASON_MOST - SEEN, "***");
    Kndl__Event__V1__Event **events;
    size_t count = stage_events(f->stage, id, &events);
    size_t notes = 0;
    for (size_t i = 0; i < count; i++) {
        if (events[i]->kind_case != KNDL__EVENT__V1__EVENT__KIND_NOTE)
            continue;
        notes++;
        assert_int_equal(strlen(events[i]->note->text), OUTPUT_MOST);
        assert_memory_equal(events[i]->note->text, "***aaa", 6);
    }
    assert_int_equal(notes, 1);
}

static void a_runner_of_another_protocol_is_turned_away_and_told_why(void **state)
{
    struct fixture *f = *state;
    V1(AttendRequest) req = INIT(ATTEND_REQUEST);
    uint8_t key[32] = {1};

    req.protocol = 0;
    req.version = (char *)"0.1";
    assert_int_equal(report(f, "r1", "Attend", &req.base), KNDL_FAILED_PRECONDITION);
    assert_non_null(strstr(f->answer.err.message, "update the Runner"));
    req.protocol = 1;
    req.seal_key.data = key;
    req.seal_key.len = sizeof key;
    req.hostname = (char *)"caf\xc3\xa9";
    assert_int_equal(report(f, "r1", "Attend", &req.base), KNDL_INVALID_ARGUMENT);
    req.hostname = (char *)"cafe";
    assert_int_equal(report(f, "r1", "Attend", &req.base), KNDL_OK);
}

static void a_runner_is_told_which_runs_should_not_be(void **state)
{
    struct fixture *f = *state;
    V1(AttendRequest) req = INIT(ATTEND_REQUEST);
    V1(AttendRequest__Run) gone = INIT(ATTEND_REQUEST__RUN), here = INIT(ATTEND_REQUEST__RUN);
    uint8_t key[32] = {1};

    const char *id = stage_make(f->stage, "ada", "r1", "");
    stage_run(f->stage, "r1", id);
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
    assert_int_equal(report(f, "r1", "Attend", &req.base), KNDL_OK);
    const V1(AttendResponse) *resp = (V1(AttendResponse) *)f->answer.response;
    assert_int_equal(resp->n_stop_session_ids, 1);
    assert_string_equal(resp->stop_session_ids[0], gone.session_id);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(output_that_waits_is_shown_until_it_flows_again),
        TEST(why_a_start_failed_is_masked_before_it_is_stored),
        TEST(what_a_runner_says_is_masked_whole_before_it_is_cut),
        TEST(an_end_is_told_although_a_value_to_mask_cannot_be_read_any_more),
        TEST(a_runner_of_another_protocol_is_turned_away_and_told_why),
        TEST(a_runner_is_told_which_runs_should_not_be),
    };
    struct kndl_error err;

    if (kndl_crypt_init(&err) < 0)
        return 1;
    return cmocka_run_group_tests_name("sessions reports", tests, stage_open, stage_close);
}
