#pragma once

/*
 * An HTTP/1.1 and WebSocket server on a kndl_loop. The only door to libwebsockets, whose traps
 * (c-stack.md 4) are closed here: bodies without a length are 411, too long ones 413, header
 * budget 16 KiB (431), absolute deadline of 10 s for a header and 30 s for a body, IPv6 off where
 * the address is IPv4, no HTTP/2, no extensions, no redirects, header values checked for CR and
 * LF, unmasked frames and text frames refused, HEAD without a body.
 *
 * Everything runs on the loop's thread. Requests and sockets are owned by the server; a handler
 * holds them by pointer until `closed` was called for them. Every buffer is capped.
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

struct kndl_web_options {
    const char *address;   /* an IPv4 address to listen on; NULL with listen_fd */
    int port;              /* 0: any free one; kndl_web_port() tells */
    int listen_fd;         /* a listening socket that is already there, else -1; kept open */
    size_t body_bytes_max; /* a longer request is 413 */
    size_t socket_frame_bytes_max;
    size_t socket_queue_bytes_max; /* over it kndl_web_socket_send() refuses */
    void *data;                    /* for the callbacks */

    /* A whole request is here, body and all. Answer now, or later with kndl_web_answer(). */
    void (*on_request)(struct kndl_web_request *request, void *data);

    /* The client went away before the answer; do not touch it again. May be NULL. */
    void (*on_abort)(struct kndl_web_request *request, void *data);

    /*
     * An upgrade to a WebSocket asks to be let in: 0, or an HTTP status to refuse it with. What
     * the request says is read with the functions below. Sets *ret_user_data for the socket.
     */
    int (*on_upgrade)(struct kndl_web_request *request, void **ret_user_data, void *data);
    void (*on_socket_open)(struct kndl_web_socket *socket, void *user_data);
    void (*on_socket_frame)(struct kndl_web_socket *socket, struct kndl_slice frame, /* binary */
                            void *user_data);
    void (*on_socket_drained)(struct kndl_web_socket *socket, void *user_data); /* queue is empty */
    void (*on_socket_closed)(struct kndl_web_socket *socket, void *user_data);
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

/* One header of an answer. Values with CR, LF or NUL abort (a bug of ours). */
struct kndl_web_header {
    const char *name;
    const char *value;
};

/* Answers, once; body is copied. headers end with a NULL name and may be NULL. */
void kndl_web_answer(struct kndl_web_request *request, int status,
                     const struct kndl_web_header *headers, struct kndl_slice body);

/* As kndl_web_answer() for a body that outlives the server (files in memory): not copied. */
void kndl_web_answer_static(struct kndl_web_request *request, int status,
                            const struct kndl_web_header *headers, struct kndl_slice body);

/*
 * Queues a binary frame, copied. False: the queue is full; nothing was queued, and
 * on_socket_drained tells when it is empty.
 */
bool kndl_web_socket_send(struct kndl_web_socket *socket, struct kndl_slice frame);
size_t kndl_web_socket_queued(const struct kndl_web_socket *socket); /* bytes */
/* Closes with a status (1000, 1013 …); on_socket_closed follows. */
void kndl_web_socket_close(struct kndl_web_socket *socket, int status);
