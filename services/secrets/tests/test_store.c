/* secrets from its handlers to a real PostgreSQL; its peers are fakes. */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "changes.h"
#include "fakes.h"
#include "kndl/clock.h"
#include "kndl/db.h"
#include "kndl/id.h"
#include "kndl/mem.h"
#include "kndl/secret.h"
#include "kndl/secrets/v1/secrets_service.pb-c.h"
#include "kndl/testing.h"
#include "peers.h"
#include "rpc.h"
#include "store.h"

#define V1(name) Kndl__Secrets__V1__##name
#define PHASE(name) KNDL__SECRETS__V1__PUT_ASSIGNMENT_REQUEST__PHASE__PHASE_##name

#define TOKEN_A "sk-ant-oat01-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define TOKEN_B "sk-ant-oat01-bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define SESSION_TOKEN "kndl_ses_0123456789012345678901234567890123456789012_123456"

static const char *database;

struct fixture {
    struct secrets secrets;
    char person[KNDL_ID_SIZE];
    char session[KNDL_ID_SIZE];
    struct kndl_error err; /* of the last call */
    int64_t version;       /* what it answered, if that was a version */
    const struct kndl_task *wake;
    char text[256]; /* a value that it answered */
};

static const char *runner = "runneraaaaaaaaaaaaaaaaaaaa";

static int set_up(void **state)
{
    struct fixture *f = kndl_new0(struct fixture);

    f->secrets.bus = &fake_bus;
    assert_int_equal(store_open(&f->secrets.store, &f->err), 0);
    kndl_id_new(f->person);
    kndl_id_new(f->session);
    /* What earlier tests left to be told is told. */
    f->err = kndl_test_task(&changes_task, &f->secrets);
    fake_bus = (struct kndl_bus){0};
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    store_close(f->secrets.store);
    free(f);
    return 0;
}

/* A worker of another process, or the same after a restart: nothing but the rows is left. */
static void restart(struct fixture *f)
{
    store_close(f->secrets.store);
    assert_int_equal(store_open(&f->secrets.store, &f->err), 0);
}

static void note(struct fixture *f, struct kndl_test_answer *answer)
{
    f->err = answer->err;
    f->wake = answer->wake;
}

static bool set_token(struct fixture *f, const char *request_id, const char *token)
{
    V1(SetSetupTokenRequest) req = KNDL__SECRETS__V1__SET_SETUP_TOKEN_REQUEST__INIT;

    req.request_id = (char *)request_id;
    req.token = (char *)token;
    struct kndl_test_answer answer =
        kndl_test_call(secrets_service, &f->secrets, f->person, "SetSetupToken", &req.base);
    note(f, &answer);
    if (answer.response != NULL)
        f->version = ((V1(SetSetupTokenResponse) *)answer.response)->setup_token->version;
    kndl_test_done(&answer);
    return f->err.code == KNDL_OK;
}

static bool remove_token(struct fixture *f, const char *request_id)
{
    V1(RemoveSetupTokenRequest) req = KNDL__SECRETS__V1__REMOVE_SETUP_TOKEN_REQUEST__INIT;

    req.request_id = (char *)request_id;
    struct kndl_test_answer answer =
        kndl_test_call(secrets_service, &f->secrets, f->person, "RemoveSetupToken", &req.base);
    note(f, &answer);
    kndl_test_done(&answer);
    return f->err.code == KNDL_OK;
}

/* When the token ends, 0: there is none. */
static int64_t token_expires(struct fixture *f)
{
    V1(GetSetupTokenRequest) req = KNDL__SECRETS__V1__GET_SETUP_TOKEN_REQUEST__INIT;
    struct kndl_test_answer answer =
        kndl_test_call(secrets_service, &f->secrets, f->person, "GetSetupToken", &req.base);
    const V1(GetSetupTokenResponse) *resp = (V1(GetSetupTokenResponse) *)answer.response;
    int64_t expires_at_ms = 0;

    assert_non_null(resp);
    if (resp->setup_token != NULL)
        expires_at_ms = resp->setup_token->expires_at_ms;
    kndl_test_done(&answer);
    return expires_at_ms;
}

