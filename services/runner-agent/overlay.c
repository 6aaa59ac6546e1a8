/* Idmapped mounts, with the new mount calls. */

#include "overlay.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kndl/buf.h"
#include "kndl/mem.h"
#include "verb.h"

enum { LAYERS_MAX = 64 };

static int write_map(pid_t pid, const char *name, uint32_t base, uint32_t count)
{
    char path[64], map[64];
    int size = snprintf(map, sizeof map, "0 %u %u\n", base, count);
    KNDL_CLEANUP(kndl_close) int fd = -1;

    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, map, (size_t)size) == size ? 0 : -1;
}

int overlay_userns(uint32_t base, uint32_t count, int *ret_fd, struct kndl_error *err)
{
    int ready[2];
    char path[64], byte = 0;
    int fd = -1;
    pid_t pid, parent = getpid();

    if (pipe2(ready, O_CLOEXEC) < 0 || (pid = fork()) < 0)
        return kndl_fail(err, KNDL_RESOURCE_EXHAUSTED, "cannot fork: %s", strerror(errno));
    if (pid == 0) {
        /* Nobody waits for the end of this one, and it must not outlive who does. */
        (void)close(VERB_SOCKET_FD);
        if (unshare(CLONE_NEWUSER) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ||
            getppid() != parent)
            _exit(1);
        (void)!write(ready[1], "x", 1);
        (void)pause();
        _exit(0);
    }
    kndl_close(&ready[1]);
    if (read(ready[0], &byte, 1) == 1 && write_map(pid, "uid_map", base, count) == 0 &&
        write_map(pid, "gid_map", base, count) == 0) {
        (void)snprintf(path, sizeof path, "/proc/%d/ns/user", (int)pid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    kndl_close(&ready[0]);
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    if (fd < 0)
        return kndl_fail(err, KNDL_FAILED_PRECONDITION,
                         "cannot make a user namespace for uids %u to %u: allow user namespaces",
                         base, base + count - 1);
    *ret_fd = fd;
    return 0;
}

int overlay_clone(const char *path, int userns, bool read_only, int *ret_fd, struct kndl_error *err)
{
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV};
    int tree = (int)syscall(SYS_open_tree, AT_FDCWD, path,
                            OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | (unsigned)AT_SYMLINK_NOFOLLOW);

    if (tree < 0)
        return kndl_fail(err, errno == ENOENT ? KNDL_NOT_FOUND : KNDL_INTERNAL, "open %s: %s", path,
                         strerror(errno));
    if (read_only)
        attr.attr_set |= MOUNT_ATTR_RDONLY;
    if (userns >= 0) {
        attr.attr_set |= MOUNT_ATTR_IDMAP;
        attr.userns_fd = (__u64)(unsigned)userns;
    }
    if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attr, sizeof attr) < 0) {
        int problem = errno;

        kndl_close(&tree);
        return kndl_fail(err, KNDL_FAILED_PRECONDITION, "mount_setattr on %s: %s", path,
                         strerror(problem));
    }
    *ret_fd = tree;
    return 0;
}

int overlay_attach(int tree, const char *at, struct kndl_error *err)
{
    if (syscall(SYS_move_mount, tree, "", AT_FDCWD, at, MOVE_MOUNT_F_EMPTY_PATH) < 0)
        return kndl_fail(err, KNDL_INTERNAL, "mount at %s: %s", at, strerror(errno));
    return 0;
}

/* Layers keep set-uid programs and device rules as they are: only binds are nosuid. */
static int attach_layer(const char *path, int userns, const char *at, struct kndl_error *err)
{
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (__u64)(unsigned)userns};
    KNDL_CLEANUP(kndl_close)
    int tree =
        (int)syscall(SYS_open_tree, AT_FDCWD, path, OPEN_TREE_CLONE | (unsigned)OPEN_TREE_CLOEXEC);

    if (tree < 0)
        return kndl_fail(err, errno == ENOENT ? KNDL_NOT_FOUND : KNDL_INTERNAL, "open %s: %s", path,
                         strerror(errno));
    if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attr, sizeof attr) < 0)
        return kndl_fail(err, KNDL_FAILED_PRECONDITION, "idmapped mount of %s: %s", path,
                         strerror(errno));
    if (mkdir(at, 0700) < 0)
        return kndl_fail(err, KNDL_INTERNAL, "mkdir %s: %s", at, strerror(errno));
    return overlay_attach(tree, at, err);
}

/* The new fsuid loses capabilities; the mount needs them. */
static int become_base(uint32_t base)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];

    (void)setfsgid(base);
    (void)setfsuid(base);
    if (syscall(SYS_capget, &header, data) < 0)
        return -1;
    data[0].effective = data[0].permitted;
    data[1].effective = data[1].permitted;
    return (int)syscall(SYS_capset, &header, data);
}

static int attach_layers(int userns, const char *layer, const char *scratch, const char *lowers,
                         struct kndl_buf *options, struct kndl_error *err)
{
    char at[512], path[4096];
    const char *lower = lowers;

    (void)snprintf(at, sizeof at, "%s/u", scratch);
    if (attach_layer(layer, userns, at, err) < 0)
        return -1;
    kndl_buf_printf(options, "upperdir=%s/upper,workdir=%s/work,lowerdir=", at, at);
    for (int i = 0; *lower != '\0'; i++) {
        size_t size = strcspn(lower, ":");

        if (size == 0 || size >= sizeof path || i == LAYERS_MAX)
            return kndl_fail(err, KNDL_INVALID_ARGUMENT, "the image \"%s\" has a layer too many",
                             lowers);
        (void)snprintf(path, sizeof path, "%.*s", (int)size, lower);
        (void)snprintf(at, sizeof at, "%s/%d", scratch, i);
        if (attach_layer(path, userns, at, err) < 0)
            return -1;
        kndl_buf_printf(options, "%s%s", i > 0 ? ":" : "", at);
        lower += size + (lower[size] == ':');
    }
    return 0;
}

int overlay_mount(uint32_t base, int userns, const char *layer, const char *scratch,
                  const char *lowers, const char *target, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf options = {0};
    int done = -1, problem = 0;

    /* The clones need a place while the overlay is mounted, which keeps its own references. */
    if (mount("tmpfs", scratch, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=64k,mode=755") <
            0 ||
        mount("", scratch, "", MS_PRIVATE, "") < 0)
        return kndl_fail(err, KNDL_INTERNAL, "mount %s: %s", scratch, strerror(errno));
    if (attach_layers(userns, layer, scratch, lowers, &options, err) == 0) {
        /* An fsuid that the idmapped upper does not know makes the kernel fall back, silently, to
         * a read-only overlay. */
        if (become_base(base) < 0 ||
            mount("overlay", target, "overlay", 0, kndl_buf_text(&options)) < 0)
            problem = errno;
        (void)setfsuid(0);
        (void)setfsgid(0);
        done = problem == 0 ? 0
                            : kndl_fail(err, KNDL_FAILED_PRECONDITION, "mount the overlay: %s",
                                        strerror(problem));
    }
    (void)umount2(scratch, MNT_DETACH);
    return done;
}

void overlay_unmount(const char *at)
{
    for (int i = 0; i < 16; i++) {
        if (umount2(at, UMOUNT_NOFOLLOW) < 0 &&
            (errno != EBUSY || umount2(at, MNT_DETACH | UMOUNT_NOFOLLOW) < 0))
            return;
    }
}
