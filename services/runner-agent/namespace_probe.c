/* What this host can do, and what the backend needs of it. */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "box.h"
#include "cgroup.h"
#include "image.h"
#include "kndl/env.h"
#include "kndl/mem.h"
#include "network.h"
#include "oci.h"
#include "overlay.h"
#include "seccomp.h"
#include "tree.h"
#include "verbs.h"

static const char *const needed[] = {"catatonit", "slirp4netns", "nft", "ip", NULL};

static int check_programs(struct kndl_error *err)
{
    char path[OCI_PATH_SIZE];

    if (getuid() != 0)
        return kndl_fail(err, KNDL_FAILED_PRECONDITION, "the Runner must be root");
    for (size_t i = 0; needed[i] != NULL; i++) {
        if (!program_find(needed[i], path, sizeof path))
            return kndl_fail(err, KNDL_FAILED_PRECONDITION, "%s is missing: install it", needed[i]);
    }
    return 0;
}

/* A real idmapped overlay, as a Sandbox has it: no version number says that it works. */
static int try_overlay(const char *dir, struct kndl_error *err)
{
    static const char *const folders[] = {"layer", "layer/upper", "layer/work",
                                          "lower", "scratch",     "root"};
    char path[6][BOX_PATH_SIZE + 32], file[BOX_PATH_SIZE + 64];
    KNDL_CLEANUP(kndl_close) int userns = -1;
    KNDL_CLEANUP(kndl_close) int made = -1;
    enum { BASE = 1000000 };

    for (size_t i = 0; i < 6; i++) {
        (void)snprintf(path[i], sizeof path[i], "%s/%s", dir, folders[i]);
        (void)mkdir(path[i], 0755);
    }
    if (overlay_userns(BASE, SANDBOX_UIDS, &userns, err) < 0 ||
        overlay_mount(BASE, userns, path[0], path[4], path[3], path[5], err) < 0)
        return -1;
    (void)snprintf(file, sizeof file, "%s/layer/upper/probe", dir);
    made = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    (void)snprintf(file, sizeof file, "%s/probe", path[5]);
    if (made < 0 || access(file, F_OK) < 0) {
        overlay_unmount(path[5]);
        return kndl_fail(err, KNDL_FAILED_PRECONDITION, "an idmapped overlay does not work here");
    }
    overlay_unmount(path[5]);
    return 0;
}

static int probe_overlay(struct kndl_error *err)
{
    char dir[BOX_PATH_SIZE];
    int done;

    box_home_path("probe-XXXXXX", dir);
    if (mkdtemp(dir) == NULL)
        return kndl_fail(err, KNDL_FAILED_PRECONDITION, "RUNNER_HOME cannot be written to");
    done = try_overlay(dir, err);
    (void)tree_remove(dir, NULL);
    return done;
}

int namespace_probe_run(const char *const *args, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf version = {0};
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf profile = {0};
    enum cgroup_version cgroup;

    (void)args;
    if (check_programs(err) < 0 || cgroup_probe(&cgroup, err) < 0 ||
        network_check_allow(kndl_env_get("RUNNER_SANDBOX_ALLOW"), err) < 0 ||
        seccomp_append(&profile, err) < 0 ||
        oci_run((const char *[]){"--version", NULL}, &version, err) < 0 || probe_overlay(err) < 0)
        return -1;
    if (version.data != NULL)
        version.data[strcspn(version.data, "\n")] = '\0';
    verb_done(-1, "backend", "namespace", "runtime", kndl_buf_text(&version), "cgroup",
              cgroup == CGROUP_V2 ? "v2" : "v1", NULL);
    return 0;
}
