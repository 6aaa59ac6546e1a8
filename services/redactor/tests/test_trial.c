/* Testing redaction. */

#include <string.h>

#include "copy.h"
#include "kndl/testing.h"

#define V1(name) Kndl__Redactor__V1__##name
#define SPELLING(name) KNDL__REDACTOR__V1__TRIAL__SPELLING__SPELLING_##name

enum { SINKS = 13, SPELLINGS = 7, LIMITS = 2 };

static struct kndl_test_answer test_repo(struct copy *copy, int64_t repo_id)
{
    V1(TestRedactionRequest) req = KNDL__REDACTOR__V1__TEST_REDACTION_REQUEST__INIT;

    req.repo_id = repo_id;
    return kndl_test_call(redactor_service, &copy->redactor, "somebody", "TestRedaction",
                          &req.base);
}

static size_t count_masked(const V1(TestRedactionResponse) *resp, bool known_limit)
{
    size_t count = 0;

    for (size_t i = 0; i < resp->n_trials; i++)
        count += resp->trials[i]->masked && resp->trials[i]->known_limit == known_limit;
    return count;
}

static void rd_01_rd_03_rd_04_a_value_is_masked_in_each_sink_and_spelling(void **state)
{
    struct fixture *f = *state;

    f->bus.values[1] = "another-Value";
    struct kndl_test_answer answer = test_repo(&f->copy, 7);
    const V1(TestRedactionResponse) *resp = (V1(TestRedactionResponse) *)answer.response;
    assert_non_null(resp);
    assert_string_equal(resp->repo_name, "demo/hello");
    assert_int_equal(resp->value_count, 2);
    assert_int_equal(resp->n_trials, SINKS * SPELLINGS);
    for (size_t i = 0; i < resp->n_trials; i++)
        if (!resp->trials[i]->known_limit && !resp->trials[i]->masked)
            fail_msg("sink %d, spelling %d shows: %s", resp->trials[i]->sink,
                     resp->trials[i]->spelling, resp->trials[i]->text);
    assert_string_equal(resp->trials[0]->text, "it is ************************************** here");
    kndl_test_done(&answer);
}

static void rd_07_the_known_limits_are_not_found_and_told_as_such(void **state)
{
    struct fixture *f = *state;

    struct kndl_test_answer answer = test_repo(&f->copy, 7);
    const V1(TestRedactionResponse) *resp = (V1(TestRedactionResponse) *)answer.response;
    assert_int_equal(count_masked(resp, true), 0);
    assert_int_equal(count_masked(resp, false), SINKS * (SPELLINGS - LIMITS));
    for (size_t i = 0; i < resp->n_trials; i++)
        assert_int_equal(resp->trials[i]->known_limit,
                         resp->trials[i]->spelling == SPELLING(BASE64) ||
                             resp->trials[i]->spelling == SPELLING(INDENTED));
    kndl_test_done(&answer);
}

/* Else it would say that masking works, whatever it does. */
static void a_value_that_is_not_masked_is_said_to_show(void **state)
{
    struct fixture *f = *state;

    f->bus.forgets_canary = true;
    struct kndl_test_answer answer = test_repo(&f->copy, 7);
    const V1(TestRedactionResponse) *resp = (V1(TestRedactionResponse) *)answer.response;
    assert_int_equal(count_masked(resp, false), 0);
    assert_int_equal(count_masked(resp, true), 0);
    kndl_test_done(&answer);
}

static void nothing_of_a_test_is_stored_shown_or_counted(void **state)
{
    struct fixture *f = *state;

    f->bus.values[1] = "here"; /* a word of its text */
    struct kndl_test_answer answer = test_repo(&f->copy, 7);
    assert_int_equal(answer.err.code, KNDL_OK);
    kndl_test_done(&answer);
    assert_int_equal(kndl_test_task(&expire_task, &f->copy.redactor).code, KNDL_OK);
    assert_int_equal(kndl_test_task(&count_task, &f->copy.redactor).code, KNDL_OK);
    assert_int_equal(f->bus.batches, 0);
    assert_int_equal(f->bus.deltas, 0);
    assert_int_equal(f->bus.reports, 0);
}

static void a_repo_that_one_may_not_see_is_not_tested(void **state)
{
    struct fixture *f = *state;

    struct kndl_test_answer answer = test_repo(&f->copy, 8);
    assert_int_equal(answer.err.code, KNDL_NOT_FOUND);
    assert_int_equal(f->bus.asked, 0);
    kndl_test_done(&answer);

    f->bus.secrets_code = KNDL_UNAVAILABLE;
    answer = test_repo(&f->copy, 7);
    assert_int_equal(answer.err.code, KNDL_UNAVAILABLE);
    kndl_test_done(&answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(rd_01_rd_03_rd_04_a_value_is_masked_in_each_sink_and_spelling),
        TEST(rd_07_the_known_limits_are_not_found_and_told_as_such),
        TEST(a_value_that_is_not_masked_is_said_to_show),
        TEST(nothing_of_a_test_is_stored_shown_or_counted),
        TEST(a_repo_that_one_may_not_see_is_not_tested),
    };
    return cmocka_run_group_tests_name("redactor trial", tests, NULL, NULL);
}
