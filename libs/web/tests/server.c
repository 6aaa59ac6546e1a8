#include "server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "kndl/clock.h"
#include "kndl/mem.h"

static char big[TEST_BIG_BYTES];

static void count(struct server *server, int *counter)
{
    pthread_mutex_lock(&server->lock);
    ++*counter;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

static void on_request(struct kndl_web_request *request, void *data)
{
    static const struct kndl_web_header plain[] = {{"Content-Type", "text/plain"}, {NULL, NULL}};
    struct server *server = data;
    const char *path = kndl_web_path(request);

    if (strcmp(path, "/later") == 0) {
        server->held = request;
        count(server, &server->held_count);
    } else if (strcmp(path, "/big") == 0) {
        kndl_web_answer_static(request, 200, plain, kndl_slice(big, sizeof big));
    } else if (strcmp(path, "/echo") == 0) {
        kndl_web_answer(request, 200, plain, kndl_web_body(request));
    } else if (strcmp(path, "/path of") == 0) {
        kndl_web_answer(request, 200, NULL, kndl_slice_of(kndl_web_query(request)));
    } else if (strcmp(path, "/peer") == 0) {
        kndl_web_answer(request, 200, NULL, kndl_slice_of(kndl_web_peer(request)));
    } else {
        kndl_web_answer(request, 200, plain, kndl_slice_of("hello"));
    }
}

static void on_abort(struct kndl_web_request *request, void *data)
{
    struct server *server = data;

    if (server->held == request)
        server->held = NULL;
    count(server, &server->aborted);
}

static void on_upgrade(struct kndl_web_request *request, void *data)
{
    if (strcmp(kndl_web_path(request), "/socket") == 0)
        kndl_web_upgrade(request, "test", data);
    else
        kndl_web_answer(request, 403, NULL, kndl_slice_of("no"));
}

static void on_socket_open(struct kndl_web_socket *socket, void *data)
{
    struct server *server = data;

    server->socket = socket;
    count(server, &server->opened);
}

static void on_socket_frame(struct kndl_web_socket *socket, struct kndl_slice frame, void *data)
{
    struct server *server = data;

    if (!kndl_web_socket_send(socket, frame))
        count(server, &server->refused_frames);
}

static void on_socket_drained(struct kndl_web_socket *socket, void *data)
{
    struct server *server = data;

    (void)socket;
    count(server, &server->drained);
}

static void on_socket_closed(struct kndl_web_socket *socket, void *data)
{
    struct server *server = data;

    (void)socket;
    server->socket = NULL;
    count(server, &server->closed);
}

static void on_refusal(int status, const char *why, struct kndl_web_refusal *ret, void *data)
{
    static const struct kndl_web_header headers[] = {{"X-Refused", "yes"}, {NULL, NULL}};

    (void)status;
    (void)data;
    ret->headers = headers;
    ret->body = kndl_slice_of(why);
}

static void *run(void *data)
{
    struct server *server = data;

    kndl_loop_run(server->loop, NULL, NULL);
    return NULL;
}

void server_start(struct server *server, int listen_fd)
{
    struct kndl_web_options options = {
        .address = listen_fd < 0 ? "127.0.0.1" : NULL,
        .listen_fd = listen_fd,
        .body_bytes_max = TEST_BODY_BYTES_MAX,
        .connections_of_address_max = TEST_OF_ADDRESS_MAX,
        .bodies_bytes_max = 2 * TEST_BODY_BYTES_MAX,
        .socket_frame_bytes_max = TEST_FRAME_BYTES_MAX,
        .socket_queue_bytes_max = TEST_QUEUE_BYTES_MAX,
        .data = server,
        .on_request = on_request,
        .on_abort = on_abort,
        .on_upgrade = on_upgrade,
        .on_socket_open = on_socket_open,
        .on_socket_frame = on_socket_frame,
        .on_socket_drained = on_socket_drained,
        .on_socket_closed = on_socket_closed,
        .on_refusal = on_refusal,
    };
    struct kndl_error err;

    memset(server, 0, sizeof *server);
    pthread_mutex_init(&server->lock, NULL);
    pthread_cond_init(&server->changed, NULL);
    server->loop = kndl_loop_new();
    if (kndl_web_open(server->loop, &options, &server->web, &err) < 0)
        fail_msg("%s", err.message);
    server->port = kndl_web_port(server->web);
    pthread_create(&server->thread, NULL, run, server);
}

static void close_all(struct server *server)
{
    kndl_web_close(server->web);
    kndl_loop_stop(server->loop);
}

void server_stop(struct server *server)
{
    server_do(server, close_all);
    pthread_join(server->thread, NULL);
    kndl_loop_free(server->loop);
    pthread_mutex_destroy(&server->lock);
    pthread_cond_destroy(&server->changed);
}

int server_open(void **state)
{
    *state = kndl_new0(struct server);
    server_start(*state, -1);
    return 0;
}

int server_close(void **state)
{
    server_stop(*state);
    free(*state);
    return 0;
}

struct errand {
    struct server *server;
    void (*fn)(struct server *server);
    int done;
};

static void do_errand(void *data)
{
    struct errand *errand = data;

    errand->fn(errand->server);
    count(errand->server, &errand->done);
}

void server_do(struct server *server, void (*fn)(struct server *server))
{
    struct errand errand = {server, fn, 0};

    kndl_loop_post(server->loop, do_errand, &errand);
    server_wait(server, &errand.done, 1);
}

static void shift(struct server *server)
{
    kndl_clock_shift(server->shift_ms);
}

void server_shift(struct server *server, int64_t ms)
{
    server->shift_ms = ms;
    server_do(server, shift);
}

void server_wait(struct server *server, const int *counter, int least)
{
    struct timespec deadline;
    int result = 0;

    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += 20;
    pthread_mutex_lock(&server->lock);
    while (*counter < least && result == 0)
        result = pthread_cond_timedwait(&server->changed, &server->lock, &deadline);
    bool reached = *counter >= least;
    pthread_mutex_unlock(&server->lock);
    assert_true(reached);
}

int server_read(struct server *server, const int *counter)
{
    pthread_mutex_lock(&server->lock);
    int value = *counter;
    pthread_mutex_unlock(&server->lock);
    return value;
}
