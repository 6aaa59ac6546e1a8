/* How often values were masked, from what Runners send to what secrets is told. */

#include <string.h>

#include "copy.h"
#include "fakes.h"
#include "hits.h"
#include "kndl/clock.h"
#include "kndl/testing.h"
#include "sets.h"

#define V1(name) Kndl__Redactor__V1__##name

static void report(struct copy *copy)
{
    assert_int_equal(kndl_test_task(&count_task, &copy->redactor).code, KNDL_OK);
}

static void mask(struct copy *copy, const char *text)
{
    V1(MaskRequest) req = KNDL__REDACTOR__V1__MASK_REQUEST__INIT;

    req.session_id = (char *)session;
    req.n_texts = 1;
    req.texts = (char *[]){(char *)text};
    struct kndl_test_answer answer =
        kndl_test_call(redactor_internal_service, &copy->redactor, "sessions", "Mask", &req.base);
    assert_int_equal(answer.err.code, KNDL_OK);
    kndl_test_done(&answer);
}

static void what_was_masked_is_reported_by_value(void **unused)
{
    struct kndl_bus bus = {.values = {secret, "another-Value"}, .version = 1};
    struct copy copy;

    (void)unused;
    start(&copy, &bus);
    open_as(&copy, "r1");
    report(&copy);
    assert_int_equal(bus.reports, 0); /* nothing was masked */
    put_text(&copy, "canary-Value-31415926 and canary-Value-31415926", "", 1);
    put_text(&copy, "another-Value", "", 1);
    mask(&copy, "a prompt with canary-Value-31415926");
    report(&copy);
    assert_int_equal(bus.counts[0], 3);
    assert_int_equal(bus.counts[1], 1);
    report(&copy);
    assert_int_equal(bus.reports, 1);
    stop(&copy);
    forget(&bus);
}

static void what_streams_and_is_then_stored_counts_once(void **unused)
{
    struct kndl_bus bus = {.values = {secret}, .version = 1};
    struct copy copy;

    (void)unused;
    start(&copy, &bus);
    open_as(&copy, "r1");
    put_delta(&copy, 0, "it is canary-Val");
    put_delta(&copy, 16, "ue-31415926, yes");
    assert_null(strstr(kndl_buf_text(&bus.shown), "Value"));
    put_text(&copy, "it is canary-Value-31415926, yes", "b1", 1);
    report(&copy);
    assert_int_equal(bus.counts[0], 1);
    stop(&copy);
    forget(&bus);
}

static void a_report_whose_answer_was_lost_is_repeated_and_counts_once(void **unused)
{
    struct kndl_bus bus = {.values = {secret}, .version = 1};
    struct copy copy;

    (void)unused;
    start(&copy, &bus);
    open_as(&copy, "r1");
    put_text(&copy, "canary-Value-31415926", "", 1);
    bus.loses_answer = true;
    report(&copy);
    assert_int_equal(bus.counts[0], 1);
    put_text(&copy, "canary-Value-31415926", "", 1); /* waits for the next report */
    report(&copy);
    assert_int_equal(bus.reports, 2);
    assert_int_equal(bus.counts[0], 1);
    bus.loses_answer = false;
    report(&copy);
    assert_int_equal(bus.reports, 4);
    assert_int_equal(bus.counts[0], 2);
    stop(&copy);
    forget(&bus);
}

static void while_secrets_is_away_nothing_is_lost(void **unused)
{
    struct kndl_bus bus = {.values = {secret}, .version = 1};
    struct copy copy;

    (void)unused;
    start(&copy, &bus);
    open_as(&copy, "r1");
    put_text(&copy, "canary-Value-31415926", "", 1);
    bus.secrets_code = KNDL_UNAVAILABLE;
    report(&copy);
    put_text(&copy, "canary-Value-31415926", "", 1);
    report(&copy);
    assert_int_equal(bus.counts[0], 0);
    bus.secrets_code = KNDL_OK;
    report(&copy);
    assert_int_equal(bus.counts[0], 2);
    stop(&copy);
    forget(&bus);
}

static void a_set_that_is_replaced_or_forgotten_hands_over_what_it_found(void **unused)
{
    struct kndl_bus bus = {.values = {secret}, .version = 1};
    struct copy copy;

    (void)unused;
    start(&copy, &bus);
    open_as(&copy, "r1");
    put_text(&copy, "canary-Value-31415926", "", 1);
    bus.version = 2;
    put_text(&copy, "canary-Value-31415926", "", 2);
    sets_drop_runner(copy.redactor.sets, "r1");
    report(&copy);
    assert_int_equal(bus.sets, 2);
    assert_int_equal(bus.counts[0], 2);
    stop(&copy);
    forget(&bus);
}

/* Each ten seconds it asks; a set is made only when it changed. */
static void a_set_that_did_not_change_is_not_made_again(void **unused)
{
    struct kndl_bus bus = {.values = {secret}, .version = 1};
    struct copy copy;

    (void)unused;
    start(&copy, &bus);
    open_as(&copy, "r1");
    for (int i = 0; i < 3; i++) {
        kndl_clock_shift(11 * 1000);
        put_text(&copy, "canary-Value-31415926", "", 1);
        put_text(&copy, "and at once again", "", 1);
    }
    assert_int_equal(bus.asked, 4);
    assert_int_equal(bus.sets, 1);
    sets_doubt(copy.redactor.sets);
    put_text(&copy, "canary-Value-31415926", "", 1);
    assert_int_equal(bus.asked, 5);
    assert_int_equal(bus.sets, 1);
    assert_null(strstr(kndl_buf_text(&bus.stored), "canary"));
    stop(&copy);
    forget(&bus);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_masked_is_reported_by_value),
        cmocka_unit_test(what_streams_and_is_then_stored_counts_once),
        cmocka_unit_test(a_report_whose_answer_was_lost_is_repeated_and_counts_once),
        cmocka_unit_test(while_secrets_is_away_nothing_is_lost),
        cmocka_unit_test(a_set_that_is_replaced_or_forgotten_hands_over_what_it_found),
        cmocka_unit_test(a_set_that_did_not_change_is_not_made_again),
    };
    return cmocka_run_group_tests_name("redactor counts", tests, NULL, NULL);
}
