
#include "fixture.h"
#include "kndl/mem.h"

static const struct kndl_migration migrations[] = {
    {1, "0001_numbers", "CREATE TABLE number (n bigint PRIMARY KEY, times bigint NOT NULL);"},
    {0, NULL, NULL},
};

static const struct kndl_statement statements[] = {
    {"add_number", "INSERT INTO number VALUES ($1, 0)"},
    {"lock_number", "SELECT times FROM number WHERE n = $1 FOR UPDATE"},
    {"count_numbers", "SELECT count(*) FROM number"},
    {"remove_numbers", "DELETE FROM number"},
    {NULL, NULL},
};

static int set_up(void **state)
{
    struct fixture *f = fixture_open("tx", migrations, statements);

    assert_int_equal(kndl_db_exec(f->db, "remove_numbers", f->arena, NULL, &f->err), 0);
    *state = f;
    return 0;
}

static int add(struct fixture *f, int64_t n)
{
    return kndl_db_exec(f->db, "add_number", f->arena, NULL, &f->err, kndl_db_i64(n));
}

static int64_t seen_by_others(struct fixture *f)
{
    struct kndl_rows rows;

    assert_int_equal(kndl_db_exec(f->other, "count_numbers", f->arena, &rows, &f->err), 0);
    return kndl_row_i64(&rows, 0, 0);
}

static void what_was_committed_is_seen(void **state)
{
    struct fixture *f = *state;
    KNDL_CLEANUP(kndl_tx_done) struct kndl_tx tx;

    assert_int_equal(kndl_tx_begin(f->db, &tx, &f->err), 0);
    assert_int_equal(add(f, 1), 0);
    assert_int_equal(seen_by_others(f), 0);
    assert_int_equal(kndl_tx_commit(&tx, &f->err), 0);
    assert_int_equal(seen_by_others(f), 1);
}

static void what_was_left_is_rolled_back(void **state)
{
    struct fixture *f = *state;

    {
        KNDL_CLEANUP(kndl_tx_done) struct kndl_tx tx;
        assert_int_equal(kndl_tx_begin(f->db, &tx, &f->err), 0);
        assert_int_equal(add(f, 1), 0);
    }
    assert_int_equal(seen_by_others(f), 0);
    assert_int_equal(add(f, 1), 0);
    assert_int_equal(seen_by_others(f), 1);
}

static void a_commit_after_a_failed_statement_says_that_nothing_was_stored(void **state)
{
    struct fixture *f = *state;
    KNDL_CLEANUP(kndl_tx_done) struct kndl_tx tx;

    assert_int_equal(kndl_tx_begin(f->db, &tx, &f->err), 0);
    assert_int_equal(add(f, 1), 0);
    assert_int_equal(add(f, 1), -1);
    assert_int_equal(kndl_tx_commit(&tx, &f->err), -1);
    assert_int_equal(f->err.code, KNDL_ABORTED);
    assert_int_equal(seen_by_others(f), 0);
}

static void a_row_that_another_holds_too_long_is_aborted(void **state)
{
    struct fixture *f = *state;
    struct kndl_rows rows;
    KNDL_CLEANUP(kndl_tx_done) struct kndl_tx tx;

    assert_int_equal(add(f, 1), 0);
    assert_int_equal(kndl_tx_begin(f->db, &tx, &f->err), 0);
    assert_int_equal(kndl_db_exec(f->db, "lock_number", f->arena, &rows, &f->err, kndl_db_i64(1)),
                     0);
    assert_int_equal(
        kndl_db_exec(f->other, "lock_number", f->arena, &rows, &f->err, kndl_db_i64(1)), -1);
    assert_int_equal(f->err.code, KNDL_ABORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, fixture_close)
        TEST(what_was_committed_is_seen),
        TEST(what_was_left_is_rolled_back),
        TEST(a_commit_after_a_failed_statement_says_that_nothing_was_stored),
        TEST(a_row_that_another_holds_too_long_is_aborted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
