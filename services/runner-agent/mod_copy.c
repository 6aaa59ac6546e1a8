/* Copies the mod, on the disk's thread. Both folders are the Runner's own. */

#include "mod_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "disk.h"
#include "kndl/buf.h"
#include "kndl/mem.h"

enum { FILE_BYTES_MAX = 1024 * 1024 };

static const char *const folders[] = {
    "hub-link",          "hub-link/.claude-plugin",          "hub-link/hooks",
    "hub-link-commands", "hub-link-commands/.claude-plugin", "hub-link-commands/hooks",
};
static const char *const files[] = {
    "hub-link/.claude-plugin/plugin.json", "hub-link/hooks/hooks.json",
    "hub-link/hooks/register.js",          "hub-link-commands/.claude-plugin/plugin.json",
    "hub-link-commands/hooks/hooks.json",  "hub-link-commands/hooks/register.js",
};

struct copy_job {
    char *from;
    char *to;
    void (*done)(void *data, const struct kndl_error *err);
    void *data;
};

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

/* What earlier starts left beside it; none of them runs any more. */
static void remove_older(const char *to)
{
    KNDL_CLEANUP(kndl_free) char *copy = kndl_strdup(to);
    KNDL_CLEANUP(kndl_free) char *parent = kndl_strdup(dirname(copy));

    (void)nftw(parent, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    (void)mkdir(parent, 0755);
}

static int fail(struct kndl_error *err, const char *what, const char *path)
{
    return kndl_fail(err, errno == ENOSPC ? KNDL_RESOURCE_EXHAUSTED : KNDL_INTERNAL,
                     "cannot %s %s: %s", what, path, strerror(errno));
}

static int copy_file(const char *from, const char *to, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_close) int in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    KNDL_CLEANUP(kndl_close) int out = -1;
    KNDL_CLEANUP(kndl_free) char *bytes = kndl_alloc(1, FILE_BYTES_MAX);
    ssize_t size = in < 0 ? -1 : read(in, bytes, FILE_BYTES_MAX);

    if (size < 0)
        return fail(err, "read", from);
    out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (out < 0 || write(out, bytes, (size_t)size) != size || fchmod(out, 0644) < 0)
        return fail(err, "write", to);
    return 0;
}

static int copy(void *data, struct kndl_error *err)
{
    const struct copy_job *job = data;

    remove_older(job->to);
    if (mkdir(job->to, 0755) < 0)
        return fail(err, "make", job->to);
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        KNDL_CLEANUP(kndl_buf_done) struct kndl_buf path = {0};

        kndl_buf_printf(&path, "%s/%s", job->to, folders[i]);
        if (mkdir(kndl_buf_text(&path), 0755) < 0)
            return fail(err, "make", kndl_buf_text(&path));
    }
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        KNDL_CLEANUP(kndl_buf_done) struct kndl_buf from = {0}, to = {0};

        kndl_buf_printf(&from, "%s/%s", job->from, files[i]);
        kndl_buf_printf(&to, "%s/%s", job->to, files[i]);
        if (copy_file(kndl_buf_text(&from), kndl_buf_text(&to), err) < 0)
            return -1;
    }
    return 0;
}

static void copied(void *data, const struct kndl_error *err)
{
    struct copy_job *job = data;

    job->done(job->data, err);
    free(job->from);
    free(job->to);
    free(job);
}

void mod_copy(struct disk *disk, const char *from, const char *to,
              void (*done)(void *data, const struct kndl_error *err), void *data)
{
    struct copy_job *job = kndl_new0(struct copy_job);

    *job = (struct copy_job){kndl_strdup(from), kndl_strdup(to), done, data};
    disk_do(disk, copy, copied, job);
}
