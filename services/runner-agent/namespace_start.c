/* Starts a Sandbox: mounts, runtime, network, relay's socket, init. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "box.h"
#include "bundle.h"
#include "cgroup.h"
#include "hold.h"
#include "image.h"
#include "kndl/buf.h"
#include "kndl/clock.h"
#include "kndl/env.h"
#include "kndl/mem.h"
#include "namespace_stop.h"
#include "network.h"
#include "oci.h"
#include "overlay.h"
#include "program.h"
#include "uid_range.h"
#include "verbs.h"

enum { MOUNTS_MAX = 48, OWN_BINDS = 4, OWN_TMPFS = 3 };

/* What a start gathers on its way to config.json. */
struct boot {
    struct box *box;
    const char *image;
    uint32_t uid_base;
    int userns;
    struct bundle_bind binds[MOUNTS_MAX];
    size_t bind_count;
    struct bundle_tmpfs tmpfs[MOUNTS_MAX];
    size_t tmpfs_count;
};

/* ---------------------------------------------------------------------------------- binds */

/*
 * What a guest's root makes there is the host's root's on disk, set-uid programs too. So nobody
 * but root may come near: one of the folders above must be root's alone.
 */
static bool is_out_of_reach(const char *path)
{
    char above[BOX_PATH_SIZE];
    struct stat about;
    char *slash;

    if ((size_t)snprintf(above, sizeof above, "%s", path) >= sizeof above)
        return false;
    while ((slash = strrchr(above, '/')) != NULL && slash != above) {
        *slash = '\0';
        if (stat(above, &about) == 0 && about.st_uid == 0 && (about.st_mode & 0077) == 0)
            return true;
    }
    return false;
}

/* Clones `source` to binds/<n>, which is what the runtime is told. */
static int add_bind(struct boot *boot, const char *source, const char *target, bool owned,
                    bool read_only, struct kndl_error *err)
{
    struct bundle_bind *bind = &boot->binds[boot->bind_count];
    KNDL_CLEANUP(kndl_close) int tree = -1;
    KNDL_CLEANUP(kndl_close) int file = -1;
    struct stat about;
    char leaf[32];

    if (boot->bind_count == MOUNTS_MAX)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "more than %d mounts", MOUNTS_MAX);
    if (lstat(source, &about) < 0 || (!S_ISDIR(about.st_mode) && !S_ISREG(about.st_mode)))
        return kndl_fail(err, KNDL_FAILED_PRECONDITION,
                         "%s, for %s, is neither a file nor a folder", source, target);
    if (owned && !is_out_of_reach(source))
        return kndl_fail(err, KNDL_FAILED_PRECONDITION,
                         "%s must lie in a folder that only root may enter (mode 0700)", source);
    (void)snprintf(leaf, sizeof leaf, "binds/%zu", boot->bind_count);
    box_path(boot->box, leaf, bind->source);
    if (S_ISDIR(about.st_mode)
            ? mkdir(bind->source, 0700) < 0
            : (file = /* NOLINT(clang-analyzer-deadcode.DeadStores): closed by its cleanup */
               open(bind->source, O_CREAT | O_EXCL | O_CLOEXEC, 0600)) < 0)
        return kndl_fail(err, errno == ENOSPC ? KNDL_RESOURCE_EXHAUSTED : KNDL_INTERNAL,
                         "make %s: %s", bind->source, strerror(errno));
    if (overlay_clone(source, owned ? boot->userns : -1, read_only, &tree, err) < 0 ||
        overlay_attach(tree, bind->source, err) < 0)
        return -1;
    bind->target = target;
    bind->read_only = read_only;
    boot->bind_count++;
    return 0;
}

/* A file of ours that a guest may not change: root's inside, read-only. */
static int add_file(struct boot *boot, const char *text, size_t size, const char *target,
                    uint32_t mode, struct kndl_error *err)
{
    char leaf[32], path[BOX_PATH_SIZE];

    (void)snprintf(leaf, sizeof leaf, "files/%zu", boot->bind_count);
    box_path(boot->box, leaf, path);
    if (box_write(boot->box, leaf, text, size, mode, err) < 0)
        return -1;
    return add_bind(boot, path, target, true, true, err);
}

static void add_tmpfs(struct boot *boot, const char *target, uint64_t size_mib, uint32_t mode)
{
    boot->tmpfs[boot->tmpfs_count++] = (struct bundle_tmpfs){target, size_mib, mode};
}

