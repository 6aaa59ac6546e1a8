#pragma once

/*
 * A service at work: its families, lanes, workers and tasks. Private to libs/bus; one per
 * process in earnest, several in tests.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "connection.h"
#include "kndl/service.h"
#include "kndl/version.h"
#include "lane.h"
#include "subject.h"

enum {
    KNDL_WORKERS = 8,     /* of the lane for calls */
    KNDL_RAW_WORKERS = 4, /* one for each lane of raw batches */
    KNDL_FAMILIES_MAX = 5,
    KNDL_TASKS_MAX = 16,
    KNDL_METHODS_MAX = 32,
};

/* What $SRV.STATS tells of a method; any thread. */
struct method_stats {
    atomic_ullong requests;
    atomic_ullong errors;
    atomic_ullong busy_us;
    atomic_int last_code;
};

/* One service of the contract, answered on one subject. */
struct family {
    struct server *server;
    ProtobufCService *service;
    enum kndl_family kind;
    char subject[KNDL_SUBJECT_BYTES_MAX]; /* with * where it varies */
    natsSubscription *nats;
    struct method_stats stats[KNDL_METHODS_MAX];
};

struct worker {
    struct server *server;
    struct lane *lane;
    pthread_t thread;
};

struct task_thread {
    struct server *server;
    const struct kndl_task *task;
    pthread_t thread;
    pthread_mutex_t lock; /* for both below */
    pthread_cond_t changed;
    bool is_woken, stops;
};

struct server {
    const struct kndl_service *service;
    struct kndl_bus *bus;
    char user[KNDL_TOKEN_CHARS_MAX + 1]; /* the service's word */
    int64_t started_wall_ms;
    natsSubscription *inspect;  /* $SRV.> */
    atomic_ullong astray_count; /* calls dropped for their reply subject */
    atomic_llong astray_logged_ms;

    struct family families[KNDL_FAMILIES_MAX];
    size_t family_count;
    struct lane calls;
    struct lane raw[KNDL_RAW_WORKERS]; /* of a service with `raw` */
    struct worker workers[KNDL_WORKERS + KNDL_RAW_WORKERS];
    size_t worker_count;
    struct task_thread tasks[KNDL_TASKS_MAX];
    size_t task_count;

    pthread_mutex_t lock; /* for all below */
    pthread_cond_t changed;
    unsigned promises; /* that are still to be kept */
    bool stops;        /* waits end */
    bool has_failed;   /* a worker couldn't open */
};

/* Lanes and families; then its workers and tasks, once `prepare` is done; then the end. */
int server_open(struct server *server, const struct kndl_service *service, struct kndl_bus *bus,
                struct kndl_error *err);
void server_start(struct server *server);
/* Takes nothing more and answers what it has, for 10 s at most. */
void server_close(struct server *server);

void server_wake(struct server *server, const struct kndl_task *task);

/* Opens a worker's or task's state, however long it takes; false if that failed or the end came. */
bool server_open_state(struct server *server, void **ret_state);

/* Handles one message on a worker's thread; `arena` is the worker's. */
void server_handle(struct server *server, const struct job *job, void *state,
                   struct kndl_arena *arena);

/* The subscription's callback of a family. */
void server_take(natsConnection *nats, natsSubscription *sub, natsMsg *message, void *family);

void *task_run(void *task_thread);

/* $SRV.>, for `inspect`. */
int inspect_open(struct server *server, struct kndl_error *err);

/* The next pause after one of so many ms, with jitter; 0 begins. */
int64_t backoff_next(int64_t ms);