static bool token_exists(struct fixture *f)
{
    V1(CheckSetupTokenRequest) req = KNDL__SECRETS__V1__CHECK_SETUP_TOKEN_REQUEST__INIT;

    req.person_id = f->person;
    struct kndl_test_answer answer = kndl_test_call(secrets_internal_service, &f->secrets,
                                                    "sessions", "CheckSetupToken", &req.base);
    assert_non_null(answer.response);
    bool exists = ((V1(CheckSetupTokenResponse) *)answer.response)->exists;
    f->version = ((V1(CheckSetupTokenResponse) *)answer.response)->version;
    kndl_test_done(&answer);
    return exists;
}

static void assign(struct fixture *f, int64_t run, V1(PutAssignmentRequest__Phase) phase)
{
    V1(PutAssignmentRequest) req = KNDL__SECRETS__V1__PUT_ASSIGNMENT_REQUEST__INIT;

    req.session_id = f->session;
    req.run = run;
    req.runner_id = (char *)runner;
    req.creator_id = f->person;
    req.repo_id = 3001;
    req.phase = phase;
    struct kndl_test_answer answer = kndl_test_call(secrets_internal_service, &f->secrets,
                                                    "sessions", "PutAssignment", &req.base);
    note(f, &answer);
    assert_non_null(answer.response);
    f->version = ((V1(PutAssignmentResponse) *)answer.response)->mask_version;
    kndl_test_done(&answer);
}

static bool fetch(struct fixture *f, const char *by, int64_t run)
{
    V1(FetchSetupTokenRequest) req = KNDL__SECRETS__V1__FETCH_SETUP_TOKEN_REQUEST__INIT;

    req.session_id = f->session;
    req.run = run;
    struct kndl_test_answer answer = kndl_test_runner_call(secrets_runner_service, &f->secrets, by,
                                                           "FetchSetupToken", &req.base);
    note(f, &answer);
    f->text[0] = '\0';
    if (answer.response != NULL) {
        const V1(FetchSetupTokenResponse) *resp = (V1(FetchSetupTokenResponse) *)answer.response;
        f->version = resp->mask_version;
        snprintf(f->text, sizeof f->text, "%s", resp->token);
    }
    kndl_test_done(&answer);
    return f->err.code == KNDL_OK;
}

static bool put_session_token(struct fixture *f, const char *by, int64_t run, const char *token)
{
    V1(PutSessionTokenRequest) req = KNDL__SECRETS__V1__PUT_SESSION_TOKEN_REQUEST__INIT;

    req.session_id = f->session;
    req.run = run;
    req.token = (char *)token;
    struct kndl_test_answer answer = kndl_test_runner_call(secrets_runner_service, &f->secrets, by,
                                                           "PutSessionToken", &req.base);
    note(f, &answer);
    if (answer.response != NULL)
        f->version = ((V1(PutSessionTokenResponse) *)answer.response)->mask_version;
    kndl_test_done(&answer);
    return f->err.code == KNDL_OK;
}

static bool put_mask(struct fixture *f, const char *name, const char *value)
{
    V1(PutMaskRequest) req = KNDL__SECRETS__V1__PUT_MASK_REQUEST__INIT;

    req.session_id = f->session;
    req.name = (char *)name;
    req.value = (char *)value;
    struct kndl_test_answer answer =
        kndl_test_call(secrets_internal_service, &f->secrets, "sessions", "PutMask", &req.base);
    note(f, &answer);
    if (answer.response != NULL)
        f->version = ((V1(PutMaskResponse) *)answer.response)->mask_version;
    kndl_test_done(&answer);
    return f->err.code == KNDL_OK;
}

