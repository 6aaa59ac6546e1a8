/* Looks into Sandboxes that run: which there are, what they use, what listens, and a connection. */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "box.h"
#include "cgroup.h"
#include "kndl/env.h"
#include "kndl/mem.h"
#include "uid_range.h"
#include "verbs.h"

enum { LISTENERS_MAX = 256, CONNECT_MS = 10 * 1000, TCP_LISTEN = 10 };

static int find_init(const char *const *args, pid_t *ret_init, int *ret_pidfd,
                     struct kndl_error *err)
{
    const char *name = verb_arg(args, "name");

    *ret_init = box_find_pid(name, "init.pid", ret_pidfd);
    if (*ret_init == 0)
        return kndl_fail(err, KNDL_FAILED_PRECONDITION, "Sandbox %s does not run", name);
    return 0;
}

/* The relay's port is ours: no listener of the guest's, and no Forward's target. 0: none. */
static int find_relay_port(const char *const *args, uint64_t *ret_port, struct kndl_error *err)
{
    KNDL_CLEANUP(box_done) struct box box = {.lock = -1};

    if (box_open(&box, verb_arg(args, "name"), BOX_LOOK, err) < 0)
        return -1;
    if (box.args == NULL)
        return kndl_fail(err, KNDL_NOT_FOUND, "Sandbox %s was never created", box.name);
    return verb_arg_u64(box.args, "relay_port", UINT16_MAX, ret_port, err);
}

/* ----------------------------------------------------------------------------------- list */

static void say_sandbox(void *data, const char *name)
{
    struct box box;
    char uid[16];
    uint32_t range;
    const char *word = "stopped";
    KNDL_CLEANUP(kndl_close) int pidfd = -1;
    size_t size = strlen(data);

    /* Another Runner's, or one that somebody works on: that one's command answers for it. */
    if (strncmp(name, data, size) != 0 || name[size] != '-' ||
        box_open(&box, name, BOX_EXISTING, NULL) < 0)
        return;
    if (box_read_pid(&box, "init.pid", &pidfd) > 0)
        word = "running";
    else if (box_has(&box, "started"))
        word = "crashed";
    (void)snprintf(uid, sizeof uid, "%u", uid_range_find(name, &range) ? uid_range_base(range) : 0);
    verb_say("sandbox", -1, "name", name, "state", word, "uid", uid, NULL);
    box_done(&box);
}

int namespace_list_run(const char *const *args, struct kndl_error *err)
{
    char prefix[SANDBOX_NAME_CHARS_MAX + 1];

    (void)args;
    (void)snprintf(prefix, sizeof prefix, "%s", kndl_env_get("RUNNER_NAME_PREFIX"));
    if (box_each(say_sandbox, prefix, err) < 0)
        return -1;
    verb_done(-1, NULL);
    return 0;
}

/* ---------------------------------------------------------------------------------- stats */

int namespace_stats_run(const char *const *args, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_close) int pidfd = -1;
    enum cgroup_version version;
    struct cgroup_use use;
    char text[4][24];
    pid_t init;

    if (find_init(args, &init, &pidfd, err) < 0 || cgroup_probe(&version, err) < 0 ||
        cgroup_read(version, init, &use, err) < 0)
        return -1;
    (void)snprintf(text[0], sizeof text[0], "%llu", (unsigned long long)use.cpu_us);
    (void)snprintf(text[1], sizeof text[1], "%llu", (unsigned long long)use.memory_bytes);
    (void)snprintf(text[2], sizeof text[2], "%llu", (unsigned long long)use.memory_peak_bytes);
    (void)snprintf(text[3], sizeof text[3], "%llu", (unsigned long long)use.pids);
    verb_done(-1, "cpu_us", text[0], "memory", text[1], "peak", text[2], "pids", text[3], NULL);
    return 0;
}

/* ------------------------------------------------------------------------------ listeners */

