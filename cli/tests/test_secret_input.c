/* A secret that is typed: unseen, and however it ends the terminal is as it was. */

#include "secret_input.h"

#include <pty.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utmp.h>

#include "kndl/testing.h"

enum { VALUE_BYTES_MAX = 64 };

/* A child with a terminal of its own, which reads a value and ends with 0 if it is "typed". */
static pid_t start(int *ret_master, int *ret_slave)
{
    assert_int_equal(openpty(ret_master, ret_slave, NULL, NULL, NULL), 0);
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        struct kndl_secret value = {0};
        struct kndl_error err = {0};

        close(*ret_master);
        login_tty(*ret_slave);
        int result = secret_input_read("Value", VALUE_BYTES_MAX, &value, &err);
        bool is_typed = result == 0 && strcmp((const char *)value.data, "typed") == 0;

        kndl_secret_done(&value);
        _exit(is_typed ? 0 : 1);
    }
    return pid;
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
    pid_t pid = start(&master, &slave);
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
    pid_t pid = start(&master, &slave);
    wait_for(master, "Value: ");
    assert_int_equal(write(master, "ty\003", 3), 3);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
    assert_true(echoes(slave));
    close(master);
    close(slave);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_typed_is_read_and_not_shown),
        cmocka_unit_test(who_interrupts_it_sees_again_what_they_type),
    };
    struct kndl_error err = {0};

    return kndl_crypt_init(&err) < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
