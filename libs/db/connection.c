/* The connection: made, checked, made again when it is gone; SQLSTATE becomes a code. */

#include "connection.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "kndl/clock.h"
#include "kndl/log.h"
#include "kndl/mem.h"

/* PostgreSQL that is away answers at once or not at all; either way others wait for the worker. */
enum { RETRY_PAUSE_MS = 200, PARAMETERS_MAX = 64 };

void connection_finish(PGconn **connection)
{
    PQfinish(*connection);
}

void result_clear(PGresult **result)
{
    PQclear(*result);
}

static void drop_notice(void *data, const PGresult *result)
{
    (void)data;
    (void)result;
}

int connection_open(const char *url, const char *schema, PGconn **ret_connection,
                    struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_free) char *options = NULL;
    static const char settings[] = " -c statement_timeout=5000 -c lock_timeout=4000"
                                   " -c idle_in_transaction_session_timeout=10000"
                                   " -c TimeZone=UTC";
    size_t size = strlen(schema) + sizeof settings + sizeof "-c search_path=";

    options = kndl_alloc(size, 1);
    snprintf(options, size, "-c search_path=%s%s", schema, settings);

    const char *const keys[] = {
        "dbname",           "application_name", "options",         "connect_timeout",
        "tcp_user_timeout", "keepalives_idle",  "client_encoding", NULL};
    const char *const values[] = {url, schema, options, "5", "10000", "30", "UTF8", NULL};
    PGconn *connection = PQconnectdbParams(keys, values, 1);

    if (connection == NULL)
        abort();
    if (PQstatus(connection) != CONNECTION_OK) {
        kndl_log(KNDL_WARNING, "database connection failed",
                 KNDL_STR("cause", PQerrorMessage(connection)));
        PQfinish(connection);
        return kndl_fail(err, KNDL_UNAVAILABLE, "the Hub's database is away; " KNDL_BACK_SOON);
    }
    PQsetNoticeReceiver(connection, drop_notice, NULL);
    *ret_connection = connection;
    return 0;
}

static enum kndl_code code_of(const char *state)
{
    static const struct {
        const char *prefix;
        enum kndl_code code;
    } codes[] = {
        {"08", KNDL_UNAVAILABLE},    {"57P", KNDL_UNAVAILABLE},      {"53300", KNDL_UNAVAILABLE},
        {"25P03", KNDL_UNAVAILABLE}, {"23505", KNDL_ALREADY_EXISTS}, {"40", KNDL_ABORTED},
        {"55P03", KNDL_ABORTED},     {"57014", KNDL_ABORTED},        {"25006", KNDL_UNAVAILABLE},
    };

    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (strncmp(state, codes[i].prefix, strlen(codes[i].prefix)) == 0)
            return codes[i].code;
    return KNDL_INTERNAL;
}

int connection_fail(PGconn *connection, const PGresult *result, const char *what,
                    struct kndl_error *err)
{
    const char *state = result == NULL ? NULL : PQresultErrorField(result, PG_DIAG_SQLSTATE);
    /* The primary message alone: the detail quotes values of the row. */
    const char *cause = result == NULL ? NULL : PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    enum kndl_code code = state == NULL ? KNDL_INTERNAL : code_of(state);

    if (PQstatus(connection) != CONNECTION_OK)
        code = KNDL_UNAVAILABLE;
    if (code == KNDL_ALREADY_EXISTS)
        return kndl_fail(err, code, "it exists already");
    if (code == KNDL_ABORTED)
        return kndl_fail(err, code, "another change was in the way; try again");

    kndl_log(code == KNDL_UNAVAILABLE ? KNDL_WARNING : KNDL_ERROR, "database statement failed",
             KNDL_STR("statement", what), KNDL_STR("sqlstate", state),
             KNDL_STR("cause", cause != NULL ? cause : PQerrorMessage(connection)));
    if (code == KNDL_UNAVAILABLE)
        return kndl_fail(err, code, "the Hub's database is away; " KNDL_BACK_SOON);
    return kndl_fail(err, KNDL_INTERNAL, "internal error");
}

