/* Deleting folders whose contents are hostile: by descriptors, never by path. */

#include "tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "beneath.h"
#include "kndl/mem.h"
#include "verbs.h"

/* Each level holds two descriptors. What lies deeper is moved up first. */
enum { DEPTH_MAX = 64 };

struct walk {
    int top;
    unsigned moved; /* folders that were moved to the top */
};

static int empty(struct walk *walk, int folder, int depth, struct kndl_error *err);

static int remove_entry(struct walk *walk, int folder, const char *name, int depth,
                        struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_close) int inner = -1;
    char moved[32];

    if (unlinkat(folder, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return kndl_fail(err, KNDL_INTERNAL, "delete %s: %s", name, strerror(errno));
    if (depth == DEPTH_MAX) {
        (void)snprintf(moved, sizeof moved, ".moved-%u", walk->moved++);
        if (renameat(folder, name, walk->top, moved) < 0)
            return kndl_fail(err, KNDL_INTERNAL, "move %s: %s", name, strerror(errno));
        return 0;
    }
    inner = beneath_open_plain(folder, name, O_RDONLY | O_DIRECTORY, 0);
    if (inner < 0)
        return kndl_fail(err, KNDL_INTERNAL, "open %s: %s", name, strerror(errno));
    if (empty(walk, inner, depth + 1, err) < 0)
        return -1;
    if (unlinkat(folder, name, AT_REMOVEDIR) < 0)
        return kndl_fail(err, KNDL_INTERNAL, "delete %s: %s", name, strerror(errno));
    return 0;
}

static int empty(struct walk *walk, int folder, int depth, struct kndl_error *err)
{
    struct dirent *entry;
    DIR *entries = fdopendir(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    int done = 0;

    if (entries == NULL)
        return kndl_fail(err, KNDL_RESOURCE_EXHAUSTED, "open a folder: %s", strerror(errno));
    while (done == 0 && (entry = readdir(entries)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            done = remove_entry(walk, folder, entry->d_name, depth, err);
    }
    (void)closedir(entries);
    return done;
}

/* Deletes what lies in the folder and keeps the folder itself. */
static int empty_tree(const char *path, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_close)
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct walk walk = {.top = folder};
    unsigned moved;

    if (folder < 0 && errno == ENOENT)
        return 0;
    if (folder < 0)
        return kndl_fail(err, KNDL_INTERNAL, "open %s: %s", path, strerror(errno));
    do {
        moved = walk.moved;
        if (empty(&walk, folder, 0, err) < 0)
            return -1;
    } while (walk.moved != moved);
    return 0;
}

int tree_remove(const char *path, struct kndl_error *err)
{
    if (unlink(path) == 0 || errno == ENOENT)
        return 0;
    if (empty_tree(path, err) < 0)
        return -1;
    if (rmdir(path) < 0 && errno != ENOENT)
        return kndl_fail(err, KNDL_INTERNAL, "delete %s: %s", path, strerror(errno));
    return 0;
}

int tree_remove_run(const char *const *args, struct kndl_error *err)
{
    const char *path = verb_arg(args, "path");

    if (path[0] != '/')
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "path=%s is not absolute", path);
    if (tree_remove(path, err) < 0)
        return -1;
    verb_done(-1, NULL);
    return 0;
}
