/* Connections: reading, writing, deadlines, closing. What the bytes mean is request.c's and
 * socket.c's. */

#include "conn.h"

#include <stdlib.h>
#include <string.h>

#include "kndl/clock.h"
#include "kndl/mem.h"

enum {
    /* Unused input at which reading stops: pipelined requests, or frames that come faster. */
    INPUT_BYTES_MAX = 128 * 1024,
    /* What an idle connection may keep of its buffer. */
    INPUT_BYTES_KEPT = 4 * 1024,
};

/* A write that could not go at once. */
struct pending_write {
    uv_write_t uv;
    struct conn *conn;
    void (*then)(struct conn *conn);
    struct kndl_buf own; /* what is written, but for static bytes */
};

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer);

static void lend_input(uv_handle_t *handle, size_t suggested, uv_buf_t *ret)
{
    struct conn *conn = handle->data;

    (void)suggested;
    *ret = uv_buf_init(conn->web->input, sizeof conn->web->input);
}

static void set_reading(struct conn *conn, bool on)
{
    if (conn->is_reading == on)
        return;
    conn->is_reading = on;
    if (on)
        uv_read_start((uv_stream_t *)&conn->tcp, lend_input, on_read);
    else
        uv_read_stop((uv_stream_t *)&conn->tcp);
}

void conn_set_deadline(struct conn *conn, int64_t after_ms)
{
    conn->deadline_ms = after_ms == 0 ? 0 : kndl_clock_ms() + after_ms;
    conn->written_left = uv_stream_get_write_queue_size((uv_stream_t *)&conn->tcp);
}

struct kndl_slice conn_input(struct conn *conn)
{
    return kndl_slice(conn->in.data + conn->in_at, conn->in.size - conn->in_at);
}

void conn_use(struct conn *conn, size_t size)
{
    conn->in_at += size;
    conn->in_scanned = 0;
}

/* Once per read, so that many small requests in one read are not moved many times. */
static void compact_input(struct conn *conn)
{
    if (conn->in_at == 0)
        return;
    kndl_buf_consume(&conn->in, conn->in_at);
    conn->in_at = 0;
    if (conn->in.size == 0 && conn->in.capacity > INPUT_BYTES_KEPT)
        kndl_buf_done(&conn->in);
}

static bool step(struct conn *conn)
{
    switch (conn->state) {
    case CONN_HEAD:
        return request_step_head(conn);
    case CONN_BODY:
        return request_step_body(conn);
    case CONN_SOCKET:
    case CONN_SOCKET_CLOSING:
        return socket_step(conn);
    case CONN_LINGERING:
        conn_use(conn, conn_input(conn).size);
        return false;
    case CONN_WAITING:
    case CONN_ANSWERING:
    case CONN_CLOSED:
        return false;
    }
    return false;
}

void conn_go_on(struct conn *conn)
{
    if (conn->is_going_on)
        return;
    conn->is_going_on = true;
    while (step(conn))
        ;
    conn->is_going_on = false;
    if (conn->state == CONN_CLOSED)
        return;
    compact_input(conn);
    /* A frame or body that is still coming has its own limit; more than that is not read. */
    set_reading(conn, conn->in.size < INPUT_BYTES_MAX || conn->state == CONN_SOCKET);
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    struct conn *conn = stream->data;

    if (size < 0) {
        conn_close(conn);
        return;
    }
    if (size == 0)
        return;
    if (conn->state == CONN_HEAD && conn->in.size == 0)
        conn_set_deadline(conn, CONN_HEAD_MS);
    conn->heard_ms = kndl_clock_ms();
    kndl_buf_append(&conn->in, buffer->base, (size_t)size);
    conn_go_on(conn);
}

static void write_later(struct conn *conn);

static void on_written(uv_write_t *uv, int status)
{
    struct pending_write *write = uv->data;
    struct conn *conn = write->conn;
    void (*then)(struct conn *) = write->then;

    kndl_buf_done(&write->own);
    free(write);
    if (conn->state == CONN_CLOSED)
        return;
    if (status < 0) {
        conn_close(conn);
        return;
    }
    write_later(conn);
    then(conn);
}

