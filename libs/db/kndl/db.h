#pragma once

/*
 * PostgreSQL: a connection, prepared statements, rows, migrations. The only door to libpq.
 *
 * A kndl_db is one connection: one thread at a time. Parameters and results are binary; text
 * parameters never carry secrets into the server's log. SQLSTATE becomes a code: a connection
 * that is gone, 57P01 and 08xxx are KNDL_UNAVAILABLE (and the next use connects anew, preparing
 * all statements again), a unique violation KNDL_ALREADY_EXISTS, a lock or serialization failure
 * or statement_timeout (5 s) KNDL_ABORTED, anything else KNDL_INTERNAL with the cause in the log.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kndl/arena.h"
#include "kndl/error.h"
#include "kndl/slice.h"

struct kndl_db;

/* A named statement, as sql_to_c.cmake made it: {"append_prompt", SQL_APPEND_PROMPT}. The list
 * ends with a NULL name and outlives the connection. */
struct kndl_statement {
    const char *name;
    const char *sql;
};

/* Connects (application_name = schema, search_path = schema) and prepares every statement. Fails
 * with KNDL_UNAVAILABLE while PostgreSQL is away, KNDL_INTERNAL if it refuses a statement, naming
 * it. */
int kndl_db_open(const char *url, const char *schema, const struct kndl_statement *statements,
                 struct kndl_db **ret_db, struct kndl_error *err);
void kndl_db_close(struct kndl_db *db);

/* One parameter. Made by the functions below; borrowed for the call. */
struct kndl_param {
    enum {
        KNDL_DB_NULL,
        KNDL_DB_TEXT,
        KNDL_DB_I64,
        KNDL_DB_BOOL,
        KNDL_DB_BYTES,
        KNDL_DB_I64S
    } kind;
    const void *data;
    size_t size;
    int64_t i64;
};

static inline struct kndl_param kndl_db_null(void)
{
    return (struct kndl_param){.kind = KNDL_DB_NULL};
}
static inline struct kndl_param kndl_db_text(const char *text) /* NULL is null */
{
    return (struct kndl_param){.kind = text == NULL ? KNDL_DB_NULL : KNDL_DB_TEXT,
                               .data = text,
                               .size = text == NULL ? 0 : __builtin_strlen(text)};
}
static inline struct kndl_param kndl_db_i64(int64_t value)
{
    return (struct kndl_param){.kind = KNDL_DB_I64, .i64 = value};
}
static inline struct kndl_param kndl_db_bool(bool value)
{
    return (struct kndl_param){.kind = KNDL_DB_BOOL, .i64 = value};
}
static inline struct kndl_param kndl_db_bytes(struct kndl_slice bytes)
{
    return (struct kndl_param){.kind = KNDL_DB_BYTES, .data = bytes.data, .size = bytes.size};
}
/* bigint[]; `values` borrowed. */
static inline struct kndl_param kndl_db_i64s(const int64_t *values, size_t count)
{
    return (struct kndl_param){.kind = KNDL_DB_I64S, .data = values, .size = count};
}

/*
 * Rows of one statement, in the arena of the call: valid until its reset. Columns are numbered
 * from 0 and typed: bigint/int/smallint by i64, boolean by bool, text/varchar by text, bytea by
 * bytes, timestamptz by ms (since 1970). Reading a column as another type aborts (a bug).
 */
struct kndl_rows {
    size_t count;
    int64_t changed; /* rows changed, of INSERT, UPDATE, DELETE without RETURNING */
    void *impl;
};

/* Runs a prepared statement by its name with the parameters given. */
#define kndl_db_exec(db, name, arena, ret_rows, err, ...)                                          \
    kndl_db_exec_params(db, name, (const struct kndl_param[]){__VA_ARGS__},                        \
                        sizeof((const struct kndl_param[]){__VA_ARGS__}) /                         \
                            sizeof(struct kndl_param),                                             \
                        arena, ret_rows, err)
int kndl_db_exec_params(struct kndl_db *db, const char *name, const struct kndl_param *params,
                        size_t count, struct kndl_arena *arena, struct kndl_rows *ret_rows,
                        struct kndl_error *err);

bool kndl_row_is_null(const struct kndl_rows *rows, size_t row, unsigned column);
int64_t kndl_row_i64(const struct kndl_rows *rows, size_t row, unsigned column); /* null: 0 */
bool kndl_row_bool(const struct kndl_rows *rows, size_t row, unsigned column);
const char *kndl_row_text(const struct kndl_rows *rows, size_t row, unsigned column); /* null: "" */
struct kndl_slice kndl_row_bytes(const struct kndl_rows *rows, size_t row, unsigned column);
int64_t kndl_row_ms(const struct kndl_rows *rows, size_t row, unsigned column); /* null: 0 */

/*
 * A transaction. KNDL_CLEANUP(kndl_tx_done) struct kndl_tx tx; kndl_tx_begin(db, &tx, err): what
 * was not committed when it goes out of scope is rolled back. None is held across the bus.
 */
struct kndl_tx {
    struct kndl_db *db; /* NULL once ended */
};
int kndl_tx_begin(struct kndl_db *db, struct kndl_tx *tx, struct kndl_error *err);
int kndl_tx_commit(struct kndl_tx *tx, struct kndl_error *err);
void kndl_tx_done(struct kndl_tx *tx);

/* A migration: number rising from 1, the whole file. The list ends with version 0. */
struct kndl_migration {
    int version;
    const char *name;
    const char *sql;
};

/*
 * Brings the schema up to date: each migration once, in a transaction of its own, under an
 * advisory lock, recorded with its checksum in <schema>.schema_migrations. An applied migration
 * whose text changed is an error.
 */
int kndl_db_migrate(const char *url, const char *schema, const struct kndl_migration *migrations,
                    struct kndl_error *err);
