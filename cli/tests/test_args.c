#include "args.h"

#include <string.h>

#include "kndl/testing.h"

static const struct arg_option options[] = {
    {"prompt", "TEXT", ""},
    {"wait", NULL, ""},
    {NULL, NULL, NULL},
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_may_stand_anywhere),
        cmocka_unit_test(nothing_after_two_dashes_is_an_option),
        cmocka_unit_test(what_is_not_understood_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
