/* A release on the disk: in a folder beside, until it is whole. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "disk.h"
#include "kndl/mem.h"
#include "release.h"
#include "tree.h"

static int fail(struct kndl_error *err, const char *what, const char *path)
{
    return kndl_fail(err, errno == ENOSPC ? KNDL_RESOURCE_EXHAUSTED : KNDL_INTERNAL,
                     "cannot %s %s: %s", what, path, strerror(errno));
}

static int sync_folder(const char *path, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_close) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return fd < 0 || fsync(fd) < 0 ? fail(err, "sync", path) : 0;
}

static int check(const struct release_file *file, struct kndl_slice bytes, struct kndl_error *err)
{
    uint8_t hash[KNDL_HASH_BYTES];

    if (bytes.size != file->size)
        return kndl_fail(err, KNDL_DATA_LOSS, "%s has %zu bytes, not %zu", file->name, bytes.size,
                         file->size);
    kndl_hash(bytes, hash);
    if (!kndl_hash_equal(hash, file->hash))
        return kndl_fail(err, KNDL_DATA_LOSS, "%s does not have the digest that the Hub told",
                         file->name);
    return 0;
}

/* ---- what lies there already ---- */

static bool is_right(const struct release_file *file, const char *place)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf path = {0}, bytes = {0};
    struct kndl_error ignored;
    struct stat status;

    kndl_buf_printf(&path, "%s/%s", place, file->name);
    KNDL_CLEANUP(kndl_close)
    int fd = open(kndl_buf_text(&path), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) ||
        (size_t)status.st_size != file->size ||
        ((status.st_mode & S_IXUSR) != 0) != file->is_executable)
        return false;
    char *to = kndl_buf_reserve(&bytes, file->size);
    while (bytes.size < file->size) {
        ssize_t got = read(fd, to + bytes.size, file->size - bytes.size);

        if (got <= 0)
            return false;
        bytes.size += (size_t)got;
    }
    return check(file, kndl_slice(to, file->size), &ignored) == 0;
}

static bool is_whole(const struct release *release, const char *place)
{
    for (size_t i = 0; i < release->count; i++)
        if (!is_right(&release->files[i], place))
            return false;
    return true;
}

/* ---- what comes ---- */

/* The folders that `name` lies in, below `folder`; the innermost one's path is left in `path`. */
static int make_folders(const char *folder, const char *name, struct kndl_buf *path,
                        struct kndl_error *err)
{
    kndl_buf_clear(path);
    kndl_buf_append_text(path, folder);
    for (const char *slash; (slash = strchr(name, '/')) != NULL; name = slash + 1) {
        kndl_buf_printf(path, "/%.*s", (int)(slash - name), name);
        if (mkdir(kndl_buf_text(path), 0755) < 0 && errno != EEXIST)
            return fail(err, "make", kndl_buf_text(path));
    }
    return 0;
}

static int set_mode(const char *path, mode_t mode, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    return fd < 0 || fchmod(fd, mode) < 0 || fsync(fd) < 0 ? fail(err, "write", path) : 0;
}

static int put_file(const struct release_file *file, const char *folder, release_get_fn get,
                    void *data, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf bytes = {0}, inner = {0}, path = {0};

    kndl_buf_printf(&path, "%s/%s", folder, file->name);
    if (get(data, file->name, file->size, &bytes, err) < 0)
        return kndl_wrap(err, "%s", file->name);
    if (check(file, kndl_buf_slice(&bytes), err) < 0 ||
        make_folders(folder, file->name, &inner, err) < 0 ||
        disk_write_file_now(kndl_buf_text(&path), bytes.data, bytes.size, err) < 0 ||
        set_mode(kndl_buf_text(&path), file->is_executable ? 0755 : 0644, err) < 0)
        return -1;
    return sync_folder(kndl_buf_text(&inner), err);
}

static int put_all(const struct release *release, const char *made, const char *place,
                   release_get_fn get, void *data, struct kndl_error *err)
{
    if (chmod(made, 0755) < 0)
        return fail(err, "make", made);
    for (size_t i = 0; i < release->count; i++)
        if (put_file(&release->files[i], made, get, data, err) < 0)
            return -1;
    /* What lies there is not this release, or not whole. */
    if (sync_folder(made, err) < 0 || tree_remove(place, err) < 0)
        return -1;
    return rename(made, place) < 0 ? fail(err, "make", place) : 0;
}

int release_install(const struct release *release, const char *folder, release_get_fn get,
                    void *data, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf place = {0}, made = {0};

    kndl_buf_printf(&place, "%s/%s", folder, release->version);
    kndl_buf_printf(&made, "%s/.new-XXXXXX", folder);
    if (mkdir(folder, 0755) < 0 && errno != EEXIST)
        return fail(err, "make", folder);
    if (is_whole(release, kndl_buf_text(&place)))
        return 0;
    if (mkdtemp(made.data) == NULL)
        return fail(err, "make", kndl_buf_text(&made));
    if (put_all(release, kndl_buf_text(&made), kndl_buf_text(&place), get, data, err) < 0) {
        (void)tree_remove(kndl_buf_text(&made), NULL);
        return -1;
    }
    return sync_folder(folder, err);
}