static int add_hosts(struct boot *boot, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf hosts = {0};

    image_read(boot->image, "/etc/hosts", &hosts);
    if (hosts.size > 0 && hosts.data[hosts.size - 1] != '\n')
        kndl_buf_append_char(&hosts, '\n');
    if (strstr(kndl_buf_text(&hosts), "localhost") == NULL)
        kndl_buf_append_text(&hosts, "127.0.0.1 localhost\n");
    kndl_buf_printf(&hosts, "127.0.0.1 %s\n127.0.0.1 host.microsandbox.internal\n",
                    boot->box->name);
    return add_file(boot, hosts.data, hosts.size, "/etc/hosts", 0644, err);
}

/* The image's own, and what a token brings along (launcher/git_access.c). */
static int add_gitconfig(struct boot *boot, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf config = {0};

    image_read(boot->image, "/etc/gitconfig", &config);
    if (config.size > 0 && config.data[config.size - 1] != '\n')
        kndl_buf_append_char(&config, '\n');
    kndl_buf_append_text(&config, "[include]\n\tpath = /run/kndl/gitconfig\n");
    return add_file(boot, config.data, config.size, "/etc/gitconfig", 0644, err);
}

static int add_own(struct boot *boot, struct kndl_error *err)
{
    static const char resolver[] = "nameserver 10.77.0.1\n";
    char init[OCI_PATH_SIZE];

    add_tmpfs(boot, "/run", 64, 0755);
    add_tmpfs(boot, "/run/kndl", 16, 0700);
    add_tmpfs(boot, "/tmp", 1024, 01777);
    if (!program_find("catatonit", init, sizeof init))
        return kndl_fail(err, KNDL_FAILED_PRECONDITION, "catatonit is missing: install it");
    if (add_bind(boot, init, "/.kndl-init", false, true, err) < 0 || add_hosts(boot, err) < 0 ||
        add_gitconfig(boot, err) < 0)
        return -1;
    return add_file(boot, resolver, strlen(resolver), "/etc/resolv.conf", 0644, err);
}

static int add_asked(struct boot *boot, const char *const *args, struct kndl_error *err)
{
    const char *kind;

    for (size_t i = 0; (kind = verb_arg_at(args, "mount", i)) != NULL; i++) {
        const char *source = verb_arg_at(args, "source", i);
        const char *target = verb_arg_at(args, "target", i);
        const char *size = verb_arg_at(args, "size", i);
        const char *mode = verb_arg_at(args, "mode", i);
        int done = 0;

        if (source == NULL || target == NULL || size == NULL || mode == NULL)
            return kndl_fail(err, KNDL_INVALID_ARGUMENT, "a mount is not whole");
        if (strcmp(kind, "read-only") == 0)
            done = add_bind(boot, source, target, false, true, err);
        else if (strcmp(kind, "owned") == 0)
            done = add_bind(boot, source, target, true, false, err);
        else if (strcmp(kind, "file") == 0)
            done = add_file(boot, source, strlen(source), target, (uint32_t)strtoul(mode, NULL, 10),
                            err);
        else if (boot->tmpfs_count < MOUNTS_MAX)
            add_tmpfs(boot, target, strtoull(size, NULL, 10), (uint32_t)strtoul(mode, NULL, 10));
        if (done < 0)
            return -1;
    }
    return 0;
}

/* ----------------------------------------------------------------------------------- boot */

static int mount_all(struct boot *boot, const char *const *args, struct kndl_error *err)
{
    char layer[BOX_PATH_SIZE], scratch[BOX_PATH_SIZE], root[BOX_PATH_SIZE];
    uint32_t range;

    box_path(boot->box, "layer", layer);
    box_path(boot->box, "scratch", scratch);
    box_path(boot->box, "root", root);
    if (image_check(boot->image, err) < 0 || uid_range_take(boot->box->name, &range, err) < 0)
        return -1;
    boot->uid_base = uid_range_base(range);
    if (overlay_userns(boot->uid_base, SANDBOX_UIDS, &boot->userns, err) < 0 ||
        overlay_mount(boot->uid_base, boot->userns, layer, scratch, boot->image, root, err) < 0)
        return -1;
    return add_own(boot, err) < 0 || add_asked(boot, args, err) < 0 ? -1 : 0;
}

