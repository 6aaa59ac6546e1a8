#pragma once

/*
 * What people's requests have done: a repeat does it no second time, and the same request_id with
 * something else is refused. Kept for a day at least, in the service's own table:
 *
 *   CREATE TABLE done (person_id text NOT NULL, request_id text NOT NULL, made_id text NOT NULL,
 *                      done_at timestamptz NOT NULL, content bytea,
 *                      PRIMARY KEY (person_id, request_id));
 *   CREATE INDEX done_age ON done (done_at);
 *
 * A content that is null says nothing: any repeat is taken for one. Threads: as kndl/db.h.
 */

#include "kndl/db.h"

/* Who asks for a change, and by which request. */
struct kndl_asked {
    const char *person_id;
    const char *request_id;
    int64_t now_ms;            /* of the wall clock */
    struct kndl_slice content; /* all that it asks for, or a hash of that */
};

/* What the first of them did. */
struct kndl_done {
    const char *made_id;
    struct kndl_slice content; /* no data: nobody knows any more */
};

/* For the service's list of statements. */
extern const char kndl_done_keep_sql[];
extern const char kndl_done_find_sql[];
#define KNDL_DONE_STATEMENTS                                                                       \
    {"keep_done", kndl_done_keep_sql},                                                             \
    {                                                                                              \
        "find_done", kndl_done_find_sql                                                            \
    }

/*
 * The first thing in a transaction: from its end on this request is done. *ret_done is NULL if it
 * is new; a repeat gets what the first one made (`made_id`; "": nothing that has an id). Fails with
 * KNDL_INVALID_ARGUMENT if the first one asked for something else.
 */
int kndl_done_keep(struct kndl_db *db, const struct kndl_asked *asked, const char *made_id,
                   struct kndl_arena *arena, const struct kndl_done **ret_done,
                   struct kndl_error *err);

/* As kndl_done_keep(), for who compares the contents itself (since it seals them, say). */
int kndl_done_put(struct kndl_db *db, const struct kndl_asked *asked, const char *made_id,
                  struct kndl_arena *arena, const struct kndl_done **ret_done,
                  struct kndl_error *err);

/* Was it done? NULL: no. */
int kndl_done_find(struct kndl_db *db, const char *person_id, const char *request_id,
                   struct kndl_arena *arena, const struct kndl_done **ret_done,
                   struct kndl_error *err);

/* The refusal of a request_id that is used again for something else. Returns -1. */
int kndl_done_refuse(const char *request_id, struct kndl_error *err);
