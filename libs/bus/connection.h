#pragma once

/* The connection's inside, private to libs/bus. Any thread, where a field doesn't say other. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <nats/nats.h>

#include "kndl/bus.h"
#include "subject.h"

/* Headers of requests and answers. */
#define KNDL_HEADER_ACTOR "Kndl-Actor"       /* person/<id>, runner/<id> or service/<word> */
#define KNDL_HEADER_TRACE "Kndl-Trace"       /* one plain token; in answers too */
#define KNDL_HEADER_TIMEOUT "Kndl-Timeout"   /* ms that the caller waits, from its sending */
#define KNDL_HEADER_DEADLINE "Kndl-Deadline" /* "<boot id> <kndl_clock_ms() of the end>" */
#define KNDL_HEADER_CODE "Nats-Service-Error-Code"
#define KNDL_HEADER_ERROR "Nats-Service-Error"

enum { KNDL_TARGETS_MAX = 64, KNDL_PENDING_BUCKETS = 256 };

struct pending;

struct kndl_bus {
    natsConnection *nats;
    char *user;
    char *runner_id;               /* NULL but for a Runner */
    struct kndl_bus_signer signer; /* .jwt NULL: its credentials are a file */
    char *inbox;                   /* _INBOX.<user>.<process>, where this process's answers come */
    natsSubscription *replies;     /* <inbox>.* */
    natsSubscription *commands;    /* of a Runner that serves some */
    atomic_bool closing;
    atomic_uint refusals; /* by the server's permissions; 0 in a process that is right */

    pthread_mutex_t lock; /* for all below */
    pthread_cond_t changed;
    struct pending *pending[KNDL_PENDING_BUCKETS]; /* by number */
    uint64_t last_number;
    int64_t next_deadline_ms; /* the timer's; INT64_MAX: nothing waits */
    bool is_closed;           /* NATS said so */
    bool timer_stops;
    pthread_t timer;

    unsigned waits_max; /* workers that may wait for one target; 0: any number */
    struct target {
        char name[65];
        unsigned waiting;
        uint64_t returned;       /* that waited here and do no more */
    } targets[KNDL_TARGETS_MAX]; /* those with waiting 0 are free */
    pthread_cond_t place_free;   /* one of them waits no more */
};

/* Fails whatever waits, because the connection is gone. */
void kndl_requests_fail(struct kndl_bus *bus, enum kndl_code code, const char *why);

/* Whom a request waits for: sessions of kndl.sessions.v1, a Runner's id for its commands. */
void kndl_request_target(const struct kndl_request *request, char target[KNDL_TOKEN_CHARS_MAX + 1]);

/* The subscription's callback for answers, and the thread that ends what waits too long. */
void kndl_requests_take(natsConnection *nats, natsSubscription *sub, natsMsg *message, void *bus);
void *kndl_requests_time(void *bus);

/* A wait of so many ms from now, as pthread_cond_timedwait on CLOCK_MONOTONIC takes it. */
struct timespec kndl_wait_until(int64_t ms);
void kndl_cond_init(pthread_cond_t *cond);

/* Wipes the payload and gives the message back. */
void kndl_message_done(natsMsg *message);
struct kndl_slice kndl_message_data(natsMsg *message);

/* The header's value, NULL if it isn't there. */
const char *kndl_message_header(natsMsg *message, const char *name);

/* What names this boot of this host, "" if nothing does: within it, monotonic clocks agree. */
const char *kndl_boot_id(void);

/* err from a status of NATS; returns -1. */
int kndl_nats_fail(struct kndl_error *err, natsStatus status, const char *what);