/* The values of a mask set, joined by blanks, into f->text. */
static bool get_masks(struct fixture *f, V1(GetMaskSetRequest) req)
{
    struct kndl_test_answer answer =
        kndl_test_call(secrets_internal_service, &f->secrets, "redactor", "GetMaskSet", &req.base);
    const V1(GetMaskSetResponse) *resp = (V1(GetMaskSetResponse) *)answer.response;

    note(f, &answer);
    f->text[0] = '\0';
    for (size_t i = 0; resp != NULL && i < resp->n_values; i++) {
        size_t used = strlen(f->text);
        snprintf(f->text + used, sizeof f->text - used, "%s%s", used > 0 ? " " : "",
                 resp->values[i]->value);
    }
    if (resp != NULL)
        f->version = resp->version;
    kndl_test_done(&answer);
    return f->err.code == KNDL_OK;
}

static V1(GetMaskSetRequest) of_session(struct fixture *f)
{
    V1(GetMaskSetRequest) req = KNDL__SECRETS__V1__GET_MASK_SET_REQUEST__INIT;

    req.session_id = f->session;
    return req;
}

static void assert_masks(struct fixture *f, const char *values)
{
    assert_true(get_masks(f, of_session(f)));
    assert_string_equal(f->text, values);
}

/* CR-05, CR-06 */
static void cr_05_a_setup_token_is_kept_sealed_and_survives_a_restart(void **state)
{
    struct fixture *f = *state;

    assert_false(token_exists(f));
    assert_true(set_token(f, "q1", " " TOKEN_A "\n"));
    assert_ptr_equal(f->wake, &changes_task);
    assert_true(token_exists(f));
    assert_true(token_expires(f) > kndl_clock_wall_ms() + INT64_C(364) * 24 * 60 * 60 * 1000);

    restart(f);
    assign(f, 1, PHASE(STARTING));
    assert_true(fetch(f, runner, 1));
    assert_string_equal(f->text, TOKEN_A);
}

static void a_repeat_of_a_request_changes_nothing(void **state)
{
    struct fixture *f = *state;

    assert_true(set_token(f, "q1", TOKEN_A));
    assert_int_equal(f->version, 1);
    assert_true(set_token(f, "q1", TOKEN_A));
    assert_int_equal(f->version, 1);
    assert_null(f->wake);
    assert_true(set_token(f, "q2", TOKEN_A)); /* the same value: nobody need go to sleep */
    assert_int_equal(f->version, 1);
    assert_true(remove_token(f, "q3"));
    assert_true(remove_token(f, "q3"));
    assert_null(f->wake);
    assert_false(token_exists(f));
    assert_int_equal(f->version, 2);
    assert_true(set_token(f, "q4", TOKEN_A));
    assert_int_equal(f->version, 3);
}

/* Whoever sent it heard no answer and tries again, late: the newer change stays. */
static void a_late_repeat_of_an_older_request_changes_nothing(void **state)
{
    struct fixture *f = *state;

    assert_true(set_token(f, "q1", TOKEN_A));
    assert_true(set_token(f, "q2", TOKEN_B));
    assert_true(set_token(f, "q1", TOKEN_A));
    assert_int_equal(f->version, 2);
    assert_null(f->wake);
    assert_true(remove_token(f, "q3"));
    assert_true(set_token(f, "q4", TOKEN_A));
    assert_true(remove_token(f, "q3"));
    assert_true(token_exists(f));
    assert_true(set_token(f, "q5", TOKEN_A)); /* the same value: done all the same */
    assert_true(set_token(f, "q6", TOKEN_B));
    assert_true(set_token(f, "q5", TOKEN_A));
    assert_int_equal(f->version, 5);
}

/* CR-01 */
static void cr_01_an_api_key_is_not_kept(void **state)
{
    struct fixture *f = *state;

    assert_false(set_token(f, "q1", "sk-ant-api03-abcdefghijklmnopqrstuvwxyz"));
    assert_int_equal(f->err.code, KNDL_INVALID_ARGUMENT);
    assert_false(token_exists(f));
}

