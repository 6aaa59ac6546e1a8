#pragma once

/* Connections to a schema of the test's own, in a PostgreSQL that it may kill (cluster.h). */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cluster.h"
#include "kndl/db.h"

struct fixture {
    struct kndl_db *db;
    struct kndl_db *other; /* a second one */
    struct kndl_arena *arena;
    struct kndl_error err;
};

/* Brings the schema up to date and connects. Rows of the test before are still there. */
struct fixture *fixture_open(const char *schema, const struct kndl_migration *migrations,
                             const struct kndl_statement *statements);

/* A cmocka teardown: closes the fixture that is the state. */
int fixture_close(void **state);
