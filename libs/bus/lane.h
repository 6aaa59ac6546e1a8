#pragma once

/*
 * A lane: a bounded queue and the workers that take from it. Private to libs/bus.
 *
 * A service has one lane for its calls. One that takes raw batches has one more for each of its
 * raw workers, so that a Session's batches keep to one worker, and calls to others.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <nats/nats.h>

/*
 * Runners are many and less trusted: together they get no more than half of the lane for calls,
 * and each of them no more than a quarter of any lane.
 */
enum {
    KNDL_LANE_MAX = 256,
    KNDL_LANE_RUNNERS_MAX = KNDL_LANE_MAX / 2,
    KNDL_LANE_RUNNER_MAX = KNDL_LANE_MAX / 4,
};

struct family;

/* One message that waits for a worker. */
struct job {
    natsMsg *message;
    struct family *family;
    int64_t deadline_ms; /* kndl_clock_ms() */
    int64_t taken_us;    /* kndl_clock_us() */
    bool is_shared;      /* a Runner's, in a lane that others need too */
    uint32_t runner;     /* hash of the Runner's id; 0: a service's */
};

enum lane_verdict { LANE_TAKEN, LANE_FULL, LANE_NOT_READY };

struct lane {
    pthread_mutex_t lock; /* for all below */
    pthread_cond_t changed;
    struct job jobs[KNDL_LANE_MAX]; /* a ring */
    unsigned first, count;
    unsigned shared_count; /* of them, those of Runners */
    unsigned ready;        /* workers that are open */
    unsigned busy;
    bool stops; /* once it is empty, its workers leave */
};

void lane_init(struct lane *lane);
void lane_done(struct lane *lane);

/* From a thread of NATS; never waits. */
enum lane_verdict lane_put(struct lane *lane, const struct job *job);

/* A worker says that it is open; waits for a job, false when it is over; says that it is done. */
void lane_ready(struct lane *lane);
bool lane_take(struct lane *lane, struct job *ret_job);
void lane_finish(struct lane *lane);

/* Waits so many ms at most until nothing waits or runs; then, or then still not, it stops. */
bool lane_wait_idle(struct lane *lane, int64_t ms);
void lane_stop(struct lane *lane);