/* Takes `own`, which goes first. */
static void begin_write(struct conn *conn, struct kndl_buf *own, struct kndl_slice unowned,
                        void (*then)(struct conn *conn))
{
    struct pending_write *write = kndl_new0(struct pending_write);
    uv_buf_t buffers[2];

    write->conn = conn;
    write->then = then;
    write->uv.data = write;
    write->own = *own;
    *own = (struct kndl_buf){0};
    buffers[0] = uv_buf_init(write->own.data, (unsigned)write->own.size);
    buffers[1] = uv_buf_init((char *)unowned.data, (unsigned)unowned.size);
    if (uv_write(&write->uv, (uv_stream_t *)&conn->tcp, buffers, unowned.size > 0 ? 2 : 1,
                 on_written) < 0) {
        kndl_buf_done(&write->own);
        free(write);
        conn->is_broken = true;
    }
}

static void write_later(struct conn *conn)
{
    if (conn->later.size > 0 && !conn->is_broken)
        begin_write(conn, &conn->later, (struct kndl_slice){0}, conn->later_then);
}

/* The rest of two pieces after `sent` bytes of them. */
static void skip(struct kndl_slice pieces[2], size_t sent)
{
    for (int i = 0; i < 2; i++) {
        size_t size = sent < pieces[i].size ? sent : pieces[i].size;

        pieces[i] = kndl_slice(pieces[i].data + size, pieces[i].size - size);
        sent -= size;
    }
}

void conn_write(struct conn *conn, struct kndl_slice first, struct kndl_slice second,
                bool is_static, void (*then)(struct conn *conn))
{
    uv_stream_t *stream = (uv_stream_t *)&conn->tcp;
    struct kndl_slice pieces[2] = {first, second};
    uv_buf_t buffers[2];

    if (conn->is_broken)
        return;
    if (uv_stream_get_write_queue_size(stream) == 0) {
        for (int i = 0; i < 2; i++)
            buffers[i] = uv_buf_init((char *)pieces[i].data, (unsigned)pieces[i].size);
        int sent = uv_try_write(stream, buffers, second.size > 0 ? 2 : 1);
        if (sent < 0 && sent != UV_EAGAIN) {
            conn->is_broken = true;
            return;
        }
        if (sent > 0)
            skip(pieces, (size_t)sent);
        if (pieces[0].size + pieces[1].size == 0) {
            then(conn);
            return;
        }
    }

    struct kndl_buf own = {0};
    kndl_buf_append(&own, pieces[0].data, pieces[0].size);
    if (!is_static)
        kndl_buf_append(&own, pieces[1].data, pieces[1].size);
    begin_write(conn, &own, is_static ? pieces[1] : (struct kndl_slice){0}, then);
}

void conn_append(struct conn *conn, struct kndl_slice first, struct kndl_slice second,
                 void (*then)(struct conn *conn))
{
    if (conn_queued(conn) == 0) {
        conn_write(conn, first, second, false, then);
        return;
    }
    kndl_buf_append(&conn->later, first.data, first.size);
    kndl_buf_append(&conn->later, second.data, second.size);
    conn->later_then = then;
}

size_t conn_queued(const struct conn *conn)
{
    return uv_stream_get_write_queue_size((const uv_stream_t *)&conn->tcp) + conn->later.size;
}

static void on_shut_down(uv_shutdown_t *shutdown, int status)
{
    struct conn *conn = shutdown->data;

    free(shutdown);
    if (status < 0 && conn->state != CONN_CLOSED)
        conn_close(conn);
}

void conn_linger(struct conn *conn)
{
    uv_shutdown_t *shutdown = kndl_new0(uv_shutdown_t);

    write_later(conn);
    conn->state = CONN_LINGERING;
    conn_set_deadline(conn, CONN_LINGER_MS);
    shutdown->data = conn;
    if (uv_shutdown(shutdown, (uv_stream_t *)&conn->tcp, on_shut_down) < 0) {
        free(shutdown);
        conn->is_broken = true;
        return;
    }
    conn_go_on(conn);
}

