#pragma once

/*
 * One event loop for the processes that work on sockets. libuv's only door.
 *
 * Everything of a loop belongs to the thread that runs it, but kndl_loop_post(): the mailbox into
 * it from any other thread. No callback may block for 10 ms; what may is a child process or a
 * request on the bus.
 */

#include <stddef.h>
#include <stdint.h>

#include "kndl/error.h"

struct kndl_loop;

/* Catches SIGPIPE for the process (children start with the default again). */
struct kndl_loop *kndl_loop_new(void);
/* All that was opened on it must have been closed. What was posted and did not run yet runs now.
 * NULL is allowed. */
void kndl_loop_free(struct kndl_loop *loop);

/* Runs until kndl_loop_stop(). SIGTERM and SIGINT call on_signal (may be NULL: stops). */
void kndl_loop_run(struct kndl_loop *loop, void (*on_signal)(void *data), void *data);
void kndl_loop_stop(struct kndl_loop *loop);

/* From any thread: fn(data) runs on the loop, in the order posted. Never lost, never merged. */
typedef void (*kndl_post_fn)(void *data);
void kndl_loop_post(struct kndl_loop *loop, kndl_post_fn fn, void *data);

/* A timer. Starting it again moves it. */
struct kndl_timer;
typedef void (*kndl_timer_fn)(void *data);
struct kndl_timer *kndl_timer_new(struct kndl_loop *loop, kndl_timer_fn fn, void *data);
void kndl_timer_start(struct kndl_timer *timer, uint64_t after_ms, uint64_t repeat_ms);
void kndl_timer_stop(struct kndl_timer *timer);
void kndl_timer_free(struct kndl_timer *timer);

/* Watches a file descriptor (a socket, a pipe, a terminal; not a regular file), which stays the
 * caller's and is closed after kndl_watch_free(). events: POLLIN, POLLOUT, 0 for none. fn also
 * gets POLLHUP, and POLLERR, after which it is not called again. */
struct kndl_watch;
typedef void (*kndl_watch_fn)(int fd, short events, void *data);
struct kndl_watch *kndl_watch_new(struct kndl_loop *loop, int fd, short events, kndl_watch_fn fn,
                                  void *data);
void kndl_watch_events(struct kndl_watch *watch, short events);
void kndl_watch_free(struct kndl_watch *watch);
