#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <string.h>

#include "kndl/buf.h"
#include "plan.h"

#define HEAD "socket /run/s\nlogs /log\n"

static void refuse(const char *text, const char *why)
{
    struct kndl_error err = {0};
    struct plan plan;

    assert_int_equal(plan_parse(text, &plan, &err), -1);
    assert_int_equal(err.code, KNDL_INVALID_ARGUMENT);
    assert_non_null(strstr(err.message, why));
}

static void a_whole_plan_is_read(void **state)
{
    struct kndl_error err = {0};
    struct plan plan;
    const struct plan_program *first;

    (void)state;
    assert_int_equal(plan_parse("# all of it\n" HEAD "\nprogram api-gateway\n  exec /bin/x\n"
                                "  arg --a b\n\targ\n  env A=1=2\n  env B=\n  uid 2100000001\n"
                                "  netns peers\n  directory /tmp\r\n  stop INT\n  grace 3\n"
                                "program two\nexec /bin/y",
                                &plan, &err),
                     0);
    assert_string_equal(plan.socket, "/run/s");
    assert_string_equal(plan.logs, "/log");
    assert_int_equal(plan.program_count, 2);
    first = &plan.programs[0];
    assert_string_equal(first->name, "api-gateway");
    assert_string_equal(first->argv[0], "/bin/x");
    assert_string_equal(first->argv[1], "--a b");
    assert_string_equal(first->argv[2], "");
    assert_null(first->argv[3]);
    assert_string_equal(first->env[0], "A=1=2");
    assert_string_equal(first->env[1], "B=");
    assert_null(first->env[2]);
    assert_int_equal(first->uid, 2100000001);
    assert_string_equal(first->netns, "peers");
    assert_string_equal(first->directory, "/tmp");
    assert_int_equal(first->stop_signal, SIGINT);
    assert_int_equal(first->grace_s, 3);
    assert_int_equal(plan.programs[1].uid, 0);
    assert_int_equal(plan.programs[1].stop_signal, SIGTERM);
    plan_done(&plan);
}

static void only_what_changed_differs_in_its_text(void **state)
{
    struct kndl_error err = {0};
    struct plan a;
    struct plan b;

    (void)state;
    assert_int_equal(plan_parse(HEAD "program x\nexec /x\nenv A=1\nprogram y\nexec /y\n", &a, &err),
                     0);
    assert_int_equal(
        plan_parse(HEAD "program x\n  exec  /x\n\nenv A=1\nprogram y\nexec /z\n", &b, &err), 0);
    assert_string_equal(a.programs[0].text, b.programs[0].text);
    assert_string_not_equal(a.programs[1].text, b.programs[1].text);
    plan_done(&a);
    plan_done(&b);
}

static void what_is_wrong_is_named_with_its_line(void **state)
{
    (void)state;
    refuse("", "socket and logs");
    refuse("exec /x\n", "line 1");
    refuse("socket run/s\n", "must begin with /");
    refuse("socket /a\nsocket /b\n", "twice");
    refuse(HEAD "program x\n", "x has no exec");
    refuse(HEAD "program X\n", "a name is made of");
    refuse(HEAD "program a\nexec /a\nprogram a\n", "of that name");
    refuse(HEAD "program a\nexec a\n", "must begin with /");
    refuse(HEAD "program a\narg x\n", "before exec");
    refuse(HEAD "program a\nexec /a\nenv =x\n", "NAME=VALUE");
    refuse(HEAD "program a\nexec /a\nuid -1\n", "not a number");
    refuse(HEAD "program a\nexec /a\nuid 99999999999999999999\n", "too large");
    refuse(HEAD "program a\nexec /a\nstop KILL\n", "TERM, INT or QUIT");
    refuse(HEAD "program a\nexec /a\nwhatever 1\n", "line 5, whatever");
}

static void the_numbers_of_words_and_programs_are_bounded(void **state)
{
    struct kndl_buf text = {0};

    (void)state;
    kndl_buf_append_text(&text, HEAD "program a\nexec /a\n");
    for (int n = 0; n < PLAN_WORDS_MAX; n++)
        kndl_buf_append_text(&text, "arg x\n");
    refuse(text.data, "too many of them");
    kndl_buf_clear(&text);
    kndl_buf_append_text(&text, HEAD);
    for (int n = 0; n <= PLAN_PROGRAMS_MAX; n++)
        kndl_buf_printf(&text, "program p%d\nexec /a\n", n);
    refuse(text.data, "too many programs");
    kndl_buf_done(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_plan_is_read),
        cmocka_unit_test(only_what_changed_differs_in_its_text),
        cmocka_unit_test(what_is_wrong_is_named_with_its_line),
        cmocka_unit_test(the_numbers_of_words_and_programs_are_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
