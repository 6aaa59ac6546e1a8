/* Rows: one copy into the arena, then typed reading. Reading as another type aborts: a bug. */

#include "rows.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One value: its bytes, followed by a NUL; data NULL is null. */
struct cell {
    const uint8_t *data;
    size_t size;
};

struct table {
    unsigned columns;
    const Oid *types;
    const struct cell *cells; /* row by row */
};

void rows_read(const PGresult *result, struct kndl_arena *arena, struct kndl_rows *ret_rows)
{
    size_t rows = (size_t)PQntuples(result);
    unsigned columns = (unsigned)PQnfields(result);
    const char *changed = PQcmdTuples((PGresult *)result);
    size_t bytes = 0;

    for (size_t row = 0; row < rows; row++)
        for (unsigned column = 0; column < columns; column++)
            bytes += (size_t)PQgetlength(result, (int)row, (int)column) + 1;

    struct table *table = kndl_arena_alloc(arena, sizeof *table);
    Oid *types = kndl_arena_alloc(arena, (columns + 1) * sizeof *types);
    struct cell *cells = kndl_arena_alloc(arena, (rows * columns + 1) * sizeof *cells);
    uint8_t *data = kndl_arena_alloc(arena, bytes + 1);

    for (unsigned column = 0; column < columns; column++)
        types[column] = PQftype(result, (int)column);
    for (size_t row = 0; row < rows; row++)
        for (unsigned column = 0; column < columns; column++) {
            struct cell *cell = &cells[row * columns + column];
            size_t size = (size_t)PQgetlength(result, (int)row, (int)column);

            if (PQgetisnull(result, (int)row, (int)column))
                continue;
            memcpy(data, PQgetvalue(result, (int)row, (int)column), size);
            *cell = (struct cell){data, size};
            data += size + 1;
        }
    *table = (struct table){columns, types, cells};
    *ret_rows = (struct kndl_rows){
        .count = rows,
        .changed = strtoll(changed, NULL, 10), /* "" for what changes no rows */
        .impl = table,
    };
}

static const struct cell *cell_at(const struct kndl_rows *rows, size_t row, unsigned column,
                                  Oid *ret_type)
{
    const struct table *table = rows->impl;

    if (row >= rows->count || column >= table->columns) {
        fprintf(stderr, "kndl_db: there is no row %zu, column %u\n", row, column);
        abort();
    }
    *ret_type = table->types[column];
    return &table->cells[row * table->columns + column];
}

static _Noreturn void wrong_type(unsigned column, Oid type, const char *wanted)
{
    fprintf(stderr, "kndl_db: column %u is of type %u, not %s\n", column, type, wanted);
    abort();
}

bool kndl_row_is_null(const struct kndl_rows *rows, size_t row, unsigned column)
{
    Oid type;

    return cell_at(rows, row, column, &type)->data == NULL;
}

static uint64_t read_u64(const uint8_t *data)
{
    uint64_t value;

    memcpy(&value, data, sizeof value);
    return be64toh(value);
}

int64_t kndl_row_i64(const struct kndl_rows *rows, size_t row, unsigned column)
{
    Oid type;
    const struct cell *cell = cell_at(rows, row, column, &type);
    uint32_t four;
    uint16_t two;

    if (type != OID_INT8 && type != OID_INT4 && type != OID_INT2)
        wrong_type(column, type, "a whole number");
    if (cell->data == NULL)
        return 0;
    switch (type) {
    case OID_INT8:
        return (int64_t)read_u64(cell->data);
    case OID_INT4:
        memcpy(&four, cell->data, sizeof four);
        return (int32_t)be32toh(four);
    default:
        memcpy(&two, cell->data, sizeof two);
        return (int16_t)be16toh(two);
    }
}

bool kndl_row_bool(const struct kndl_rows *rows, size_t row, unsigned column)
{
    Oid type;
    const struct cell *cell = cell_at(rows, row, column, &type);

    if (type != OID_BOOL)
        wrong_type(column, type, "boolean");
    return cell->data != NULL && cell->data[0] != 0;
}

const char *kndl_row_text(const struct kndl_rows *rows, size_t row, unsigned column)
{
    Oid type;
    const struct cell *cell = cell_at(rows, row, column, &type);

    if (type != OID_TEXT && type != OID_VARCHAR && type != OID_BPCHAR && type != OID_NAME &&
        type != OID_JSON)
        wrong_type(column, type, "text");
    return cell->data == NULL ? "" : (const char *)cell->data;
}

struct kndl_slice kndl_row_bytes(const struct kndl_rows *rows, size_t row, unsigned column)
{
    Oid type;
    const struct cell *cell = cell_at(rows, row, column, &type);

    if (type != OID_BYTEA)
        wrong_type(column, type, "bytea");
    return (struct kndl_slice){cell->data, cell->size};
}

int64_t kndl_row_ms(const struct kndl_rows *rows, size_t row, unsigned column)
{
    Oid type;
    const struct cell *cell = cell_at(rows, row, column, &type);

    if (type != OID_TIMESTAMPTZ)
        wrong_type(column, type, "timestamptz");
    if (cell->data == NULL)
        return 0;
    /* Rounded down, also before 2000, so that a time never moves forward by being read. */
    int64_t us = (int64_t)read_u64(cell->data);
    return POSTGRES_EPOCH_MS + (us >= 0 ? us / 1000 : -((-us + 999) / 1000));
}
