/* The fixtures themselves: they work, and nothing of them is left. */

#include <errno.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <libpq-fe.h>

#include "kndl/testing.h"

static void a_database_is_new_and_empty(void **unused)
{
    const char *first = kndl_test_database();
    const char *second = kndl_test_database();

    (void)unused;
    assert_string_not_equal(first, second);
    PGconn *db = PQconnectdb(first);
    assert_int_equal(PQstatus(db), CONNECTION_OK);
    PGresult *result = PQexec(db, "select count(*) from pg_tables where schemaname = 'public'");
    assert_string_equal(PQgetvalue(result, 0, 0), "0");
    PQclear(result);
    PQfinish(db);
}

struct crashed {
    pid_t postmaster;
    char dir[256];
};

/* Makes a database in a process that is then killed. */
static void crash(struct crashed *ret_crashed)
{
    struct crashed crashed = {0};
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    pid_t test = fork();
    if (test == 0) {
        char path[512];
        const char *dir = strstr(kndl_test_database(), "host=") + strlen("host=");
        snprintf(crashed.dir, sizeof crashed.dir, "%.*s", (int)strcspn(dir, "&"), dir);
        snprintf(path, sizeof path, "%s/data/postmaster.pid", crashed.dir);
        FILE *file = fopen(path, "r");
        if (file == NULL || fscanf(file, "%d", &crashed.postmaster) != 1 ||
            write(ends[1], &crashed, sizeof crashed) < 0)
            _exit(1);
        raise(SIGKILL);
    }
    assert_int_equal(read(ends[0], &crashed, sizeof crashed), sizeof crashed);
    waitpid(test, NULL, 0);
    close(ends[0]);
    close(ends[1]);
    *ret_crashed = crashed;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *at)
{
    (void)status;
    (void)kind;
    (void)at;
    return remove(path);
}

static void a_database_dies_with_a_test_that_crashed(void **unused)
{
    struct crashed crashed;
    int tries = 0;

    (void)unused;
    crash(&crashed);
    while (kill(crashed.postmaster, 0) == 0) {
        assert_true(++tries < 1000);
        poll(NULL, 0, 10);
    }
    assert_int_equal(errno, ESRCH);
    /* Its children follow; what they still write is removed with the rest. */
    for (tries = 0; nftw(crashed.dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS) != 0; tries++) {
        assert_true(tries < 1000);
        poll(NULL, 0, 10);
    }
}

static void a_nats_knows_its_users(void **unused)
{
    const struct kndl_test_nats *nats = kndl_test_nats();
    char path[512];

    (void)unused;
    snprintf(path, sizeof path, "%s/creds/runner-r1.creds", nats->dir);
    assert_int_equal(access(path, R_OK), 0);
    assert_non_null(nats->url);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_database_dies_with_a_test_that_crashed),
        cmocka_unit_test(a_database_is_new_and_empty),
        cmocka_unit_test(a_nats_knows_its_users),
    };
    return cmocka_run_group_tests_name("fixtures", tests, NULL, NULL);
}
