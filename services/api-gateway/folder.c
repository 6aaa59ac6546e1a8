/* Walks a folder and reads its files whole. */

#include "folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kndl/buf.h"
#include "kndl/mem.h"

enum { DEPTH_MAX = 8 };

struct walk {
    const struct folder_options *options;
    folder_fn fn;
    void *data;
    size_t files;
    size_t bytes;
};

static int read_whole(const struct walk *walk, int folder, const char *name,
                      struct kndl_slice *ret_bytes, mode_t *ret_mode, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_close) int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    const char *setting = walk->options->setting;
    struct stat status;

    if (fd < 0 || fstat(fd, &status) < 0)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "%s: %s: %s", setting, name, strerror(errno));
    if (!S_ISREG(status.st_mode) || (size_t)status.st_size > walk->options->bytes_max - walk->bytes)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "%s: %s is too long", setting, name);
    size_t size = (size_t)status.st_size;
    uint8_t *bytes = kndl_alloc(size + 1, 1);
    for (size_t at = 0; at < size;) {
        ssize_t got = read(fd, bytes + at, size - at);

        if (got <= 0) {
            free(bytes);
            return kndl_fail(err, KNDL_INVALID_ARGUMENT, "%s: %s cannot be read", setting, name);
        }
        at += (size_t)got;
    }
    *ret_bytes = kndl_slice(bytes, size);
    *ret_mode = status.st_mode;
    return 0;
}

static int tell_file(struct walk *walk, int folder, const char *name, const char *path,
                     struct kndl_error *err)
{
    struct kndl_slice bytes = {0};
    mode_t mode = 0;

    if (walk->files == walk->options->files_max)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "%s has more than %zu files",
                         walk->options->setting, walk->options->files_max);
    if (read_whole(walk, folder, name, &bytes, &mode, err) < 0)
        return -1;
    walk->files++;
    walk->bytes += bytes.size;
    return walk->fn(walk->data, path, bytes, mode, err);
}

static void close_folder(DIR **folder)
{
    if (*folder != NULL)
        closedir(*folder);
}

static int walk_folder(struct walk *walk, int fd, const char *prefix, int depth,
                       struct kndl_error *err);

static int tell_entry(struct walk *walk, int folder, const char *name, const char *prefix,
                      int depth, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf path = {0};
    struct stat status;

    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
        (name[0] == '.' && !walk->options->takes_hidden) ||
        fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    kndl_buf_printf(&path, "%s%s", prefix, name);
    if (S_ISREG(status.st_mode))
        return tell_file(walk, folder, name, kndl_buf_text(&path), err);
    if (!S_ISDIR(status.st_mode) || depth == DEPTH_MAX)
        return 0;
    int inner = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (inner < 0)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "%s: %s cannot be read",
                         walk->options->setting, name);
    kndl_buf_append_char(&path, '/');
    return walk_folder(walk, inner, kndl_buf_text(&path), depth + 1, err);
}

/* Takes fd. */
static int walk_folder(struct walk *walk, int fd, const char *prefix, int depth,
                       struct kndl_error *err)
{
    KNDL_CLEANUP(close_folder) DIR *folder = fdopendir(fd);
    struct dirent *entry;

    if (folder == NULL) {
        close(fd);
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "%s cannot be read", walk->options->setting);
    }
    while ((entry = readdir(folder)) != NULL)
        if (tell_entry(walk, fd, entry->d_name, prefix, depth, err) < 0)
            return -1;
    return 0;
}

int folder_read(const struct folder_options *options, folder_fn fn, void *data,
                struct kndl_error *err)
{
    struct walk walk = {.options = options, .fn = fn, .data = data};
    int fd = open(options->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "%s is %s: %s", options->setting, options->dir,
                         strerror(errno));
    return walk_folder(&walk, fd, "", 0, err);
}
