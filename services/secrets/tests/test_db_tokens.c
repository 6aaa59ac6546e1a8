/* Setup tokens: who sets and gets them, who hears of it, and how they are kept. */

#include <string.h>

#include "changes.h"
#include "kndl/clock.h"
#include "kndl/mem.h"
#include "tokens.h"

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
    assert_true(fetch_token(f, runner, 1));
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
    assert_false(fetch_token(f, runner, 1));
    assert_int_equal(f->err.code, KNDL_NOT_FOUND);
    assign(f, 0, PHASE(MADE));
    assert_false(fetch_token(f, runner, 0));
    assign(f, 1, PHASE(STARTING));
    assert_false(fetch_token(f, "runnerbbbbbbbbbbbbbbbbbbbb", 1));
    assert_int_equal(f->err.code, KNDL_NOT_FOUND);
    assert_false(fetch_token(f, runner, 2));
    assert_true(fetch_token(f, runner, 1));
    assert_true(fetch_token(f, runner, 1)); /* the answer may have been lost */
    assign(f, 1, PHASE(ACTIVE));
    assert_false(fetch_token(f, runner, 1));
    assert_int_equal(f->err.code, KNDL_NOT_FOUND);
    assign(f, 1, PHASE(STARTING)); /* what came late does not open it again */
    assert_false(fetch_token(f, runner, 1));
    assign(f, 1, PHASE(SETTLED));
    assign(f, 2, PHASE(STARTING));
    assert_true(fetch_token(f, runner, 2));
}

/* CR-01 */
static void cr_01_without_a_token_the_refusal_says_what_to_do(void **state)
{
    struct fixture *f = *state;

    assign(f, 1, PHASE(STARTING));
    assert_false(fetch_token(f, runner, 1));
    assert_int_equal(f->err.code, KNDL_ABORTED);
    assert_non_null(strstr(f->err.message, "no Claude setup token"));
    assert_true(set_token(f, "q1", TOKEN_A));
    assert_true(fetch_token(f, runner, 1));
    assert_true(remove_token(f, "q2"));
    assert_false(fetch_token(f, runner, 1));
    assert_int_equal(f->err.code, KNDL_ABORTED);
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
    struct kndl_db *db = fake_connect(attacks);
    struct kndl_arena *arena = kndl_arena_new(KNDL_ARENA_PLAIN);
    struct kndl_rows rows;
    char victim[KNDL_ID_SIZE], thief[KNDL_ID_SIZE];

    assert_true(set_token(f, "q1", TOKEN_A));
    assign(f, 1, PHASE(STARTING));
    assert_true(fetch_token(f, runner, 1));
    assert_int_equal(kndl_db_exec(db, "search", arena, &rows, &f->err), 0);
    assert_int_equal(kndl_row_i64(&rows, 0, 0), 0);

    assert_int_equal(kndl_db_exec(db, "flip", arena, NULL, &f->err, kndl_db_text(f->person)), 0);
    assert_false(fetch_token(f, runner, 1));
    assert_int_equal(f->err.code, KNDL_FAILED_PRECONDITION);
    assert_int_equal(kndl_db_exec(db, "flip", arena, NULL, &f->err, kndl_db_text(f->person)), 0);
    assert_true(fetch_token(f, runner, 1));
    assert_int_equal(kndl_db_exec(db, "put_back", arena, NULL, &f->err, kndl_db_text(f->person)),
                     0);
    assert_false(fetch_token(f, runner, 1));
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
    assert_false(fetch_token(f, runner, 1));
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
        TEST(cr_04_sessions_hears_of_each_change_until_it_answers),
        TEST(cr_04_a_removal_that_was_not_heard_is_not_hidden_by_a_new_token),
        TEST(cr_04_the_token_of_a_removed_member_is_deleted_as_often_as_it_is_said),
        TEST(cr_05_a_sealed_value_that_was_changed_copied_or_put_back_does_not_open),
    };

    return cmocka_run_group_tests(tests, fake_hub_open, fake_hub_close);
}
