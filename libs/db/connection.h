#pragma once

/* What the files of libs/db share: the inside of a connection. One thread at a time. */

#include <libpq-fe.h>

#include "kndl/db.h"

/* A statement as it was prepared on this connection. */
struct prepared {
    const struct kndl_statement *statement;
    Oid *types; /* of its parameters, as PostgreSQL inferred them */
    unsigned count;
};

struct kndl_db {
    PGconn *connection; /* NULL: none now */
    char *url;
    char *schema;
    const struct kndl_statement *statements; /* the caller's, outlives us */
    struct prepared *prepared;               /* one for each statement, in the same order */
    size_t count;
    bool in_transaction; /* a kndl_tx is open: no new connection until it ended */
    int64_t next_try_ms; /* kndl_clock_ms(): not before, after a connection failed */
};

/* A connection with our settings, without statements. Fails with KNDL_UNAVAILABLE. */
int connection_open(const char *url, const char *schema, PGconn **ret_connection,
                    struct kndl_error *err);

/* Sees to it that there is a connection on which all is prepared. */
int connection_ready(struct kndl_db *db, struct kndl_error *err);

/* Drops the connection; the next use makes a new one. */
void connection_drop(struct kndl_db *db);

/*
 * Fails with the code that the SQLSTATE of `result` stands for and logs the cause. `what` is the
 * statement's name. `result` may be NULL (the connection broke). Does not clear it.
 */
int connection_fail(PGconn *connection, const PGresult *result, const char *what,
                    struct kndl_error *err);

/* Runs text without parameters that answers no rows (BEGIN, a migration). */
int connection_run(PGconn *connection, const char *sql, const char *what, struct kndl_error *err);

/* For KNDL_CLEANUP. */
void connection_finish(PGconn **connection);
void result_clear(PGresult **result);