static int write_config(const struct boot *boot, const char *const *args, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf config = {0};
    char root[BOX_PATH_SIZE], cgroup[128];
    enum cgroup_version version;
    struct bundle bundle = {
        .name = boot->box->name,
        .root = root,
        .cgroup_path = cgroup,
        .uid_base = boot->uid_base,
        .binds = boot->binds,
        .bind_count = boot->bind_count,
        .tmpfs = boot->tmpfs,
        .tmpfs_count = boot->tmpfs_count,
    };

    if (cgroup_probe(&version, err) < 0 ||
        verb_arg_u64(args, "memory_mib", UINT32_MAX, &bundle.memory_mib, err) < 0 ||
        verb_arg_u64(args, "cpu_percent", UINT32_MAX, &bundle.cpu_percent, err) < 0 ||
        verb_arg_u64(args, "pids", UINT32_MAX, &bundle.pids, err) < 0)
        return -1;
    cgroup_path(version, boot->box->name, cgroup, sizeof cgroup);
    box_path(boot->box, "root", root);
    if (bundle_append(&bundle, &config, err) < 0)
        return -1;
    return box_write(boot->box, "config.json", config.data, config.size, 0600, err);
}

static int create_container(const struct box *box, pid_t *ret_init, struct kndl_error *err)
{
    char path[BOX_PATH_SIZE];
    FILE *file;
    int pid = 0;

    box_path(box, "oci.pid", path);
    if (oci_run(
            (const char *[]){"create", "--bundle", box->dir, "--pid-file", path, box->name, NULL},
            NULL, err) < 0)
        return -1;
    file = fopen(path, "re");
    if (file == NULL || fscanf(file, "%d", &pid) != 1 || pid <= 0)
        pid = 0;
    if (file != NULL)
        (void)fclose(file);
    if (pid == 0)
        return kndl_fail(err, KNDL_INTERNAL, "the runtime told no pid");
    *ret_init = pid;
    return box_write_pid(box, "init.pid", pid, err);
}

static int connect_outside(const struct box *box, pid_t init, const char *const *args,
                           struct kndl_error *err)
{
    char log[BOX_PATH_SIZE];
    uint64_t port;
    const struct network network = {
        .name = box->name,
        .init = init,
        .allow = kndl_env_get("RUNNER_SANDBOX_ALLOW"),
        .log = log,
        .record = box_record_pid,
        .data = &(struct box_record){box, "slirp.pid"},
    };

    box_path(box, "slirp.log", log);
    if (verb_arg_u64(args, "relay_port", UINT16_MAX, &port, err) < 0 ||
        network_up(&network, err) < 0)
        return -1;
    return port == 0 ? 0 : hold_start(box, init, (uint16_t)port, err);
}

static int boot_up(struct boot *boot, struct kndl_error *err)
{
    const char *const *args = boot->box->args;
    pid_t init;

    if (mount_all(boot, args, err) < 0 || write_config(boot, args, err) < 0 ||
        create_container(boot->box, &init, err) < 0 ||
        connect_outside(boot->box, init, args, err) < 0 ||
        oci_run((const char *[]){"start", boot->box->name, NULL}, NULL, err) < 0)
        return -1;
    return box_write(boot->box, "started", "", 0, 0600, err);
}

int namespace_start_run(const char *const *args, struct kndl_error *err)
{
    KNDL_CLEANUP(box_done) struct box box = {.lock = -1};
    KNDL_CLEANUP(kndl_close) int pidfd = -1;
    KNDL_CLEANUP(kndl_free) struct boot *boot = kndl_new0(struct boot);
    int done;

    if (box_open(&box, verb_arg(args, "name"), BOX_EXISTING, err) < 0)
        return -1;
    if (box.spec == NULL)
        return kndl_fail(err, KNDL_NOT_FOUND, "Sandbox %s was never created", box.name);
    if (box_has(&box, "started") && box_read_pid(&box, "init.pid", &pidfd) > 0) {
        verb_done(-1, NULL);
        return 0;
    }
    namespace_clear(&box);
    boot->box = &box;
    boot->userns = -1;
    boot->image = verb_arg(box.args, "image");
    if (boot->image[0] == '\0')
        boot->image = kndl_env_get("RUNNER_DEFAULT_IMAGE");
    done = boot_up(boot, err);
    kndl_close(&boot->userns);
    if (done < 0) {
        verb_reason(err->code == KNDL_RESOURCE_EXHAUSTED ? "no_space"
                    : err->code == KNDL_NOT_FOUND        ? "no_image"
                                                         : "boot_failed");
        namespace_clear(&box);
        return -1;
    }
    verb_done(-1, NULL);
    return 0;
}
