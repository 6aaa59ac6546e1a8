/*
 * run-claude: what tmux runs in Claude Code's window. Static, so that it starts in any image.
 *
 *   run-claude PROGRAM ARGS…   takes the environment from /run/kndl/env (NUL-separated, so that a
 *                              value may hold anything else), unlinks it, drops what must not
 *                              reach Claude Code (CC-06), starts it, and waits. When it ended by
 *                              itself, its last screen is kept in /run/kndl/last-screen.
 *   run-claude --take-env      writes its stdin to /run/kndl/env, for the next start
 *   run-claude --wait          returns once Claude Code is gone, 1 after two seconds
 *   run-claude --session-token prints Claude Code's KNDL_MOD_TOKEN=…, for a Runner that
 *                              started again; nothing else of its environment leaves
 *   run-claude --take-git-token, --git-credential   git_access.h
 *
 * All of it runs inside the Sandbox, whose root may change anything here: it decides nothing.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "git_access.h"

#define ENV_FILE "/run/kndl/env"
#define PID_FILE "/run/kndl/claude.pid"
#define SCREEN_FILE "/run/kndl/last-screen"
#define TMUX_SOCKET "/run/kndl/tmux"

enum { ENV_BYTES_MAX = 1024 * 1024, WAIT_MS_MAX = 2000 };

static const char *const dropped[] = {
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_USE_FOUNDRY",
    "CLAUDE_CODE_OAUTH_REFRESH_TOKEN",
};

static int fail(const char *what)
{
    (void)fprintf(stderr, "run-claude: %s: %s\n", what, strerror(errno));
    return 127;
}

/* Reads at most `most` bytes of a file; NULL if it cannot. */
static char *read_file(const char *path, size_t most, size_t *ret_size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *bytes = malloc(most + 1);
    size_t size = 0;
    ssize_t got = -1;

    while (fd >= 0 && bytes != NULL && size < most &&
           (got = read(fd, bytes + size, most - size)) > 0)
        size += (size_t)got;
    if (fd >= 0)
        close(fd);
    if (got < 0 || bytes == NULL) {
        free(bytes);
        return NULL;
    }
    bytes[size] = '\0';
    *ret_size = size;
    return bytes;
}

