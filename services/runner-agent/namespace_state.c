/* Folders, locks, pids and uid ranges of Sandboxes. */

#include "namespace_state.h"

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

bool state_name_is_valid(const char *name)
{
    size_t size = strlen(name);

    return size >= 1 && size <= SANDBOX_NAME_CHARS_MAX && name[0] != '-' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == size;
}

void state_home_path(const char *leaf, char ret_path[STATE_PATH_SIZE])
{
    (void)snprintf(ret_path, STATE_PATH_SIZE, "%s/%s", kndl_env_get("RUNNER_HOME"), leaf);
}

void state_path(const struct state *state, const char *leaf, char ret_path[STATE_PATH_SIZE])
{
    (void)snprintf(ret_path, STATE_PATH_SIZE, "%s/%s", state->dir, leaf);
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

static int lock(struct state *state, struct kndl_error *err)
{
    char path[STATE_PATH_SIZE];
    struct stat about;

    state_path(state, "lock", path);
    state->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (state->lock < 0)
        return kndl_fail(err, errno == ENOENT ? KNDL_NOT_FOUND : KNDL_INTERNAL, "sandbox %s: %s",
                         state->name, strerror(errno));
    if (flock(state->lock, LOCK_EX) < 0 || fstat(state->lock, &about) < 0)
        return kndl_fail(err, KNDL_INTERNAL, "lock %s: %s", path, strerror(errno));
    if (about.st_nlink == 0)
        return kndl_fail(err, KNDL_NOT_FOUND, "sandbox %s was removed", state->name);
    return 0;
}

static int read_spec(struct state *state, struct kndl_error *err)
{
    char path[STATE_PATH_SIZE];
    struct stat about;
    KNDL_CLEANUP(kndl_close) int fd = -1;
    size_t count = 0, size;

    state_path(state, "spec", path);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return 0;
    if (fstat(fd, &about) < 0 || about.st_size > SPEC_BYTES_MAX)
        return kndl_fail(err, KNDL_INTERNAL, "%s cannot be read", path);
    size = (size_t)about.st_size;
    state->spec = kndl_alloc(1, size + 1);
    if (read(fd, state->spec, size) != (ssize_t)size)
        return kndl_fail(err, KNDL_INTERNAL, "%s cannot be read", path);
    for (size_t i = 0; i < size; i++)
        count += state->spec[i] == '\0';
    state->args = kndl_new_array(const char *, count + 1);
    count = 0;
    for (size_t i = 0; i < size; i += strlen(state->spec + i) + 1)
        state->args[count++] = state->spec + i;
    return 0;
}

static int open_locked(struct state *state, const char *name, enum state_open how,
                       struct kndl_error *err)
{
    char path[STATE_PATH_SIZE];

    state_home_path("sandboxes", path);
    if (how == STATE_CREATE &&
        (make_folder(path, 0711, err) < 0 || make_folder(state->dir, 0711, err) < 0))
        return -1;
    if (access(state->dir, F_OK) < 0)
        return kndl_fail(err, KNDL_NOT_FOUND, "sandbox %s does not exist", name);
    if (lock(state, err) < 0)
        return -1;
    return read_spec(state, err);
}

int state_open(struct state *state, const char *name, enum state_open how, struct kndl_error *err)
{
    *state = (struct state){.lock = -1};
    if (!state_name_is_valid(name))
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "\"%s\" is no name of a Sandbox", name);
    (void)snprintf(state->name, sizeof state->name, "%s", name);
    if ((size_t)snprintf(state->dir, sizeof state->dir, "%s/sandboxes/%s",
                         kndl_env_get("RUNNER_HOME"), name) >= sizeof state->dir)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "RUNNER_HOME is too long a path");
    if (open_locked(state, name, how, err) < 0) {
        state_done(state);
        return -1;
    }
    return 0;
}

void state_done(struct state *state)
{
    kndl_close(&state->lock);
    free(state->spec);
    free(state->args);
    *state = (struct state){.lock = -1};
}

int state_remove(struct state *state, struct kndl_error *err)
{
    return tree_remove(state->dir, err);
}

/* --------------------------------------------------------------------------------- files */

int state_write(const struct state *state, const char *leaf, const void *bytes, size_t size,
                uint32_t mode, struct kndl_error *err)
{
    char path[STATE_PATH_SIZE], made[STATE_PATH_SIZE + 4];
    KNDL_CLEANUP(kndl_close) int fd = -1;

    state_path(state, leaf, path);
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

bool state_has(const struct state *state, const char *leaf)
{
    char path[STATE_PATH_SIZE];

    state_path(state, leaf, path);
    return access(path, F_OK) == 0;
}

void state_unlink(const struct state *state, const char *leaf)
{
    char path[STATE_PATH_SIZE];

    state_path(state, leaf, path);
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

int state_write_pid(const struct state *state, const char *leaf, pid_t pid, struct kndl_error *err)
{
    char text[64];
    int size =
        snprintf(text, sizeof text, "%d %llu\n", (int)pid, (unsigned long long)start_time(pid));

    return state_write(state, leaf, text, (size_t)size, 0600, err);
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

pid_t state_read_pid(const struct state *state, const char *leaf, int *ret_pidfd)
{
    char path[STATE_PATH_SIZE];

    state_path(state, leaf, path);
    return read_pid(path, ret_pidfd);
}

pid_t state_find_pid(const char *name, const char *leaf, int *ret_pidfd)
{
    char path[STATE_PATH_SIZE];

    if (!state_name_is_valid(name))
        return 0;
    (void)snprintf(path, sizeof path, "%s/sandboxes/%s/%s", kndl_env_get("RUNNER_HOME"), name,
                   leaf);
    return read_pid(path, ret_pidfd);
}

int state_each(void (*fn)(void *data, const char *name), void *data, struct kndl_error *err)
{
    char path[STATE_PATH_SIZE];
    struct dirent *entry;
    DIR *folder;

    state_home_path("sandboxes", path);
    folder = opendir(path);
    if (folder == NULL && errno == ENOENT)
        return 0;
    if (folder == NULL)
        return kndl_fail(err, KNDL_INTERNAL, "open %s: %s", path, strerror(errno));
    while ((entry = readdir(folder)) != NULL) {
        if (state_name_is_valid(entry->d_name))
            fn(data, entry->d_name);
    }
    (void)closedir(folder);
    return 0;
}
