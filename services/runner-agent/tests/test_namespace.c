/*
 * Real Sandboxes on this machine: what a guest's root can and cannot do, what a stop leaves, and
 * what outlives the Runner. CC-01: everything Claude Code does stays in its Sandbox. LI-02: a stop
 * keeps the disks and nothing else. RE-01: one listener in each Sandbox's own loopback.
 */

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host.h"

#include "box.h"
#include "kndl/buf.h"
#include "kndl/clock.h"
#include "kndl/mem.h"
#include "program.h"
#include "reaper.h"
#include "verb.h"

static bool output_has(const struct host *host, const char *text)
{
    if (strstr(host->output, text) != NULL)
        return true;
    print_message("output: %s\n", host->output);
    return false;
}

static bool exists(const char *folder, const char *name)
{
    char path[256];

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

/* Wherever the groups of this process are. */
static bool any_group_of(const char *name)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf output = {0};
    const char *const argv[] = {"find", "/sys/fs/cgroup", "-name", name, NULL};

    /* Other groups come and go meanwhile, which find does not like. */
    (void)program_run(&(struct program){.argv = argv, .output = &output}, NULL);
    return strstr(kndl_buf_text(&output), name) != NULL;
}

/* A process whose command line, control group, mounts or output speak of that name. */
static bool any_process_of(const char *name)
{
    DIR *processes = opendir("/proc");
    struct dirent *entry;
    bool found = false;

    while (!found && (entry = readdir(processes)) != NULL) {
        static const char *const files[] = {"cmdline", "cgroup", "mountinfo"};
        static char text[256 * 1024];

        for (size_t i = 0; i < 3 && entry->d_name[0] >= '0' && entry->d_name[0] <= '9'; i++) {
            char path[300];
            ssize_t size;
            int fd;

            (void)snprintf(path, sizeof path, "/proc/%.20s/%s", entry->d_name, files[i]);
            fd = open(path, O_RDONLY | O_CLOEXEC);
            size = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
            kndl_close(&fd);
            for (ssize_t at = 0; at < size; at++)
                text[at] = text[at] == '\0' ? ' ' : text[at];
            text[size < 0 ? 0 : size] = '\0';
            found = found || strstr(text, name) != NULL;
        }
        if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9') {
            char path[300], log[512];
            ssize_t size;

            (void)snprintf(path, sizeof path, "/proc/%.20s/fd/1", entry->d_name);
            size = readlink(path, log, sizeof log - 1);
            log[size < 0 ? 0 : size] = '\0';
            found = found || strstr(log, name) != NULL;
        }
    }
    (void)closedir(processes);
    return found;
}

static void cc_01_a_guest_is_root_of_its_own_world_only(void **unused)
{
    struct host host;
    char name[64], workspace[256];

    (void)unused;
    host_with_sandbox(&host, name, workspace);

    assert_int_equal(host_bash(&host, name,
                               "id -u; echo hello >/workspace/f; stat -c %u "
                               "/workspace/f /etc/gitconfig; cat /etc/hosts"),
                     0);
    assert_true(output_has(&host, "0\n0\n0\n"));
    assert_true(output_has(&host, "of.the.image"));
    assert_true(output_has(&host, "127.0.0.1 host.microsandbox.internal"));

    /* What it writes is root's on disk, whatever its uid is outside. */
    {
        struct stat about;
        char file[300];

        (void)snprintf(file, sizeof file, "%s/f", workspace);
        assert_int_equal(stat(file, &about), 0);
        assert_int_equal(about.st_uid, 0);
    }

    assert_int_not_equal(host_bash(&host, name, "mount -t tmpfs none /mnt"), 0);
    assert_int_not_equal(host_bash(&host, name, "mount -o remount,bind,rw /usr"), 0);
    assert_int_not_equal(host_bash(&host, name, "unshare -Ur true"), 0);
    assert_int_not_equal(host_bash(&host, name, "touch /usr/planted"), 0);
    assert_int_not_equal(host_bash(&host, name, "echo x >>/etc/hosts"), 0);
    assert_int_not_equal(host_bash(&host, name, "echo x >/proc/sys/kernel/core_pattern"), 0);
    assert_int_not_equal(host_bash(&host, name, "mknod /tmp/disk b 254 0 && cat /tmp/disk"), 0);
    assert_int_equal(
        host_bash(&host, name, "grep -c . /proc/1/cmdline; ls -d /proc/[0-9]* | wc -l"), 0);
    assert_int_equal(host_bash(&host, name, "stat -c %a /run/kndl; ulimit -Hc"), 0);
    assert_true(output_has(&host, "700\n0\n"));

    host_remove(&host, name);
    host_done(&host);
}

