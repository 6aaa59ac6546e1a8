/* Stops and removes Sandboxes. */

#include "namespace_stop.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "cgroup.h"
#include "hold.h"
#include "kndl/mem.h"
#include "network.h"
#include "oci.h"
#include "overlay.h"
#include "uid_range.h"
#include "verbs.h"

enum { BINDS_MAX = 64, DEAD_MS = 20 * 1000 };

/* A pid namespace ends only when all its processes were reaped, some of them by the Runner. */
static bool wait_for_end(int pidfd, int ms)
{
    struct pollfd end = {.fd = pidfd, .events = POLLIN};
    int n;

    while ((n = poll(&end, 1, ms)) < 0 && errno == EINTR)
        ;
    return n == 1;
}

static void end_init(const struct box *box, int grace_ms)
{
    KNDL_CLEANUP(kndl_close) int pidfd = -1;

    if (box_read_pid(box, "init.pid", &pidfd) == 0)
        return;
    if (grace_ms > 0) {
        (void)pidfd_send_signal(pidfd, SIGTERM, NULL, 0);
        if (wait_for_end(pidfd, grace_ms))
            return;
    }
    (void)pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
    (void)wait_for_end(pidfd, DEAD_MS);
}

static void end_slirp(const struct box *box)
{
    KNDL_CLEANUP(kndl_close) int pidfd = -1;

    if (box_read_pid(box, "slirp.pid", &pidfd) > 0) {
        (void)pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
        (void)wait_for_end(pidfd, DEAD_MS);
    }
    box_unlink(box, "slirp.pid");
}

static void unmount_all(const struct box *box)
{
    char path[BOX_PATH_SIZE], leaf[32];

    for (int i = BINDS_MAX - 1; i >= 0; i--) {
        (void)snprintf(leaf, sizeof leaf, "binds/%d", i);
        if (!box_has(box, leaf))
            continue;
        box_path(box, leaf, path);
        overlay_unmount(path);
        /* Not a tree: should the unmount have failed, what is under it is a Workspace. */
        if (rmdir(path) < 0)
            (void)unlink(path);
    }
    box_path(box, "root", path);
    overlay_unmount(path);
    box_path(box, "scratch", path);
    overlay_unmount(path);
}

void namespace_clear(const struct box *box)
{
    enum cgroup_version version;

    end_init(box, 0);
    (void)oci_run((const char *[]){"delete", "--force", box->name, NULL}, NULL, NULL);
    hold_stop(box);
    end_slirp(box);
    network_down(box->name);
    unmount_all(box);
    if (cgroup_probe(&version, NULL) == 0)
        cgroup_remove(version, box->name);
    uid_range_give(box->name);
    box_unlink(box, "init.pid");
    box_unlink(box, "oci.pid");
    box_unlink(box, ".oci.pid"); /* of a runtime that was killed while it wrote */
    box_unlink(box, "started");
}

int namespace_stop_run(const char *const *args, struct kndl_error *err)
{
    KNDL_CLEANUP(box_done) struct box box = {.lock = -1};
    struct kndl_error problem = {0};
    uint64_t grace_ms;

    if (verb_arg_u64(args, "grace_ms", 600000, &grace_ms, err) < 0)
        return -1;
    if (box_open(&box, verb_arg(args, "name"), BOX_EXISTING, &problem) < 0) {
        if (problem.code != KNDL_NOT_FOUND)
            return kndl_fail(err, problem.code, "%s", problem.message);
        verb_done(-1, NULL);
        return 0;
    }
    end_init(&box, (int)grace_ms);
    namespace_clear(&box);
    verb_done(-1, NULL);
    return 0;
}

int namespace_remove_run(const char *const *args, struct kndl_error *err)
{
    KNDL_CLEANUP(box_done) struct box box = {.lock = -1};
    struct kndl_error problem = {0};
    char owner[SANDBOX_NAME_CHARS_MAX + 8];

    if (box_open(&box, verb_arg(args, "name"), BOX_EXISTING, &problem) < 0) {
        if (problem.code != KNDL_NOT_FOUND)
            return kndl_fail(err, problem.code, "%s", problem.message);
        verb_done(-1, NULL);
        return 0;
    }
    namespace_clear(&box);
    (void)snprintf(owner, sizeof owner, "%s.clone", box.name);
    uid_range_give(owner);
    if (box_remove(&box, err) < 0)
        return -1;
    verb_done(-1, NULL);
    return 0;
}
