#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kndl/setup_token.h"

#define GOOD "sk-ant-oat01-abcDEF0123456789_-abcDEF0123456789"

static void a_setup_token_is_taken_without_the_blanks_around_it(void **state)
{
    struct kndl_error err = {0};
    struct kndl_slice token;

    (void)state;
    assert_int_equal(kndl_setup_token_read(" \r\n" GOOD "\n\t", &token, &err), 0);
    assert_true(kndl_slice_equal(token, kndl_slice_of(GOOD)));
}

static void assert_refused(const char *text, const char *reason)
{
    struct kndl_error err = {0};
    struct kndl_slice token;

    assert_int_equal(kndl_setup_token_read(text, &token, &err), -1);
    assert_int_equal(err.code, KNDL_INVALID_ARGUMENT);
    assert_non_null(strstr(err.message, reason));
    assert_null(strstr(err.message, "abcDEF"));
}

/* CR-01 */
static void cr_01_an_api_key_is_refused_with_the_reason(void **state)
{
    (void)state;
    assert_refused("sk-ant-api03-abcDEF0123456789", "this is an API key (sk-ant-api…)");
    assert_refused("  sk-ant-api03-abcDEF0123456789\n", "claude setup-token");
    static const char *const spellings[] = {
        "SK-ANT-API03-abcDEF0123456789",
        "\"sk-ant-api03-abcDEF0123456789\"",
        "'sk-ant-api03-abcDEF0123456789'",
        "ANTHROPIC_API_KEY=sk-ant-api03-abcDEF0123456789",
        "export ANTHROPIC_API_KEY=\"sk-ant-api03-abcDEF0123456789\"",
        "x-api-key: sk-ant-api03-abcDEF0123456789",
        "Bearer sk-ant-api03-abcDEF0123456789",
        "sk-ant-admin01-abcDEF0123456789",
    };
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
        assert_refused(spellings[i], "this is an API key");
}

static void what_is_no_whole_setup_token_is_refused(void **state)
{
    char long_one[600];

    (void)state;
    memset(long_one, 'a', sizeof long_one - 1);
    memcpy(long_one, "sk-ant-oat01-", 13);
    long_one[sizeof long_one - 1] = '\0';
    assert_refused("", "no setup token");
    assert_refused("abcDEF0123456789abcDEF0123456789", "no setup token");
    assert_refused("sk-ant-oat", "not whole");
    assert_refused("sk-ant-oat01-abcDEF 0123456789_-abcDEF", "not whole");
    assert_refused("sk-ant-oat01-abcDEF0123456789é-abcDEF", "not whole");
    assert_refused(long_one, "not whole");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_setup_token_is_taken_without_the_blanks_around_it),
        cmocka_unit_test(cr_01_an_api_key_is_refused_with_the_reason),
        cmocka_unit_test(what_is_no_whole_setup_token_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