static void two_sandboxes_never_see_each_other(void **unused)
{
    struct host host;
    char a[64], b[64], folder_a[256], folder_b[256], script[512];

    (void)unused;
    host_init(&host);
    host_name(&host, 'a', a);
    host_name(&host, 'b', b);
    host_workspace(&host, "workspace-a", folder_a);
    host_workspace(&host, "workspace-b", folder_b);
    host_create(&host, a, folder_a);
    host_create(&host, b, folder_b);
    host_start(&host, a);
    host_start(&host, b);

    assert_int_equal(host_bash(&host, a,
                               "echo secret >/workspace/mine; echo secret >/root/mine; "
                               "(sleep 300 &>/dev/null &) ; exit 0"),
                     0);
    assert_int_equal(host_bash(&host, b, "ls /workspace /root; cat /proc/[0-9]*/cmdline"), 0);
    assert_null(strstr(host.output, "mine"));
    assert_null(strstr(host.output, "300"));

    /* Neither the other one, nor the host's own addresses, nor private ones, nor the metadata. */
    (void)snprintf(script, sizeof script,
                   "for to in 10.0.2.2 10.1.2.3 169.254.169.254 192.168.0.1 $(cat /dev/null); do "
                   "if timeout 3 bash -c \"exec 3<>/dev/tcp/$to/22\" 2>/dev/null; then echo open; "
                   "fi; done");
    assert_int_equal(host_bash(&host, b, script), 0);
    assert_null(strstr(host.output, "open"));

    /* On the host each one's uids are nobody's else: A's may not look into B's folders. */
    {
        struct stat of_a, of_b;
        char path[300];

        (void)snprintf(path, sizeof path, "%s/sandboxes/%s/root", host.home, a);
        assert_int_equal(stat(path, &of_a), 0);
        (void)snprintf(path, sizeof path, "%s/sandboxes/%s/root", host.home, b);
        assert_int_equal(stat(path, &of_b), 0);
        assert_true(of_a.st_uid != of_b.st_uid);
        assert_true(of_a.st_uid + 65536 <= of_b.st_uid || of_b.st_uid + 65536 <= of_a.st_uid);
        (void)snprintf(path, sizeof path, "%s/sandboxes/%s/layer", host.home, b);
        assert_int_equal(stat(path, &of_b), 0);
        assert_int_equal(of_b.st_mode & 0777, 0700);
    }

    host_remove(&host, a);
    host_remove(&host, b);
    host_done(&host);
}

/* ----------------------------------------------------------------- RUNNER_SANDBOX_ALLOW */

/* Two listeners on an address of this host that is not its loopback; the first one is allowed. */
static struct {
    char address[INET_ADDRSTRLEN];
    unsigned allowed;
    unsigned other;
} outside;

static bool find_address(struct in_addr *ret_address)
{
    struct ifaddrs *all;
    bool found = false;

    assert_int_equal(getifaddrs(&all), 0);
    for (struct ifaddrs *at = all; at != NULL && !found; at = at->ifa_next) {
        struct sockaddr_in address;

        if (at->ifa_addr == NULL || at->ifa_addr->sa_family != AF_INET ||
            (at->ifa_flags & IFF_LOOPBACK) != 0)
            continue;
        memcpy(&address, at->ifa_addr, sizeof address);
        *ret_address = address.sin_addr;
        found = true;
    }
    freeifaddrs(all);
    return found;
}

static unsigned listen_outside(struct in_addr where)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = where};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(fd, 16), 0); /* open until this process ends */
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    return ntohs(address.sin_port);
}

