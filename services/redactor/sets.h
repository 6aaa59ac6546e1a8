#pragma once

/*
 * What this copy may mask, and with what: which Runner opened the stream of which run of a
 * Session, and the newest masks that are known for it.
 *
 * Shared by all workers of the process, behind one lock that is held for a look-up alone. Masks
 * never change and are counted: who got them keeps them as long as it likes.
 */

#include <stdbool.h>
#include <stdint.h>

struct masks;
struct sets;

struct sets *sets_new(void);
void sets_free(struct sets *sets);

/*
 * A stream was granted, or its masks were learnt anew; replaces what the Session had. Takes a
 * reference of its own. `asked_us` is when secrets was asked: what was doubted since is still so.
 */
void sets_grant(struct sets *sets, const char *session_id, int64_t run, const char *runner_id,
                struct masks *masks, int64_t asked_us);

/*
 * The masks of a stream that this Runner opened for this run, with a reference for the caller; NULL
 * if there is none: it has to be opened (again). *ret_is_fresh is false when the values may have
 * changed since they were learnt (somebody said so, or ten seconds went by).
 */
struct masks *sets_find(struct sets *sets, const char *session_id, int64_t run,
                        const char *runner_id, bool *ret_is_fresh);

/* Values have changed somewhere: all are asked for anew before they are used. From any thread. */
void sets_doubt(struct sets *sets);

/* Hands over what was masked since the last time. */
void sets_count(struct sets *sets);

/* A Runner was removed: none of its streams is granted any more. */
void sets_drop_runner(struct sets *sets, const char *runner_id);

/* Forgets streams that nobody used for an hour. */
void sets_expire(struct sets *sets, int64_t now_us);
