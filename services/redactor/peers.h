#pragma once

/*
 * What redactor asks of others: secrets, for what to mask and to count what was (it waits for it);
 * sessions, to store what is masked (and never waits for it: the answer comes to a callback).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kndl/event/v1/event.pb-c.h"
#include "kndl/slice.h"

struct kndl_bus;
struct kndl_call;
struct kndl_promise;
struct masks;
struct redactor;
struct report;

/* Whose values: a run of a Session on a Runner, a Session, or what one would have. */
struct whose {
    const char *session_id; /* NULL: creator and Repo */
    int64_t run;            /* 0: not of a run */
    const char *runner_id;  /* of a run */
    const char *creator_id;
    int64_t repo_id;
    struct masks *known; /* of a Session: NULL, or what is known already */
    const char *canary;  /* NULL, or one more value; then nothing is counted */
};

/*
 * What to mask (the caller's reference; that of what is known, if it is that still), of a version
 * that is at_least this. Fails into call->err: KNDL_NOT_FOUND if that run is not that Runner's, and
 * for all else KNDL_UNAVAILABLE: the values cannot be learnt, and nothing may leave.
 */
int peers_get_masks(struct redactor *redactor, struct kndl_call *call, const struct whose *whose,
                    int64_t at_least, struct masks **ret_masks);

/* 0: secrets has counted it. */
int peers_report_hits(struct kndl_bus *bus, struct kndl_call *call, const struct report *report);

/* A masked batch on its way to be stored. */
struct masked_batch {
    const char *runner_id;
    const char *session_id;
    int64_t run;
    int64_t first_n;
    Kndl__Event__V1__Event **events;
    size_t count;
    struct kndl_slice mod_token_hash;
    bool gap;
    int64_t relay_at_us;
};

/* Sends it and returns; sessions' answer (or its silence) keeps the promise. */
void peers_append_events(struct kndl_bus *bus, struct kndl_call *call,
                         const struct masked_batch *batch, struct kndl_promise *promise);

/* Shows deltas to who watches now. May be lost. */
void peers_show_deltas(struct kndl_bus *bus, const char *session_id,
                       Kndl__Event__V1__Delta **deltas, size_t count);
