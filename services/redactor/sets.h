#pragma once

/*
 * What this copy may mask, and with what: which Runner opened the stream of which run of a
 * Session, and the newest set of values that is known for it.
 *
 * Shared by all workers of the process, behind one lock that is held for a look-up alone. A set
 * never changes and is counted (kndl/redact.h): who got one keeps it as long as it likes.
 */

#include <stdint.h>

struct kndl_redact_set;
struct sets;

struct sets *sets_new(void);
void sets_free(struct sets *sets);

/* A stream was granted; replaces what the Session had. Takes a reference of its own. */
void sets_grant(struct sets *sets, const char *session_id, int64_t run, const char *runner_id,
                int64_t version, struct kndl_redact_set *set);

/*
 * The set of a stream that this Runner opened for this run, with a reference for the caller, and
 * its version; NULL if there is none: it has to be opened (again). The version is -1 when the
 * values may have changed since they were learnt (somebody said so, or ten seconds went by).
 */
struct kndl_redact_set *sets_find(struct sets *sets, const char *session_id, int64_t run,
                                  const char *runner_id, int64_t *ret_version);

/* Values have changed somewhere: all are asked for anew before they are used. From any thread. */
void sets_doubt(struct sets *sets);

/* A Runner was removed: none of its streams is granted any more. */
void sets_drop_runner(struct sets *sets, const char *runner_id);

/* Forgets streams that nobody used for an hour. */
void sets_expire(struct sets *sets, int64_t now_us);
