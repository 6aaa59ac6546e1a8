/* Requests: from bytes to the handler, and the answer back. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "conn.h"
#include "handshake.h"
#include "kndl/clock.h"

enum {
    /* What an idle connection may keep of its buffers. */
    HEAD_BYTES_KEPT = 4 * 1024,
    BODY_BYTES_KEPT = 16 * 1024,
};

const char *kndl_web_method(const struct kndl_web_request *request)
{
    return request->head.method;
}

const char *kndl_web_path(const struct kndl_web_request *request)
{
    return request->head.path;
}

const char *kndl_web_query(const struct kndl_web_request *request)
{
    return request->head.query;
}

const char *kndl_web_header(const struct kndl_web_request *request, const char *name)
{
    return head_get(&request->head, name);
}

const char *kndl_web_peer(const struct kndl_web_request *request)
{
    return request->conn->peer;
}

struct kndl_slice kndl_web_body(const struct kndl_web_request *request)
{
    return kndl_buf_slice(&request->body);
}

int64_t kndl_web_received_us(const struct kndl_web_request *request)
{
    return request->received_us;
}

void kndl_web_set_data(struct kndl_web_request *request, void *data)
{
    request->data = data;
}

void *kndl_web_data(const struct kndl_web_request *request)
{
    return request->data;
}

void request_free(struct kndl_web_request *request)
{
    if (request == NULL)
        return;
    request->conn->web->body_bytes -= request->counted;
    kndl_buf_done(&request->text);
    kndl_buf_done(&request->body);
    free(request);
}

static const char *reason_of(int status)
{
    switch (status) {
    case 200:
        return "OK";
    case 204:
        return "No Content";
    case 304:
        return "Not Modified";
    case 400:
        return "Bad Request";
    case 401:
        return "Unauthorized";
    case 403:
        return "Forbidden";
    case 404:
        return "Not Found";
    case 405:
        return "Method Not Allowed";
    case 408:
        return "Request Timeout";
    case 409:
        return "Conflict";
    case 411:
        return "Length Required";
    case 413:
        return "Content Too Large";
    case 415:
        return "Unsupported Media Type";
    case 426:
        return "Upgrade Required";
    case 429:
        return "Too Many Requests";
    case 431:
        return "Request Header Fields Too Large";
    case 500:
        return "Internal Server Error";
    case 501:
        return "Not Implemented";
    case 503:
        return "Service Unavailable";
    case 505:
        return "HTTP Version Not Supported";
    default:
        return ""; /* the number says it; the phrase may be empty */
    }
}

static const char *date_of_now(struct kndl_web *web)
{
    time_t now = (time_t)(kndl_clock_wall_ms() / 1000);
    struct tm parts;

    if (now != web->date_s) {
        gmtime_r(&now, &parts);
        strftime(web->date, sizeof web->date, "%a, %d %b %Y %H:%M:%S GMT", &parts);
        web->date_s = now;
    }
    return web->date;
}

static bool is_one_line(const char *text)
{
    return strpbrk(text, "\r\n") == NULL;
}

static void write_head(struct conn *conn, int status, const struct kndl_web_header *headers,
                       size_t body_size)
{
    struct kndl_buf *out = &conn->web->scratch;

    kndl_buf_clear(out);
    kndl_buf_printf(out, "HTTP/1.1 %d %s\r\nDate: %s\r\n", status, reason_of(status),
                    date_of_now(conn->web));
    if (status != 204 && status != 304)
        kndl_buf_printf(out, "Content-Length: %zu\r\n", body_size);
    if (!conn->keeps_alive)
        kndl_buf_append_text(out, "Connection: close\r\n");
    for (; headers != NULL && headers->name != NULL; headers++) {
        if (!is_one_line(headers->name) || !is_one_line(headers->value))
            abort(); /* response splitting, by a bug of ours */
        kndl_buf_append_text(out, headers->name);
        kndl_buf_append_text(out, ": ");
        kndl_buf_append_text(out, headers->value);
        kndl_buf_append_text(out, "\r\n");
    }
    kndl_buf_append_text(out, "\r\n");
}

static void on_answered(struct conn *conn)
{
    struct kndl_web_request *request = conn->request;

    if (!conn->keeps_alive) {
        conn_linger(conn);
        return;
    }
    conn->web->body_bytes -= request->counted;
    request->counted = 0;
    kndl_buf_clear(&request->body);
    if (request->body.capacity > BODY_BYTES_KEPT)
        kndl_buf_done(&request->body);
    if (request->text.capacity > HEAD_BYTES_KEPT)
        kndl_buf_done(&request->text);
    request->data = NULL;
    conn->state = CONN_HEAD;
    conn_set_deadline(conn, conn_input(conn).size > 0 ? CONN_HEAD_MS : CONN_IDLE_MS);
    conn_go_on(conn);
}

static void answer(struct kndl_web_request *request, int status,
                   const struct kndl_web_header *headers, struct kndl_slice body, bool is_static)
{
    struct conn *conn = request->conn;
    bool is_bodiless = status == 204 || status == 304 ||
                       (request->head.method != NULL && strcmp(request->head.method, "HEAD") == 0);

    write_head(conn, status, headers, body.size);
    if (is_bodiless)
        body.size = 0;
    conn->state = CONN_ANSWERING;
    conn_write(conn, kndl_buf_slice(&conn->web->scratch), body, is_static, on_answered);
    if (conn->state == CONN_ANSWERING)
        conn_set_deadline(conn, CONN_WRITE_MS);
}