/* From a pipe of the Runner's to the tmpfs: no argument, no shell. */
static int keep_environment(void)
{
    static char bytes[ENV_BYTES_MAX];
    size_t size = 0;
    ssize_t got;
    int fd;

    while ((got = read(STDIN_FILENO, bytes + size, sizeof bytes - size)) > 0)
        size += (size_t)got;
    unlink(ENV_FILE);
    fd = open(ENV_FILE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (got < 0 || fd < 0)
        return fail(ENV_FILE);
    for (size_t at = 0; at < size;) {
        ssize_t wrote = write(fd, bytes + at, size - at);

        if (wrote < 0)
            return fail(ENV_FILE);
        at += (size_t)wrote;
    }
    explicit_bzero(bytes, size);
    close(fd);
    return 0;
}

/* This program links nothing of ours, so it reads its environment by itself. */
static const char *variable(const char *name)
{
    size_t size = strlen(name);

    for (char **at = environ; *at != NULL; at++)
        if (strncmp(*at, name, size) == 0 && (*at)[size] == '=')
            return *at + size + 1;
    return NULL;
}

/* The strings stay: putenv() keeps them. */
static int take_environment(void)
{
    size_t size;
    char *bytes = read_file(ENV_FILE, ENV_BYTES_MAX, &size);

    if (bytes == NULL)
        return -1;
    unlink(ENV_FILE);
    for (size_t at = 0; at < size; at += strlen(bytes + at) + 1)
        if (strchr(bytes + at, '=') != NULL && putenv(bytes + at) != 0)
            return -1;
    for (size_t i = 0; i < sizeof dropped / sizeof dropped[0]; i++)
        unsetenv(dropped[i]);
    return 0;
}

static void write_pid(pid_t pid)
{
    int fd = open(PID_FILE, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0)
        return;
    (void)dprintf(fd, "%d\n", (int)pid);
    close(fd);
}

static pid_t read_pid(void)
{
    size_t size;
    char *text = read_file(PID_FILE, 32, &size);
    long pid = text == NULL ? 0 : strtol(text, NULL, 10);

    free(text);
    return (pid_t)pid;
}

/* Of this process once Claude Code runs, and of tmux: they need nothing of Claude Code's. */
static char *const own_environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", NULL};

static void keep_screen(const char *pane, int status)
{
    char *const argv[] = {"tmux", "-S",   TMUX_SOCKET, "capture-pane", "-p",
                          "-S",   "-100", "-t",        (char *)pane,   NULL};
    int out = open(SCREEN_FILE, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    pid_t child;

    if (out < 0)
        return;
    if (WIFEXITED(status))
        (void)dprintf(out, "exit status %d\n", WEXITSTATUS(status));
    else
        (void)dprintf(out, "ended by signal %d\n", WTERMSIG(status));
    child = fork();
    if (child == 0) {
        dup2(out, STDOUT_FILENO);
        execvpe(argv[0], argv, own_environment);
        _exit(127);
    }
    close(out);
    if (child > 0)
        (void)waitpid(child, NULL, 0);
}

/* This process goes on beside Claude Code, which alone is to hold its environment (CR-06). */
static void forget_environment(void)
{
    for (char **at = environ; *at != NULL; at++)
        explicit_bzero(*at, strlen(*at));
    environ = (char **)own_environment;
}

static int start(char **argv)
{
    const char *pane_of_tmux = variable("TMUX_PANE");
    char pane[16] = ""; /* "%0"; the environment is forgotten below */
    pid_t child;
    int status;

    if (pane_of_tmux != NULL)
        (void)snprintf(pane, sizeof pane, "%s", pane_of_tmux);
    if (take_environment() < 0)
        return fail(ENV_FILE);
    unlink(SCREEN_FILE);
    child = fork();
    if (child < 0)
        return fail("fork");
    if (child == 0) {
        write_pid(getpid());
        execv(argv[0], argv);
        _exit(fail(argv[0]));
    }
    forget_environment();
    /* A closing window hangs up on both; Claude Code ends by itself then. */
    signal(SIGHUP, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return fail("waitpid");
    if (pane[0] != '\0')
        keep_screen(pane, status);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int wait_for_end(void)
{
    pid_t pid = read_pid();
    int fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
    struct pollfd end = {.fd = fd, .events = POLLIN};

    if (fd < 0)
        return 0;
    return poll(&end, 1, WAIT_MS_MAX) == 1 ? 0 : 1;
}

static int print_session_token(void)
{
    char path[64];
    size_t size;
    char *bytes;

    (void)snprintf(path, sizeof path, "/proc/%d/environ", (int)read_pid());
    bytes = read_file(path, ENV_BYTES_MAX, &size);
    if (bytes == NULL)
        return fail(path);
    for (size_t at = 0; at < size; at += strlen(bytes + at) + 1)
        if (strncmp(bytes + at, "KNDL_MOD_TOKEN=", 15) == 0)
            (void)printf("%s", bytes + at);
    explicit_bzero(bytes, size);
    return fflush(stdout) == 0 ? 0 : fail("write");
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--take-env") == 0)
        return keep_environment();
    if (argc == 2 && strcmp(argv[1], "--wait") == 0)
        return wait_for_end();
    if (argc == 2 && strcmp(argv[1], "--session-token") == 0)
        return print_session_token();
    if (argc == 2 && strcmp(argv[1], "--take-git-token") == 0)
        return git_take_token();
    if (argc == 3 && strcmp(argv[1], "--git-credential") == 0)
        return git_give_credential(argv[2]);
    if (argc < 2)
        return 2;
    return start(argv + 1);
}