void conn_sweep(struct conn *conn, int64_t now_ms)
{
    size_t left = uv_stream_get_write_queue_size((uv_stream_t *)&conn->tcp);

    if (conn->is_broken) {
        conn_close(conn);
        return;
    }
    if (conn->deadline_ms == 0 || now_ms < conn->deadline_ms)
        return;
    if (conn->state == CONN_ANSWERING && left < conn->written_left)
        conn_set_deadline(conn, CONN_WRITE_MS); /* slow, but it reads */
    else if (conn->state == CONN_BODY || (conn->state == CONN_HEAD && conn->in.size > 0))
        request_timed_out(conn);
    else
        conn_close(conn);
}

static void on_closed(uv_handle_t *handle)
{
    struct conn *conn = handle->data;
    struct kndl_web *web = conn->web;

    kndl_buf_done(&conn->in);
    kndl_buf_done(&conn->later);
    request_free(conn->request);
    socket_free(conn->socket);
    free(conn);
    web_release(web);
}

void conn_close(struct conn *conn)
{
    struct kndl_web *web = conn->web;
    enum conn_state state = conn->state;

    if (state == CONN_CLOSED)
        return;
    conn->state = CONN_CLOSED;
    if (conn->prev != NULL)
        conn->prev->next = conn->next;
    else
        web->conns = conn->next;
    if (conn->next != NULL)
        conn->next->prev = conn->prev;
    web->conn_count--;
    if (conn->of_address != NULL)
        --*conn->of_address;
    uv_close((uv_handle_t *)&conn->tcp, on_closed);

    if (state == CONN_WAITING && web->options.on_abort != NULL)
        web->options.on_abort(conn->request, web->options.data);
    if (conn->socket != NULL && web->options.on_socket_closed != NULL)
        web->options.on_socket_closed(conn->socket, conn->socket->user_data);
}

static void name_peer(struct conn *conn)
{
    struct sockaddr_storage address = {0};
    int size = sizeof address;

    if (uv_tcp_getpeername(&conn->tcp, (struct sockaddr *)&address, &size) < 0)
        return;
    if (address.ss_family == AF_INET)
        uv_ip4_name((struct sockaddr_in *)&address, conn->peer, sizeof conn->peer);
    else if (address.ss_family == AF_INET6)
        uv_ip6_name((struct sockaddr_in6 *)&address, conn->peer, sizeof conn->peer);
}

/* False: its address has too many. */
static bool count_address(struct conn *conn)
{
    struct kndl_web *web = conn->web;
    unsigned slot = 2166136261;

    if (web->options.connections_of_address_max == 0)
        return true;
    for (const char *c = conn->peer; *c != '\0'; c++)
        slot = (slot ^ (unsigned char)*c) * 16777619;
    conn->of_address = &web->of_address[slot % ADDRESS_SLOTS];
    return ++*conn->of_address <= web->options.connections_of_address_max;
}

void conn_accept(struct kndl_web *web)
{
    struct conn *conn = kndl_new0(struct conn);

    conn->web = web;
    conn->state = CONN_HEAD;
    conn->tcp.data = conn;
    conn->request = kndl_new0(struct kndl_web_request);
    conn->request->conn = conn;
    uv_tcp_init(web->listener.loop, &conn->tcp);
    web->handles++;
    conn->next = web->conns;
    if (conn->next != NULL)
        conn->next->prev = conn;
    web->conns = conn;
    web->conn_count++;

    if (uv_accept((uv_stream_t *)&web->listener, (uv_stream_t *)&conn->tcp) < 0 ||
        web->conn_count > web->options.connections_max) {
        conn_close(conn);
        return;
    }
    name_peer(conn);
    if (!count_address(conn)) {
        conn_close(conn);
        return;
    }
    uv_tcp_nodelay(&conn->tcp, 1);
    conn_set_deadline(conn, CONN_HEAD_MS);
    set_reading(conn, true);
}
