/* Finds and reads control groups of both versions. */

#include "cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "kndl/clock.h"
#include "kndl/mem.h"

enum {
    PATH_SIZE = 512,
    TEXT_SIZE = 4096,
    MEMBERS_MAX = TEXT_SIZE / 2, /* a digit and a line break each */
    END_MS_MAX = 500,
};

static const char root[] = "/sys/fs/cgroup";
static const char *const controllers[] = {"memory",  "cpu",     "cpuacct", "pids", "cpuset",
                                          "devices", "freezer", "blkio",   NULL};

static ssize_t read_text(const char *path, char text[TEXT_SIZE])
{
    KNDL_CLEANUP(kndl_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text, TEXT_SIZE - 1);

    text[size < 0 ? 0 : size] = '\0';
    return size;
}

int cgroup_probe(enum cgroup_version *ret_version, struct kndl_error *err)
{
    char text[TEXT_SIZE], path[PATH_SIZE];

    (void)snprintf(path, sizeof path, "%s/cgroup.controllers", root);
    if (read_text(path, text) > 0) {
        if (strstr(text, "memory") == NULL || strstr(text, "pids") == NULL ||
            strstr(text, "cpu") == NULL)
            return kndl_fail(err, KNDL_FAILED_PRECONDITION,
                             "cgroup v2 has only these controllers: %s", text);
        *ret_version = CGROUP_V2;
        return 0;
    }
    for (size_t i = 0; i < 4; i++) {
        (void)snprintf(path, sizeof path, "%s/%s/cgroup.procs", root, controllers[i]);
        if (access(path, W_OK) < 0)
            return kndl_fail(err, KNDL_FAILED_PRECONDITION, "cgroup v1 has no controller %s",
                             controllers[i]);
    }
    *ret_version = CGROUP_V1;
    return 0;
}

void cgroup_path(enum cgroup_version version, const char *name, char *ret_path, size_t size)
{
    (void)snprintf(ret_path, size, "%s%s", version == CGROUP_V2 ? "/" : "", name);
}

/* The folder of a process's group for one controller (v2: controller is ""). */
static int find_group(pid_t pid, const char *controller, char ret_path[PATH_SIZE])
{
    char path[64], text[TEXT_SIZE];
    char *line, *rest = text;

    (void)snprintf(path, sizeof path, "/proc/%d/cgroup", (int)pid);
    if (read_text(path, text) < 0)
        return -1;
    while ((line = strsep(&rest, "\n")) != NULL) {
        char *names = strchr(line, ':');
        char *group = names == NULL ? NULL : strchr(names + 1, ':');

        if (group == NULL)
            continue;
        *group++ = '\0';
        if (strcmp(names + 1, controller) != 0)
            continue;
        (void)snprintf(ret_path, PATH_SIZE, "%s%s%s%.300s", root, controller[0] != '\0' ? "/" : "",
                       controller, strcmp(group, "/") == 0 ? "" : group);
        return 0;
    }
    return -1;
}

static uint64_t read_number(const char *folder, const char *file, const char *key)
{
    char path[PATH_SIZE + 32], text[TEXT_SIZE];
    const char *at = text;

    (void)snprintf(path, sizeof path, "%s/%s", folder, file);
    if (read_text(path, text) <= 0)
        return 0;
    if (key != NULL && (at = strstr(text, key)) != NULL)
        at += strlen(key);
    return at == NULL ? 0 : strtoull(at, NULL, 10);
}

int cgroup_read(enum cgroup_version version, pid_t pid, struct cgroup_use *ret_use,
                struct kndl_error *err)
{
    char at[PATH_SIZE];
    struct cgroup_use use = {0};