static int prepare(void **state)
{
    struct in_addr address;
    char allow[64];

    if (find_address(&address)) {
        (void)inet_ntop(AF_INET, &address, outside.address, sizeof outside.address);
        outside.allowed = listen_outside(address);
        outside.other = listen_outside(address);
        (void)snprintf(allow, sizeof allow, "%s:%u", outside.address, outside.allowed);
        (void)setenv("RUNNER_SANDBOX_ALLOW", allow, 1);
    }
    return host_prepare(state);
}

static void only_what_is_allowed_of_the_hosts_networks_can_be_reached(void **unused)
{
    static const char try[] = "timeout 5 bash -c 'exec 3<>/dev/tcp/%s/%u'";
    struct host host;
    char name[64], workspace[256], script[256];

    (void)unused;
    if (outside.allowed == 0)
        skip();
    host_with_sandbox(&host, name, workspace);
    (void)snprintf(script, sizeof script, try, outside.address, outside.allowed);
    assert_int_equal(host_bash(&host, name, script), 0);
    (void)snprintf(script, sizeof script, try, outside.address, outside.other);
    assert_int_equal(host_bash(&host, name, script), 1); /* refused, not waited for */
    /* By the address that slirp4netns gives the host, neither of its own ports is reached. */
    (void)snprintf(script, sizeof script, try, "10.0.2.2", outside.allowed);
    assert_int_equal(host_bash(&host, name, script), 1);
    host_remove(&host, name);
    host_done(&host);
}

static void on_stats(void *data, const struct sandbox_stats *stats)
{
    assert_true(stats->memory_bytes > 0 && stats->memory_bytes <= 64 << 20);
    assert_true(stats->memory_peak_bytes >= stats->memory_bytes);
    assert_true(stats->pids > 0 && stats->cpu_us > 0);
    host_on_answer(data, &stats->answer);
}

static void limits_hold(void **unused)
{
    struct host host;
    char name[64], workspace[256];

    (void)unused;
    host_with_sandbox(&host, name, workspace);
    sandbox_stats(host.sandboxes, name, on_stats, &host);
    host_wait(&host);
    assert_int_equal(host.answer.err.code, KNDL_OK);
    /* Half a CPU, as version 1 says it, or version 2. */
    assert_int_equal(host_bash(&host, name,
                               "cat /sys/fs/cgroup/cpu/cpu.cfs_quota_us /sys/fs/cgroup/cpu.max "
                               "2>/dev/null | grep -o '^50000'"),
                     0);
    /* 64 MiB: 200 MiB are too much. */
    assert_int_equal(host_bash(&host, name,
                               "head -c 200M /dev/zero | tail >/dev/null; "
                               "exit ${PIPESTATUS[1]}"),
                     137);
    /* 50 tasks: 100 are too many. */
    assert_int_equal(host_bash(&host, name,
                               "perl -e 'for (1..100) { $p = fork; if (!defined $p) { print "
                               "\"refused\"; exit 0 } if (!$p) { sleep 60; exit } }'"),
                     0);
    assert_true(output_has(&host, "refused"));
    host_remove(&host, name);
    host_done(&host);
}

static void li_02_a_stop_leaves_no_trace_but_the_disks(void **unused)
{
    struct host host;
    char name[64], other[64], workspace[256];

    (void)unused;
    host_with_sandbox(&host, name, workspace);
    /* Another one, which must not keep anything of it. */
    host_create(&host, host_name(&host, 'b', other), workspace);
    host_start(&host, other);
    /* One that ignores TERM, one in a session of its own. */
    assert_int_equal(host_bash(&host, name,
                               "echo kept >/root/kept; echo kept >/workspace/kept; "
                               "(trap '' TERM; setsid sleep 300 &>/dev/null & sleep 300 "
                               "&>/dev/null &) ; exit 0"),
                     0);
    assert_true(any_process_of(name));
    assert_true(any_group_of(name));
    assert_true(exists("/run/netns", name));
    host_stop(&host, name);

    assert_false(exists("/run/netns", name));
    assert_false(any_group_of(name));
    reaper_take(children_reaper(host.children));
    assert_false(any_process_of(name));
    host_stop(&host, name); /* again: nothing to do */

    host_start(&host, name);
    host_start(&host, name); /* again: it runs */
    assert_int_equal(host_bash(&host, name, "cat /root/kept /workspace/kept"), 0);
    assert_string_equal(host.output, "kept\nkept\n");
    host_remove(&host, other);
    host_remove(&host, name);
    host_remove(&host, name);
    assert_int_equal(host_bash(&host, name, "true"), -1);
    host_done(&host);
}

