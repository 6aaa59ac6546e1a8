/* A nats-server with kndl's accounts and users. */

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "child.h"
#include "kndl/testing.h"

enum { START_MS_MAX = 30000, STEP_MS = 10, TRIES_MAX = 5 };

static char config[512];
static char log_path[512];
static pid_t server;

/* Another test's server may have taken the port meanwhile: only our own log says that ours runs. */
static bool is_ready(long from)
{
    char line[1024];
    bool is = false;
    FILE *file = fopen(log_path, "r");

    if (file == NULL)
        return false;
    if (fseek(file, from, SEEK_SET) == 0)
        while (!is && fgets(line, sizeof line, file) != NULL)
            is = strstr(line, "Server is ready") != NULL;
    fclose(file);
    return is;
}

/* False if it ended by itself, as it does where its port is taken. */
static bool start_server(void)
{
    char *const argv[] = {(char *)"nats-server", (char *)"-c", config, NULL};
    struct stat status;
    long from = stat(log_path, &status) == 0 ? (long)status.st_size : 0;

    server = child_start(argv, log_path);
    for (int waited = 0; !is_ready(from); waited += STEP_MS) {
        if (child_has_ended(server))
            return false;
        if (waited >= START_MS_MAX)
            child_die("nats-server did not start; its output is in %s", log_path);
        poll(NULL, 0, STEP_MS);
    }
    return true;
}

/* Identities, and a configuration for a port that is free as far as one can know. */
static void init(const char *dir, char url[80])
{
    char listen[64];

    snprintf(listen, sizeof listen, "127.0.0.1:%d", child_free_port());
    snprintf(url, 80, "nats://%s", listen);
    char *const argv[] = {(char *)KNDL_INIT_PATH,
                          (char *)dir,
                          (char *)"--listen",
                          listen,
                          (char *)"--runner-creds",
                          (char *)"r1",
                          (char *)"--runner-creds",
                          (char *)"r2",
                          NULL};
    child_run(argv, log_path);
}

const struct kndl_test_nats *kndl_test_nats(void)
{
    static struct kndl_test_nats nats;
    static char url[80];

    if (nats.url != NULL)
        return &nats;
    nats.dir = child_new_dir("nats");
    snprintf(config, sizeof config, "%s/nats.conf", nats.dir);
    snprintf(log_path, sizeof log_path, "%s/log", nats.dir);
    for (int tries = 0;; tries++) {
        init(nats.dir, url);
        if (start_server())
            break;
        if (tries == TRIES_MAX)
            child_die("nats-server does not start; its output is in %s", log_path);
    }
    nats.url = url;
    return &nats;
}

void kndl_test_nats_kill(void)
{
    child_kill(server);
}

void kndl_test_nats_start(void)
{
    if (!start_server())
        child_die("nats-server does not start again; its output is in %s", log_path);
}
