/* Builds and removes a Sandbox's network. */

#include "network.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kndl/buf.h"
#include "kndl/mem.h"
#include "program.h"
#include "verb.h"

enum { ALLOW_ENTRIES_MAX = 64 };

static const char private_nets[] =
    "10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 100.64.0.0/10, 169.254.0.0/16, 127.0.0.0/8, "
    "224.0.0.0/4, 240.0.0.0/4, 0.0.0.0/8";

/* ------------------------------------------------------------------ RUNNER_SANDBOX_ALLOW */

struct allowed {
    char net[32];
    unsigned port; /* 0: all */
};

static int parse_allowed(const char *text, size_t size, struct allowed *ret, struct kndl_error *err)
{
    char entry[64], address[20];
    char *colon, *slash, *end;
    unsigned long port = 0, bits = 32;
    struct in_addr parsed;
    bool ok = size < sizeof entry;

    (void)snprintf(entry, sizeof entry, "%.*s", (int)size, text);
    if ((colon = strchr(entry, ':')) != NULL) {
        *colon++ = '\0';
        port = strtoul(colon, &end, 10);
        ok = ok && *colon >= '0' && *colon <= '9' && *end == '\0' && port >= 1 && port <= 65535;
    }
    if ((slash = strchr(entry, '/')) != NULL) {
        *slash++ = '\0';
        bits = strtoul(slash, &end, 10);
        ok = ok && *slash >= '0' && *slash <= '9' && *end == '\0' && bits <= 32;
    }
    ok = ok && inet_pton(AF_INET, entry, &parsed) == 1;
    if (!ok)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "RUNNER_SANDBOX_ALLOW: \"%.*s\" is not ADDRESS[/BITS][:PORT]", (int)size,
                         text);
    (void)inet_ntop(AF_INET, &parsed, address, sizeof address);
    (void)snprintf(ret->net, sizeof ret->net, "%s/%lu", address, bits);
    ret->port = (unsigned)port;
    return 0;
}

/* Appends the rules, or only checks where out is NULL. */
static int append_allowed(const char *allow, struct kndl_buf *out, struct kndl_error *err)
{
    for (int i = 0; *allow != '\0'; i++) {
        size_t size;
        struct allowed entry;

        allow += strspn(allow, ", ");
        size = strcspn(allow, ", ");
        if (size == 0)
            break;
        if (i == ALLOW_ENTRIES_MAX)
            return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                             "RUNNER_SANDBOX_ALLOW has more than %d entries", ALLOW_ENTRIES_MAX);
        if (parse_allowed(allow, size, &entry, err) < 0)
            return -1;
        allow += size;
        if (out != NULL && entry.port != 0)
            kndl_buf_printf(out, "    iifname \"g0\" ip daddr %s tcp dport %u accept\n", entry.net,
                            entry.port);
        else if (out != NULL)
            kndl_buf_printf(out, "    iifname \"g0\" ip daddr %s accept\n", entry.net);
    }
    return 0;
}

int network_check_allow(const char *allow, struct kndl_error *err)
{
    return append_allowed(allow, NULL, err);
}

/* ------------------------------------------------------------------------------- the rules */

/* A public address of the host is in no private range, and is not for its guests either. */
static void append_host_nets(struct kndl_buf *out)
{
    struct ifaddrs *all, *at;

    if (getifaddrs(&all) < 0)
        return;
    for (at = all; at != NULL; at = at->ifa_next) {
        struct sockaddr_in address, mask;
        char text[INET_ADDRSTRLEN];

        if (at->ifa_addr == NULL || at->ifa_netmask == NULL || at->ifa_addr->sa_family != AF_INET ||
            (at->ifa_flags & IFF_LOOPBACK) != 0)
            continue;
        memcpy(&address, at->ifa_addr, sizeof address);
        memcpy(&mask, at->ifa_netmask, sizeof mask);
        address.sin_addr.s_addr &= mask.sin_addr.s_addr;
        (void)inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
        kndl_buf_printf(out, ", %s/%d", text, __builtin_popcount(mask.sin_addr.s_addr));
    }
    freeifaddrs(all);
}

static int append_rules(const char *allow, struct kndl_buf *out, struct kndl_error *err)
{
    kndl_buf_printf(out,
                    "table inet kndl {\n"
                    "  set private { type ipv4_addr; flags interval; auto-merge;\n"
                    "    elements = { %s",
                    private_nets);
    append_host_nets(out);
    kndl_buf_append_text(
        out, " }; }\n"
             "  chain c_pre { type nat hook prerouting priority dstnat;\n"
             "    iifname \"g0\" ip daddr 10.77.0.1 meta l4proto { tcp, udp } th dport 53"
             " dnat ip to 10.0.2.3:53; }\n"
             "  chain c_post { type nat hook postrouting priority srcnat;\n"
             "    oifname \"up0\" masquerade; }\n"
             "  chain c_fwd { type filter hook forward priority filter; policy drop;\n"
             "    ct state established,related accept\n"
             "    iifname \"g0\" ip daddr 10.0.2.3 meta l4proto { tcp, udp } th dport 53 accept\n");
    if (append_allowed(allow, out, err) < 0)
        return -1;
    kndl_buf_append_text(out,
                         "    iifname \"g0\" ip daddr @private reject\n"
                         "    iifname \"g0\" meta nfproto ipv4 oifname \"up0\" accept; }\n"
                         "  chain c_in { type filter hook input priority filter; policy drop;\n"
                         "    ct state established,related accept\n"
                         "    iifname \"lo\" accept; }\n"
                         "}\n");
    return 0;
}

