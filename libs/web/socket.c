/* WebSockets: frames in, frames out, and how they end. */

#include <stdlib.h>

#include "conn.h"
#include "kndl/mem.h"

void socket_free(struct kndl_web_socket *socket)
{
    if (socket == NULL)
        return;
    frame_reader_done(&socket->reader);
    free(socket);
}

void socket_begin(struct conn *conn, void *user_data)
{
    conn->socket = kndl_new0(struct kndl_web_socket);
    conn->socket->conn = conn;
    conn->socket->user_data = user_data;
    conn->socket->reader.bytes_max = conn->web->options.socket_frame_bytes_max;
    conn->state = CONN_SOCKET;
    conn_set_deadline(conn, 0);
}

static void on_sent(struct conn *conn)
{
    const struct kndl_web_options *options = &conn->web->options;

    if (conn->state != CONN_SOCKET || !conn->socket->was_full || conn_queued(conn) > 0)
        return;
    conn->socket->was_full = false;
    if (options->on_socket_drained != NULL)
        options->on_socket_drained(conn->socket, conn->socket->user_data);
}

size_t kndl_web_socket_queued(const struct kndl_web_socket *socket)
{
    return conn_queued(socket->conn);
}

static void send_frame(struct kndl_web_socket *socket, enum frame_opcode opcode,
                       struct kndl_slice payload)
{
    uint8_t header[FRAME_HEADER_BYTES_MAX];
    size_t size = frame_write_header(header, opcode, payload.size);

    conn_append(socket->conn, kndl_slice(header, size), payload, on_sent);
}

bool kndl_web_socket_send(struct kndl_web_socket *socket, struct kndl_slice frame)
{
    size_t most = socket->conn->web->options.socket_queue_bytes_max;
    size_t queued = kndl_web_socket_queued(socket);

    if (socket->conn->state != CONN_SOCKET)
        return false;
    if (queued > most || frame.size > most - queued) {
        socket->was_full = true;
        return false;
    }
    if (queued == 0)
        socket->was_full = false; /* no drain is due: on_sent() must not call back from here */
    send_frame(socket, FRAME_BINARY, frame);
    return true;
}

void kndl_web_socket_ping(struct kndl_web_socket *socket)
{
    if (socket->conn->state == CONN_SOCKET)
        send_frame(socket, FRAME_PING, (struct kndl_slice){0});
}

int64_t kndl_web_socket_heard_ms(const struct kndl_web_socket *socket)
{
    return socket->conn->heard_ms;
}

void kndl_web_socket_close(struct kndl_web_socket *socket, int status)
{
    struct conn *conn = socket->conn;
    uint8_t payload[2] = {(uint8_t)(status >> 8), (uint8_t)status};

    if (conn->state != CONN_SOCKET)
        return;
    conn->state = CONN_SOCKET_CLOSING;
    conn_set_deadline(conn, CONN_CLOSE_MS);
    send_frame(socket, FRAME_CLOSE, kndl_slice(payload, sizeof payload));
}

/* The peer closes: its status is answered, and the connection ends. */
static void take_close(struct conn *conn, struct kndl_slice payload)
{
    if (conn->state == CONN_SOCKET)
        send_frame(conn->socket, FRAME_CLOSE, kndl_slice(payload.data, payload.size < 2 ? 0 : 2));
    conn_linger(conn);
}

static bool take_control(struct conn *conn, const struct frame *frame)
{
    if (frame->opcode == FRAME_CLOSE) {
        take_close(conn, frame->payload);
        return false;
    }
    if (frame->opcode == FRAME_PING && conn->state == CONN_SOCKET) {
        /* Pings without reading the pongs are somebody filling our memory. */
        if (kndl_web_socket_queued(conn->socket) >
            conn->web->options.socket_queue_bytes_max + FRAME_CONTROL_BYTES_MAX) {
            conn_close(conn);
            return false;
        }
        send_frame(conn->socket, FRAME_PONG, frame->payload);
    }
    return conn->state != CONN_CLOSED;
}

bool socket_step(struct conn *conn)
{
    const struct kndl_web_options *options = &conn->web->options;
    struct kndl_slice input = conn_input(conn);
    struct frame frame = {0};
    size_t used;

    switch (frame_next(&conn->socket->reader, (uint8_t *)input.data, input.size, &used, &frame)) {
    case FRAME_MORE:
        return false;
    case FRAME_PART:
        conn_use(conn, used);
        return true;
    case FRAME_CONTROL:
        conn_use(conn, used);
        return take_control(conn, &frame);
    case FRAME_MESSAGE:
        conn_use(conn, used);
        if (conn->state == CONN_SOCKET)
            options->on_socket_frame(conn->socket, frame.payload, conn->socket->user_data);
        return conn->state != CONN_CLOSED;
    case FRAME_BROKEN:
        kndl_web_socket_close(conn->socket, frame.status);
        conn_linger(conn); /* what follows cannot be read any more */
        return false;
    }
    return false;
}
