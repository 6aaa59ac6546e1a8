/* From a line of the plan to a process. Runs in a process with one thread, so that the child may
 * do what it likes before it becomes the program. */

#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kndl/buf.h"
#include "kndl/mem.h"

enum { EXIT_NOT_STARTED = 127 };

_Noreturn static void give_up(const char *what)
{
    dprintf(STDERR_FILENO, "not started: %s: %s\n", what, strerror(errno));
    _exit(EXIT_NOT_STARTED);
}

/* Signals as a fresh process has them. */
static void reset_signals(void)
{
    sigset_t none;

    for (int number = 1; number < NSIG; number++)
        (void)signal(number, SIG_DFL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static void enter_netns(const char *name)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf path = {0};
    KNDL_CLEANUP(kndl_close) int fd = -1;

    kndl_buf_printf(&path, "/run/netns/%s", name);
    fd = open(path.data, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, CLONE_NEWNET) < 0)
        give_up(path.data);
}

static void raise_limit(int which)
{
    struct rlimit limit;

    if (getrlimit((__rlimit_resource_t)which, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit((__rlimit_resource_t)which, &limit);
    }
}

static void become(uid_t uid)
{
    if (uid == 0)
        return;
    if (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0)
        give_up("setuid");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        give_up("no_new_privs");
}

/* A checkout may lie in a folder that the program's uid cannot enter: then by the open file. */
static void execute(const struct plan_program *program, int binary)
{
    execve(program->exec, program->argv, program->env);
    if (errno == EACCES && binary >= 0)
        fexecve(binary, program->argv, program->env);
    give_up(program->exec);
}

_Noreturn static void run_child(const struct plan_program *program, int log, pid_t parent)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int binary = open(program->exec, O_RDONLY | O_CLOEXEC);

    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(log, STDOUT_FILENO) < 0 ||
        dup2(log, STDERR_FILENO) < 0)
        _exit(EXIT_NOT_STARTED);
    reset_signals();
    (void)setsid();
    (void)umask(022);
    raise_limit(RLIMIT_NOFILE);
    raise_limit(RLIMIT_MEMLOCK);
    if (program->netns != NULL)
        enter_netns(program->netns);
    if (chdir(program->directory != NULL ? program->directory : "/") < 0)
        give_up("chdir");
    become(program->uid);
    /* After become(), which clears it; whoever lost its parent meanwhile ends by itself. */
    if (prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0) < 0 || getppid() != parent)
        _exit(EXIT_NOT_STARTED);
    execute(program, binary);
    _exit(EXIT_NOT_STARTED);
}

int spawn_program(const struct plan_program *program, int log, pid_t *ret_pid,
                  struct kndl_error *err)
{
    pid_t parent = getpid();
    pid_t pid = fork();

    if (pid < 0)
        return kndl_fail(err, KNDL_INTERNAL, "fork: %s", strerror(errno));
    if (pid == 0)
        run_child(program, log, parent);
    *ret_pid = pid;
    return 0;
}