    if (find_group(pid, version == CGROUP_V2 ? "" : "memory", at) < 0)
        return kndl_fail(err, KNDL_NOT_FOUND, "the Sandbox has no group for memory");
    if (version == CGROUP_V2) {
        use.memory_bytes = read_number(at, "memory.current", NULL);
        use.memory_peak_bytes = read_number(at, "memory.peak", NULL);
        use.pids = read_number(at, "pids.current", NULL);
        use.cpu_us = read_number(at, "cpu.stat", "usage_usec ");
    } else {
        use.memory_bytes = read_number(at, "memory.usage_in_bytes", NULL);
        use.memory_peak_bytes = read_number(at, "memory.max_usage_in_bytes", NULL);
        if (find_group(pid, "pids", at) == 0)
            use.pids = read_number(at, "pids.current", NULL);
        if (find_group(pid, "cpuacct", at) == 0 || find_group(pid, "cpu,cpuacct", at) == 0)
            use.cpu_us = read_number(at, "cpuacct.usage", NULL) / 1000;
    }
    *ret_use = use;
    return 0;
}

/* ----------------------------------------------------------------------------- removing */

/* Those that the group has at this moment; how many. A line that is cut off is left for the next
 * time. */
static size_t read_members(const char *folder, pid_t ret_members[MEMBERS_MAX])
{
    char path[PATH_SIZE + 32], text[TEXT_SIZE];
    const char *at = text, *end;
    size_t count = 0;

    (void)snprintf(path, sizeof path, "%s/cgroup.procs", folder);
    (void)read_text(path, text);
    for (; (end = strchr(at, '\n')) != NULL; at = end + 1) {
        long pid = strtol(at, NULL, 10);

        if (pid > 1)
            ret_members[count++] = (pid_t)pid;
    }
    return count;
}

/* Version 2 kills all at once, whatever they fork meanwhile. */
static bool kill_group(const char *folder)
{
    char path[PATH_SIZE + 32];

    (void)snprintf(path, sizeof path, "%s/cgroup.kill", folder);
    KNDL_CLEANUP(kndl_close) int file = open(path, O_WRONLY | O_CLOEXEC);
    return file >= 0 && write(file, "1", 1) == 1;
}

/* Until one has ended, or until then. */
static void await_end(pid_t pid, int64_t until_ms)
{
    KNDL_CLEANUP(kndl_close) int pidfd = pidfd_open(pid, 0);
    int64_t left_ms = until_ms - kndl_clock_ms();

    if (pidfd >= 0)
        (void)poll(&(struct pollfd){.fd = pidfd, .events = POLLIN}, 1,
                   left_ms > 0 ? (int)left_ms : 0);
}

/* False: the group has no members. All are killed before the first is waited for: by then a number
 * may be another process's. */
static bool end_members(const char *folder, int64_t until_ms)
{
    pid_t members[MEMBERS_MAX];
    size_t count = read_members(folder, members);

    if (!kill_group(folder))
        for (size_t i = 0; i < count; i++)
            (void)kill(members[i], SIGKILL);
    for (size_t i = 0; i < count; i++)
        await_end(members[i], until_ms);
    return count > 0;
}

static void remove_group(const char *folder)
{
    int64_t until_ms = kndl_clock_ms() + END_MS_MAX;

    while (rmdir(folder) < 0 && errno == EBUSY && kndl_clock_ms() < until_ms)
        if (!end_members(folder, until_ms)) {
            (void)rmdir(folder); /* the last one has just left */
            return;
        }
}

void cgroup_remove(enum cgroup_version version, const char *name)
{
    char own[PATH_SIZE], folder[PATH_SIZE + 128];

    if (version == CGROUP_V2) {
        (void)snprintf(folder, sizeof folder, "%s/%s", root, name);
        remove_group(folder);
        return;
    }
    for (size_t i = 0; controllers[i] != NULL; i++) {
        if (find_group(getpid(), controllers[i], own) < 0)
            continue;
        (void)snprintf(folder, sizeof folder, "%s/%s", own, name);
        remove_group(folder);
    }
    /* The runtime makes one in each hierarchy that there is. */
    if (find_group(getpid(), "name=systemd", own) == 0) {
        (void)snprintf(folder, sizeof folder, "%s/systemd%s/%s", root,
                       own + strlen(root) + strlen("/name=systemd"), name);
        remove_group(folder);
    }
    if (find_group(getpid(), "", own) == 0) {
        (void)snprintf(folder, sizeof folder, "%s/unified%s/%s", root, own + strlen(root), name);
        remove_group(folder);
    }
}
