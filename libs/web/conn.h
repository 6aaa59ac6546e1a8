#pragma once

/*
 * A connection of the server: bytes in, bytes out, deadlines, and what state its conversation is
 * in. Shared by the files of this folder; all on the loop's thread.
 *
 * The struct lives until libuv's close callback; conn_close() says goodbye to the handler at once.
 */

#include <netinet/in.h>
#include <uv.h>

#include "frame.h"
#include "head.h"
#include "kndl/buf.h"
#include "kndl/web.h"

enum {
    CONN_HEAD_MS = 10 * 1000,
    CONN_BODY_MS = 30 * 1000,
    CONN_IDLE_MS = 60 * 1000,
    CONN_WRITE_MS = 30 * 1000, /* without any progress */
    CONN_LINGER_MS = 2 * 1000,
    CONN_CLOSE_MS = 5 * 1000, /* for the peer's close frame */
};

/* Addresses that share a slot share its limit: many slots, few addresses. */
enum { ADDRESS_SLOTS = 8192 };

enum conn_state {
    CONN_HEAD,           /* waits for a head; idle while nothing of it is there */
    CONN_BODY,           /* the head is parsed, the body comes */
    CONN_WAITING,        /* the handler has the request */
    CONN_ANSWERING,      /* the answer is being written */
    CONN_SOCKET,         /* a WebSocket */
    CONN_SOCKET_CLOSING, /* our close frame is queued; waits for the peer's */
    CONN_LINGERING,      /* all said; throws away what still comes, so that our last is not lost */
    CONN_CLOSED,
};

struct kndl_web_request {
    struct conn *conn;
    struct kndl_buf text; /* the head, cut up */
    struct head head;
    struct kndl_buf body;
    size_t counted; /* of web->body_bytes: the length of its body */
    int64_t received_us;
    void *data; /* the handler's */
};

struct kndl_web_socket {
    struct conn *conn;
    void *user_data;
    struct frame_reader reader;
    bool was_full; /* a send was refused since the queue was empty */
};

struct conn {
    uv_tcp_t tcp;
    struct kndl_web *web;
    struct conn *next; /* links web->conns */
    struct conn *prev;
    enum conn_state state;
    int64_t heard_ms;      /* kndl_clock_ms(): something came */
    int64_t deadline_ms;   /* kndl_clock_ms(): then it is closed; 0: none */
    size_t written_left;   /* of the write queue when the deadline was set */
    struct kndl_buf later; /* what goes out once the write under way has ended, in one piece */
    void (*later_then)(struct conn *conn);
    struct kndl_buf in; /* what came and was not used */
    size_t in_at;       /* where the unused begins */
    size_t in_scanned;  /* of the unused: searched for the end of a head */
    bool is_reading;    /* libuv reads */
    bool is_going_on;   /* conn_go_on() is on the stack */
    bool is_broken;     /* a write failed: the next sweep closes it, never a caller's call */
    bool keeps_alive;   /* after this answer */
    struct kndl_web_request *request; /* NULL once it is a socket */
    struct kndl_web_socket *socket;   /* NULL until then */
    char peer[INET6_ADDRSTRLEN];
    uint16_t *of_address; /* the slot of its address; NULL: not counted */
};

struct kndl_web {
    struct kndl_loop *loop;
    struct kndl_web_options options;
    uv_tcp_t listener;
    uv_timer_t sweeper; /* looks for deadlines that passed */
    struct conn *conns;
    size_t conn_count;
    uint16_t of_address[ADDRESS_SLOTS]; /* connections, by the hash of their address */
    size_t body_bytes;                  /* of all requests, by what they said they have */
    unsigned handles;                   /* not yet closed: it is freed after the last */
    int port;
    bool is_closed;
    int64_t date_s; /* of which second `date` is */
    char date[40];
    struct kndl_buf scratch; /* an answer's head */
    char input[64 * 1024];   /* what libuv reads into */
};

/* server.c */
void web_release(struct kndl_web *web);

/* conn.c */
void conn_accept(struct kndl_web *web);
void conn_close(struct conn *conn);
void conn_sweep(struct conn *conn, int64_t now_ms);
void conn_set_deadline(struct conn *conn, int64_t after_ms);
/* Uses what came, as far as the state allows. */
void conn_go_on(struct conn *conn);
/* Sends up to two pieces; the second is copied, unless is_static, if it cannot go at once. `then`
 * runs once all is written, perhaps before this returns; never if that fails. */
void conn_write(struct conn *conn, struct kndl_slice first, struct kndl_slice second,
                bool is_static, void (*then)(struct conn *conn));
/* As conn_write(), for many small ones: behind one that is under way they leave together. */
void conn_append(struct conn *conn, struct kndl_slice first, struct kndl_slice second,
                 void (*then)(struct conn *conn));
/* Bytes that wait to be written. */
size_t conn_queued(const struct conn *conn);
/* Ends it politely: what was queued is written, then a FIN. */
void conn_linger(struct conn *conn);
struct kndl_slice conn_input(struct conn *conn);
void conn_use(struct conn *conn, size_t size);

/* request.c */
bool request_step_head(struct conn *conn);
bool request_step_body(struct conn *conn);
void request_timed_out(struct conn *conn);
void request_free(struct kndl_web_request *request);

/* socket.c */
void socket_begin(struct conn *conn, void *user_data);
bool socket_step(struct conn *conn);
void socket_free(struct kndl_web_socket *socket);
