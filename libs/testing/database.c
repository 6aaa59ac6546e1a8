/* A PostgreSQL of the test's own: made for speed, not for keeping. */

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <libpq-fe.h>

#include "child.h"
#include "kndl/buf.h"
#include "kndl/mem.h"
#include "kndl/testing.h"

enum { START_MS_MAX = 60000, STEP_MS = 20 };

/*
 * PostgreSQL refuses root; in a namespace of its own it is somebody. Entering one forgets that
 * the process is to die with the test, so setpriv says it again.
 */
static size_t add_unshare(char **argv)
{
    static const char *const prefix[] = {
        "unshare",     "--user", "--map-user=1000", "--map-group=1000", "setpriv",
        "--pdeathsig", "KILL"};
    size_t count = sizeof prefix / sizeof prefix[0];

    if (getuid() != 0)
        return 0;
    for (size_t i = 0; i < count; i++)
        argv[i] = (char *)prefix[i];
    return count;
}

/* Debian keeps one folder for each major version. */
static const char *find_program(const char *name, char path[256])
{
    for (int version = 20; version >= 13; version--) {
        snprintf(path, 256, "/usr/lib/postgresql/%d/bin/%s", version, name);
        if (access(path, X_OK) == 0)
            return path;
    }
    child_die("PostgreSQL's %s is not installed", name);
}

static void make_cluster(const char *data, const char *log)
{
    char program[256];
    char *argv[24];
    size_t count = add_unshare(argv);
    const char *const rest[] = {find_program("initdb", program),
                                "-D",
                                data,
                                "-A",
                                "trust",
                                "-U",
                                "postgres",
                                "-E",
                                "UTF8",
                                "--locale=C",
                                "--no-sync",
                                NULL};

    memcpy(argv + count, rest, sizeof rest);
    child_run(argv, log);
}

static void start_server(const char *data, const char *dir, const char *log)
{
    char program[256];
    char *argv[32];
    char sockets[300];
    size_t count = add_unshare(argv);

    snprintf(sockets, sizeof sockets, "unix_socket_directories=%s", dir);
    const char *const rest[] = {find_program("postgres", program),
                                "-D",
                                data,
                                "-c",
                                "listen_addresses=",
                                "-c",
                                sockets,
                                "-c",
                                "fsync=off",
                                "-c",
                                "full_page_writes=off",
                                "-c",
                                "shared_buffers=16MB",
                                "-c",
                                "max_connections=60",
                                NULL};
    memcpy(argv + count, rest, sizeof rest);
    child_start(argv, log);
}

static PGconn *connect_admin(const char *dir, const char *log)
{
    char where[400];

    snprintf(where, sizeof where, "host=%s user=postgres dbname=postgres", dir);
    for (int waited = 0; waited < START_MS_MAX; waited += STEP_MS) {
        PGconn *admin = PQconnectdb(where);
        if (PQstatus(admin) == CONNECTION_OK)
            return admin;
        PQfinish(admin);
        poll(NULL, 0, STEP_MS);
    }
    child_die("PostgreSQL did not start; its output is in %s", log);
}

static PGconn *the_admin;
static const char *the_dir;
static struct kndl_buf urls[64]; /* of the databases made, for as long as the process lives */
static size_t url_count;

static void close_admin(void)
{
    PQfinish(the_admin);
    for (size_t i = 0; i < url_count; i++)
        kndl_buf_done(&urls[i]);
}

static void start_once(void)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf data = {0};
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf log = {0};

    if (the_admin != NULL)
        return;
    the_dir = child_new_dir("pg");
    kndl_buf_printf(&data, "%s/data", the_dir);
    kndl_buf_printf(&log, "%s/log", the_dir);
    make_cluster(kndl_buf_text(&data), kndl_buf_text(&log));
    start_server(kndl_buf_text(&data), the_dir, kndl_buf_text(&log));
    the_admin = connect_admin(the_dir, kndl_buf_text(&log));
    atexit(close_admin);
}

const char *kndl_test_database(void)
{
    char statement[64];

    start_once();
    if (url_count == sizeof urls / sizeof urls[0])
        child_die("too many databases");
    snprintf(statement, sizeof statement, "create database test_%zu", url_count);
    PGresult *result = PQexec(the_admin, statement);
    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        child_die("%s: %s", statement, PQerrorMessage(the_admin));
    PQclear(result);
    struct kndl_buf *url = &urls[url_count];
    kndl_buf_printf(url, "postgresql:///test_%zu?host=%s&user=postgres", url_count, the_dir);
    url_count++;
    return kndl_buf_text(url);
}