/* --------------------------------------------------------------------------------- up, down */

static int run(const char *const *argv, const char *input, int netns, struct kndl_error *err)
{
    struct program program = {.argv = argv, .input = input, .netns = netns};

    return program_run(&program, err);
}

/* Written by a process that is in the namespace: /proc/sys/net is each one's own. */
static int forward_in(int netns, struct kndl_error *err)
{
    int status = 0;
    pid_t pid = fork();

    if (pid < 0)
        return kndl_fail(err, KNDL_RESOURCE_EXHAUSTED, "fork: %s", strerror(errno));
    if (pid == 0) {
        int fd = setns(netns, CLONE_NEWNET) < 0
                     ? -1
                     : open("/proc/sys/net/ipv4/ip_forward", O_WRONLY | O_CLOEXEC);

        _exit(fd >= 0 && write(fd, "1", 1) == 1 ? 0 : 1);
    }
    if (waitpid(pid, &status, 0) < 0 || status != 0)
        return kndl_fail(err, KNDL_INTERNAL, "the router cannot forward");
    return 0;
}

static int connect_guest(const char *name, pid_t init, int router, struct kndl_error *err)
{
    char batch[256], path[64];
    KNDL_CLEANUP(kndl_close) int guest = -1;

    (void)snprintf(path, sizeof path, "/proc/%d/ns/net", (int)init);
    guest = open(path, O_RDONLY | O_CLOEXEC);
    if (guest < 0)
        return kndl_fail(err, KNDL_INTERNAL, "%s: %s", path, strerror(errno));
    (void)snprintf(batch, sizeof batch, "link add g0 netns %s type veth peer name eth0 netns %d\n",
                   name, (int)init);
    if (run((const char *[]){"ip", "-batch", "-", NULL}, batch, 0, err) < 0)
        return -1;
    if (run((const char *[]){"ip", "-batch", "-", NULL},
            "link set lo up\naddr add 10.77.0.1/30 dev g0\nlink set g0 up\n", router, err) < 0)
        return -1;
    return run((const char *[]){"ip", "-batch", "-", NULL},
               "link set lo up\naddr add 10.77.0.2/30 dev eth0\nlink set eth0 up\n"
               "route add default via 10.77.0.1\n",
               guest, err);
}

/*
 * slirp4netns reads packets of the guest and is root: --enable-sandbox drops its capabilities and
 * takes the filesystem away. That unmounts what is under /run, so it is told the namespace by a
 * process that is in it, for as long as it needs.
 */
static int start_slirp(const struct network *network, int router, struct kndl_error *err)
{
    char pid_text[16];
    int done;
    pid_t anchor, parent = getpid();

    anchor = fork();
    if (anchor < 0)
        return kndl_fail(err, KNDL_RESOURCE_EXHAUSTED, "fork: %s", strerror(errno));
    if (anchor == 0) {
        (void)close(VERB_SOCKET_FD);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        if (getppid() == parent && setns(router, CLONE_NEWNET) == 0 && raise(SIGSTOP) == 0)
            (void)pause();
        _exit(1);
    }
    (void)waitpid(anchor, NULL, WUNTRACED);
    (void)snprintf(pid_text, sizeof pid_text, "%d", (int)anchor);
    done = program_start(
        &(struct program_daemon){
            .argv = (const char *[]){"slirp4netns", "--configure", "--disable-host-loopback",
                                     "--enable-seccomp", "--enable-sandbox", "--mtu=65520",
                                     "--ready-fd=3", pid_text, "up0", NULL},
            .mounts = PROGRAM_OWN_MOUNTS,
            .log = network->log,
            .record = network->record,
            .data = network->data,
        },
        err);
    (void)kill(anchor, SIGKILL);
    (void)waitpid(anchor, NULL, 0);
    return done;
}

int network_up(const struct network *network, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf rules = {0};
    KNDL_CLEANUP(kndl_close) int router = -1;
    char path[128];

    if (run((const char *[]){"ip", "netns", "add", network->name, NULL}, NULL, 0, err) < 0)
        return -1;
    (void)snprintf(path, sizeof path, "/run/netns/%s", network->name);
    router = open(path, O_RDONLY | O_CLOEXEC);
    if (router < 0)
        return kndl_fail(err, KNDL_INTERNAL, "%s: %s", path, strerror(errno));
    /* The rules stand before anything can pass. */
    if (append_rules(network->allow, &rules, err) < 0 ||
        run((const char *[]){"nft", "-f", "-", NULL}, kndl_buf_text(&rules), router, err) < 0 ||
        forward_in(router, err) < 0 || connect_guest(network->name, network->init, router, err) < 0)
        return -1;
    return start_slirp(network, router, err);
}

void network_down(const char *name)
{
    char path[128];

    (void)snprintf(path, sizeof path, "/run/netns/%s", name);
    if (access(path, F_OK) == 0)
        (void)run((const char *[]){"ip", "netns", "delete", name, NULL}, NULL, 0, NULL);
}
