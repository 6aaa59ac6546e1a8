#pragma once

/*
 * The WebSocket /socket: frames of kndl.gateway.v1 both ways. A socket is a person's; its channels
 * are views of Sessions (view.c), and it may watch the list of Sessions (watch.c).
 *
 * Nothing is lost by being slow: what does not fit the queue is dropped and asked for again by
 * number, or by its version, when the queue is empty.
 */

#include "kndl/gateway/v1/frame.pb-c.h"
#include "people.h"

enum {
    SOCKET_CHANNELS_MAX = 16,
    SOCKETS_OF_PERSON_MAX = 128,
};

/* With which a socket is closed; browsers tell them apart. */
enum socket_close {
    SOCKET_CLOSE_RESTART = 1012,    /* the Hub is: come back soon */
    SOCKET_CLOSE_TRY_LATER = 1013,  /* it cannot keep up */
    SOCKET_CLOSE_BAD_FRAME = 4400,  /* a bug of the client's */
    SOCKET_CLOSE_SIGNED_OUT = 4401, /* the sign-in is over */
    SOCKET_CLOSE_DEAD = 4408,       /* no answer to a ping */
};

struct socket {
    struct gateway *gateway;
    struct kndl_web_socket *web;
    struct principal principal;
    struct socket *next; /* links gateway->sockets */
    struct socket *prev;
    struct view *views[SOCKET_CHANNELS_MAX]; /* NULL: free */
    struct watch *watch;                     /* NULL: off */
    /* When each is due again, kndl_clock_ms(). */
    int64_t tick_ms;
    int64_t ping_ms;
    int64_t credential_ms;
    int64_t heads_ms;
    struct ask *heads;      /* on its way */
    struct ask *credential; /* asked again */
    int64_t moved_ms;       /* kndl_clock_ms(): the queue was shorter than before */
    size_t queued;          /* at the last tick */
};

/* Every socket of this process. */
struct sockets {
    struct socket *first;
    struct kndl_timer *timer;
};

/* Packs and queues a frame. False: it does not fit now. */
bool socket_send(struct socket *socket, Kndl__Gateway__V1__ServerFrame *frame);

/* The channel is over, as err says: tells the client, and frees the view. */
void socket_end_view(struct socket *socket, struct view *view, const struct kndl_error *err);

void sockets_open(struct gateway *gateway);
/* The server is closed, so there are none. */
void sockets_close(struct gateway *gateway);

/* For kndl_web_upgrade(), whose socket owns it. */
struct socket *socket_new(struct gateway *gateway, const struct principal *principal);

/* How many a person has. */
int sockets_count(const struct gateway *gateway, const char *person);

/* For struct kndl_web_options; a struct socket is each one's data. */
void socket_opened(struct kndl_web_socket *web, void *socket);
void socket_frame(struct kndl_web_socket *web, struct kndl_slice frame, void *socket);
void socket_drained(struct kndl_web_socket *web, void *socket);
void socket_closed(struct kndl_web_socket *web, void *socket);

/* A person's access or sign-in changed: their sockets ask again. "": everybody's do. */
void sockets_check(struct gateway *gateway, const char *person_id);

/* Sends all away, to come back to another copy. */
void sockets_dismiss(struct gateway *gateway);