/* The kernel prints each 32 bits of an address in host order. */
static bool print_address(const char *hex, int family, char *ret_text, size_t size)
{
    uint32_t words[4];
    int count = family == AF_INET ? 1 : 4;

    for (int i = 0; i < count; i++) {
        if (sscanf(hex + (ptrdiff_t)i * 8, "%8x", &words[i]) != 1)
            return false;
    }
    return inet_ntop(family, words, ret_text, (socklen_t)size) != NULL;
}

static void say_listeners(pid_t init, const char *file, int family, unsigned relay, size_t *count)
{
    char path[64], line[512], local[64], address[INET6_ADDRSTRLEN], port_text[8];
    FILE *table;

    (void)snprintf(path, sizeof path, "/proc/%d/net/%s", (int)init, file);
    table = fopen(path, "re");
    if (table == NULL)
        return;
    while (*count < LISTENERS_MAX && fgets(line, sizeof line, table) != NULL) {
        unsigned port, state;
        size_t digits = family == AF_INET ? 8 : 32;

        if (sscanf(line, " %*u: %63[0-9A-F]:%x %*s %x", local, &port, &state) != 3 ||
            state != TCP_LISTEN || port == relay || strlen(local) != digits ||
            !print_address(local, family, address, sizeof address))
            continue;
        (void)snprintf(port_text, sizeof port_text, "%u", port);
        verb_say("listener", -1, "address", address, "port", port_text, NULL);
        (*count)++;
    }
    (void)fclose(table);
}

int namespace_listeners_run(const char *const *args, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_close) int pidfd = -1;
    uint64_t relay;
    size_t count = 0;
    pid_t init;

    if (find_init(args, &init, &pidfd, err) < 0 || find_relay_port(args, &relay, err) < 0)
        return -1;
    say_listeners(init, "tcp", AF_INET, (unsigned)relay, &count);
    say_listeners(init, "tcp6", AF_INET6, (unsigned)relay, &count);
    verb_done(-1, NULL);
    return 0;
}

/* ----------------------------------------------------------------------------------- dial */

static int enter_network(pid_t init, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_close) int net = -1;
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/%d/ns/net", (int)init);
    net = open(path, O_RDONLY | O_CLOEXEC);
    if (net < 0 || setns(net, CLONE_NEWNET) < 0)
        return kndl_fail(err, KNDL_INTERNAL, "%s: %s", path, strerror(errno));
    return 0;
}

static int connect_to(uint16_t port, int *ret_fd, struct kndl_error *err)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    KNDL_CLEANUP(kndl_close)
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct pollfd ready = {.fd = fd, .events = POLLOUT};
    int problem = 0;
    socklen_t size = sizeof problem;

    if (fd < 0)
        return kndl_fail(err, KNDL_RESOURCE_EXHAUSTED, "socket: %s", strerror(errno));
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0 && errno != EINPROGRESS)
        return kndl_fail(err, KNDL_UNAVAILABLE, "port %u: %s", port, strerror(errno));
    if (poll(&ready, 1, CONNECT_MS) != 1)
        return kndl_fail(err, KNDL_DEADLINE_EXCEEDED, "port %u does not answer", port);
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &problem, &size) < 0 || problem != 0)
        return kndl_fail(err, KNDL_UNAVAILABLE, "port %u: %s", port, strerror(problem));
    *ret_fd = kndl_steal_fd(&fd);
    return 0;
}

int namespace_dial_run(const char *const *args, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_close) int pidfd = -1;
    KNDL_CLEANUP(kndl_close) int fd = -1;
    uint64_t port, relay;
    pid_t init;

    if (verb_arg_u64(args, "port", UINT16_MAX, &port, err) < 0 ||
        find_init(args, &init, &pidfd, err) < 0 || find_relay_port(args, &relay, err) < 0)
        return -1;
    if (port == relay)
        return kndl_fail(err, KNDL_PERMISSION_DENIED, "port %u is kndl's own", (unsigned)port);
    if (enter_network(init, err) < 0 || connect_to((uint16_t)port, &fd, err) < 0)
        return -1;
    verb_done(fd, NULL);
    return 0;
}
