/* Starts processes and takes all that end. */

#include "reaper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kndl/loop.h"
#include "kndl/mem.h"

enum { RECENT_COUNT = 64 };

/* One process whose end somebody wants to know. */
struct waited {
    pid_t pid;
    reaper_fn fn; /* NULL: forgotten, only reaped */
    void *data;
    struct waited *next;
};

struct reaper {
    int signals; /* SIGCHLD, as a descriptor */
    struct kndl_watch *watch;
    struct waited *waited;
    /* Ended before anybody asked: the process that a detached runtime leaves behind may be gone
     * before its pid file was read. */
    struct {
        pid_t pid;
        int status;
    } recent[RECENT_COUNT];
    size_t recent_next;
};

void reaper_prepare(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void on_signal(int fd, short events, void *data)
{
    struct signalfd_siginfo signal;

    (void)events;
    while (read(fd, &signal, sizeof signal) > 0)
        ;
    reaper_take(data);
}

struct reaper *reaper_new(struct kndl_loop *loop)
{
    struct reaper *reaper = kndl_new0(struct reaper);
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    reaper->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    reaper->watch = kndl_watch_new(loop, reaper->signals, POLLIN, on_signal, reaper);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    return reaper;
}

void reaper_free(struct reaper *reaper)
{
    while (reaper->waited != NULL) {
        struct waited *next = reaper->waited->next;

        free(reaper->waited);
        reaper->waited = next;
    }
    kndl_watch_free(reaper->watch);
    kndl_close(&reaper->signals);
    free(reaper);
}

int reaper_begin(const char *path, char *const *argv, char *const *env, const int fds[4],
                 pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    int problem;

    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    for (int i = 0; i < 3; i++) {
        if (fds[i] >= 0)
            posix_spawn_file_actions_adddup2(&actions, fds[i], i);
        else
            posix_spawn_file_actions_addopen(&actions, i, "/dev/null", O_RDWR, 0);
    }
    if (fds[3] >= 0)
        posix_spawn_file_actions_adddup2(&actions, fds[3], 3);
    problem = posix_spawn(ret_pid, path, &actions, &attributes, argv, env);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return problem;
}

static void wait_for(struct reaper *reaper, pid_t pid, reaper_fn fn, void *data)
{
    struct waited *waited = kndl_new0(struct waited);

    *waited = (struct waited){pid, fn, data, reaper->waited};
    reaper->waited = waited;
}

int reaper_spawn(struct reaper *reaper, const char *const *argv, const int fds[3],
                 reaper_fn on_exit, void *data, pid_t *ret_pid, struct kndl_error *err)
{
    char *env[] = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                   "LANG=C.UTF-8", NULL};
    int problem = reaper_begin(argv[0], (char *const *)argv, env,
                               (int[]){fds[0], fds[1], fds[2], -1}, ret_pid);

    if (problem != 0)
        return kndl_fail(err, KNDL_RESOURCE_EXHAUSTED, "cannot start %s: %s", argv[0],
                         strerror(problem));
    wait_for(reaper, *ret_pid, on_exit, data);
    return 0;
}

void reaper_adopt(struct reaper *reaper, pid_t pid, reaper_fn on_exit, void *data)
{
    wait_for(reaper, pid, on_exit, data);
    for (size_t i = 0; i < RECENT_COUNT; i++) {
        if (reaper->recent[i].pid == pid) {
            reaper->recent[i].pid = 0;
            reaper_forget(reaper, pid);
            on_exit(data, reaper->recent[i].status);
            return;
        }
    }
}

void reaper_forget(struct reaper *reaper, pid_t pid)
{
    for (struct waited **at = &reaper->waited; *at != NULL; at = &(*at)->next) {
        struct waited *waited = *at;

        if (waited->pid == pid) {
            *at = waited->next;
            free(waited);
            return;
        }
    }
}

void reaper_take(struct reaper *reaper)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        struct waited **at = &reaper->waited;
        struct waited *waited;

        while (*at != NULL && (*at)->pid != pid)
            at = &(*at)->next;
        waited = *at;
        if (waited == NULL) {
            reaper->recent[reaper->recent_next].pid = pid;
            reaper->recent[reaper->recent_next].status = status;
            reaper->recent_next = (reaper->recent_next + 1) % RECENT_COUNT;
            continue;
        }
        *at = waited->next;
        if (waited->fn != NULL)
            waited->fn(waited->data, status);
        free(waited);
    }
}
