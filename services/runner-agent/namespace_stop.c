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

static void end_init(const struct state *state, int grace_ms)
{
    KNDL_CLEANUP(kndl_close) int pidfd = -1;

    if (state_read_pid(state, "init.pid", &pidfd) == 0)
        return;
    if (grace_ms > 0) {
        (void)pidfd_send_signal(pidfd, SIGTERM, NULL, 0);
        if (wait_for_end(pidfd, grace_ms))
            return;
    }
    (void)pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
    (void)wait_for_end(pidfd, DEAD_MS);
}

static void end_slirp(const struct state *state)
{
    KNDL_CLEANUP(kndl_close) int pidfd = -1;

    if (state_read_pid(state, "slirp.pid", &pidfd) > 0) {
        (void)pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
        (void)wait_for_end(pidfd, DEAD_MS);
    }
    state_unlink(state, "slirp.pid");
}

static void unmount_all(const struct state *state)
{
    char path[STATE_PATH_SIZE], leaf[32];

    for (int i = BINDS_MAX - 1; i >= 0; i--) {
        (void)snprintf(leaf, sizeof leaf, "binds/%d", i);
        if (!state_has(state, leaf))
            continue;
        state_path(state, leaf, path);
        overlay_unmount(path);
        /* Not a tree: should the unmount have failed, what is under it is a Workspace. */
        if (rmdir(path) < 0)
            (void)unlink(path);
    }
    state_path(state, "root", path);
    overlay_unmount(path);
    state_path(state, "scratch", path);
    overlay_unmount(path);
}

void namespace_clear(const struct state *state)
{
    enum cgroup_version version;

    end_init(state, 0);
    (void)oci_run((const char *[]){"delete", "--force", state->name, NULL}, NULL, NULL);
    hold_stop(state);
    end_slirp(state);
    network_down(state->name);
    unmount_all(state);
    if (cgroup_probe(&version, NULL) == 0)
        cgroup_remove(version, state->name);
    uid_range_give(state->name);
    state_unlink(state, "init.pid");
    state_unlink(state, "oci.pid");
    state_unlink(state, "started");
}

int namespace_stop_run(const char *const *args, struct kndl_error *err)
{
    KNDL_CLEANUP(state_done) struct state state = {.lock = -1};
    struct kndl_error problem = {0};
    uint64_t grace_ms;

    if (verb_arg_u64(args, "grace_ms", 600000, &grace_ms, err) < 0)
        return -1;
    if (state_open(&state, verb_arg(args, "name"), STATE_EXISTING, &problem) < 0) {
        if (problem.code != KNDL_NOT_FOUND)
            return kndl_fail(err, problem.code, "%s", problem.message);
        verb_done(-1, NULL);
        return 0;
    }
    end_init(&state, (int)grace_ms);
    namespace_clear(&state);
    verb_done(-1, NULL);
    return 0;
}

int namespace_remove_run(const char *const *args, struct kndl_error *err)
{
    KNDL_CLEANUP(state_done) struct state state = {.lock = -1};
    struct kndl_error problem = {0};
    char owner[SANDBOX_NAME_CHARS_MAX + 8];

    if (state_open(&state, verb_arg(args, "name"), STATE_EXISTING, &problem) < 0) {
        if (problem.code != KNDL_NOT_FOUND)
            return kndl_fail(err, problem.code, "%s", problem.message);
        verb_done(-1, NULL);
        return 0;
    }
    namespace_clear(&state);
    (void)snprintf(owner, sizeof owner, "%s.clone", state.name);
    uid_range_give(owner);
    if (state_remove(&state, err) < 0)
        return -1;
    verb_done(-1, NULL);
    return 0;
}