/* CR-02 */
static void cr_02_only_the_assigned_runner_gets_it_and_only_while_it_starts(void **state)
{
    struct fixture *f = *state;

    assert_true(set_token(f, "q1", TOKEN_A));
    assert_false(fetch(f, runner, 1));
    assert_int_equal(f->err.code, KNDL_NOT_FOUND);
    assign(f, 0, PHASE(MADE));
    assert_false(fetch(f, runner, 0));
    assign(f, 1, PHASE(STARTING));
    assert_false(fetch(f, "runnerbbbbbbbbbbbbbbbbbbbb", 1));
    assert_int_equal(f->err.code, KNDL_NOT_FOUND);
    assert_false(fetch(f, runner, 2));
    assert_true(fetch(f, runner, 1));
    assert_true(fetch(f, runner, 1)); /* the answer may have been lost */
    assign(f, 1, PHASE(ACTIVE));
    assert_false(fetch(f, runner, 1));
    assert_int_equal(f->err.code, KNDL_NOT_FOUND);
    assign(f, 1, PHASE(STARTING)); /* what came late does not open it again */
    assert_false(fetch(f, runner, 1));
    assign(f, 1, PHASE(SETTLED));
    assign(f, 2, PHASE(STARTING));
    assert_true(fetch(f, runner, 2));
}

/* CR-01 */
static void cr_01_without_a_token_the_refusal_says_what_to_do(void **state)
{
    struct fixture *f = *state;

    assign(f, 1, PHASE(STARTING));
    assert_false(fetch(f, runner, 1));
    assert_int_equal(f->err.code, KNDL_ABORTED);
    assert_non_null(strstr(f->err.message, "no Claude setup token"));
    assert_true(set_token(f, "q1", TOKEN_A));
    assert_true(fetch(f, runner, 1));
    assert_true(remove_token(f, "q2"));
    assert_false(fetch(f, runner, 1));
    assert_int_equal(f->err.code, KNDL_ABORTED);
}

/* RD-02 */
static void rd_02_a_value_is_in_the_set_before_it_is_handed_out(void **state)
{
    struct fixture *f = *state;
    int64_t before;

    assign(f, 1, PHASE(STARTING));
    before = f->version;
    assert_masks(f, "");
    assert_true(set_token(f, "q1", TOKEN_A));
    assert_masks(f, TOKEN_A);
    assert_true(f->version > before);
    before = f->version;
    assert_true(fetch(f, runner, 1));
    assert_true(f->version > before);
    assert_true(put_session_token(f, runner, 1, SESSION_TOKEN));
    assert_true(put_mask(f, "git_token", "ghs_first"));
    assert_masks(f, TOKEN_A " " SESSION_TOKEN " ghs_first");
}

/* RD-02 */
static void rd_02_current_and_previous_are_masked_and_older_ones_are_not(void **state)
{
    struct fixture *f = *state;

    assign(f, 1, PHASE(STARTING));
    assert_true(put_mask(f, "git_token", "ghs_first"));
    assert_true(put_mask(f, "git_token", "ghs_second"));
    assert_masks(f, "ghs_first ghs_second");
    assert_true(put_mask(f, "git_token", "ghs_third"));
    assert_masks(f, "ghs_second ghs_third");
    int64_t version = f->version;
    assert_true(put_mask(f, "git_token", "ghs_third"));
    assert_int_equal(f->version, version);
    restart(f);
    assert_masks(f, "ghs_second ghs_third");
}

/* RD-02 */
static void rd_02_a_replaced_token_is_masked_while_a_session_that_started_with_it_runs(void **state)
{
    struct fixture *f = *state;

    assert_true(set_token(f, "q1", TOKEN_A));
    assign(f, 1, PHASE(STARTING));
    assert_true(fetch(f, runner, 1));
    assign(f, 1, PHASE(ACTIVE));
    assert_true(set_token(f, "q2", TOKEN_B));
    assert_masks(f, TOKEN_A " " TOKEN_B);
    assert_true(remove_token(f, "q3"));
    assert_masks(f, TOKEN_A);
    assign(f, 1, PHASE(ENDED));
    assert_masks(f, TOKEN_A);
    assign(f, 1, PHASE(SETTLED));
    assert_masks(f, "");
}

