/* Stands in for libs/web's loop, so that what runs on it is tested without libuv. */

#include "loop.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "child.h"
#include "kndl/clock.h"
#include "kndl/loop.h"
#include "kndl/mem.h"

enum { WATCHES_MAX = 128, GIVE_UP_MS = 60 * 1000 };

struct kndl_watch {
    int fd;
    short events;
    kndl_watch_fn fn;
    void *data;
    bool gone;
    struct kndl_watch *next;
};

struct kndl_timer {
    kndl_timer_fn fn;
    void *data;
    int64_t at; /* 0: stopped */
    uint64_t repeat;
    bool gone;
    struct kndl_timer *next;
};

struct kndl_loop {
    struct kndl_watch *watches;
    struct kndl_timer *timers;
};

struct kndl_loop *kndl_loop_new(void)
{
    return kndl_new0(struct kndl_loop);
}

static void sweep(struct kndl_loop *loop)
{
    for (struct kndl_watch **at = &loop->watches; *at != NULL;) {
        struct kndl_watch *watch = *at;

        if (watch->gone) {
            *at = watch->next;
            free(watch);
        } else {
            at = &watch->next;
        }
    }
    for (struct kndl_timer **at = &loop->timers; *at != NULL;) {
        struct kndl_timer *timer = *at;

        if (timer->gone) {
            *at = timer->next;
            free(timer);
        } else {
            at = &timer->next;
        }
    }
}

void kndl_loop_free(struct kndl_loop *loop)
{
    sweep(loop);
    free(loop);
}

struct kndl_watch *kndl_watch_new(struct kndl_loop *loop, int fd, short events, kndl_watch_fn fn,
                                  void *data)
{
    struct kndl_watch *watch = kndl_new0(struct kndl_watch);

    *watch = (struct kndl_watch){fd, events, fn, data, false, loop->watches};
    loop->watches = watch;
    return watch;
}

void kndl_watch_events(struct kndl_watch *watch, short events)
{
    watch->events = events;
}

void kndl_watch_free(struct kndl_watch *watch)
{
    watch->gone = true;
}

struct kndl_timer *kndl_timer_new(struct kndl_loop *loop, kndl_timer_fn fn, void *data)
{
    struct kndl_timer *timer = kndl_new0(struct kndl_timer);

    *timer = (struct kndl_timer){fn, data, 0, 0, false, loop->timers};
    loop->timers = timer;
    return timer;
}

void kndl_timer_start(struct kndl_timer *timer, uint64_t after_ms, uint64_t repeat_ms)
{
    timer->at = kndl_clock_ms() + (int64_t)after_ms;
    timer->repeat = repeat_ms;
}

void kndl_timer_stop(struct kndl_timer *timer)
{
    timer->at = 0;
}

void kndl_timer_free(struct kndl_timer *timer)
{
    timer->gone = true;
}

static void run_timers(struct kndl_loop *loop)
{
    for (struct kndl_timer *timer = loop->timers; timer != NULL; timer = timer->next) {
        if (timer->gone || timer->at == 0 || timer->at > kndl_clock_ms())
            continue;
        timer->at = timer->repeat > 0 ? kndl_clock_ms() + (int64_t)timer->repeat : 0;
        timer->fn(timer->data);
    }
}

static void run_watches(struct kndl_loop *loop, int reaper, struct children *children)
{
    struct pollfd fds[WATCHES_MAX];
    struct kndl_watch *watches[WATCHES_MAX];
    struct signalfd_siginfo signal;
    nfds_t count = 1;

    fds[0] = (struct pollfd){.fd = reaper, .events = POLLIN};
    for (struct kndl_watch *watch = loop->watches; watch != NULL; watch = watch->next) {
        if (watch->gone || count == WATCHES_MAX)
            continue;
        watches[count] = watch;
        fds[count++] = (struct pollfd){.fd = watch->fd, .events = watch->events};
    }
    if (poll(fds, count, 10) <= 0)
        return;
    if (fds[0].revents != 0) {
        while (read(reaper, &signal, sizeof signal) > 0)
            ;
        children_reap(children);
    }
    for (nfds_t i = 1; i < count; i++) {
        if (fds[i].revents != 0 && !watches[i]->gone)
            watches[i]->fn(watches[i]->fd, fds[i].revents, watches[i]->data);
    }
}

void loop_run(struct kndl_loop *loop, struct children *children, const bool *done)
{
    int64_t end = kndl_clock_ms() + GIVE_UP_MS;
    sigset_t set;
    int reaper;

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    reaper = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    children_reap(children);
    while (!*done) {
        if (kndl_clock_ms() > end) {
            (void)fprintf(stderr, "the test waited a minute for something that did not come\n");
            abort();
        }
        run_watches(loop, reaper, children);
        run_timers(loop);
        sweep(loop);
    }
    kndl_close(&reaper);
}
