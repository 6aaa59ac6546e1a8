/* A nats-server with kndl's accounts and users. */

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "child.h"
#include "kndl/testing.h"

enum { START_MS_MAX = 30000, STEP_MS = 10 };

static char config[512];
static char log_path[512];
static int port;
static pid_t server;

static bool is_listening(void)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                        .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is = connect(fd, (const struct sockaddr *)&address, sizeof address) == 0;

    close(fd);
    return is;
}

static void start_server(void)
{
    char *const argv[] = {(char *)"nats-server", (char *)"-c", config, NULL};

    server = child_start(argv, log_path);
    for (int waited = 0; !is_listening(); waited += STEP_MS) {
        if (waited >= START_MS_MAX)
            child_die("nats-server did not start; its output is in %s", log_path);
        poll(NULL, 0, STEP_MS);
    }
}

const struct kndl_test_nats *kndl_test_nats(void)
{
    static struct kndl_test_nats nats;
    static char url[80];
    char listen[64];

    if (nats.url != NULL)
        return &nats;
    nats.dir = child_new_dir("nats");
    port = child_free_port();
    snprintf(listen, sizeof listen, "127.0.0.1:%d", port);
    snprintf(url, sizeof url, "nats://%s", listen);
    snprintf(config, sizeof config, "%s/nats.conf", nats.dir);
    snprintf(log_path, sizeof log_path, "%s/log", nats.dir);
    char *const argv[] = {(char *)KNDL_INIT_PATH,
                          (char *)nats.dir,
                          (char *)"--listen",
                          listen,
                          (char *)"--runner-creds",
                          (char *)"r1",
                          (char *)"--runner-creds",
                          (char *)"r2",
                          NULL};
    child_run(argv, log_path);
    start_server();
    nats.url = url;
    return &nats;
}

void kndl_test_nats_kill(void)
{
    child_kill(server);
}

void kndl_test_nats_start(void)
{
    start_server();
}
