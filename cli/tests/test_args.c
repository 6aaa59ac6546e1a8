#include "args.h"

#include <string.h>

#include "kndl/testing.h"

static const struct arg_option options[] = {
    {"prompt", 0, "TEXT", ""},  {"wait", 0, NULL, ""}, {"follow", 'f', NULL, ""},
    {"tail", 'n', "COUNT", ""}, {NULL, 0, NULL, NULL},
};

static int read_words(struct args *args, struct kndl_error *err, char **words)
{
    int count = 0;

    while (words[count] != NULL)
        count++;
    return args_read(options, count, words, args, err);
}

#define READ(args, err, ...) read_words(args, err, (char *[]){__VA_ARGS__, NULL})

static void options_may_stand_anywhere(void **state)
{
    struct kndl_error err = {0};
    struct args args;

    (void)state;
    assert_int_equal(READ(&args, &err, "--prompt", "say --hi", "repo", "--wait", "-"), 0);
    assert_string_equal(args_get(&args, "prompt"), "say --hi");
    assert_true(args_has(&args, "wait"));
    assert_int_equal(args.count, 2);
    assert_string_equal(args.rest[0], "repo");
    assert_string_equal(args.rest[1], "-");
    args_done(&args);

    assert_int_equal(READ(&args, &err, "--prompt=a=b"), 0);
    assert_string_equal(args_get(&args, "prompt"), "a=b");
    assert_false(args_has(&args, "wait"));
    args_done(&args);
}

static void nothing_after_two_dashes_is_an_option(void **state)
{
    struct kndl_error err = {0};
    struct args args;

    (void)state;
    assert_int_equal(READ(&args, &err, "s", "--", "--wait", "-x"), 0);
    assert_false(args_has(&args, "wait"));
    assert_int_equal(args.count, 3);
    args_done(&args);
}

static void what_is_not_understood_is_named(void **state)
{
    struct kndl_error err = {0};
    struct args args;

    (void)state;
    assert_int_equal(READ(&args, &err, "--prom", "x"), -1);
    assert_int_equal(err.code, KNDL_INVALID_ARGUMENT);
    assert_string_equal(err.message, "there is no option --prom; --help lists them");
    assert_int_equal(READ(&args, &err, "--prompt"), -1);
    assert_string_equal(err.message, "--prompt needs TEXT");
    assert_int_equal(READ(&args, &err, "--wait=1"), -1);
    assert_string_equal(err.message, "--wait takes no value");
    assert_int_equal(READ(&args, &err, "-x"), -1);
    assert_non_null(strstr(err.message, "no option -x"));
}

static void a_letter_is_short_for_an_option(void **state)
{
    struct kndl_error err = {0};
    struct args args;

    (void)state;
    assert_int_equal(READ(&args, &err, "s", "-f", "-n", "20"), 0);
    assert_true(args_has(&args, "follow"));
    assert_string_equal(args_get(&args, "tail"), "20");
    assert_int_equal(args.count, 1);
    args_done(&args);

    assert_int_equal(READ(&args, &err, "-n"), -1);
    assert_string_equal(err.message, "--tail needs COUNT");
    assert_int_equal(READ(&args, &err, "-fn"), -1);
    assert_non_null(strstr(err.message, "no option -fn"));
}

static void a_number_is_whole_and_of_zero_or_more(void **state)
{
    static char *const wrong[] = {"", "x4", "4x", "-1", "1.5", "9223372036854775808"};
    struct kndl_error err = {0};
    struct args args;
    int64_t number = 7;

    (void)state;
    assert_int_equal(READ(&args, &err, "--wait"), 0);
    assert_int_equal(args_number(&args, "tail", &number, &err), 0);
    assert_int_equal(number, 7);
    args_done(&args);
    assert_int_equal(READ(&args, &err, "--tail", "0"), 0);
    assert_int_equal(args_number(&args, "tail", &number, &err), 0);
    assert_int_equal(number, 0);
    args_done(&args);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char wanted[80];

        snprintf(wanted, sizeof wanted, "--tail takes a number from 0 on, not \"%s\"", wrong[i]);
        assert_int_equal(READ(&args, &err, "--tail", wrong[i]), 0);
        assert_int_equal(args_number(&args, "tail", &number, &err), -1);
        assert_int_equal(err.code, KNDL_INVALID_ARGUMENT);
        assert_string_equal(err.message, wanted);
        args_done(&args);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_may_stand_anywhere),
        cmocka_unit_test(nothing_after_two_dashes_is_an_option),
        cmocka_unit_test(what_is_not_understood_is_named),
        cmocka_unit_test(a_letter_is_short_for_an_option),
        cmocka_unit_test(a_number_is_whole_and_of_zero_or_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
