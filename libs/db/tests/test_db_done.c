/* A request is done once, in its transaction, and its id is good for nothing else. */

#include "fixture.h"
#include "kndl/done.h"

#define DAY_MS (INT64_C(24) * 60 * 60 * 1000)

static const struct kndl_migration migrations[] = {
    {1, "0001_done",
     "CREATE TABLE done (person_id text NOT NULL, request_id text NOT NULL, made_id text NOT NULL,"
     " done_at timestamptz NOT NULL, content bytea, PRIMARY KEY (person_id, request_id));"},
    {0, NULL, NULL},
};

static const struct kndl_statement statements[] = {
    KNDL_DONE_STATEMENTS,
    {"forget", "DELETE FROM done"},
    {"forget_contents", "UPDATE done SET content = NULL"},
    {"count", "SELECT count(*) FROM done"},
    {NULL, NULL},
};

static const struct kndl_done *done; /* of the last request */

static int set_up(void **state)
{
    struct fixture *f = fixture_open("done", migrations, statements);

    assert_int_equal(kndl_db_exec(f->db, "forget", f->arena, NULL, &f->err), 0);
    *state = f;
    return 0;
}

static enum kndl_code ask(struct fixture *f, const char *person, const char *request,
                          const char *content, int64_t now_ms)
{
    const struct kndl_asked asked = {person, request, now_ms, kndl_slice_of(content)};

    f->err = (struct kndl_error){0};
    done = NULL;
    (void)kndl_done_keep(f->db, &asked, "made", f->arena, &done, &f->err);
    return f->err.code;
}

static void a_repeat_is_told_what_was_made_and_something_else_is_refused(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(ask(f, "ada", "q1", "Rename a", 1), KNDL_OK);
    assert_null(done);
    assert_int_equal(ask(f, "ada", "q1", "Rename a", 2), KNDL_OK);
    assert_non_null(done);
    assert_string_equal(done->made_id, "made");
    assert_int_equal(ask(f, "ada", "q1", "Rename b", 3), KNDL_INVALID_ARGUMENT);
    assert_string_equal(f->err.message, "request_id q1 was used for something else");
    assert_int_equal(ask(f, "bob", "q1", "Rename b", 4), KNDL_OK);
    assert_null(done);
}

static void what_is_not_committed_was_not_done(void **state)
{
    struct fixture *f = *state;
    struct kndl_tx tx;

    assert_int_equal(kndl_tx_begin(f->db, &tx, &f->err), 0);
    assert_int_equal(ask(f, "ada", "q1", "Rename a", 1), KNDL_OK);
    kndl_tx_done(&tx);
    assert_int_equal(ask(f, "ada", "q1", "Rename b", 2), KNDL_OK);
    assert_null(done);
}

static void a_content_that_is_gone_takes_any_repeat_for_one(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(ask(f, "ada", "q1", "Rename a", 1), KNDL_OK);
    assert_int_equal(kndl_db_exec(f->db, "forget_contents", f->arena, NULL, &f->err), 0);
    assert_int_equal(ask(f, "ada", "q1", "Rename b", 2), KNDL_OK);
    assert_non_null(done);
}

static void what_is_older_than_a_day_goes_with_the_next(void **state)
{
    struct fixture *f = *state;
    struct kndl_rows rows;

    assert_int_equal(ask(f, "ada", "q1", "a", 1), KNDL_OK);
    assert_int_equal(ask(f, "ada", "q2", "a", DAY_MS), KNDL_OK);
    assert_int_equal(ask(f, "ada", "q3", "a", DAY_MS + 2), KNDL_OK);
    assert_int_equal(kndl_db_exec(f->db, "count", f->arena, &rows, &f->err), 0);
    assert_int_equal(kndl_row_i64(&rows, 0, 0), 2);
    assert_int_equal(ask(f, "ada", "q1", "b", DAY_MS + 3), KNDL_OK);
    assert_null(done);
}

static void a_repeat_after_a_day_is_one_still_where_nothing_came_between(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(ask(f, "ada", "q1", "a", 1), KNDL_OK);
    assert_int_equal(ask(f, "ada", "q1", "a", DAY_MS + 2), KNDL_OK);
    assert_non_null(done);
    assert_int_equal(ask(f, "ada", "q1", "a", DAY_MS + 3), KNDL_OK);
    assert_non_null(done);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, fixture_close)
        TEST(a_repeat_is_told_what_was_made_and_something_else_is_refused),
        TEST(what_is_not_committed_was_not_done),
        TEST(a_content_that_is_gone_takes_any_repeat_for_one),
        TEST(what_is_older_than_a_day_goes_with_the_next),
        TEST(a_repeat_after_a_day_is_one_still_where_nothing_came_between),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
