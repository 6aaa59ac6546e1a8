#pragma once

/* Rows copied out of libpq's result, and the types of PostgreSQL that libs/db speaks. */

#include <libpq-fe.h>

#include "kndl/db.h"

/* pg_type.oid of the built-in types, which never change. */
enum {
    OID_BOOL = 16,
    OID_BYTEA = 17,
    OID_NAME = 19,
    OID_INT8 = 20,
    OID_INT2 = 21,
    OID_INT4 = 23,
    OID_TEXT = 25,
    OID_JSON = 114,
    OID_INT8_ARRAY = 1016,
    OID_BPCHAR = 1042,
    OID_VARCHAR = 1043,
    OID_TIMESTAMPTZ = 1184,
};

/* 2000-01-01, from which PostgreSQL counts, in milliseconds since 1970. */
#define POSTGRES_EPOCH_MS INT64_C(946684800000)

void rows_read(const PGresult *result, struct kndl_arena *arena, struct kndl_rows *ret_rows);
