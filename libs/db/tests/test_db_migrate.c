#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cluster.h"
#include "kndl/db.h"

#define FIRST                                                                                      \
    {                                                                                              \
        1, "0001_first", "CREATE TABLE first (n bigint); INSERT INTO first VALUES (1);"            \
    }

static const struct kndl_migration one[] = {FIRST, {0, NULL, NULL}};
static const struct kndl_migration two[] = {
    FIRST, {2, "0002_second", "ALTER TABLE first ADD m bigint;"}, {0, NULL, NULL}};
static const struct kndl_migration changed[] = {{1, "0001_first", "CREATE TABLE first (n int);"},
                                                {0, NULL, NULL}};
static const struct kndl_migration broken[] = {
    {1, "0001_broken", "CREATE TABLE half (n bigint); SELECT nonsense;"}, {0, NULL, NULL}};
static const struct kndl_migration mended[] = {{1, "0001_broken", "CREATE TABLE half (n bigint);"},
                                               {0, NULL, NULL}};

static int migrate(const char *schema, const struct kndl_migration *migrations,
                   struct kndl_error *err)
{
    return kndl_db_migrate(cluster_start(), schema, migrations, err);
}

static void each_migration_is_applied_once(void **state)
{
    struct kndl_error err = {0};

    (void)state;
    assert_int_equal(migrate("once", one, &err), 0);
    assert_int_equal(migrate("once", one, &err), 0);
    assert_int_equal(migrate("once", two, &err), 0);
    assert_int_equal(migrate("once", two, &err), 0);
}

static void an_applied_migration_whose_text_changed_is_an_error(void **state)
{
    struct kndl_error err = {0};

    (void)state;
    assert_int_equal(migrate("changed", one, &err), 0);
    assert_int_equal(migrate("changed", changed, &err), -1);
    assert_non_null(strstr(err.message, "0001_first"));
}

static void a_migration_that_fails_leaves_nothing(void **state)
{
    struct kndl_error err = {0};

    (void)state;
    assert_int_equal(migrate("broken", broken, &err), -1);
    assert_non_null(strstr(err.message, "0001_broken"));
    assert_int_equal(migrate("broken", mended, &err), 0);
}

static void *migrate_at_once(void *ret)
{
    struct kndl_error err = {0};

    *(int *)ret = kndl_db_migrate(cluster_start(), "race", two, &err);
    return NULL;
}

static void copies_that_start_at_once_do_not_meet(void **state)
{
    pthread_t threads[6];
    int results[6];

    (void)state;
    cluster_start();
    for (int i = 0; i < 6; i++)
        pthread_create(&threads[i], NULL, migrate_at_once, &results[i]);
    for (int i = 0; i < 6; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(results[i], 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_migration_is_applied_once),
        cmocka_unit_test(an_applied_migration_whose_text_changed_is_an_error),
        cmocka_unit_test(a_migration_that_fails_leaves_nothing),
        cmocka_unit_test(copies_that_start_at_once_do_not_meet),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
