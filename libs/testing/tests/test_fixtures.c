/* The fixtures themselves: they work, and nothing of them is left. */

#include <errno.h>
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

/* Makes a database in a process that is then killed; returns the postmaster's pid. */
static pid_t pid_of_a_crashed_tests_database(void)
{
    int ends[2];
    int pid = 0;

    assert_int_equal(pipe(ends), 0);
    pid_t test = fork();
    if (test == 0) {
        char path[512];
        const char *url = kndl_test_database();
        const char *dir = strstr(url, "host=") + strlen("host=");
        snprintf(path, sizeof path, "%.*s/data/postmaster.pid", (int)strcspn(dir, "&"), dir);
        FILE *file = fopen(path, "r");
        if (file == NULL || fscanf(file, "%d", &pid) != 1)
            _exit(1);
        if (write(ends[1], &pid, sizeof pid) < 0)
            _exit(1);
        raise(SIGKILL);
    }
    assert_int_equal(read(ends[0], &pid, sizeof pid), sizeof pid);
    waitpid(test, NULL, 0);
    close(ends[0]);
    close(ends[1]);
    return pid;
}

static void a_database_dies_with_a_test_that_crashed(void **unused)
{
    pid_t pid = pid_of_a_crashed_tests_database();
    int tries = 0;

    (void)unused;
    while (kill(pid, 0) == 0) {
        assert_true(++tries < 1000);
        usleep(10000);
    }
    assert_int_equal(errno, ESRCH);
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
