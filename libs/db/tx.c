/* Transactions: what was not committed is rolled back. */

#include <string.h>

#include "connection.h"
#include "kndl/mem.h"

int kndl_tx_begin(struct kndl_db *db, struct kndl_tx *tx, struct kndl_error *err)
{
    tx->db = NULL;
    if (connection_ready(db, err) < 0)
        return -1;
    if (connection_run(db->connection, "BEGIN", "begin", err) < 0) {
        if (PQstatus(db->connection) != CONNECTION_OK)
            connection_drop(db);
        return -1;
    }
    db->in_transaction = true;
    tx->db = db;
    return 0;
}

int kndl_tx_commit(struct kndl_tx *tx, struct kndl_error *err)
{
    struct kndl_db *db = tx->db;

    tx->db = NULL;
    db->in_transaction = false;
    if (db->connection == NULL)
        return kndl_fail(err, KNDL_UNAVAILABLE, "the Hub's database is away; " KNDL_BACK_SOON);

    KNDL_CLEANUP(result_clear) PGresult *result = PQexec(db->connection, "COMMIT");
    if (PQresultStatus(result) != PGRES_COMMAND_OK) {
        connection_fail(db->connection, result, "commit", err);
        if (PQstatus(db->connection) != CONNECTION_OK)
            connection_drop(db);
        return -1;
    }
    /* COMMIT of a transaction in which a statement failed succeeds, as a ROLLBACK. */
    if (strcmp(PQcmdStatus(result), "COMMIT") != 0)
        return kndl_fail(err, KNDL_ABORTED, "another change was in the way; try again");
    return 0;
}

void kndl_tx_done(struct kndl_tx *tx)
{
    struct kndl_db *db = tx->db;

    if (db == NULL)
        return;
    tx->db = NULL;
    db->in_transaction = false;
    if (db->connection != NULL && connection_run(db->connection, "ROLLBACK", "rollback", NULL) < 0)
        connection_drop(db);
}