/* ---------------------------------------------------------------------------------- the relay */

/* Accepts one connection on the relay's socket and says hello on it. */
static void answer_once(int listener)
{
    int fd;

    while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) < 0 && errno == EAGAIN)
        (void)poll(&(struct pollfd){.fd = listener, .events = POLLIN}, 1, 1000);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "hello\n", 6), 6);
    kndl_close(&fd);
}

static void re_01_the_relays_socket_outlives_the_runner(void **unused)
{
    struct host host;
    char name[64], workspace[256];
    int first = -1, second = -1;
    struct kndl_error err = {0};

    (void)unused;
    host_init(&host);
    host_name(&host, 'a', name);
    host_workspace(&host, "workspace", workspace);
    host_create(&host, name, workspace);
    assert_int_equal(sandbox_relay_socket(host.sandboxes, name, &first, &err), -1);
    assert_int_equal(err.code, KNDL_NOT_FOUND);
    host_start(&host, name);
    assert_int_equal(sandbox_relay_socket(host.sandboxes, name, &first, &err), 0);
    kndl_close(&first);

    /* The Runner is away: who connects meanwhile waits in the backlog, and nobody takes the port.
     */
    host_restart(&host);
    assert_int_equal(host_bash(&host, name,
                               "(exec 3<>/dev/tcp/host.microsandbox.internal/18080; cat <&3 "
                               ">/workspace/got) &>/dev/null & sleep 0; exit 0"),
                     0);
    assert_int_equal(sandbox_relay_socket(host.sandboxes, name, &second, &err), 0);
    answer_once(second);
    kndl_close(&second);
    assert_int_equal(
        host_bash(&host, name, "until [ -s /workspace/got ]; do :; done; cat /workspace/got"), 0);
    assert_string_equal(host.output, "hello\n");

    host_stop(&host, name);
    assert_int_equal(sandbox_relay_socket(host.sandboxes, name, &first, &err), -1);
    host_remove(&host, name);
    host_done(&host);
}

/* ----------------------------------------------------------------------- what a Runner finds */

struct found {
    struct host *host;
    char names[4][64];
    enum sandbox_state states[4];
    size_t count;
};

static void on_found(void *data, const struct sandbox_entry *entry,
                     const struct sandbox_answer *answer)
{
    struct found *found = data;

    if (entry == NULL) {
        host_on_answer(found->host, answer);
        return;
    }
    assert_true(found->count < 4);
    (void)snprintf(found->names[found->count], 64, "%s", entry->name);
    found->states[found->count++] = entry->state;
}

static enum sandbox_state state_of(struct host *host, const char *name)
{
    struct found found = {.host = host};

    sandbox_list(host->sandboxes, on_found, &found);
    host_wait(host);
    assert_int_equal(host->answer.err.code, KNDL_OK);
    for (size_t i = 0; i < found.count; i++) {
        if (strcmp(found.names[i], name) == 0)
            return found.states[i];
    }
    fail_msg("%s is not in the list", name);
    return SANDBOX_STOPPED;
}

static void a_runner_that_starts_again_finds_its_sandboxes(void **unused)
{
    struct host host;
    char name[64], workspace[256];
    int pidfd;
    pid_t init;

    (void)unused;
    host_init(&host);
    host_name(&host, 'a', name);
    host_workspace(&host, "workspace", workspace);
    host_create(&host, name, workspace);
    assert_int_equal(state_of(&host, name), SANDBOX_STOPPED);
    host_start(&host, name);
    host_restart(&host);
    assert_int_equal(state_of(&host, name), SANDBOX_RUNNING);
    assert_int_equal(host_bash(&host, name, "echo still here"), 0);

    init = box_find_pid(name, "init.pid", &pidfd);
    assert_true(init > 0);
    assert_int_equal(kill(init, SIGKILL), 0);
    while (poll(&(struct pollfd){.fd = pidfd, .events = POLLIN}, 1, 10) == 0)
        reaper_take(children_reaper(host.children));
    kndl_close(&pidfd);
    assert_int_equal(state_of(&host, name), SANDBOX_CRASHED);
    host_start(&host, name); /* over what the crash left */
    assert_int_equal(state_of(&host, name), SANDBOX_RUNNING);
    host_remove(&host, name);
    host_done(&host);
}

