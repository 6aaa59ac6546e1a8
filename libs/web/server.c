/* The server: its listening socket and the sweep over its connections. */

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "conn.h"
#include "kndl/clock.h"
#include "kndl/mem.h"
#include "loop_uv.h"

enum {
    BACKLOG = 512,
    CONNECTIONS_MAX = 12000,
    BODIES_BYTES_MAX = 256 * 1024 * 1024,
    SWEEP_MS = 250,
};

void web_release(struct kndl_web *web)
{
    if (--web->handles > 0)
        return;
    kndl_buf_done(&web->scratch);
    free(web);
}

static void on_handle_closed(uv_handle_t *handle)
{
    web_release(handle->data);
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct kndl_web *web = listener->data;

    if (status == 0)
        conn_accept(web);
}

static void sweep(uv_timer_t *timer)
{
    struct kndl_web *web = timer->data;
    int64_t now_ms = kndl_clock_ms();
    struct conn *next;

    for (struct conn *conn = web->conns; conn != NULL; conn = next) {
        next = conn->next; /* closing one calls its handler, which closes no other */
        conn_sweep(conn, now_ms);
    }
}

/* Takes a copy of the caller's listening socket, or makes one. A libuv error or 0. */
static int take_socket(struct kndl_web *web)
{
    struct sockaddr_in address4;
    struct sockaddr_in6 address6;
    int result;

    if (web->options.listen_fd >= 0) {
        int copy = fcntl(web->options.listen_fd, F_DUPFD_CLOEXEC, 3);

        if (copy < 0)
            return uv_translate_sys_error(errno);
        if ((result = uv_tcp_open(&web->listener, copy)) < 0)
            close(copy);
        return result;
    }
    if (uv_ip4_addr(web->options.address, web->options.port, &address4) == 0)
        return uv_tcp_bind(&web->listener, (struct sockaddr *)&address4, 0);
    if ((result = uv_ip6_addr(web->options.address, web->options.port, &address6)) < 0)
        return result;
    return uv_tcp_bind(&web->listener, (struct sockaddr *)&address6, UV_TCP_IPV6ONLY);
}

static int find_port(const struct kndl_web *web)
{
    struct sockaddr_storage address = {0};
    int size = sizeof address;

    if (uv_tcp_getsockname(&web->listener, (struct sockaddr *)&address, &size) < 0)
        return 0;
    if (address.ss_family == AF_INET6)
        return ntohs(((struct sockaddr_in6 *)&address)->sin6_port);
    return address.ss_family == AF_INET ? ntohs(((struct sockaddr_in *)&address)->sin_port) : 0;
}

int kndl_web_open(struct kndl_loop *loop, const struct kndl_web_options *options,
                  struct kndl_web **ret_web, struct kndl_error *err)
{
    struct kndl_web *web = kndl_new0(struct kndl_web);
    int result;

    assert(options->on_request != NULL);
    web->loop = loop;
    web->options = *options;
    if (web->options.connections_max == 0)
        web->options.connections_max = CONNECTIONS_MAX;
    if (web->options.bodies_bytes_max == 0)
        web->options.bodies_bytes_max = BODIES_BYTES_MAX;
    uv_tcp_init(loop_uv(loop), &web->listener);
    uv_timer_init(loop_uv(loop), &web->sweeper);
    web->listener.data = web->sweeper.data = web;
    web->handles = 2;

    if ((result = take_socket(web)) < 0 ||
        (result = uv_listen((uv_stream_t *)&web->listener, BACKLOG, on_connection)) < 0) {
        kndl_web_close(web);
        if (options->listen_fd >= 0)
            return kndl_fail(err, KNDL_UNAVAILABLE, "cannot listen on the socket given: %s",
                             uv_strerror(result));
        return kndl_fail(err, KNDL_UNAVAILABLE, "cannot listen on %s port %d: %s", options->address,
                         options->port, uv_strerror(result));
    }
    web->port = find_port(web);
    web->options.address = NULL; /* was borrowed */
    uv_timer_start(&web->sweeper, sweep, SWEEP_MS, SWEEP_MS);
    *ret_web = web;
    return 0;
}

int kndl_web_port(const struct kndl_web *web)
{
    return web->port;
}

void kndl_web_close(struct kndl_web *web)
{
    if (web == NULL)
        return;
    assert(!web->is_closed);
    web->is_closed = true;
    while (web->conns != NULL)
        conn_close(web->conns);
    uv_close((uv_handle_t *)&web->listener, on_handle_closed);
    uv_close((uv_handle_t *)&web->sweeper, on_handle_closed);
}
