/* Which release is the current one, which is on trial, which has failed. */

#include "releases.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "disk.h"
#include "kndl/mem.h"
#include "kndl/version.h"
#include "release.h"
#include "tree.h"

enum { FILE_BYTES_MAX = 1024 };

static int fail(struct kndl_error *err, const char *what, const char *path)
{
    return kndl_fail(err, errno == ENOSPC ? KNDL_RESOURCE_EXHAUSTED : KNDL_INTERNAL,
                     "cannot %s %s: %s", what, path, strerror(errno));
}

static void path_of(const char *folder, const char *name, struct kndl_buf *out)
{
    kndl_buf_clear(out);
    kndl_buf_printf(out, "%s/%s", folder, name);
}

/* A version, a space and whatever follows; *ret_rest points into `out`, which is cut at the space.
 * False: there is no such file, or it says nothing. */
static bool read_state(const char *folder, const char *name, struct kndl_buf *out,
                       const char **ret_rest)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf path = {0};

    path_of(folder, name, &path);
    KNDL_CLEANUP(kndl_close)
    int fd = open(kndl_buf_text(&path), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    kndl_buf_clear(out);
    char *text = kndl_buf_reserve(out, FILE_BYTES_MAX);
    ssize_t size = fd < 0 ? -1 : read(fd, text, FILE_BYTES_MAX);
    if (size <= 0)
        return false;
    text[size] = '\0';
    char *space = strchr(text, ' ');
    if (space == NULL)
        return false;
    *space = '\0';
    *ret_rest = space + 1;
    out->size = strlen(text);
    return release_is_version(text);
}

static int write_state(const char *folder, const char *name, const char *version, const char *rest,
                       struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf path = {0}, text = {0};

    path_of(folder, name, &path);
    kndl_buf_printf(&text, "%s %.800s", version, rest);
    return disk_write_file_now(kndl_buf_text(&path), text.data, text.size, err);
}

static int drop(const char *folder, const char *name, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf path = {0};

    path_of(folder, name, &path);
    return unlink(kndl_buf_text(&path)) < 0 && errno != ENOENT
               ? fail(err, "remove", kndl_buf_text(&path))
               : 0;
}

static int write_tries(const char *folder, const char *version, unsigned tries,
                       struct kndl_error *err)
{
    char text[16];

    (void)snprintf(text, sizeof text, "%u", tries);
    return write_state(folder, "trying", version, text, err);
}

/* How often it was started without having reached the Hub; 0: it is not on trial. */
static unsigned read_tries(const char *folder, const char *version)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf tried = {0};
    const char *count;

    if (!read_state(folder, "trying", &tried, &count) ||
        strcmp(kndl_buf_text(&tried), version) != 0)
        return 0;
    return (unsigned)strtoul(count, NULL, 10);
}

/* "" where there is none. */
static void read_current(const char *folder, struct kndl_buf *out)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf path = {0};

    path_of(folder, "current", &path);
    kndl_buf_clear(out);
    char *text = kndl_buf_reserve(out, FILE_BYTES_MAX);
    ssize_t size = readlink(kndl_buf_text(&path), text, FILE_BYTES_MAX - 1);
    text[size < 0 ? 0 : size] = '\0';
    out->size = release_is_version(text) ? strlen(text) : 0;
    text[out->size] = '\0';
}

int releases_switch(const char *folder, const char *version, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf made = {0}, path = {0};

    path_of(folder, "current.new", &made);
    path_of(folder, "current", &path);
    if (write_tries(folder, version, 1, err) < 0 || drop(folder, "current.new", err) < 0)
        return -1;
    if (symlink(version, kndl_buf_text(&made)) < 0 ||
        rename(kndl_buf_text(&made), kndl_buf_text(&path)) < 0)
        return fail(err, "make", kndl_buf_text(&path));
    KNDL_CLEANUP(kndl_close) int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 || fsync(fd) < 0 ? fail(err, "sync", folder) : 0;
}

int releases_choose(const char *folder, const char *own, struct kndl_buf *ret_version,
                    struct kndl_error *err)
{
    const char *version;
    unsigned tries;

    read_current(folder, ret_version);
    version = kndl_buf_text(ret_version);
    if (version[0] == '\0')
        return 0;
    if (kndl_version_compare(version, own) <= 0) {
        kndl_buf_clear(ret_version);
        return 0;
    }
    tries = read_tries(folder, version);
    if (tries == 0)
        return 0;
    if (tries < RELEASE_TRIES_MAX)
        return write_tries(folder, version, tries + 1, err);
    int failed =
        releases_fail(folder, version, "it ended each time before it reached the Hub", err);
    kndl_buf_clear(ret_version);
    return failed;
}

int releases_fail(const char *folder, const char *version, const char *why, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf current = {0};

    if (write_state(folder, "failed", version, why, err) < 0)
        return -1;
    read_current(folder, &current);
    if (strcmp(kndl_buf_text(&current), version) == 0 && drop(folder, "current", err) < 0)
        return -1;
    return drop(folder, "trying", err);
}

void releases_read_failed(const char *folder, struct kndl_buf *ret_version,
                          struct kndl_buf *ret_why)
{
    const char *why;

    kndl_buf_clear(ret_why);
    if (read_state(folder, "failed", ret_version, &why))
        kndl_buf_append_text(ret_why, why);
    else
        kndl_buf_clear(ret_version);
}

int releases_confirm(const char *folder, const char *version, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf path = {0};
    struct dirent *entry;
    DIR *listing;
    int result;

    read_current(folder, &path);
    if (strcmp(kndl_buf_text(&path), version) != 0)
        return 0;
    if (drop(folder, "trying", err) < 0 || drop(folder, "failed", err) < 0)
        return -1;
    listing = opendir(folder);
    if (listing == NULL)
        return fail(err, "read", folder);
    result = 0;
    while (result == 0 && (entry = readdir(listing)) != NULL) {
        bool is_release = release_is_version(entry->d_name) ||
                          strncmp(entry->d_name, ".new-", strlen(".new-")) == 0;

        if (!is_release || strcmp(entry->d_name, version) == 0)
            continue;
        path_of(folder, entry->d_name, &path);
        result = tree_remove(kndl_buf_text(&path), err);
    }
    closedir(listing);
    return result;
}
