/* Reads, writes and lists what a Sandbox may have made, with the Sandbox's rights. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "beneath.h"
#include "confine.h"
#include "kndl/id.h"
#include "kndl/mem.h"
#include "overlay.h"
#include "uid_range.h"
#include "verbs.h"

enum { READ_BYTES_MAX = 64 * 1024 * 1024, CHUNK_BYTES = 256 * 1024, ENTRIES_MAX = 1000 };

static int explain(const char *path, int problem, struct kndl_error *err)
{
    enum kndl_code code = KNDL_INTERNAL;

    if (problem == ENOENT || problem == ENOTDIR)
        code = KNDL_NOT_FOUND;
    else if (problem == ELOOP || problem == EXDEV || problem == EACCES || problem == EPERM ||
             problem == ENXIO || problem == EISDIR)
        code = KNDL_PERMISSION_DENIED;
    else if (problem == ENOSPC || problem == EDQUOT)
        code = KNDL_RESOURCE_EXHAUSTED;
    if (code == KNDL_RESOURCE_EXHAUSTED)
        verb_reason("no_space");
    return kndl_fail(err, code, "%.100s: %s", path, strerror(problem));
}

/* Root's again, and open to root, whatever it is; `fd` may be one of O_PATH. */
static int take_back(int fd)
{
    char path[48];
    struct stat about;
    mode_t needed;

    if (fstat(fd, &about) < 0 || !(S_ISDIR(about.st_mode) || S_ISREG(about.st_mode)))
        return -1;
    needed = S_ISDIR(about.st_mode) ? S_IRWXU : S_IRUSR | S_IWUSR;
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (about.st_uid != 0 && fchownat(fd, "", 0, 0, AT_EMPTY_PATH) < 0)
        return -1;
    if ((about.st_mode & needed) != needed && chmod(path, (about.st_mode & 07777) | needed) < 0)
        return -1;
    return 0;
}

/*
 * A Sandbox may give the folder, or what lies in it, to another of its users: then it could never
 * start again. So what is on the way to `path` is taken back, as far as it is there and no link.
 * Its files are its own: a hard link cannot lead out of its mount.
 */
static int keep_owner(const char *directory, const char *path, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_close)
    int folder = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    char part[PATH_MAX];

    if (folder < 0 || take_back(folder) < 0)
        return explain(directory, errno, err);
    for (size_t size = strcspn(path, "/"); size < sizeof part; size += strcspn(path + size, "/")) {
        KNDL_CLEANUP(kndl_close) int fd = -1;

        (void)snprintf(part, sizeof part, "%.*s", (int)size, path);
        fd = part[0] == '\0' ? -1 : beneath_open_plain(folder, part, O_PATH | O_NOFOLLOW, 0);
        if (fd >= 0)
            (void)take_back(fd); /* what is neither file nor folder is refused later */
        if (path[size] == '\0')
            break;
        size++;
    }
    return 0;
}

/*
 * The folder as the Sandbox sees it: root's files on disk are its root's here, and from now on
 * this process has its root's rights over them and none over anything else.
 */
static int enter(const char *const *args, bool read_only, int *ret_folder, struct kndl_error *err)
{
    const char *directory = verb_arg(args, "directory");
    KNDL_CLEANUP(kndl_close) int userns = -1;
    KNDL_CLEANUP(kndl_close) int folder = -1;
    uint32_t uid = uid_range_guest_files();

    if (directory[0] != '/')
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "directory=%s is not absolute", directory);
    if (keep_owner(directory, verb_arg(args, "path"), err) < 0)
        return -1;
    if (overlay_userns(uid, SANDBOX_UIDS, &userns, err) < 0 ||
        overlay_clone(directory, userns, read_only, &folder, err) < 0 || confine(uid, err) < 0)
        return -1;
    *ret_folder = kndl_steal_fd(&folder);
    return 0;
}

/* ----------------------------------------------------------------------------------- read */

/* At most `most` bytes, however the file grows meanwhile. */
static int copy(int from, int to, uint64_t offset, uint64_t most, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_free) char *bytes = kndl_alloc(1, CHUNK_BYTES);

    while (most > 0) {
        ssize_t n =
            pread(from, bytes, most < CHUNK_BYTES ? (size_t)most : CHUNK_BYTES, (off_t)offset);

        if (n < 0)
            return kndl_fail(err, KNDL_INTERNAL, "read: %s", strerror(errno));
        if (n == 0)
            return 0;
        if (write(to, bytes, (size_t)n) != n)
            return kndl_fail(err, KNDL_RESOURCE_EXHAUSTED, "copy: %s", strerror(errno));
        offset += (uint64_t)n;
        most -= (uint64_t)n;
    }
    return 0;
}

int guest_read_run(const char *const *args, struct kndl_error *err)
{
    const char *path = verb_arg(args, "path");
    KNDL_CLEANUP(kndl_close) int folder = -1;
    KNDL_CLEANUP(kndl_close) int file = -1;
    KNDL_CLEANUP(kndl_close) int copied = memfd_create("guest-file", MFD_CLOEXEC);
    uint64_t offset, most;
    struct stat about;
    char size[24];

    if (verb_arg_u64(args, "offset", INT64_MAX, &offset, err) < 0 ||
        verb_arg_u64(args, "most", READ_BYTES_MAX, &most, err) < 0 ||
        enter(args, true, &folder, err) < 0)
        return -1;
    /* A FIFO is not waited for, and looked at before it is read. */
    file = beneath_open(folder, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW, 0);
    if (file < 0 || fstat(file, &about) < 0)
        return explain(path, errno, err);
    if (!S_ISREG(about.st_mode))
        return kndl_fail(err, KNDL_PERMISSION_DENIED, "%.100s is not a regular file", path);
    if (copied < 0 || copy(file, copied, offset, most, err) < 0)
        return -1;
    (void)snprintf(size, sizeof size, "%llu", (unsigned long long)about.st_size);
    verb_done(copied, "size", size, NULL);
    return 0;
}

