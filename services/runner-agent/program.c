/* Runs a program by argv and waits for it. */

#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kndl/clock.h"
#include "kndl/mem.h"

enum {
    OUTPUT_BYTES_MAX = 64 * 1024,
    DEADLINE_MS = 60 * 1000,
    ENV_COUNT_MAX = 32,
    ASK_MS = 500,
    READY_MS = 10 * 1000
};

static const char search_path[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

bool program_find(const char *name, char *ret_path, size_t size)
{
    const char *at = search_path;

    while (*at != '\0') {
        size_t length = strcspn(at, ":");

        (void)snprintf(ret_path, size, "%.*s/%s", (int)length, at, name);
        if (access(ret_path, X_OK) == 0)
            return true;
        at += length + (at[length] == ':');
    }
    return false;
}

static _Noreturn void become(const char *const *argv, const char *const *more, const char *cwd,
                             int netns, const int fds[3])
{
    char path[sizeof search_path + 8];
    const char *env[ENV_COUNT_MAX] = {path, "LANG=C.UTF-8"};
    sigset_t none;

    (void)snprintf(path, sizeof path, "PATH=%s", search_path);
    for (size_t i = 0; more != NULL && more[i] != NULL && i + 3 < ENV_COUNT_MAX; i++)
        env[2 + i] = more[i];
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGPIPE, SIG_DFL);
    for (int i = 0; i < 3; i++) {
        if (dup2(fds[i], i) < 0)
            _exit(127);
    }
    if (netns > 0 && setns(netns, CLONE_NEWNET) < 0) {
        dprintf(2, "setns: %s", strerror(errno));
        _exit(127);
    }
    if (chdir(cwd == NULL ? "/" : cwd) < 0) {
        dprintf(2, "%s: %s", cwd, strerror(errno));
        _exit(127);
    }
    (void)execvpe(argv[0], (char *const *)argv, (char *const *)env);
    dprintf(2, "%s: %s", argv[0], strerror(errno));
    _exit(127);
}

static int input_fd(const char *input)
{
    int fd;

    if (input == NULL)
        return open("/dev/null", O_RDONLY | O_CLOEXEC);
    fd = memfd_create("input", MFD_CLOEXEC);
    if (fd >= 0 && write(fd, input, strlen(input)) != (ssize_t)strlen(input))
        kndl_close(&fd);
    if (fd >= 0)
        (void)lseek(fd, 0, SEEK_SET);
    return fd;
}

