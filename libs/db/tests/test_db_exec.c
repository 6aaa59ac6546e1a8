#include <string.h>

#include "fixture.h"

static const struct kndl_migration migrations[] = {
    {1, "0001_things",
     "CREATE TABLE thing (id bigint PRIMARY KEY, small smallint, middle int, name text, bytes "
     "bytea,"
     " is_on boolean, at timestamptz);"},
    {0, NULL, NULL},
};

static const struct kndl_statement statements[] = {
    {"add_thing", "INSERT INTO thing VALUES ($1, $2, $3, $4, $5, $6, $7)"},
    {"find_thing", "SELECT id, small, middle, name, bytes, is_on, at FROM thing WHERE id = $1"},
    {"find_things", "SELECT id FROM thing WHERE id = ANY($1::bigint[]) ORDER BY id"},
    {"count_things", "SELECT count(*) FROM thing"},
    {"wait_long", "SELECT pg_sleep(20)::text"},
    {"divide", "SELECT 1 / $1::int"},
    {"remove_things", "DELETE FROM thing"},
    {NULL, NULL},
};

static int set_up(void **state)
{
    struct fixture *f = fixture_open("exec", migrations, statements);

    assert_int_equal(kndl_db_exec(f->db, "remove_things", f->arena, NULL, &f->err), 0);
    *state = f;
    return 0;
}

static void add(struct fixture *f, int64_t id)
{
    assert_int_equal(kndl_db_exec(f->db, "add_thing", f->arena, NULL, &f->err, kndl_db_i64(id),
                                  kndl_db_null(), kndl_db_null(), kndl_db_null(), kndl_db_null(),
                                  kndl_db_null(), kndl_db_null()),
                     0);
}

static void every_type_comes_back_as_it_went(void **state)
{
    struct fixture *f = *state;
    static const uint8_t bytes[] = {0, 255, 'x', 0};
    struct kndl_rows rows;

    assert_int_equal(kndl_db_exec(f->db, "add_thing", f->arena, &rows, &f->err,
                                  kndl_db_i64(INT64_MIN), kndl_db_i64(-5), kndl_db_i64(INT32_MAX),
                                  kndl_db_text("Zoë's; DROP TABLE thing"),
                                  kndl_db_bytes(kndl_slice(bytes, sizeof bytes)),
                                  kndl_db_bool(true), kndl_db_i64(1764441234567)),
                     0);
    assert_int_equal(rows.changed, 1);
    assert_int_equal(rows.count, 0);
    assert_int_equal(
        kndl_db_exec(f->db, "find_thing", f->arena, &rows, &f->err, kndl_db_i64(INT64_MIN)), 0);
    assert_int_equal(rows.count, 1);
    assert_true(kndl_row_i64(&rows, 0, 0) == INT64_MIN);
    assert_int_equal(kndl_row_i64(&rows, 0, 1), -5);
    assert_int_equal(kndl_row_i64(&rows, 0, 2), INT32_MAX);
    assert_string_equal(kndl_row_text(&rows, 0, 3), "Zoë's; DROP TABLE thing");
    assert_true(kndl_slice_equal(kndl_row_bytes(&rows, 0, 4), kndl_slice(bytes, sizeof bytes)));
    assert_true(kndl_row_bool(&rows, 0, 5));
    assert_int_equal(kndl_row_ms(&rows, 0, 6), 1764441234567);
}

static void null_reads_as_nothing(void **state)
{
    struct fixture *f = *state;
    struct kndl_rows rows;

    add(f, 1);
    assert_int_equal(kndl_db_exec(f->db, "find_thing", f->arena, &rows, &f->err, kndl_db_i64(1)),
                     0);
    for (unsigned column = 1; column < 7; column++)
        assert_true(kndl_row_is_null(&rows, 0, column));
    assert_false(kndl_row_is_null(&rows, 0, 0));
    assert_int_equal(kndl_row_i64(&rows, 0, 1), 0);
    assert_string_equal(kndl_row_text(&rows, 0, 3), "");
    assert_int_equal(kndl_row_bytes(&rows, 0, 4).size, 0);
    assert_false(kndl_row_bool(&rows, 0, 5));
    assert_int_equal(kndl_row_ms(&rows, 0, 6), 0);
}

