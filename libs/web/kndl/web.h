#pragma once

/*
 * An HTTP/1.1 and WebSocket server on a kndl_loop, strict where others are lenient: a request that
 * two readers could read differently is refused. Bodies without a length are 411 (so is every
 * Transfer-Encoding), too long ones 413, heads over 16 KiB or 100 fields 431; 400 for bare line
 * feeds, folded lines, control bytes, spaces in names, doubled Host, Content-Length and the like,
 * dot segments and encoded slashes. A head must be here 10 s after its first byte and a body 30 s
 * after its head, absolutely; an answer that nobody reads for 30 s ends the connection. No HTTP/2,
 * no compression, no redirects. Of WebSocket frames: unmasked, text, RSV and oversized ones close
 * the socket.
 *
 * Everything runs on the loop's thread. Requests and sockets are owned by the server; a handler
 * holds them by pointer until it answered, or until on_abort or on_socket_closed was called for
 * them. Every buffer is capped.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kndl/error.h"
#include "kndl/loop.h"
#include "kndl/slice.h"

struct kndl_web;
struct kndl_web_request;
struct kndl_web_socket;

/* One header of an answer. Values with CR, LF or NUL abort (a bug of ours). */
struct kndl_web_header {
    const char *name;
    const char *value;
};

/* The rest of an answer that the server gives by itself. */
struct kndl_web_refusal {
    const struct kndl_web_header *headers; /* end with a NULL name; NULL: none */
    struct kndl_slice body;
};

struct kndl_web_options {
    const char *address;    /* an IPv4 address to listen on; NULL with listen_fd */
    int port;               /* 0: any free one; kndl_web_port() tells */
    int listen_fd;          /* a listening socket that is already there, else -1; kept open */
    size_t body_bytes_max;  /* a longer request is 413 */
    size_t connections_max; /* more are closed as they come; 0: 12,000 */
    unsigned connections_of_address_max; /* likewise of one address; 0: no limit */
    size_t bodies_bytes_max; /* of all requests that are here at once, else 503; 0: 256 MiB */
    size_t socket_frame_bytes_max;
    size_t socket_queue_bytes_max; /* over it kndl_web_socket_send() refuses */
    void *data;                    /* for the callbacks */

    /* A whole request is here, body and all. Answer now, or later with kndl_web_answer(). */
    void (*on_request)(struct kndl_web_request *request, void *data);

    /* The client went away before the answer; do not touch it again. May be NULL. */
    void (*on_abort)(struct kndl_web_request *request, void *data);

    /*
     * An upgrade to a WebSocket asks to be let in, by kndl_web_upgrade(), or refused, by
     * kndl_web_answer(); now or later. NULL: it goes to on_request like any other GET.
     */
    void (*on_upgrade)(struct kndl_web_request *request, void *data);
    void (*on_socket_open)(struct kndl_web_socket *socket, void *user_data);
    void (*on_socket_frame)(struct kndl_web_socket *socket, struct kndl_slice frame, /* binary */
                            void *user_data);
    void (*on_socket_drained)(struct kndl_web_socket *socket, void *user_data); /* queue is empty */
    void (*on_socket_closed)(struct kndl_web_socket *socket, void *user_data);

    /*
     * The server itself refuses what never became a request (400, 411, 413, 431 …): what to say
     * besides the status. Borrowed until the next call. NULL: nothing but the status.
     */
    void (*on_refusal)(int status, const char *why, struct kndl_web_refusal *ret, void *data);
};

/* Fails with KNDL_UNAVAILABLE if the address cannot be listened on, naming it. Several servers
 * may share a loop. */
int kndl_web_open(struct kndl_loop *loop, const struct kndl_web_options *options,
                  struct kndl_web **ret_web, struct kndl_error *err);
int kndl_web_port(const struct kndl_web *web);
void kndl_web_close(struct kndl_web *web);

/* What a request says. Borrowed, valid until it is answered; headers by lower-case name, NULL if
 * absent. */
const char *kndl_web_method(const struct kndl_web_request *request);
const char *kndl_web_path(const struct kndl_web_request *request);  /* decoded, without the query */
const char *kndl_web_query(const struct kndl_web_request *request); /* raw, "" if none */
const char *kndl_web_header(const struct kndl_web_request *request, const char *name);
const char *kndl_web_peer(const struct kndl_web_request *request); /* its address */
struct kndl_slice kndl_web_body(const struct kndl_web_request *request);
int64_t
kndl_web_received_us(const struct kndl_web_request *request); /* last byte, kndl_clock_us() */
void kndl_web_set_data(struct kndl_web_request *request, void *data);
void *kndl_web_data(const struct kndl_web_request *request);

/* Answers, once; body is copied. headers end with a NULL name and may be NULL. */
void kndl_web_answer(struct kndl_web_request *request, int status,
                     const struct kndl_web_header *headers, struct kndl_slice body);

/* As kndl_web_answer() for a body that outlives the server (files in memory): not copied. */
void kndl_web_answer_static(struct kndl_web_request *request, int status,
                            const struct kndl_web_header *headers, struct kndl_slice body);

/*
 * Lets an upgrade in: on_socket_open is called before this returns. The request is over. A browser
 * that offers subprotocols wants one of them back; NULL: none.
 */
void kndl_web_upgrade(struct kndl_web_request *request, const char *subprotocol, void *user_data);

/*
 * Queues a binary frame, copied. False: the queue is full; nothing was queued, and
 * on_socket_drained tells when it is empty.
 */
bool kndl_web_socket_send(struct kndl_web_socket *socket, struct kndl_slice frame);
/* Sends a ping, which the client's WebSocket answers by itself, even while its page sleeps. */
void kndl_web_socket_ping(struct kndl_web_socket *socket);
int64_t kndl_web_socket_heard_ms(const struct kndl_web_socket *socket); /* kndl_clock_ms(): last */
size_t kndl_web_socket_queued(const struct kndl_web_socket *socket);    /* bytes */
/* Closes with a status (1000, 1013 …); no frame comes any more, and on_socket_closed follows, never
 * before this returned. A second call does nothing. */
void kndl_web_socket_close(struct kndl_web_socket *socket, int status);
