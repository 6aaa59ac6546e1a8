/* run-claude, in a mount namespace of the test's own so that /run/kndl is its. */

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kndl/testing.h"

static char launcher[PATH_MAX + 16];

/* As in a Sandbox: an own tmpfs, mode 0700. */
static int enter_namespace(void **unused)
{
    ssize_t size = readlink("/proc/self/exe", launcher, PATH_MAX);

    (void)unused;
    if (size < 0)
        return -1;
    launcher[size] = '\0';
    strcpy(strrchr(launcher, '/'), "/run-claude");
    if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("tmpfs", "/run", "tmpfs", 0, NULL) < 0 || mkdir("/run/kndl", 0700) < 0)
        return -1;
    return 0;
}

/* Runs it with that stdin and environment; what it printed comes back, and its exit status. */
static int run(char *const *argv, char *const *env, const char *input, size_t input_size,
               char *output, size_t most)
{
    int in[2], out[2], status;
    size_t have = 0;
    ssize_t got;
    pid_t child;

    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    child = fork();
    if (child == 0) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        execve(launcher, argv, env);
        _exit(126);
    }
    close(in[0]);
    close(out[1]);
    assert_int_equal(write(in[1], input, input_size), input_size);
    close(in[1]);
    while (have < most - 1 && (got = read(out[0], output + have, most - 1 - have)) > 0)
        have += (size_t)got;
    output[have] = '\0';
    close(out[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static char *const no_env[] = {NULL};

static void take(const char *env, size_t size)
{
    char *argv[] = {launcher, "--take-env", NULL};
    char output[64];

    assert_int_equal(run(argv, no_env, env, size, output, sizeof output), 0);
}

/* CC-05: any value but NUL arrives as it is, and the file is gone before Claude Code runs. */
static void cc_05_values_arrive_exact_and_the_file_is_gone(void **unused)
{
    static const char env[] = "ODD=two\nlines \"and\" 'quotes' $HOME\0LAST=1";
    char *argv[] = {launcher, "/usr/bin/env", "-0", NULL};
    char output[4096];
    struct stat st;

    (void)unused;
    take(env, sizeof env);
    assert_int_equal(stat("/run/kndl/env", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(run(argv, no_env, "", 0, output, sizeof output), 0);
    assert_string_equal(output, "ODD=two\nlines \"and\" 'quotes' $HOME");
    assert_string_equal(output + strlen(output) + 1, "LAST=1");
    assert_int_equal(stat("/run/kndl/env", &st), -1);
}

/* CC-06 */
static void cc_06_what_would_outrank_the_setup_token_is_dropped(void **unused)
{
    static const char env[] = "ANTHROPIC_API_KEY=x\0ANTHROPIC_AUTH_TOKEN=x\0ANTHROPIC_BASE_URL=x\0"
                              "CLAUDE_CODE_USE_BEDROCK=1\0CLAUDE_CODE_USE_VERTEX=1\0"
                              "CLAUDE_CODE_USE_FOUNDRY=1\0CLAUDE_CODE_OAUTH_REFRESH_TOKEN=x\0"
                              "KEPT=1";
    char *given[] = {"ANTHROPIC_API_KEY=y", "CLAUDE_CODE_OAUTH_TOKEN=z", NULL};
    char *argv[] = {launcher, "/usr/bin/env", NULL};
    char output[4096];

    (void)unused;
    take(env, sizeof env);
    assert_int_equal(run(argv, given, "", 0, output, sizeof output), 0);
    assert_string_equal(output, "CLAUDE_CODE_OAUTH_TOKEN=z\nKEPT=1\n");
}

/* CR-06: while Claude Code runs, its environment is its own alone. */
static void cr_06_the_launcher_forgets_the_environment(void **unused)
{
    static const char env[] = "VARIABLE=planted";
    char *given[] = {"CLAUDE_CODE_OAUTH_TOKEN=planted", NULL};
    char *argv[] = {launcher, "/bin/sh", "-c",
                    "for i in $(seq 1000); do grep -aq planted /proc/$PPID/environ || "
                    "{ echo forgotten, $CLAUDE_CODE_OAUTH_TOKEN $VARIABLE here; break; }; done",
                    NULL};
    char output[4096];

    (void)unused;
    take(env, sizeof env);
    assert_int_equal(run(argv, given, "", 0, output, sizeof output), 0);
    assert_string_equal(output, "forgotten, planted planted here\n");
}

static void its_end_is_the_programs_end(void **unused)
{
    char *argv[] = {launcher, "/bin/sh", "-c", "exit 7", NULL};
    char *missing[] = {launcher, "/no/such/program", NULL};
    char output[64];

    (void)unused;
    take("A=1", 4);
    assert_int_equal(run(argv, no_env, "", 0, output, sizeof output), 7);
    take("A=1", 4);
    assert_int_equal(run(missing, no_env, "", 0, output, sizeof output), 127);
    assert_int_equal(run(argv, no_env, "", 0, output, sizeof output), 127);
}

/* A stand-in for Claude Code that was started with a Session token and more. */
static pid_t start_with_token(void)
{
    static char *const env[] = {"CLAUDE_CODE_OAUTH_TOKEN=not this", "KNDL_MOD_TOKEN=kndl_ses_x",
                                NULL};
    static char *const argv[] = {"/bin/sleep", "60", NULL};
    pid_t child = fork();

    if (child == 0) {
        execve(argv[0], argv, env);
        _exit(126);
    }
    return child;
}

static void waiting_and_the_session_token_follow_the_pid(void **unused)
{
    char *wait_argv[] = {launcher, "--wait", NULL};
    char *token_argv[] = {launcher, "--session-token", NULL};
    char output[4096];
    pid_t claude = start_with_token();
    FILE *file = fopen("/run/kndl/claude.pid", "we");

    (void)unused;
    assert_non_null(file);
    assert_true(fprintf(file, "%d\n", (int)claude) > 0);
    fclose(file);
    /* Until it has become the other program its environment is the test's. */
    do {
        assert_int_equal(run(token_argv, no_env, "", 0, output, sizeof output), 0);
    } while (output[0] == '\0');
    assert_string_equal(output, "KNDL_MOD_TOKEN=kndl_ses_x");
    kill(claude, SIGKILL);
    assert_int_equal(waitpid(claude, NULL, 0), claude);
    assert_int_equal(run(wait_argv, no_env, "", 0, output, sizeof output), 0);
    unlink("/run/kndl/claude.pid");
    assert_int_equal(run(wait_argv, no_env, "", 0, output, sizeof output), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cc_05_values_arrive_exact_and_the_file_is_gone),
        cmocka_unit_test(cc_06_what_would_outrank_the_setup_token_is_dropped),
        cmocka_unit_test(cr_06_the_launcher_forgets_the_environment),
        cmocka_unit_test(its_end_is_the_programs_end),
        cmocka_unit_test(waiting_and_the_session_token_follow_the_pid),
    };

    return cmocka_run_group_tests(tests, enter_namespace, NULL);
}
