/* Hands out ranges of uids. */

#include "uid_range.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kndl/env.h"
#include "overlay.h"

enum { PATH_SIZE = 512, OWNER_SIZE = 128, RANGES_MAX = 16384 };

static uint32_t number(const char *setting)
{
    return (uint32_t)strtoul(kndl_env_get(setting), NULL, 10);
}

static void path_of(uint32_t range, char path[PATH_SIZE])
{
    (void)snprintf(path, PATH_SIZE, "%s/uid-ranges/%u", kndl_env_get("RUNNER_HOME"), range);
}

static bool owns(const char *owner, uint32_t range)
{
    char path[PATH_SIZE], found[OWNER_SIZE];
    ssize_t size;

    path_of(range, path);
    size = readlink(path, found, sizeof found - 1);
    if (size < 0)
        return false;
    found[size] = '\0';
    return strcmp(found, owner) == 0;
}

bool uid_range_find(const char *owner, uint32_t *ret_range)
{
    char path[PATH_SIZE];
    struct dirent *entry;
    bool found = false;
    DIR *folder;

    (void)snprintf(path, sizeof path, "%s/uid-ranges", kndl_env_get("RUNNER_HOME"));
    folder = opendir(path);
    while (!found && folder != NULL && (entry = readdir(folder)) != NULL) {
        uint32_t range = (uint32_t)strtoul(entry->d_name, NULL, 10);

        found = entry->d_name[0] != '.' && owns(owner, range);
        if (found)
            *ret_range = range;
    }
    if (folder != NULL)
        (void)closedir(folder);
    return found;
}

int uid_range_take(const char *owner, uint32_t *ret_range, struct kndl_error *err)
{
    uint32_t count = number("RUNNER_SANDBOX_UID_RANGES");
    char path[PATH_SIZE];

    if (uid_range_find(owner, ret_range))
        return 0;
    (void)snprintf(path, sizeof path, "%s/uid-ranges", kndl_env_get("RUNNER_HOME"));
    (void)mkdir(path, 0700);
    for (uint32_t range = 1; range < count && range < RANGES_MAX; range++) {
        path_of(range, path);
        if (symlink(owner, path) == 0) {
            *ret_range = range;
            return 0;
        }
        if (errno == ENOSPC)
            return kndl_fail(err, KNDL_RESOURCE_EXHAUSTED, "the disk is full");
        if (errno != EEXIST)
            return kndl_fail(err, KNDL_INTERNAL, "%s: %s", path, strerror(errno));
    }
    return kndl_fail(err, KNDL_RESOURCE_EXHAUSTED,
                     "all %u ranges of uids are taken: put a Session to sleep, or raise "
                     "RUNNER_SANDBOX_UID_RANGES",
                     count);
}

void uid_range_give(const char *owner)
{
    char path[PATH_SIZE];
    uint32_t range;

    if (!uid_range_find(owner, &range))
        return;
    path_of(range, path);
    (void)unlink(path);
}

uint32_t uid_range_base(uint32_t range)
{
    return number("RUNNER_SANDBOX_UID_BASE") + range * SANDBOX_UIDS;
}

uint32_t uid_range_guest_files(void)
{
    return number("RUNNER_SANDBOX_UID_BASE");
}

uint32_t uid_range_clone(uint32_t range)
{
    return number("RUNNER_SANDBOX_UID_BASE") + range;
}
