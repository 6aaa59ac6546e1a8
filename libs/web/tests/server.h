#pragma once

/* A server on a loop and thread of its own, with handlers that tests poke. */

#include <pthread.h>

#include "kndl/web.h"

enum {
    TEST_BODY_BYTES_MAX = 64 * 1024,
    TEST_FRAME_BYTES_MAX = 64 * 1024,
    TEST_QUEUE_BYTES_MAX = 256 * 1024,
    TEST_OF_ADDRESS_MAX = 2000,
    TEST_BIG_BYTES = 8 * 1024 * 1024,
};

struct server {
    struct kndl_loop *loop;
    struct kndl_web *web;
    pthread_t thread;
    int port;
    struct kndl_web_request *held;  /* loop's: of GET /later */
    struct kndl_web_socket *socket; /* loop's: the one that is open */

    pthread_mutex_t lock; /* of all below */
    pthread_cond_t changed;
    int aborted;
    int opened;
    int closed;
    int drained;
    int refused_frames; /* the queue was full */
    int held_count;
    int64_t shift_ms; /* for server_shift() */
};

/* listen_fd: -1 for a free port of 127.0.0.1. */
void server_start(struct server *server, int listen_fd);
void server_stop(struct server *server);

/* The same as a cmocka setup and teardown, on a free port. */
int server_open(void **state);
int server_close(void **state);

/* Runs on the loop and waits until it ran. */
void server_do(struct server *server, void (*fn)(struct server *server));

/* Moves the clock, on the loop, as if so much time had passed. */
void server_shift(struct server *server, int64_t ms);

/* Waits until the counter is at least that; fails the test after 20 s. */
void server_wait(struct server *server, const int *counter, int least);
int server_read(struct server *server, const int *counter);
