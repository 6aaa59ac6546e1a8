#include <poll.h>

#include "fixture.h"
#include "kndl/clock.h"
#include "kndl/mem.h"

static const struct kndl_statement statements[] = {
    {"answer", "SELECT $1::bigint + 1"},
    {"end_myself", "SELECT pg_terminate_backend(pg_backend_pid())"},
    {NULL, NULL},
};
static const struct kndl_migration none[] = {{0, NULL, NULL}};

static int set_up(void **state)
{
    *state = fixture_open("again", none, statements);
    return 0;
}

static int ask(struct fixture *f)
{
    struct kndl_rows rows;

    if (kndl_db_exec(f->db, "answer", f->arena, &rows, &f->err, kndl_db_i64(41)) < 0)
        return -1;
    assert_int_equal(kndl_row_i64(&rows, 0, 0), 42);
    return 0;
}

/* The server is gone at once; its child of this connection answers until it has noticed. */
static void ask_until_refused(struct fixture *f)
{
    while (ask(f) == 0)
        (void)poll(NULL, 0, 1);
}

static void a_killed_server_is_unavailable_and_then_used_again(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(ask(f), 0);
    cluster_kill();
    ask_until_refused(f);
    assert_int_equal(f->err.code, KNDL_UNAVAILABLE);
    assert_int_equal(ask(f), -1);
    assert_int_equal(f->err.code, KNDL_UNAVAILABLE);

    cluster_start();
    kndl_clock_shift(1000);
    assert_int_equal(ask(f), 0);
}

static void a_restart_while_nobody_asked_fails_no_call(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(ask(f), 0);
    cluster_kill();
    cluster_start();
    assert_int_equal(ask(f), 0);
}

static void a_connection_that_ends_under_a_statement_is_unavailable(void **state)
{
    struct fixture *f = *state;
    struct kndl_rows rows;

    assert_int_equal(kndl_db_exec(f->db, "end_myself", f->arena, &rows, &f->err), -1);
    assert_int_equal(f->err.code, KNDL_UNAVAILABLE);
    assert_int_equal(ask(f), 0);
}

static void a_transaction_does_not_go_on_by_another_connection(void **state)
{
    struct fixture *f = *state;

    {
        KNDL_CLEANUP(kndl_tx_done) struct kndl_tx tx;
        assert_int_equal(kndl_tx_begin(f->db, &tx, &f->err), 0);
        assert_int_equal(ask(f), 0);
        cluster_kill();
        cluster_start();
        assert_int_equal(ask(f), -1);
        assert_int_equal(ask(f), -1);
        assert_int_equal(kndl_tx_commit(&tx, &f->err), -1);
        assert_int_equal(f->err.code, KNDL_UNAVAILABLE);
    }
    assert_int_equal(ask(f), 0);
}

static void a_server_that_is_away_at_the_start_is_unavailable(void **state)
{
    struct fixture *f = *state;
    const char *url = cluster_start();
    struct kndl_db *db;

    cluster_kill();
    assert_int_equal(kndl_db_open(url, "again", statements, &db, &f->err), -1);
    assert_int_equal(f->err.code, KNDL_UNAVAILABLE);
    assert_int_equal(kndl_db_migrate(url, "again", none, &f->err), -1);
    assert_int_equal(f->err.code, KNDL_UNAVAILABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, fixture_close)
        TEST(a_killed_server_is_unavailable_and_then_used_again),
        TEST(a_restart_while_nobody_asked_fails_no_call),
        TEST(a_connection_that_ends_under_a_statement_is_unavailable),
        TEST(a_transaction_does_not_go_on_by_another_connection),
        TEST(a_server_that_is_away_at_the_start_is_unavailable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
