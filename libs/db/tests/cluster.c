#include "cluster.h"

#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <libpq-fe.h>

#define BIN "/usr/lib/postgresql/15/bin/"

static char folder[64];
static char url[160];
static pid_t server;
static pid_t owner;

/* PostgreSQL refuses root, so that root becomes somebody else in a user namespace. */
static pid_t start(char *const argv[])
{
    char *const clean[] = {"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", NULL};
    char *line[24] = {"/usr/bin/unshare", "--user", "--map-user=1000", "--map-group=1000"};
    size_t count = geteuid() == 0 ? 4 : 0;
    pid_t child;

    for (size_t i = 0; argv[i] != NULL; i++)
        line[count++] = argv[i];
    child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (freopen("/dev/null", "w", stdout) == NULL || freopen("/dev/null", "w", stderr) == NULL)
            _exit(126);
        execve(line[0], line, clean);
        _exit(127);
    }
    return child;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status;
    (void)kind;
    (void)walk;
    return remove(path);
}

static void clean_up(void)
{
    if (getpid() != owner)
        return;
    if (server > 0) {
        kill(server, SIGQUIT);
        waitpid(server, NULL, 0);
    }
    nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void init(void)
{
    char data[96];
    int status;

    strcpy(folder, "/tmp/kndl-db-XXXXXX");
    if (mkdtemp(folder) == NULL)
        abort();
    owner = getpid();
    atexit(clean_up);
    snprintf(data, sizeof data, "%s/data", folder);
    snprintf(url, sizeof url, "postgresql:///postgres?user=kndl&host=%s", folder);
    char *const argv[] = {BIN "initdb",   "-D",        data, "-U",   "kndl",
                          "--auth=trust", "--no-sync", "-E", "UTF8", NULL};
    waitpid(start(argv), &status, 0);
    if (status != 0)
        abort();
}

static int answers(void)
{
    PGconn *connection = PQconnectdb(url);
    int yes = PQstatus(connection) == CONNECTION_OK;

    PQfinish(connection);
    return yes;
}

const char *cluster_start(void)
{
    char data[96];

    if (folder[0] == '\0')
        init();
    snprintf(data, sizeof data, "%s/data", folder);
    char *const argv[] = {BIN "postgres",      "-D", data,        "-k", folder, "-c",
                          "listen_addresses=", "-c", "fsync=off", NULL};
    while (!answers()) {
        /* After a kill the new server refuses until the old one's children have noticed. */
        if (server <= 0 || waitpid(server, NULL, WNOHANG) == server)
            server = start(argv);
        usleep(20000);
    }
    return url;
}

void cluster_kill(void)
{
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    server = 0;
    while (answers())
        usleep(5000);
}
