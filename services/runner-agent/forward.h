#pragma once

/*
 * Takes Events from the spool to sessions, through redactor: one batch of the Session in flight,
 * the next when it was answered. The stream is opened at one instance and opened again whenever
 * that one is gone. The answer says which number is expected next: the spool forgets what is
 * before, and the next batch begins there. A Runner that no longer has it sends its first one,
 * with a note of the gap.
 *
 * Deltas go to the same instance, without an answer, while there is one.
 *
 * Belongs to the loop's thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "kndl/event/v1/event.pb-c.h"
#include "kndl/secret.h"

struct forward;
struct hub;
struct kndl_loop;
struct spool;

struct forward_options {
    struct kndl_loop *loop;
    struct hub *hub;
    struct spool *spool; /* borrowed, outlives it */
    const char *session_id;
    int64_t run;
    /* A stream is open, and what had streamed before is not known at its other end. May be NULL. */
    void (*on_opened)(void *data);
    /* All that is in the spool is stored by sessions. May be NULL. */
    void (*on_drained)(void *data);
    /* sessions refuses this run's Events for good; `why` is for the log. May be NULL. */
    void (*on_refused)(void *data, const struct kndl_error *why);
    /* Nothing of the spool was taken for waiting_after_ms, since nobody masks it; or it is taken
     * again. May be NULL. */
    void (*on_waiting)(void *data, bool is_waiting);
    uint64_t waiting_after_ms; /* 0: five seconds */
    void *data;
};

struct forward *forward_new(const struct forward_options *options);
void forward_free(struct forward *forward);

/* The mod token of the run, copied; nothing is sent before. A new one replaces it. */
void forward_set_token(struct forward *forward, const struct kndl_secret *mod_token);

/* The highest version of the Session's mask set that this Runner knows; a lower one is ignored. */
void forward_set_mask_version(struct forward *forward, int64_t version);

/* There is more in the spool. relay_at_us: when the newest of it arrived. */
void forward_wake(struct forward *forward, int64_t relay_at_us);

/* Is all of it stored? */
bool forward_is_drained(const struct forward *forward);

void forward_deltas(struct forward *forward, Kndl__Event__V1__Delta *const *pieces, size_t count,
                    const char *ended_turn_id, int64_t relay_at_us);
