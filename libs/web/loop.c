/*
 * The loop, its mailbox, timers and watches, on libuv.
 *
 * Handles of libuv live until their close callback ran, so the free functions here only begin
 * that; kndl_loop_free() turns the loop until all have ended.
 */

#include "kndl/loop.h"

#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "kndl/mem.h"
#include "loop_uv.h"

struct letter {
    struct letter *next;
    kndl_post_fn fn;
    void *data;
};

struct kndl_loop {
    uv_loop_t uv;
    uv_async_t bell; /* rung by any thread */
    uv_signal_t term;
    uv_signal_t interrupt;
    void (*on_signal)(void *data);
    void *signal_data;

    pthread_mutex_t lock; /* of the two below, written by any thread */
    struct letter *first;
    struct letter **last;
};

struct kndl_timer {
    uv_timer_t uv;
    kndl_timer_fn fn;
    void *data;
};

struct kndl_watch {
    uv_poll_t uv;
    int fd;
    kndl_watch_fn fn;
    void *data;
};

uv_loop_t *loop_uv(struct kndl_loop *loop)
{
    return &loop->uv;
}

/* What libuv answers where only a bug of ours or a lack of memory or descriptors makes it fail. */
static void must(int result)
{
    if (result != 0)
        abort();
}

static void deliver(struct kndl_loop *loop)
{
    struct letter *letter;

    pthread_mutex_lock(&loop->lock);
    letter = loop->first;
    loop->first = NULL;
    loop->last = &loop->first;
    pthread_mutex_unlock(&loop->lock);

    while (letter != NULL) {
        struct letter *next = letter->next;

        letter->fn(letter->data);
        free(letter);
        letter = next;
    }
}

static void on_bell(uv_async_t *bell)
{
    deliver(bell->data);
}

void kndl_loop_post(struct kndl_loop *loop, kndl_post_fn fn, void *data)
{
    struct letter *letter = kndl_new0(struct letter);

    letter->fn = fn;
    letter->data = data;
    pthread_mutex_lock(&loop->lock);
    *loop->last = letter;
    loop->last = &letter->next;
    pthread_mutex_unlock(&loop->lock);
    must(uv_async_send(&loop->bell));
}

static void ignore_signal(int number)
{
    (void)number;
}

/* A handler, not SIG_IGN, which an exec'ed child would inherit. */
static void catch_sigpipe(void)
{
    struct sigaction action = {.sa_handler = ignore_signal, .sa_flags = SA_RESTART};

    sigaction(SIGPIPE, &action, NULL);
}

static void on_uv_signal(uv_signal_t *signal, int number)
{
    struct kndl_loop *loop = signal->data;

    (void)number;
    if (loop->on_signal != NULL)
        loop->on_signal(loop->signal_data);
    else
        uv_stop(&loop->uv);
}

struct kndl_loop *kndl_loop_new(void)
{
    struct kndl_loop *loop = kndl_new0(struct kndl_loop);

    catch_sigpipe();
    loop->last = &loop->first;
    pthread_mutex_init(&loop->lock, NULL);
    must(uv_loop_init(&loop->uv));
    must(uv_async_init(&loop->uv, &loop->bell, on_bell));
    must(uv_signal_init(&loop->uv, &loop->term));
    must(uv_signal_init(&loop->uv, &loop->interrupt));
    loop->bell.data = loop->term.data = loop->interrupt.data = loop;
    return loop;
}

void kndl_loop_free(struct kndl_loop *loop)
{
    if (loop == NULL)
        return;
    deliver(loop);
    uv_close((uv_handle_t *)&loop->bell, NULL);
    uv_close((uv_handle_t *)&loop->term, NULL);
    uv_close((uv_handle_t *)&loop->interrupt, NULL);
    for (int i = 0; i < 100 && uv_loop_alive(&loop->uv); i++)
        uv_run(&loop->uv, UV_RUN_NOWAIT);
    must(uv_loop_close(&loop->uv)); /* EBUSY: something on it was not closed */
    pthread_mutex_destroy(&loop->lock);
    free(loop);
}

void kndl_loop_run(struct kndl_loop *loop, void (*on_signal)(void *data), void *data)
{
    loop->on_signal = on_signal;
    loop->signal_data = data;
    must(uv_signal_start(&loop->term, on_uv_signal, SIGTERM));
    must(uv_signal_start(&loop->interrupt, on_uv_signal, SIGINT));
    uv_run(&loop->uv, UV_RUN_DEFAULT);
    uv_signal_stop(&loop->term);
    uv_signal_stop(&loop->interrupt);
}

void kndl_loop_stop(struct kndl_loop *loop)
{
    uv_stop(&loop->uv);
}

static void free_handle_data(uv_handle_t *handle)
{
    free(handle->data);
}

static void on_uv_timer(uv_timer_t *uv)
{
    struct kndl_timer *timer = uv->data;

    timer->fn(timer->data);
}

struct kndl_timer *kndl_timer_new(struct kndl_loop *loop, kndl_timer_fn fn, void *data)
{
    struct kndl_timer *timer = kndl_new0(struct kndl_timer);

    must(uv_timer_init(&loop->uv, &timer->uv));
    timer->uv.data = timer;
    timer->fn = fn;
    timer->data = data;
    return timer;
}

void kndl_timer_start(struct kndl_timer *timer, uint64_t after_ms, uint64_t repeat_ms)
{
    uv_update_time(timer->uv.loop); /* else it counts from when the loop last woke */
    must(uv_timer_start(&timer->uv, on_uv_timer, after_ms, repeat_ms));
}

void kndl_timer_stop(struct kndl_timer *timer)
{
    uv_timer_stop(&timer->uv);
}

void kndl_timer_free(struct kndl_timer *timer)
{
    if (timer != NULL)
        uv_close((uv_handle_t *)&timer->uv, free_handle_data);
}

static void on_uv_poll(uv_poll_t *uv, int status, int uv_events)
{
    struct kndl_watch *watch = uv->data;
    short events = 0;

    if (uv_events & UV_READABLE)
        events |= POLLIN;
    if (uv_events & UV_WRITABLE)
        events |= POLLOUT;
    if (uv_events & UV_DISCONNECT)
        events |= POLLHUP;
    if (status < 0)
        events |= POLLERR;
    watch->fn(watch->fd, events, watch->data);
}

void kndl_watch_events(struct kndl_watch *watch, short events)
{
    int uv_events = 0;

    if (events & POLLIN)
        uv_events |= UV_READABLE | UV_DISCONNECT;
    if (events & POLLOUT)
        uv_events |= UV_WRITABLE;
    if (uv_events == 0)
        uv_poll_stop(&watch->uv);
    else
        must(uv_poll_start(&watch->uv, uv_events, on_uv_poll));
}

struct kndl_watch *kndl_watch_new(struct kndl_loop *loop, int fd, short events, kndl_watch_fn fn,
                                  void *data)
{
    struct kndl_watch *watch = kndl_new0(struct kndl_watch);

    must(uv_poll_init(&loop->uv, &watch->uv, fd));
    watch->uv.data = watch;
    watch->fd = fd;
    watch->fn = fn;
    watch->data = data;
    kndl_watch_events(watch, events);
    return watch;
}

void kndl_watch_free(struct kndl_watch *watch)
{
    if (watch != NULL) {
        uv_poll_stop(&watch->uv);
        uv_close((uv_handle_t *)&watch->uv, free_handle_data);
    }
}
