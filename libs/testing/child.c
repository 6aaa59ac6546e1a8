/* Processes and folders of fixtures. */

#include "child.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN_MAX = 32 };

static pid_t children[CHILDREN_MAX];
static size_t child_count;
static char dirs[CHILDREN_MAX][PATH_MAX];
static size_t dir_count;
static pid_t owner; /* forked copies of the test clean nothing up */

void child_die(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1);
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *at)
{
    (void)status;
    (void)kind;
    (void)at;
    return remove(path);
}

static void clean_up(void)
{
    if (getpid() != owner)
        return;
    for (size_t i = child_count; i-- > 0;) {
        kill(children[i], SIGQUIT);
        waitpid(children[i], NULL, 0);
    }
    for (size_t i = 0; i < dir_count; i++)
        nftw(dirs[i], remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void register_cleanup(void)
{
    if (owner != 0)
        return;
    owner = getpid();
    atexit(clean_up);
}

__attribute__((noreturn)) static void become(char *const argv[], const char *log, pid_t parent)
{
    static char *const environment[] = {(char *)"PATH=/usr/sbin:/usr/bin:/sbin:/bin",
                                        (char *)"LC_ALL=C", (char *)"HOME=/", NULL};
    int out = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    int in = open("/dev/null", O_RDONLY);
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
        _exit(127);
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    execvpe(argv[0], argv, environment);
    dprintf(STDERR_FILENO, "%s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

static pid_t start(char *const argv[], const char *log)
{
    pid_t parent = getpid();
    pid_t pid = fork();

    if (pid < 0)
        child_die("fork: %s", strerror(errno));
    if (pid == 0)
        become(argv, log, parent);
    return pid;
}

pid_t child_start(char *const argv[], const char *log)
{
    register_cleanup();
    if (child_count == CHILDREN_MAX)
        child_die("too many fixtures");
    return children[child_count++] = start(argv, log);
}

static void forget(pid_t pid)
{
    for (size_t i = 0; i < child_count; i++)
        if (children[i] == pid)
            children[i] = children[--child_count];
}

bool child_has_ended(pid_t pid)
{
    if (waitpid(pid, NULL, WNOHANG) != pid)
        return false;
    forget(pid);
    return true;
}

void child_kill(pid_t pid)
{
    forget(pid);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

void child_run(char *const argv[], const char *log)
{
    int status;
    pid_t pid = start(argv, log);

    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        child_die("%s failed; its output is in %s", argv[0], log);
}

const char *child_new_dir(const char *name)
{
    char *dir;

    register_cleanup();
    if (dir_count == CHILDREN_MAX)
        child_die("too many fixtures");
    dir = dirs[dir_count];
    snprintf(dir, sizeof dirs[0], "/tmp/kndl-%s-XXXXXX", name);
    if (mkdtemp(dir) == NULL)
        child_die("%s: %s", dir, strerror(errno));
    dir_count++;
    return dir;
}

int child_free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) < 0)
        child_die("no port: %s", strerror(errno));
    close(fd);
    return ntohs(address.sin_port);
}