static void an_empty_value_is_not_null(void **state)
{
    struct fixture *f = *state;
    struct kndl_rows rows;

    assert_int_equal(kndl_db_exec(f->db, "add_thing", f->arena, NULL, &f->err, kndl_db_i64(2),
                                  kndl_db_null(), kndl_db_null(), kndl_db_text(""),
                                  kndl_db_bytes((struct kndl_slice){0}), kndl_db_null(),
                                  kndl_db_i64(-1)),
                     0);
    assert_int_equal(kndl_db_exec(f->db, "find_thing", f->arena, &rows, &f->err, kndl_db_i64(2)),
                     0);
    assert_false(kndl_row_is_null(&rows, 0, 3));
    assert_false(kndl_row_is_null(&rows, 0, 4));
    assert_int_equal(kndl_row_ms(&rows, 0, 6), -1);
}

static void arrays_of_numbers_are_parameters(void **state)
{
    struct fixture *f = *state;
    static const int64_t ids[] = {3, INT64_C(5000000000), 99};
    struct kndl_rows rows;

    add(f, 3);
    add(f, INT64_C(5000000000));
    add(f, 4);
    assert_int_equal(
        kndl_db_exec(f->db, "find_things", f->arena, &rows, &f->err, kndl_db_i64s(ids, 3)), 0);
    assert_int_equal(rows.count, 2);
    assert_true(kndl_row_i64(&rows, 1, 0) == INT64_C(5000000000));
    assert_int_equal(
        kndl_db_exec(f->db, "find_things", f->arena, &rows, &f->err, kndl_db_i64s(NULL, 0)), 0);
    assert_int_equal(rows.count, 0);
}

static void rows_outlive_the_next_statement(void **state)
{
    struct fixture *f = *state;
    struct kndl_rows first, second;

    add(f, 7);
    assert_int_equal(kndl_db_exec(f->db, "count_things", f->arena, &first, &f->err), 0);
    add(f, 8);
    assert_int_equal(kndl_db_exec(f->db, "count_things", f->arena, &second, &f->err), 0);
    assert_int_equal(kndl_row_i64(&first, 0, 0), 1);
    assert_int_equal(kndl_row_i64(&second, 0, 0), 2);
}

static void a_second_row_of_the_same_key_exists_already(void **state)
{
    struct fixture *f = *state;

    add(f, 1);
    assert_int_equal(kndl_db_exec(f->db, "add_thing", f->arena, NULL, &f->err, kndl_db_i64(1),
                                  kndl_db_null(), kndl_db_null(), kndl_db_null(), kndl_db_null(),
                                  kndl_db_null(), kndl_db_null()),
                     -1);
    assert_int_equal(f->err.code, KNDL_ALREADY_EXISTS);
}

static void what_is_our_fault_says_nothing_of_the_database(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(kndl_db_exec(f->db, "divide", f->arena, NULL, &f->err, kndl_db_i64(0)), -1);
    assert_int_equal(f->err.code, KNDL_INTERNAL);
    assert_string_equal(f->err.message, "internal error");
}

static void a_statement_that_takes_too_long_is_aborted(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(kndl_db_exec(f->db, "wait_long", f->arena, NULL, &f->err), -1);
    assert_int_equal(f->err.code, KNDL_ABORTED);
}

static void a_statement_that_is_refused_is_named(void **state)
{
    static const struct kndl_statement wrong[] = {{"find_nothing", "SELECT x FROM nowhere"},
                                                  {NULL, NULL}};
    struct kndl_error err = {0};
    struct kndl_db *db;

    (void)state;
    assert_int_equal(kndl_db_open(cluster_start(), "exec", wrong, &db, &err), -1);
    assert_int_equal(err.code, KNDL_INTERNAL);
    assert_non_null(strstr(err.message, "find_nothing"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, fixture_close)
        TEST(every_type_comes_back_as_it_went),
        TEST(null_reads_as_nothing),
        TEST(an_empty_value_is_not_null),
        TEST(arrays_of_numbers_are_parameters),
        TEST(rows_outlive_the_next_statement),
        TEST(a_second_row_of_the_same_key_exists_already),
        TEST(what_is_our_fault_says_nothing_of_the_database),
        TEST(a_statement_that_takes_too_long_is_aborted),
        TEST(a_statement_that_is_refused_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