/* ---------------------------------------------------------------------------------- write */

/* The folder of the path's last part, made where it is missing; *ret_leaf is that part. No link is
 * followed on the way: who writes knows where. */
static int open_parent(int folder, const char *path, const char **ret_leaf, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_close) int at = beneath_open_plain(folder, ".", O_RDONLY | O_DIRECTORY, 0);
    char name[NAME_MAX + 1];
    const char *slash;

    for (; at >= 0 && (slash = strchr(path, '/')) != NULL; path = slash + 1) {
        int next;

        if (slash == path)
            continue;
        if (slash - path > NAME_MAX)
            return explain(path, ENAMETOOLONG, err);
        (void)snprintf(name, sizeof name, "%.*s", (int)(slash - path), path);
        if (mkdirat(at, name, 0700) < 0 && errno != EEXIST)
            return explain(name, errno, err);
        next = beneath_open_plain(at, name, O_RDONLY | O_DIRECTORY, 0);
        if (next < 0)
            return explain(name, errno, err);
        kndl_close(&at);
        at = next;
    }
    if (at < 0)
        return explain(path, errno, err);
    if (path[0] == '\0' || strcmp(path, ".") == 0 || strcmp(path, "..") == 0)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "the path names no file");
    *ret_leaf = path;
    return kndl_steal_fd(&at);
}

static int write_new(int parent, const char *name, const char *bytes, size_t size, mode_t mode)
{
    KNDL_CLEANUP(kndl_close)
    int fd =
        openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0600);
    size_t done = 0;

    while (fd >= 0 && done < size) {
        ssize_t n = write(fd, bytes + done, size - done);

        if (n < 0)
            return -1;
        done += (size_t)n;
    }
    return fd < 0 || fchmod(fd, mode) < 0 || fsync(fd) < 0 ? -1 : 0;
}

/* A folder that was put where the file belongs changes names with it: what it holds stays the
 * Sandbox's, and the next start is not in its hands. */
static int put_in_place(int parent, const char *made, const char *leaf)
{
    if (renameat(parent, made, parent, leaf) == 0)
        return 0;
    return errno == EISDIR ? renameat2(parent, made, parent, leaf, RENAME_EXCHANGE) : -1;
}

static int replace(int folder, const char *path, const char *bytes, size_t size, mode_t mode,
                   struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_close) int parent = -1;
    char made[KNDL_ID_SIZE + 8], id[KNDL_ID_SIZE];
    const char *leaf = NULL;

    parent = open_parent(folder, path, &leaf, err);
    if (parent < 0)
        return -1;
    kndl_id_new(id);
    (void)snprintf(made, sizeof made, ".kndl-%s", id);
    if (write_new(parent, made, bytes, size, mode) < 0 || put_in_place(parent, made, leaf) < 0 ||
        fsync(parent) < 0) {
        int problem = errno;

        (void)unlinkat(parent, made, 0);
        return explain(path, problem, err);
    }
    return 0;
}

int guest_write_run(const char *const *args, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_close) int folder = -1;
    KNDL_CLEANUP(kndl_free) char *bytes = NULL;
    uint64_t mode;
    size_t size;
    int done;

    if (verb_arg_u64(args, "mode", 0777, &mode, err) < 0 || verb_input(&bytes, &size, err) < 0 ||
        enter(args, false, &folder, err) < 0)
        return -1;
    done = replace(folder, verb_arg(args, "path"), bytes, size, (mode_t)mode, err);
    explicit_bzero(bytes, size);
    if (done == 0)
        verb_done(-1, NULL);
    return done;
}

/* ----------------------------------------------------------------------------------- list */

static void say_entry(int folder, const char *name)
{
    struct stat about;
    char size[24], changed[24];

    if (fstatat(folder, name, &about, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    (void)snprintf(size, sizeof size, "%llu", (unsigned long long)about.st_size);
    (void)snprintf(changed, sizeof changed, "%lld",
                   (long long)about.st_mtim.tv_sec * 1000 + about.st_mtim.tv_nsec / 1000000);
    verb_say("entry", -1, "name", name, "kind",
             S_ISDIR(about.st_mode)   ? "directory"
             : S_ISREG(about.st_mode) ? "regular"
                                      : "other",
             "size", size, "changed", changed, NULL);
}

int guest_list_run(const char *const *args, struct kndl_error *err)
{
    const char *path = verb_arg(args, "path");
    KNDL_CLEANUP(kndl_close) int folder = -1;
    struct dirent *entry;
    DIR *entries;
    int fd;

    if (enter(args, true, &folder, err) < 0)
        return -1;
    fd = beneath_open(folder, path[0] == '\0' ? "." : path, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0 || (entries = fdopendir(fd)) == NULL)
        return explain(path, errno, err);
    for (int count = 0; count < ENTRIES_MAX && (entry = readdir(entries)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        say_entry(dirfd(entries), entry->d_name);
        count++;
    }
    (void)closedir(entries);
    verb_done(-1, NULL);
    return 0;
}