static void a_start_that_fails_leaves_nothing_half_made(void **unused)
{
    struct host host;
    char name[64], workspace[256];

    (void)unused;
    host_init(&host);
    host_name(&host, 'a', name);
    host_workspace(&host, "workspace-gone", workspace);
    host_create(&host, name, workspace);
    assert_int_equal(rmdir(workspace), 0);
    sandbox_start(host.sandboxes, name, host_on_answer, &host);
    host_wait(&host);
    assert_int_not_equal(host.answer.err.code, KNDL_OK);
    assert_string_equal(host.reason, "boot_failed");
    assert_non_null(strstr(host.answer.err.message, "workspace"));
    assert_false(exists("/run/netns", name));
    assert_false(any_process_of(name));
    host_folder(&host, "workspace-open", workspace);
    host_create(&host, name, workspace);
    sandbox_start(host.sandboxes, name, host_on_answer, &host);
    host_wait(&host);
    assert_non_null(strstr(host.answer.err.message, "only root may enter"));
    host_workspace(&host, "workspace-gone", workspace);
    host_create(&host, name, workspace);
    host_start(&host, name); /* Retry works once the cause is gone */
    host_remove(&host, name);

    sandbox_create(host.sandboxes, name,
                   &(struct sandbox_spec){.image = "/nowhere", .cpu_percent = 1, .memory_mib = 1},
                   host_on_answer, &host);
    host_wait(&host);
    assert_string_equal(host.reason, "no_image");
    host_done(&host);
}

static void on_killed(void *data, const struct child_end *end)
{
    struct host *host = data;

    (void)end;
    host->done = true;
}

static void a_start_that_was_killed_half_way_is_cleared_up(void **unused)
{
    struct host host;
    char name[64], argument[80], workspace[256];

    (void)unused;
    host_init(&host);
    host_name(&host, 'a', name);
    host_workspace(&host, "workspace", workspace);
    (void)snprintf(argument, sizeof argument, "name=%s", name);
    /* Wherever it is by then: nothing is said of how far it comes. */
    for (int ms = 5; ms <= 150; ms += 12) {
        host_create(&host, name, workspace);
        (void)child_start(host.children,
                          &(struct child_options){.verb = "sandbox-start",
                                                  .args = (const char *[]){argument, NULL},
                                                  .deadline_ms = ms,
                                                  .on_end = on_killed,
                                                  .data = &host});
        host_wait(&host);
        host_stop(&host, name);
        reaper_take(children_reaper(host.children));
        assert_false(exists("/run/netns", name));
        assert_false(any_group_of(name));
        assert_false(any_process_of(name));
    }
    host_start(&host, name);
    assert_int_equal(host_bash(&host, name, "true"), 0);
    host_remove(&host, name);
    host_done(&host);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(cc_01_a_guest_is_root_of_its_own_world_only, host_sweep),
        cmocka_unit_test_teardown(two_sandboxes_never_see_each_other, host_sweep),
        cmocka_unit_test_teardown(only_what_is_allowed_of_the_hosts_networks_can_be_reached,
                                  host_sweep),
        cmocka_unit_test_teardown(limits_hold, host_sweep),
        cmocka_unit_test_teardown(li_02_a_stop_leaves_no_trace_but_the_disks, host_sweep),
        cmocka_unit_test_teardown(re_01_the_relays_socket_outlives_the_runner, host_sweep),
        cmocka_unit_test_teardown(a_runner_that_starts_again_finds_its_sandboxes, host_sweep),
        cmocka_unit_test_teardown(a_start_that_fails_leaves_nothing_half_made, host_sweep),
        cmocka_unit_test_teardown(a_start_that_was_killed_half_way_is_cleared_up, host_sweep),
    };
    int status;

    if (verb_main(argc, argv, &status))
        return status;
    return cmocka_run_group_tests(tests, prepare, host_clean);
}