void kndl_web_answer(struct kndl_web_request *request, int status,
                     const struct kndl_web_header *headers, struct kndl_slice body)
{
    if (request->conn->state != CONN_WAITING)
        abort(); /* answered twice, by a bug of ours */
    answer(request, status, headers, body, false);
}

void kndl_web_answer_static(struct kndl_web_request *request, int status,
                            const struct kndl_web_header *headers, struct kndl_slice body)
{
    if (request->conn->state != CONN_WAITING)
        abort();
    answer(request, status, headers, body, true);
}

/* The server's own answer to what is no request, after which the connection ends. */
static void refuse(struct conn *conn, int status, const char *why)
{
    struct kndl_web *web = conn->web;
    struct kndl_web_refusal refusal = {0};

    if (web->options.on_refusal != NULL)
        web->options.on_refusal(status, why, &refusal, web->options.data);
    conn->keeps_alive = false;
    answer(conn->request, status, refusal.headers, refusal.body, false);
}

void request_timed_out(struct conn *conn)
{
    conn->request->head.method = NULL;
    refuse(conn, 408, "the request did not come in time");
}

static void hand_over(struct conn *conn)
{
    const struct kndl_web_options *options = &conn->web->options;
    bool is_upgrade = conn->request->head.socket_key != NULL && options->on_upgrade != NULL;

    conn->request->received_us = kndl_clock_us();
    conn->state = CONN_WAITING;
    conn_set_deadline(conn, 0);
    if (is_upgrade)
        options->on_upgrade(conn->request, options->data);
    else
        options->on_request(conn->request, options->data);
}

static void on_continued(struct conn *conn)
{
    (void)conn;
}

/* True: there was a head, good or bad. */
bool request_step_head(struct conn *conn)
{
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
    struct kndl_web_request *request = conn->request;
    struct kndl_slice input = conn_input(conn);
    const char *why = "";

    if (input.size == 0)
        return false;
    size_t window = input.size < HEAD_BYTES_MAX ? input.size : HEAD_BYTES_MAX;
    ssize_t end = head_find_end((const char *)input.data, window, &conn->in_scanned);
    request->head.method = NULL;
    if (end < 0) {
        refuse(conn, 400, "a line of the head does not end in CRLF");
        return true;
    }
    if (end == 0) {
        if (window < HEAD_BYTES_MAX)
            return false;
        refuse(conn, 431, "the head has more than 16384 bytes");
        return true;
    }

    kndl_buf_clear(&request->text);
    kndl_buf_append(&request->text, input.data, (size_t)end);
    conn_use(conn, (size_t)end);
    int status = head_parse(request->text.data, request->text.size, &request->head, &why);
    if (status != 0) {
        refuse(conn, status, why);
        return true;
    }
    if (request->head.length > conn->web->options.body_bytes_max) {
        refuse(conn, 413, "the body is too long");
        return true;
    }
    if (request->head.length > conn->web->options.bodies_bytes_max - conn->web->body_bytes) {
        refuse(conn, 503, "too much is asked at once");
        return true;
    }
    request->counted = request->head.length;
    conn->web->body_bytes += request->counted;
    conn->keeps_alive = request->head.keep_alive;
    conn->state = CONN_BODY;
    conn_set_deadline(conn, CONN_BODY_MS);
    if (request->head.expects_continue && request->head.length > 0 && conn_input(conn).size == 0)
        conn_write(conn, kndl_slice_of(go_on), (struct kndl_slice){0}, false, on_continued);
    return true;
}

bool request_step_body(struct conn *conn)
{
    struct kndl_web_request *request = conn->request;
    struct kndl_slice input = conn_input(conn);
    size_t missing = request->head.length - request->body.size;
    size_t size = input.size < missing ? input.size : missing;

    kndl_buf_append(&request->body, input.data, size);
    conn_use(conn, size);
    if (size < missing)
        return false;
    hand_over(conn);
    return true;
}

static void on_upgraded(struct conn *conn)
{
    (void)conn;
}

void kndl_web_upgrade(struct kndl_web_request *request, const char *subprotocol, void *user_data)
{
    struct conn *conn = request->conn;
    struct kndl_buf *out = &conn->web->scratch;
    char accept[HANDSHAKE_ACCEPT_SIZE];

    if (conn->state != CONN_WAITING || request->head.socket_key == NULL)
        abort();
    handshake_accept(request->head.socket_key, accept);
    kndl_buf_clear(out);
    kndl_buf_printf(out,
                    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                    "Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n",
                    accept);
    if (subprotocol != NULL)
        kndl_buf_printf(out, "Sec-WebSocket-Protocol: %s\r\n", subprotocol);
    kndl_buf_append_text(out, "\r\n");
    conn->request = NULL;
    request_free(request);
    socket_begin(conn, user_data);
    conn_write(conn, kndl_buf_slice(out), (struct kndl_slice){0}, false, on_upgraded);
    if (conn->web->options.on_socket_open != NULL)
        conn->web->options.on_socket_open(conn->socket, user_data);
    conn_go_on(conn);
}
