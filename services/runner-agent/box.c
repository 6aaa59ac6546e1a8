/* Folders, locks, pids and uid ranges of Sandboxes. */

#include "box.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kndl/env.h"
#include "kndl/mem.h"
#include "tree.h"

enum { SPEC_BYTES_MAX = 1024 * 1024 };

bool box_name_is_valid(const char *name)
{
    size_t size = strlen(name);

    return size >= 1 && size <= SANDBOX_NAME_CHARS_MAX && name[0] != '-' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == size;
}

void box_home_path(const char *leaf, char ret_path[BOX_PATH_SIZE])
{
    (void)snprintf(ret_path, BOX_PATH_SIZE, "%s/%s", kndl_env_get("RUNNER_HOME"), leaf);
}

void box_path(const struct box *box, const char *leaf, char ret_path[BOX_PATH_SIZE])
{
    (void)snprintf(ret_path, BOX_PATH_SIZE, "%s/%s", box->dir, leaf);
}

static int make_folder(const char *path, mode_t mode, struct kndl_error *err)
{
    if (mkdir(path, mode) < 0 && errno != EEXIST) {
        if (errno == ENOSPC)
            return kndl_fail(err, KNDL_RESOURCE_EXHAUSTED, "the disk is full");
        return kndl_fail(err, KNDL_INTERNAL, "mkdir %s: %s", path, strerror(errno));
    }
    return 0;
}

/* ----------------------------------------------------------------------- open and remove */

static int lock(struct box *box, struct kndl_error *err)
{
    char path[BOX_PATH_SIZE];
    struct stat about;

    box_path(box, "lock", path);
    box->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (box->lock < 0)
        return kndl_fail(err, errno == ENOENT ? KNDL_NOT_FOUND : KNDL_INTERNAL, "Sandbox %s: %s",
                         box->name, strerror(errno));
    if (flock(box->lock, LOCK_EX) < 0 || fstat(box->lock, &about) < 0)
        return kndl_fail(err, KNDL_INTERNAL, "lock %s: %s", path, strerror(errno));
    if (about.st_nlink == 0)
        return kndl_fail(err, KNDL_NOT_FOUND, "Sandbox %s was removed", box->name);
    return 0;
}

static int read_spec(struct box *box, struct kndl_error *err)
{
    char path[BOX_PATH_SIZE];
    struct stat about;
    KNDL_CLEANUP(kndl_close) int fd = -1;
    size_t count = 0, size;

    box_path(box, "spec", path);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return 0;
    if (fstat(fd, &about) < 0 || about.st_size > SPEC_BYTES_MAX)
        return kndl_fail(err, KNDL_INTERNAL, "%s cannot be read", path);
    size = (size_t)about.st_size;
    box->spec = kndl_alloc(1, size + 1);
    if (read(fd, box->spec, size) != (ssize_t)size)
        return kndl_fail(err, KNDL_INTERNAL, "%s cannot be read", path);
    for (size_t i = 0; i < size; i++)
        count += box->spec[i] == '\0';
    box->args = kndl_new_array(const char *, count + 1);
    count = 0;
    for (size_t i = 0; i < size; i += strlen(box->spec + i) + 1)
        box->args[count++] = box->spec + i;
    return 0;
}

static int open_at(struct box *box, const char *name, enum box_how how, struct kndl_error *err)
{
    char path[BOX_PATH_SIZE];

    box_home_path("sandboxes", path);
    if (how == BOX_CREATE &&
        (make_folder(path, 0711, err) < 0 || make_folder(box->dir, 0711, err) < 0))
        return -1;
    if (access(box->dir, F_OK) < 0)
        return kndl_fail(err, KNDL_NOT_FOUND, "Sandbox %s does not exist", name);
    if (how != BOX_LOOK && lock(box, err) < 0)
        return -1;
    return read_spec(box, err);
}

int box_open(struct box *box, const char *name, enum box_how how, struct kndl_error *err)
{
    *box = (struct box){.lock = -1};
    if (!box_name_is_valid(name))
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "\"%s\" is no name of a Sandbox", name);
    (void)snprintf(box->name, sizeof box->name, "%s", name);
    if ((size_t)snprintf(box->dir, sizeof box->dir, "%s/sandboxes/%s", kndl_env_get("RUNNER_HOME"),
                         name) >= sizeof box->dir)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "RUNNER_HOME is too long a path");
    if (open_at(box, name, how, err) < 0) {
        box_done(box);
        return -1;
    }
    return 0;
}

void box_done(struct box *box)
{
    kndl_close(&box->lock);
    free(box->spec);
    free(box->args);
    *box = (struct box){.lock = -1};
}

