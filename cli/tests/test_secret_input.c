/* A secret that is typed: unseen, and however it ends the terminal is as it was. */

#include "secret_input.h"

#include <pty.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utmp.h>

#include "kndl/mem.h"
#include "kndl/testing.h"

enum { VALUE_BYTES_MAX = 64 };

/* A child with a terminal of its own, which reads a value and ends with 0 if it is `wanted`. */
static pid_t start(enum secret_shape shape, const char *wanted, int *ret_master, int *ret_slave)
{
    assert_int_equal(openpty(ret_master, ret_slave, NULL, NULL, NULL), 0);
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        struct kndl_secret value = {0};
        struct kndl_error err = {0};

        close(*ret_master);
        login_tty(*ret_slave);
        int result = secret_input_read("Value", shape, VALUE_BYTES_MAX, &value, &err);
        bool is_wanted = result == 0 && strcmp((const char *)value.data, wanted) == 0;

        kndl_secret_done(&value);
        _exit(is_wanted ? 0 : 1);
    }
    return pid;
}

/* What standard input says from here on. */
static void pipe_in(const char *text, size_t size)
{
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], text, size), (ssize_t)size);
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
}

/* What the terminal shows, up to the end of `text`. */
static void wait_for(int master, const char *text)
{
    char shown[256] = "";
    size_t size = 0;

    while (strstr(shown, text) == NULL) {
        ssize_t got = read(master, shown + size, sizeof shown - 1 - size);

        assert_true(got > 0);
        size += (size_t)got;
        shown[size] = '\0';
        assert_null(strstr(shown, "typed"));
    }
}

static bool echoes(int slave)
{
    struct termios now;

    assert_int_equal(tcgetattr(slave, &now), 0);
    return (now.c_lflag & ECHO) != 0;
}

static void what_is_typed_is_read_and_not_shown(void **state)
{
    int master, slave, status;

    (void)state;
    pid_t pid = start(SECRET_LINE, "typed", &master, &slave);
    wait_for(master, "Value: ");
    assert_false(echoes(slave));
    assert_int_equal(write(master, "typed\n", 6), 6);
    wait_for(master, "\n");
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_true(echoes(slave));
    close(master);
    close(slave);
}

static void who_interrupts_it_sees_again_what_they_type(void **state)
{
    int master, slave, status;

    (void)state;
    pid_t pid = start(SECRET_LINE, "typed", &master, &slave);
    wait_for(master, "Value: ");
    assert_int_equal(write(master, "ty\003", 3), 3);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
    assert_true(echoes(slave));
    close(master);
    close(slave);
}

static void several_lines_are_taken_up_to_their_end(void **state)
{
    int master, slave, status;

    (void)state;
    pid_t pid = start(SECRET_LINES, "A=1\nB=2", &master, &slave);
    wait_for(master, "Value: ");
    assert_int_equal(write(master, "A=1\nB=2\n\004", 9), 9);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(master);
    close(slave);
}

/* Else the first line would be the value, and the shell would get the rest. */
static void several_lines_where_one_is_asked_for_are_refused(void **state)
{
    static const char *const pasted[] = {"-BEGIN-\nkey\n-END-\n", "-BEGIN-\nkey"};

    (void)state;
    for (size_t i = 0; i < sizeof pasted / sizeof pasted[0]; i++) {
        size_t size = strlen(pasted[i]);
        int master, slave, status;

        pid_t pid = start(SECRET_LINE, "-BEGIN-", &master, &slave);
        wait_for(master, "Value: ");
        assert_int_equal(write(master, pasted[i], size), (ssize_t)size);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
        close(master);
        close(slave);
    }
}

static void one_line_break_at_the_end_is_none_of_it(void **state)
{
    static const struct {
        const char *piped, *wanted;
    } cases[] = {{"v", "v"},       {"v\n", "v"},   {"v\r\n", "v"},
                 {"v\n\n", "v\n"}, {"v\r", "v\r"}, {"a\r\nb\r\n", "a\r\nb"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        KNDL_CLEANUP(kndl_secret_done) struct kndl_secret value = {0};
        struct kndl_error err = {0};

        pipe_in(cases[i].piped, strlen(cases[i].piped));
        assert_int_equal(secret_input_read("Value", SECRET_LINE, VALUE_BYTES_MAX, &value, &err), 0);
        assert_string_equal((const char *)value.data, cases[i].wanted);
    }
}

static void what_is_too_long_or_no_text_says_which(void **state)
{
    char text[VALUE_BYTES_MAX + 2] = "";
    struct kndl_secret value = {0};
    struct kndl_error err = {0};

    (void)state;
    pipe_in(text, 3);
    assert_int_equal(secret_input_read("Value", SECRET_LINE, VALUE_BYTES_MAX, &value, &err), -1);
    assert_non_null(strstr(err.message, "NUL"));
    memset(text, 'a', sizeof text);
    pipe_in(text, VALUE_BYTES_MAX + 1);
    assert_int_equal(secret_input_read("Value", SECRET_LINE, VALUE_BYTES_MAX, &value, &err), -1);
    assert_non_null(strstr(err.message, "more than the 64 bytes"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_typed_is_read_and_not_shown),
        cmocka_unit_test(who_interrupts_it_sees_again_what_they_type),
        cmocka_unit_test(several_lines_are_taken_up_to_their_end),
        cmocka_unit_test(several_lines_where_one_is_asked_for_are_refused),
        cmocka_unit_test(one_line_break_at_the_end_is_none_of_it),
        cmocka_unit_test(what_is_too_long_or_no_text_says_which),
    };
    struct kndl_error err = {0};

    return kndl_crypt_init(&err) < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
