/* .env files, as people paste them. */

#include "dotenv.h"

#include <stdio.h>
#include <string.h>

#include "kndl/testing.h"

static void assert_reads(const char *text, const char *wanted)
{
    struct dotenv_entry entries[8];
    struct kndl_error err = {0};
    char copy[256], got[256] = "";
    size_t count;

    snprintf(copy, sizeof copy, "%s", text);
    assert_int_equal(dotenv_parse(copy, entries, 8, &count, &err), 0);
    for (size_t i = 0; i < count; i++) {
        size_t used = strlen(got);
        snprintf(got + used, sizeof got - used, "%s<%s>", entries[i].name, entries[i].value);
    }
    assert_string_equal(got, wanted);
}

static void names_and_values_are_read_as_shells_do(void **unused)
{
    (void)unused;
    assert_reads("", "");
    assert_reads("\n# nothing\n\n", "");
    assert_reads("A=1\nB=two words  \r\n\nexport C=x=y", "A<1>B<two words>C<x=y>");
    assert_reads("\xef\xbb\xbf"
                 "A=1",
                 "A<1>");
    assert_reads("A=\nB = spaced # comment\nC=no#comment\nD= # c", "A<>B<spaced>C<no#comment>D<>");
}

static void quotes_keep_lines_and_escapes(void **unused)
{
    (void)unused;
    assert_reads("A='one\ntwo $X \\n' # c\nB=2", "A<one\ntwo $X \\n>B<2>");
    assert_reads("A=\"one\\ntwo \\\"q\\\" \\\\ \\$X \\d\"\nB=2", "A<one\ntwo \"q\" \\ $X \\d>B<2>");
    assert_reads("A=\"\"\nB=''", "A<>B<>");
    assert_reads("A=\"one\r\ntwo\"\r\nB=2\r\n", "A<one\ntwo>B<2>");
}

static void what_is_none_is_refused_by_its_line(void **unused)
{
    static const char *const bad[] = {"A=1\nnonsense secret", "A=1\n=secret", "A=1\nB='secret",
                                      "A=1\nB=\"secret\" more"};

    (void)unused;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct dotenv_entry entries[8];
        struct kndl_error err = {0};
        char copy[64];
        size_t count;

        snprintf(copy, sizeof copy, "%s", bad[i]);
        assert_int_equal(dotenv_parse(copy, entries, 8, &count, &err), -1);
        assert_int_equal(err.code, KNDL_INVALID_ARGUMENT);
        assert_non_null(strstr(err.message, "line 2"));
        assert_null(strstr(err.message, "secret"));
    }
}

static void more_than_fit_are_refused(void **unused)
{
    char text[] = "A=1\nB=2\nC=3";
    struct dotenv_entry entries[2];
    struct kndl_error err = {0};
    size_t count;

    (void)unused;
    assert_int_equal(dotenv_parse(text, entries, 2, &count, &err), -1);
    assert_int_equal(err.code, KNDL_INVALID_ARGUMENT);
}

static void a_name_that_is_there_twice_is_refused_by_its_line(void **unused)
{
    char text[] = "A=1\nB=2\n# again\nA=3";
    struct dotenv_entry entries[8];
    struct kndl_error err = {0};
    size_t count;

    (void)unused;
    assert_int_equal(dotenv_parse(text, entries, 8, &count, &err), -1);
    assert_int_equal(err.code, KNDL_INVALID_ARGUMENT);
    assert_string_equal(err.message, "line 4 sets A again: leave one of them out");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_values_are_read_as_shells_do),
        cmocka_unit_test(quotes_keep_lines_and_escapes),
        cmocka_unit_test(what_is_none_is_refused_by_its_line),
        cmocka_unit_test(more_than_fit_are_refused),
        cmocka_unit_test(a_name_that_is_there_twice_is_refused_by_its_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