/* Its exit status; killed when it takes too long or nobody wants it any more. */
static int wait_for(const struct program *program, pid_t pid, bool *ret_killed)
{
    KNDL_CLEANUP(kndl_close) int pidfd = pidfd_open(pid, 0);
    int64_t end = kndl_clock_ms() + (program->deadline_ms > 0 ? program->deadline_ms : DEADLINE_MS);
    int status = 0;

    *ret_killed = false;
    for (;;) {
        struct pollfd ready = {.fd = pidfd, .events = POLLIN};

        if (poll(&ready, 1, ASK_MS) > 0)
            break;
        if (kndl_clock_ms() < end && (program->on_wait == NULL || program->on_wait(program->data)))
            continue;
        *ret_killed = true;
        (void)kill(-pid, SIGKILL);
        (void)kill(pid, SIGKILL);
        break;
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

static void read_output(int fd, struct kndl_buf *output)
{
    off_t size = lseek(fd, 0, SEEK_END);
    ssize_t n;

    if (size > OUTPUT_BYTES_MAX)
        size = OUTPUT_BYTES_MAX;
    kndl_buf_clear(output);
    if (size <= 0)
        return;
    n = pread(fd, kndl_buf_reserve(output, (size_t)size), (size_t)size, 0);
    if (n > 0) {
        output->size += (size_t)n;
        output->data[output->size] = '\0';
    }
}

/* The last line that says something. */
static void last_line(const struct kndl_buf *output, char *ret_line, size_t size)
{
    const char *text = kndl_buf_text(output);
    size_t end = strlen(text);
    size_t begin;

    while (end > 0 && (text[end - 1] == '\n' || text[end - 1] == ' '))
        end--;
    begin = end;
    while (begin > 0 && text[begin - 1] != '\n')
        begin--;
    (void)snprintf(ret_line, size, "%.*s", (int)(end - begin), text + begin);
}

int program_run(const struct program *program, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_close) int input = input_fd(program->input);
    KNDL_CLEANUP(kndl_close) int out = memfd_create("output", MFD_CLOEXEC);
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf own = {0};
    struct kndl_buf *output = program->output == NULL ? &own : program->output;
    char line[160];
    bool killed;
    int status;
    pid_t pid, parent = getpid();

    if (input < 0 || out < 0 || (pid = fork()) < 0)
        return kndl_fail(err, KNDL_RESOURCE_EXHAUSTED, "cannot start %s: %s", program->argv[0],
                         strerror(errno));
    if (pid == 0) {
        (void)setpgid(0, 0);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        if (getppid() != parent)
            _exit(127);
        become(program->argv, program->env, program->cwd, program->netns, (int[]){input, out, out});
    }
    status = wait_for(program, pid, &killed);
    read_output(out, output);
    if (killed)
        return kndl_fail(err, KNDL_DEADLINE_EXCEEDED, "%s took too long and was ended",
                         program->argv[0]);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    last_line(output, line, sizeof line);
    return kndl_fail(err, KNDL_INTERNAL, "%s failed: %s", program->argv[0], line);
}

/* Not even a name of a network namespace is kept: it would keep the namespace. */
static int take_own_mounts(void)
{
    if (unshare(CLONE_NEWNS) < 0 || mount("", "/", "", MS_REC | MS_PRIVATE, NULL) < 0)
        return -1;
    (void)umount2("/run/netns", MNT_DETACH);
    return 0;
}

/* Begins once its pid was written down; ends unbegun where that does not come. */
static _Noreturn void become_daemon(const struct program_daemon *daemon, int go, int ready)
{
    int out = open(daemon->log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    char byte;

    (void)setsid();
    if (out < 0 || null < 0 || read(go, &byte, 1) != 1 ||
        (daemon->mounts == PROGRAM_OWN_MOUNTS && take_own_mounts() < 0) || dup2(ready, 3) < 0)
        _exit(127);
    become(daemon->argv, daemon->env, NULL, 0, (int[]){null, out, out});
}

/* The other end of its descriptor 3 closes when it ends. */
static bool is_ready(int ready)
{
    struct pollfd wait = {.fd = ready, .events = POLLIN};
    char byte;

    return poll(&wait, 1, READY_MS) == 1 && read(ready, &byte, 1) == 1;
}

int program_start(const struct program_daemon *daemon, struct kndl_error *err)
{
    int go[2] = {-1, -1}, ready[2] = {-1, -1};
    int done = 0;
    pid_t pid = -1;

    if (pipe2(go, O_CLOEXEC) < 0 || pipe2(ready, O_CLOEXEC) < 0 || (pid = fork()) < 0)
        done = kndl_fail(err, KNDL_RESOURCE_EXHAUSTED, "cannot start %s: %s", daemon->argv[0],
                         strerror(errno));
    if (pid == 0) {
        kndl_close(&go[1]);
        become_daemon(daemon, go[0], ready[1]);
    }
    kndl_close(&go[0]);
    kndl_close(&ready[1]);
    if (pid > 0) {
        done = daemon->record(daemon->data, pid, err);
        if (done == 0 && (write(go[1], "g", 1) != 1 || !is_ready(ready[0])))
            done = kndl_fail(err, KNDL_INTERNAL, "%s did not come up; see %s", daemon->argv[0],
                             daemon->log);
    }
    if (done < 0 && pid > 0) {
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, 0);
    }
    kndl_close(&go[1]);
    kndl_close(&ready[0]);
    return done;
}
