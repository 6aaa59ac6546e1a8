/* The loop: its mailbox under threads (run it under TSan too), timers, watches, signals. */

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "kndl/loop.h"

enum { THREADS = 4, LETTERS = 5000 };

struct sender;

struct letter {
    struct sender *sender;
    int number;
};

struct fixture {
    struct kndl_loop *loop;
    int received;
};

struct sender {
    struct fixture *fixture;
    struct letter letters[LETTERS];
    int next; /* loop's: the number that must come */
};

static struct sender senders[THREADS];

static void receive(void *data)
{
    struct letter *letter = data;
    struct fixture *fixture = letter->sender->fixture;

    assert_int_equal(letter->number, letter->sender->next++);
    if (++fixture->received == THREADS * LETTERS)
        kndl_loop_stop(fixture->loop);
}

static void *send_all(void *data)
{
    struct sender *sender = data;

    for (int i = 0; i < LETTERS; i++)
        kndl_loop_post(sender->fixture->loop, receive, &sender->letters[i]);
    return NULL;
}

static void what_threads_post_comes_once_and_in_order(void **unused)
{
    struct fixture fixture = {.loop = kndl_loop_new()};
    pthread_t threads[THREADS];

    (void)unused;
    for (int t = 0; t < THREADS; t++) {
        senders[t].fixture = &fixture;
        for (int i = 0; i < LETTERS; i++)
            senders[t].letters[i] = (struct letter){&senders[t], i};
        pthread_create(&threads[t], NULL, send_all, &senders[t]);
    }
    kndl_loop_run(fixture.loop, NULL, NULL);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    assert_int_equal(fixture.received, THREADS * LETTERS);
    kndl_loop_free(fixture.loop);
}

static void count(void *data)
{
    ++*(int *)data;
}

static void what_was_posted_and_did_not_run_runs_at_the_end(void **unused)
{
    struct kndl_loop *loop = kndl_loop_new();
    int ran = 0;

    (void)unused;
    kndl_loop_post(loop, count, &ran);
    kndl_loop_free(loop);
    assert_int_equal(ran, 1);
}

struct ticks {
    struct kndl_loop *loop;
    int count;
};

static void tick(void *data)
{
    struct ticks *ticks = data;

    if (++ticks->count == 3)
        kndl_loop_stop(ticks->loop);
}

static void a_timer_repeats_until_it_is_freed(void **unused)
{
    struct ticks ticks = {.loop = kndl_loop_new()};
    struct kndl_timer *timer = kndl_timer_new(ticks.loop, tick, &ticks);

    (void)unused;
    kndl_timer_start(timer, 0, 1);
    kndl_loop_run(ticks.loop, NULL, NULL);
    assert_int_equal(ticks.count, 3);
    kndl_timer_free(timer);
    kndl_timer_free(NULL);
    kndl_loop_free(ticks.loop);
}

struct watched {
    struct kndl_loop *loop;
    char got[8];
};

static void on_readable(int fd, short events, void *data)
{
    struct watched *watched = data;

    assert_true(events & POLLIN);
    assert_int_equal(read(fd, watched->got, sizeof watched->got), 2);
    kndl_loop_stop(watched->loop);
}

static void a_watch_tells_what_its_descriptor_can(void **unused)
{
    struct watched watched = {.loop = kndl_loop_new()};
    int ends[2];

    (void)unused;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    struct kndl_watch *watch = kndl_watch_new(watched.loop, ends[0], 0, on_readable, &watched);
    kndl_watch_events(watch, POLLIN);
    assert_int_equal(write(ends[1], "hi", 2), 2);
    kndl_loop_run(watched.loop, NULL, NULL);
    assert_memory_equal(watched.got, "hi", 2);
    kndl_watch_free(watch);
    kndl_watch_free(NULL);
    kndl_loop_free(watched.loop);
    close(ends[0]);
    close(ends[1]);
}

static void raise_term(void *data)
{
    (void)data;
    kill(getpid(), SIGTERM);
}

static void on_signal(void *data)
{
    struct ticks *ticks = data;

    ticks->count++;
    kndl_loop_stop(ticks->loop);
}

static void sigterm_is_a_callback_on_the_loop(void **unused)
{
    struct ticks ticks = {.loop = kndl_loop_new()};

    (void)unused;
    kndl_loop_post(ticks.loop, raise_term, NULL);
    kndl_loop_run(ticks.loop, on_signal, &ticks);
    assert_int_equal(ticks.count, 1);
    kndl_loop_free(ticks.loop);
}

static void a_broken_pipe_does_not_end_the_process(void **unused)
{
    struct kndl_loop *loop = kndl_loop_new();
    int ends[2];

    (void)unused;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    close(ends[0]);
    assert_int_equal(write(ends[1], "hi", 2), -1);
    close(ends[1]);
    kndl_loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_threads_post_comes_once_and_in_order),
        cmocka_unit_test(what_was_posted_and_did_not_run_runs_at_the_end),
        cmocka_unit_test(a_timer_repeats_until_it_is_freed),
        cmocka_unit_test(a_watch_tells_what_its_descriptor_can),
        cmocka_unit_test(sigterm_is_a_callback_on_the_loop),
        cmocka_unit_test(a_broken_pipe_does_not_end_the_process),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
