/* How often values were masked, from what Runners send to what secrets is told. */

#include <string.h>

#include "copy.h"
#include "hits.h"
#include "kndl/clock.h"
#include "kndl/testing.h"
#include "sets.h"

#define V1(name) Kndl__Redactor__V1__##name

static void report(struct fixture *f)
{
    assert_int_equal(kndl_test_task(&count_task, &f->copy.redactor).code, KNDL_OK);
}

static void mask(struct fixture *f, const char *text)
{
    V1(MaskRequest) req = KNDL__REDACTOR__V1__MASK_REQUEST__INIT;

    req.session_id = (char *)session;
    req.n_texts = 1;
    req.texts = (char *[]){(char *)text};
    struct kndl_test_answer answer =
        kndl_test_call(redactor_internal_service, &f->copy.redactor, "sessions", "Mask", &req.base);
    assert_int_equal(answer.err.code, KNDL_OK);
    kndl_test_done(&answer);
}

static void what_was_masked_is_reported_by_value(void **state)
{
    struct fixture *f = *state;

    f->bus.values[1] = "another-Value";
    open_as(&f->copy, "r1");
    report(f);
    assert_int_equal(f->bus.reports, 0); /* nothing was masked */
    put_text(&f->copy, "canary-Value-31415926 and canary-Value-31415926", "", 1);
    put_text(&f->copy, "another-Value", "", 1);
    mask(f, "a prompt with canary-Value-31415926");
    report(f);
    assert_int_equal(f->bus.counts[0], 3);
    assert_int_equal(f->bus.counts[1], 1);
    report(f);
    assert_int_equal(f->bus.reports, 1);
}

static void what_streams_and_is_then_stored_counts_once(void **state)
{
    struct fixture *f = *state;

    open_as(&f->copy, "r1");
    put_delta(&f->copy, 0, "it is canary-Val");
    put_delta(&f->copy, 16, "ue-31415926, yes");
    assert_null(strstr(kndl_buf_text(&f->bus.shown), "Value"));
    put_text(&f->copy, "it is canary-Value-31415926, yes", "b1", 1);
    report(f);
    assert_int_equal(f->bus.counts[0], 1);
}

static void a_report_whose_answer_was_lost_is_repeated_and_counts_once(void **state)
{
    struct fixture *f = *state;

    open_as(&f->copy, "r1");
    put_text(&f->copy, "canary-Value-31415926", "", 1);
    f->bus.loses_answer = true;
    report(f);
    assert_int_equal(f->bus.counts[0], 1);
    put_text(&f->copy, "canary-Value-31415926", "", 1); /* waits for the next report */
    report(f);
    assert_int_equal(f->bus.reports, 2);
    assert_int_equal(f->bus.counts[0], 1);
    f->bus.loses_answer = false;
    report(f);
    assert_int_equal(f->bus.reports, 4);
    assert_int_equal(f->bus.counts[0], 2);
}

static void while_secrets_is_away_nothing_is_lost(void **state)
{
    struct fixture *f = *state;

    open_as(&f->copy, "r1");
    put_text(&f->copy, "canary-Value-31415926", "", 1);
    f->bus.secrets_code = KNDL_UNAVAILABLE;
    report(f);
    put_text(&f->copy, "canary-Value-31415926", "", 1);
    report(f);
    assert_int_equal(f->bus.counts[0], 0);
    f->bus.secrets_code = KNDL_OK;
    report(f);
    assert_int_equal(f->bus.counts[0], 2);
}

static void a_set_that_is_replaced_or_forgotten_hands_over_what_it_found(void **state)
{
    struct fixture *f = *state;

    open_as(&f->copy, "r1");
    put_text(&f->copy, "canary-Value-31415926", "", 1);
    f->bus.version = 2;
    put_text(&f->copy, "canary-Value-31415926", "", 2);
    sets_drop_runner(f->copy.redactor.sets, "r1");
    report(f);
    assert_int_equal(f->bus.sets, 2);
    assert_int_equal(f->bus.counts[0], 2);
}

/* Each ten seconds it asks; a set is made only when it changed. */
static void a_set_that_did_not_change_is_not_made_again(void **state)
{
    struct fixture *f = *state;

    open_as(&f->copy, "r1");
    for (int i = 0; i < 3; i++) {
        kndl_clock_shift(11 * 1000);
        put_text(&f->copy, "canary-Value-31415926", "", 1);
        put_text(&f->copy, "and at once again", "", 1);
    }
    assert_int_equal(f->bus.asked, 4);
    assert_int_equal(f->bus.sets, 1);
    sets_doubt(f->copy.redactor.sets);
    put_text(&f->copy, "canary-Value-31415926", "", 1);
    assert_int_equal(f->bus.asked, 5);
    assert_int_equal(f->bus.sets, 1);
    assert_null(strstr(kndl_buf_text(&f->bus.stored), "canary"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(what_was_masked_is_reported_by_value),
        TEST(what_streams_and_is_then_stored_counts_once),
        TEST(a_report_whose_answer_was_lost_is_repeated_and_counts_once),
        TEST(while_secrets_is_away_nothing_is_lost),
        TEST(a_set_that_is_replaced_or_forgotten_hands_over_what_it_found),
        TEST(a_set_that_did_not_change_is_not_made_again),
    };
    return cmocka_run_group_tests_name("redactor counts", tests, NULL, NULL);
}