static void the_masks_of_a_run_go_when_it_is_settled_and_those_of_the_creator_stay(void **state)
{
    struct fixture *f = *state;

    assert_true(set_token(f, "q1", TOKEN_A));
    assign(f, 1, PHASE(STARTING));
    assert_true(put_session_token(f, runner, 1, SESSION_TOKEN));
    assign(f, 1, PHASE(SETTLED));
    assert_masks(f, TOKEN_A);
    assign(f, 1, PHASE(PURGED));
    assert_false(get_masks(f, of_session(f)));
    assert_int_equal(f->err.code, KNDL_NOT_FOUND);
    assign(f, 2, PHASE(STARTING)); /* purged is the end */
    assert_false(fetch(f, runner, 2));
}

/* GitHub takes it for an hour, whatever the Session does, and the Workspace may hold it: GI-05. */
static void gi_05_git_tokens_stay_masked_past_their_run_current_and_previous(void **state)
{
    struct fixture *f = *state;

    assign(f, 1, PHASE(STARTING));
    assert_true(put_mask(f, "git_token", "ghs_first"));
    assign(f, 1, PHASE(SETTLED));
    assert_masks(f, "ghs_first");
    assign(f, 2, PHASE(STARTING));
    assert_true(put_mask(f, "git_token", "ghs_second"));
    assert_masks(f, "ghs_first ghs_second");
    assign(f, 2, PHASE(PURGED));
    assert_false(get_masks(f, of_session(f)));
}

static void a_redactor_gets_the_set_of_an_assigned_run_alone(void **state)
{
    struct fixture *f = *state;
    V1(GetMaskSetRequest) req = of_session(f);

    assign(f, 3, PHASE(ACTIVE));
    req.run = 3;
    req.runner_id = (char *)runner;
    assert_true(get_masks(f, req));
    req.at_least = f->version + 1;
    assert_false(get_masks(f, req));
    assert_int_equal(f->err.code, KNDL_UNAVAILABLE);
    req.at_least = 0;
    req.run = 2;
    assert_false(get_masks(f, req));
    assert_int_equal(f->err.code, KNDL_NOT_FOUND);
    req.run = 3;
    req.runner_id = (char *)"runnerbbbbbbbbbbbbbbbbbbbb";
    assert_false(get_masks(f, req));
    assert_int_equal(f->err.code, KNDL_NOT_FOUND);
}

static void before_there_is_a_session_the_creators_values_are_masked(void **state)
{
    struct fixture *f = *state;
    V1(GetMaskSetRequest) req = KNDL__SECRETS__V1__GET_MASK_SET_REQUEST__INIT;

    req.creator_id = f->person;
    assert_true(get_masks(f, req));
    assert_string_equal(f->text, "");
    assert_true(set_token(f, "q1", TOKEN_A));
    assert_true(get_masks(f, req));
    assert_string_equal(f->text, TOKEN_A);
}

static void a_foreign_runner_adds_no_mask(void **state)
{
    struct fixture *f = *state;

    assign(f, 1, PHASE(STARTING));
    assert_false(put_session_token(f, "runnerbbbbbbbbbbbbbbbbbbbb", 1, SESSION_TOKEN));
    assert_int_equal(f->err.code, KNDL_NOT_FOUND);
    assert_false(put_session_token(f, runner, 2, SESSION_TOKEN));
    assert_int_equal(f->err.code, KNDL_NOT_FOUND);
    assert_false(put_session_token(f, runner, 1, "short"));
    assert_int_equal(f->err.code, KNDL_INVALID_ARGUMENT);
}

