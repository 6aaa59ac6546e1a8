/* Runs prepared statements: parameters go out binary, rows come into the arena. */

#include "connection.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kndl/mem.h"
#include "rows.h"

enum { ARRAY_HEADER_BYTES = 20 };

/* The parameters of one call in libpq's form. */
struct encoded {
    const char *values[64];
    int sizes[64];
    int formats[64];
    uint64_t numbers[64];
    char *array; /* the one array that a call may have, freed by the call */
};

static void encoded_done(struct encoded *encoded)
{
    free(encoded->array);
}

static const char bug[] = "kndl_db: statement %s: parameter %zu is of another type\n";

static _Noreturn void wrong_type(const char *name, size_t i)
{
    fprintf(stderr, bug, name, i + 1);
    abort();
}

/* A number in the size that the statement wants. */
static size_t encode_number(int64_t value, Oid type, void *out, const char *name, size_t i)
{
    switch (type) {
    case OID_INT8:
        *(uint64_t *)out = htobe64((uint64_t)value);
        return 8;
    case OID_INT4:
        if (value < INT32_MIN || value > INT32_MAX)
            wrong_type(name, i);
        *(uint32_t *)out = htobe32((uint32_t)value);
        return 4;
    case OID_INT2:
        if (value < INT16_MIN || value > INT16_MAX)
            wrong_type(name, i);
        *(uint16_t *)out = htobe16((uint16_t)value);
        return 2;
    case OID_TIMESTAMPTZ:
        *(uint64_t *)out = htobe64((uint64_t)((value - POSTGRES_EPOCH_MS) * 1000));
        return 8;
    default:
        wrong_type(name, i);
    }
}

static size_t encode_array(const int64_t *values, size_t count, char **ret_array)
{
    size_t size = ARRAY_HEADER_BYTES + count * 12;
    uint32_t *at = kndl_alloc(size, 1);

    *ret_array = (char *)at;
    *at++ = htobe32(count > 0 ? 1 : 0); /* dimensions */
    *at++ = 0;                          /* no nulls */
    *at++ = htobe32(OID_INT8);
    if (count == 0)
        return 12;
    *at++ = htobe32((uint32_t)count);
    *at++ = htobe32(1); /* lower bound */
    for (size_t i = 0; i < count; i++) {
        uint64_t value = (uint64_t)values[i];
        *at++ = htobe32(8);
        *at++ = htobe32((uint32_t)(value >> 32));
        *at++ = htobe32((uint32_t)value);
    }
    return size;
}

static bool is_text(Oid type)
{
    return type == OID_TEXT || type == OID_VARCHAR || type == OID_BPCHAR || type == OID_NAME ||
           type == OID_JSON;
}

static void encode(const struct prepared *prepared, const struct kndl_param *param, size_t i,
                   struct encoded *out)
{
    const char *name = prepared->statement->name;
    Oid type = prepared->types[i];
    size_t size = 0;

    out->formats[i] = 1;
    switch (param->kind) {
    case KNDL_DB_NULL:
        return;
    case KNDL_DB_TEXT:
    case KNDL_DB_BYTES:
        if (param->kind == KNDL_DB_TEXT ? !is_text(type) : type != OID_BYTEA)
            wrong_type(name, i);
        out->values[i] = param->data == NULL ? "" : param->data;
        size = param->size;
        break;
    case KNDL_DB_I64:
        out->values[i] = (const char *)&out->numbers[i];
        size = encode_number(param->i64, type, &out->numbers[i], name, i);
        break;
    case KNDL_DB_BOOL:
        if (type != OID_BOOL)
            wrong_type(name, i);
        *(uint8_t *)&out->numbers[i] = param->i64 != 0;
        out->values[i] = (const char *)&out->numbers[i];
        size = 1;
        break;
    case KNDL_DB_I64S:
        if (type != OID_INT8_ARRAY || out->array != NULL)
            wrong_type(name, i);
        size = encode_array(param->data, param->size, &out->array);
        out->values[i] = out->array;
        break;
    }
    if (size > INT32_MAX)
        wrong_type(name, i);
    out->sizes[i] = (int)size;
}

static const struct prepared *find(const struct kndl_db *db, const char *name, size_t count)
{
    for (size_t i = 0; i < db->count; i++)
        if (strcmp(db->statements[i].name, name) == 0) {
            if (db->prepared[i].count == count)
                return &db->prepared[i];
            fprintf(stderr, "kndl_db: statement %s takes %u parameters, not %zu\n", name,
                    db->prepared[i].count, count);
            abort();
        }
    fprintf(stderr, "kndl_db: there is no statement %s\n", name);
    abort();
}

int kndl_db_exec_params(struct kndl_db *db, const char *name, const struct kndl_param *params,
                        size_t count, struct kndl_arena *arena, struct kndl_rows *ret_rows,
                        struct kndl_error *err)
{
    KNDL_CLEANUP(encoded_done) struct encoded encoded = {0};

    if (connection_ready(db, err) < 0)
        return -1;
    const struct prepared *prepared = find(db, name, count);
    for (size_t i = 0; i < count; i++)
        encode(prepared, &params[i], i, &encoded);

    KNDL_CLEANUP(result_clear)
    PGresult *result = PQexecPrepared(db->connection, name, (int)count, encoded.values,
                                      encoded.sizes, encoded.formats, 1);
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
        connection_fail(db->connection, result, name, err);
        if (PQstatus(db->connection) != CONNECTION_OK)
            connection_drop(db);
        return -1;
    }
    if (ret_rows != NULL)
        rows_read(result, arena, ret_rows);
    return 0;
}
