#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kndl/code.h"

static void each_code_has_a_word_that_leads_back(void **unused)
{
    (void)unused;
    for (int code = KNDL_CANCELLED; code <= KNDL_UNAUTHENTICATED; code++) {
        const struct kndl_code_names *names = kndl_code_names((enum kndl_code)code);

        assert_int_equal(kndl_code_of_word(names->word), code);
        assert_in_range(names->http, 400, 599);
        assert_in_range(names->exit, 1, 5);
    }
}

static void what_is_no_code_is_unknown(void **unused)
{
    (void)unused;
    assert_string_equal(kndl_code_names((enum kndl_code)99)->word, "unknown");
    assert_string_equal(kndl_code_names((enum kndl_code) - 1)->word, "unknown");
    assert_int_equal(kndl_code_of_word("teapot"), KNDL_UNKNOWN);
}

static void a_conflict_of_state_is_409(void **unused)
{
    (void)unused;
    assert_int_equal(kndl_code_names(KNDL_ABORTED)->http, 409);
    assert_int_equal(kndl_code_names(KNDL_FAILED_PRECONDITION)->http, 400);
}

/* Scripts rely on these numbers. */
static void exit_statuses_go_by_the_code(void **unused)
{
    static const struct {
        enum kndl_code code;
        int exit;
    } rows[] = {
        {KNDL_OK, 0},
        {KNDL_UNKNOWN, 1},
        {KNDL_INVALID_ARGUMENT, 2},
        {KNDL_NOT_FOUND, 3},
        {KNDL_PERMISSION_DENIED, 3},
        {KNDL_UNAUTHENTICATED, 3},
        {KNDL_ABORTED, 4},
        {KNDL_FAILED_PRECONDITION, 4},
        {KNDL_UNAVAILABLE, 5},
        {KNDL_DEADLINE_EXCEEDED, 5},
    };

    (void)unused;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(kndl_code_names(rows[i].code)->exit, rows[i].exit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_code_has_a_word_that_leads_back),
        cmocka_unit_test(what_is_no_code_is_unknown),
        cmocka_unit_test(a_conflict_of_state_is_409),
        cmocka_unit_test(exit_statuses_go_by_the_code),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