int box_remove(struct box *box, struct kndl_error *err)
{
    return tree_remove(box->dir, err);
}

/* --------------------------------------------------------------------------------- files */

int box_write(const struct box *box, const char *leaf, const void *bytes, size_t size,
              uint32_t mode, struct kndl_error *err)
{
    char path[BOX_PATH_SIZE], made[BOX_PATH_SIZE + 4];
    KNDL_CLEANUP(kndl_close) int fd = -1;

    box_path(box, leaf, path);
    (void)snprintf(made, sizeof made, "%s.new", path);
    fd = open(made, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, (mode_t)mode);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size || fchmod(fd, (mode_t)mode) < 0 ||
        fsync(fd) < 0 || rename(made, path) < 0) {
        int problem = errno;

        (void)unlink(made);
        return kndl_fail(err, problem == ENOSPC ? KNDL_RESOURCE_EXHAUSTED : KNDL_INTERNAL,
                         "write %s: %s", path, strerror(problem));
    }
    return 0;
}

bool box_has(const struct box *box, const char *leaf)
{
    char path[BOX_PATH_SIZE];

    box_path(box, leaf, path);
    return access(path, F_OK) == 0;
}

void box_unlink(const struct box *box, const char *leaf)
{
    char path[BOX_PATH_SIZE];

    box_path(box, leaf, path);
    (void)unlink(path);
}

/* ---------------------------------------------------------------------------------- pids */

/* Field 22 of /proc/PID/stat, counted behind the name, which may hold anything. 0: gone. */
static uint64_t start_time(pid_t pid)
{
    char path[64], text[1024];
    KNDL_CLEANUP(kndl_close) int fd = -1;
    ssize_t size;
    char *at;

    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    size = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (size <= 0)
        return 0;
    text[size] = '\0';
    at = strrchr(text, ')');
    if (at == NULL || at[1] == '\0' || at[2] == 'Z')
        return 0;
    for (int field = 2; at != NULL && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at == NULL ? 0 : strtoull(at + 1, NULL, 10);
}

int box_write_pid(const struct box *box, const char *leaf, pid_t pid, struct kndl_error *err)
{
    char text[64];
    int size =
        snprintf(text, sizeof text, "%d %llu\n", (int)pid, (unsigned long long)start_time(pid));

    return box_write(box, leaf, text, (size_t)size, 0600, err);
}

int box_record_pid(void *record, pid_t pid, struct kndl_error *err)
{
    const struct box_record *where = record;

    return box_write_pid(where->box, where->leaf, pid, err);
}

static pid_t read_pid(const char *path, int *ret_pidfd)
{
    FILE *file = fopen(path, "re");
    unsigned long long started = 0;
    int pid = 0, pidfd = -1;
    int got = file == NULL ? 0 : fscanf(file, "%d %llu", &pid, &started);

    if (file != NULL)
        (void)fclose(file);
    if (got == 2 && pid > 0 && started != 0)
        pidfd = pidfd_open(pid, 0);
    /* Asked after the pidfd is there: from here on it is that process or none. */
    if (pidfd >= 0 && start_time(pid) != started)
        kndl_close(&pidfd);
    if (pidfd < 0)
        return 0;
    *ret_pidfd = pidfd;
    return pid;
}

pid_t box_read_pid(const struct box *box, const char *leaf, int *ret_pidfd)
{
    char path[BOX_PATH_SIZE];

    box_path(box, leaf, path);
    return read_pid(path, ret_pidfd);
}

pid_t box_find_pid(const char *name, const char *leaf, int *ret_pidfd)
{
    char path[BOX_PATH_SIZE];

    if (!box_name_is_valid(name))
        return 0;
    (void)snprintf(path, sizeof path, "%s/sandboxes/%s/%s", kndl_env_get("RUNNER_HOME"), name,
                   leaf);
    return read_pid(path, ret_pidfd);
}

int box_each(void (*fn)(void *data, const char *name), void *data, struct kndl_error *err)
{
    char path[BOX_PATH_SIZE];
    struct dirent *entry;
    DIR *folder;

    box_home_path("sandboxes", path);
    folder = opendir(path);
    if (folder == NULL && errno == ENOENT)
        return 0;
    if (folder == NULL)
        return kndl_fail(err, KNDL_INTERNAL, "open %s: %s", path, strerror(errno));
    while ((entry = readdir(folder)) != NULL) {
        if (box_name_is_valid(entry->d_name))
            fn(data, entry->d_name);
    }
    (void)closedir(folder);
    return 0;
}