int connection_run(PGconn *connection, const char *sql, const char *what, struct kndl_error *err)
{
    KNDL_CLEANUP(result_clear) PGresult *result = PQexec(connection, sql);
    ExecStatusType status = PQresultStatus(result);

    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        return connection_fail(connection, result, what, err);
    return 0;
}

static void forget_prepared(struct kndl_db *db)
{
    for (size_t i = 0; i < db->count; i++) {
        free(db->prepared[i].types);
        db->prepared[i] = (struct prepared){.statement = &db->statements[i]};
    }
}

void connection_drop(struct kndl_db *db)
{
    PQfinish(db->connection);
    db->connection = NULL;
    forget_prepared(db);
}

static int prepare(struct kndl_db *db, struct prepared *prepared, struct kndl_error *err)
{
    const char *name = prepared->statement->name;
    KNDL_CLEANUP(result_clear)
    PGresult *made = PQprepare(db->connection, name, prepared->statement->sql, 0, NULL);

    if (PQresultStatus(made) != PGRES_COMMAND_OK) {
        connection_fail(db->connection, made, name, err);
        return kndl_wrap(err, "prepare statement %s", name);
    }

    KNDL_CLEANUP(result_clear) PGresult *told = PQdescribePrepared(db->connection, name);
    if (PQresultStatus(told) != PGRES_COMMAND_OK) {
        connection_fail(db->connection, told, name, err);
        return kndl_wrap(err, "prepare statement %s", name);
    }
    prepared->count = (unsigned)PQnparams(told);
    if (prepared->count > PARAMETERS_MAX)
        return kndl_fail(err, KNDL_INTERNAL, "statement %s has %u parameters; the most is %d", name,
                         prepared->count, PARAMETERS_MAX);
    prepared->types = kndl_new_array(Oid, prepared->count + 1);
    for (unsigned i = 0; i < prepared->count; i++)
        prepared->types[i] = PQparamtype(told, (int)i);
    return 0;
}

/* A server that went away while we were idle has told the socket; no call need fail for it. */
static bool was_closed(PGconn *connection)
{
    struct pollfd socket = {.fd = PQsocket(connection), .events = POLLRDHUP};

    return PQstatus(connection) != CONNECTION_OK || poll(&socket, 1, 0) != 0;
}

int connection_ready(struct kndl_db *db, struct kndl_error *err)
{
    int64_t now_ms = kndl_clock_ms();

    if (db->connection != NULL && !was_closed(db->connection))
        return 0;
    connection_drop(db);
    if (db->in_transaction || now_ms < db->next_try_ms)
        return kndl_fail(err, KNDL_UNAVAILABLE, "the Hub's database is away; " KNDL_BACK_SOON);

    if (connection_open(db->url, db->schema, &db->connection, err) < 0) {
        db->next_try_ms = now_ms + RETRY_PAUSE_MS;
        return -1;
    }
    for (size_t i = 0; i < db->count; i++)
        if (prepare(db, &db->prepared[i], err) < 0) {
            connection_drop(db);
            return -1;
        }
    return 0;
}

int kndl_db_open(const char *url, const char *schema, const struct kndl_statement *statements,
                 struct kndl_db **ret_db, struct kndl_error *err)
{
    struct kndl_db *db = kndl_new0(struct kndl_db);

    db->url = kndl_strdup(url);
    db->schema = kndl_strdup(schema);
    db->statements = statements;
    while (statements[db->count].name != NULL)
        db->count++;
    db->prepared = kndl_new_array(struct prepared, db->count + 1);
    forget_prepared(db);

    if (connection_ready(db, err) < 0) {
        kndl_db_close(db);
        return -1;
    }
    *ret_db = db;
    return 0;
}

void kndl_db_close(struct kndl_db *db)
{
    if (db == NULL)
        return;
    connection_drop(db);
    free(db->prepared);
    free(db->url);
    free(db->schema);
    free(db);
}
