/* Migrations: forward only, each once, under an advisory lock that copies of a service share. */

#include <stdio.h>
#include <string.h>

#include "connection.h"
#include "kndl/log.h"
#include "kndl/mem.h"

/* One transaction at a time per schema; released with the transaction. */
static const char lock_sql[] = "SELECT pg_advisory_xact_lock(hashtext('kndl migrations'), "
                               "hashtext($1))";

static int query(PGconn *connection, const char *sql, const char *const *params, int count,
                 PGresult **ret_result, struct kndl_error *err)
{
    PGresult *result = PQexecParams(connection, sql, count, NULL, params, NULL, NULL, 0);
    ExecStatusType status = PQresultStatus(result);

    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
        connection_fail(connection, result, "migrate", err);
        PQclear(result);
        return -1;
    }
    *ret_result = result;
    return 0;
}

static int run(PGconn *connection, const char *sql, const char *const *params, int count,
               struct kndl_error *err)
{
    KNDL_CLEANUP(result_clear) PGresult *result = NULL;

    return query(connection, sql, params, count, &result, err);
}

static int begin(PGconn *connection, const char *schema, struct kndl_error *err)
{
    const char *const params[] = {schema};

    if (connection_run(connection,
                       "BEGIN; SET LOCAL statement_timeout = 0; "
                       "SET LOCAL lock_timeout = 0",
                       "begin", err) < 0)
        return -1;
    return run(connection, lock_sql, params, 1, err);
}

static int make_schema(PGconn *connection, const char *schema, struct kndl_error *err)
{
    KNDL_CLEANUP(result_clear) PGresult *found = NULL;
    const char *const params[] = {schema};
    char sql[256];

    if (begin(connection, schema, err) < 0 ||
        query(connection, "SELECT 1 FROM pg_namespace WHERE nspname = $1", params, 1, &found, err) <
            0)
        return -1;
    /* Asked first: a role that owns its schema may not be allowed to make one. */
    if (PQntuples(found) == 0) {
        snprintf(sql, sizeof sql, "CREATE SCHEMA \"%s\"", schema);
        if (connection_run(connection, sql, "create schema", err) < 0)
            return -1;
    }
    return connection_run(connection,
                          "CREATE TABLE IF NOT EXISTS schema_migrations ("
                          " version int PRIMARY KEY, name text NOT NULL, checksum bytea NOT NULL,"
                          " applied_at timestamptz NOT NULL DEFAULT now()); COMMIT",
                          "schema_migrations", err);
}

static int apply(PGconn *connection, const char *schema, const struct kndl_migration *migration,
                 struct kndl_error *err)
{
    KNDL_CLEANUP(result_clear) PGresult *found = NULL;
    char version[16];
    const char *const params[] = {version, migration->sql, migration->name};

    snprintf(version, sizeof version, "%d", migration->version);
    if (begin(connection, schema, err) < 0 ||
        query(connection,
              "SELECT checksum = sha256(convert_to($2, 'UTF8')) FROM schema_migrations"
              " WHERE version = $1::int",
              params, 2, &found, err) < 0)
        return -1;
    if (PQntuples(found) == 1) {
        if (strcmp(PQgetvalue(found, 0, 0), "t") != 0)
            return kndl_fail(err, KNDL_FAILED_PRECONDITION,
                             "migration %s was applied with another text; write a new one instead",
                             migration->name);
        return connection_run(connection, "COMMIT", "commit", err);
    }
    if (connection_run(connection, migration->sql, migration->name, err) < 0)
        return kndl_wrap(err, "migration %s", migration->name);
    if (run(connection,
            "INSERT INTO schema_migrations (version, checksum, name)"
            " VALUES ($1::int, sha256(convert_to($2, 'UTF8')), $3)",
            params, 3, err) < 0 ||
        connection_run(connection, "COMMIT", "commit", err) < 0)
        return -1;
    kndl_log(KNDL_INFO, "migration applied", KNDL_STR("migration", migration->name));
    return 0;
}

int kndl_db_migrate(const char *url, const char *schema, const struct kndl_migration *migrations,
                    struct kndl_error *err)
{
    KNDL_CLEANUP(connection_finish) PGconn *connection = NULL;

    if (connection_open(url, schema, &connection, err) < 0 ||
        make_schema(connection, schema, err) < 0)
        return -1;
    for (const struct kndl_migration *next = migrations; next->version != 0; next++)
        if (apply(connection, schema, next, err) < 0)
            return -1;
    return 0;
}