/* RD-06 */
static void rd_06_a_value_under_four_characters_is_refused(void **state)
{
    struct fixture *f = *state;

    assign(f, 1, PHASE(STARTING));
    assert_false(put_mask(f, "git_token", "abc"));
    assert_false(put_mask(f, "git_token", " a b "));
    assert_false(put_mask(f, "git_token", "éé"));
    assert_false(put_mask(f, "git_token", "****"));
    assert_int_equal(f->err.code, KNDL_INVALID_ARGUMENT);
    assert_true(put_mask(f, "git_token", "abcd"));
}

static void run_changes(struct fixture *f)
{
    struct kndl_error err = kndl_test_task(&changes_task, &f->secrets);

    assert_int_equal(err.code, KNDL_OK);
}

/* CR-04 */
static void cr_04_sessions_hears_of_each_change_until_it_answers(void **state)
{
    struct fixture *f = *state;

    fake_bus.is_away = true;
    assert_true(set_token(f, "q1", TOKEN_A));
    run_changes(f);
    assert_int_equal(fake_bus.count, 0);
    fake_bus.is_away = false;
    run_changes(f); /* not due yet: it was asked just now */
    restart(f);
    kndl_clock_shift(60 * 1000);
    run_changes(f);
    assert_int_equal(fake_bus.count, 1);
    assert_int_equal(fake_bus.last.what, TOKEN_ADDED);
    assert_int_equal(fake_bus.last.version, 1);
    kndl_clock_shift(60 * 1000);
    run_changes(f);
    assert_int_equal(fake_bus.count, 1);

    assert_true(set_token(f, "q2", TOKEN_B));
    run_changes(f);
    assert_int_equal(fake_bus.last.what, TOKEN_REPLACED);
    assert_true(remove_token(f, "q3"));
    run_changes(f);
    assert_int_equal(fake_bus.last.what, TOKEN_REMOVED);
    assert_int_equal(fake_bus.last.version, 3);
}

/* CR-04 */
static void cr_04_a_removal_that_was_not_heard_is_not_hidden_by_a_new_token(void **state)
{
    struct fixture *f = *state;

    assert_true(set_token(f, "q1", TOKEN_A));
    run_changes(f);
    assert_true(remove_token(f, "q2"));
    assert_true(set_token(f, "q3", TOKEN_B));
    run_changes(f);
    assert_int_equal(fake_bus.count, 2);
    assert_int_equal(fake_bus.last.what, TOKEN_REPLACED);
    assert_int_equal(fake_bus.last.version, 3);
}

/* CR-04, AC-09: said twice, since gateways may err for some seconds. */
static void cr_04_the_token_of_a_removed_member_is_deleted_as_often_as_it_is_said(void **state)
{
    V1(MemberRemovedRequest) req = KNDL__SECRETS__V1__MEMBER_REMOVED_REQUEST__INIT;
    struct fixture *f = *state;
    char removal[KNDL_ID_SIZE];

    kndl_id_new(removal);
    req.person_id = f->person;
    req.removal_id = removal;
    assert_true(set_token(f, "q1", TOKEN_A));
    for (int i = 0; i < 2; i++) {
        struct kndl_test_answer answer = kndl_test_call(secrets_internal_service, &f->secrets,
                                                        "repo_access", "MemberRemoved", &req.base);
        assert_int_equal(answer.err.code, KNDL_OK);
        kndl_test_done(&answer);
        assert_false(token_exists(f));
        if (i == 0)
            assert_true(set_token(f, "q2", TOKEN_B));
    }
}

static const struct kndl_statement attacks[] = {
    {"flip", "UPDATE setup_token SET sealed = set_byte(sealed, 30, get_byte(sealed, 30) # 1) "
             "WHERE person_id = $1"},
    {"copy", "UPDATE setup_token SET sealed = (SELECT sealed FROM setup_token WHERE person_id = $1)"
             " WHERE person_id = $2"},
    {"put_back", "UPDATE setup_token SET version = version + 1 WHERE person_id = $1"},
    {"search", "SELECT count(*) FROM (SELECT encode(sealed, 'escape') AS t FROM setup_token "
               "UNION ALL SELECT encode(sealed, 'escape') FROM mask) s WHERE t LIKE '%sk-ant%'"},
    {NULL, NULL},
};

