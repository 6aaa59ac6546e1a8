/* What is masked in a Session: the set that redactor gets. */

#include <stdio.h>
#include <string.h>

#include "tokens.h"

#define SESSION_TOKEN "kndl_ses_0123456789012345678901234567890123456789012_123456"

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
    assert_true(fetch_token(f, runner, 1));
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
    assert_true(fetch_token(f, runner, 1));
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
    assert_false(fetch_token(f, runner, 2));
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
    /* one that cannot be masked would stop all that the Session says */
    assert_false(put_session_token(f, runner, 1, "****************************************"));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(rd_02_a_value_is_in_the_set_before_it_is_handed_out),
        TEST(rd_02_current_and_previous_are_masked_and_older_ones_are_not),
        TEST(rd_02_a_replaced_token_is_masked_while_a_session_that_started_with_it_runs),
        TEST(the_masks_of_a_run_go_when_it_is_settled_and_those_of_the_creator_stay),
        TEST(gi_05_git_tokens_stay_masked_past_their_run_current_and_previous),
        TEST(a_redactor_gets_the_set_of_an_assigned_run_alone),
        TEST(before_there_is_a_session_the_creators_values_are_masked),
        TEST(a_foreign_runner_adds_no_mask),
        TEST(rd_06_a_value_under_four_characters_is_refused),
    };

    return cmocka_run_group_tests(tests, fake_hub_open, fake_hub_close);
}
