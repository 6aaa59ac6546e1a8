#include "fixture.h"

#include <stdlib.h>

#include "kndl/mem.h"

struct fixture *fixture_open(const char *schema, const struct kndl_migration *migrations,
                             const struct kndl_statement *statements)
{
    struct fixture *f = kndl_new0(struct fixture);
    const char *url = cluster_start();

    f->arena = kndl_arena_new(KNDL_ARENA_PLAIN);
    assert_int_equal(kndl_db_migrate(url, schema, migrations, &f->err), 0);
    assert_int_equal(kndl_db_open(url, schema, statements, &f->db, &f->err), 0);
    assert_int_equal(kndl_db_open(url, schema, statements, &f->other, &f->err), 0);
    return f;
}

int fixture_close(void **state)
{
    struct fixture *f = *state;

    kndl_db_close(f->db);
    kndl_db_close(f->other);
    kndl_arena_free(f->arena);
    free(f);
    return 0;
}