/* CR-05 */
static void cr_05_a_sealed_value_that_was_changed_copied_or_put_back_does_not_open(void **state)
{
    struct fixture *f = *state;
    struct kndl_db *db;
    struct kndl_arena *arena = kndl_arena_new(KNDL_ARENA_PLAIN);
    struct kndl_rows rows;
    char victim[KNDL_ID_SIZE], thief[KNDL_ID_SIZE];

    assert_int_equal(kndl_db_open(database, "secrets", attacks, &db, &f->err), 0);
    assert_true(set_token(f, "q1", TOKEN_A));
    assign(f, 1, PHASE(STARTING));
    assert_true(fetch(f, runner, 1));
    assert_int_equal(kndl_db_exec(db, "search", arena, &rows, &f->err), 0);
    assert_int_equal(kndl_row_i64(&rows, 0, 0), 0);

    assert_int_equal(kndl_db_exec(db, "flip", arena, NULL, &f->err, kndl_db_text(f->person)), 0);
    assert_false(fetch(f, runner, 1));
    assert_int_equal(f->err.code, KNDL_FAILED_PRECONDITION);
    assert_int_equal(kndl_db_exec(db, "flip", arena, NULL, &f->err, kndl_db_text(f->person)), 0);
    assert_true(fetch(f, runner, 1));
    assert_int_equal(kndl_db_exec(db, "put_back", arena, NULL, &f->err, kndl_db_text(f->person)),
                     0);
    assert_false(fetch(f, runner, 1));
    assert_int_equal(f->err.code, KNDL_FAILED_PRECONDITION);

    strcpy(victim, f->person);
    assert_true(set_token(f, "q2", TOKEN_A)); /* what cannot be read can be set again */
    kndl_id_new(f->person);
    kndl_id_new(f->session);
    strcpy(thief, f->person);
    assert_true(set_token(f, "q1", TOKEN_B));
    assign(f, 1, PHASE(STARTING));
    assert_int_equal(
        kndl_db_exec(db, "copy", arena, NULL, &f->err, kndl_db_text(victim), kndl_db_text(thief)),
        0);
    assert_false(fetch(f, runner, 1));
    assert_int_equal(f->err.code, KNDL_FAILED_PRECONDITION);
    kndl_db_close(db);
    kndl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(cr_05_a_setup_token_is_kept_sealed_and_survives_a_restart),
        TEST(a_repeat_of_a_request_changes_nothing),
        TEST(a_late_repeat_of_an_older_request_changes_nothing),
        TEST(cr_01_an_api_key_is_not_kept),
        TEST(cr_02_only_the_assigned_runner_gets_it_and_only_while_it_starts),
        TEST(cr_01_without_a_token_the_refusal_says_what_to_do),
        TEST(rd_02_a_value_is_in_the_set_before_it_is_handed_out),
        TEST(rd_02_current_and_previous_are_masked_and_older_ones_are_not),
        TEST(rd_02_a_replaced_token_is_masked_while_a_session_that_started_with_it_runs),
        TEST(the_masks_of_a_run_go_when_it_is_settled_and_those_of_the_creator_stay),
        TEST(gi_05_git_tokens_stay_masked_past_their_run_current_and_previous),
        TEST(a_redactor_gets_the_set_of_an_assigned_run_alone),
        TEST(before_there_is_a_session_the_creators_values_are_masked),
        TEST(a_foreign_runner_adds_no_mask),
        TEST(rd_06_a_value_under_four_characters_is_refused),
        TEST(cr_04_sessions_hears_of_each_change_until_it_answers),
        TEST(cr_04_a_removal_that_was_not_heard_is_not_hidden_by_a_new_token),
        TEST(cr_04_the_token_of_a_removed_member_is_deleted_as_often_as_it_is_said),
        TEST(cr_05_a_sealed_value_that_was_changed_copied_or_put_back_does_not_open),
    };

    database = fake_hub_open();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fake_hub_close();
    return failed;
}
