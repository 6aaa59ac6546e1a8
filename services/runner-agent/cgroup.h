#pragma once

/*
 * Control groups, version 1 and version 2, as this host has them. Version 2 alone is what a stock
 * Debian 12 has. In verb children only.
 */

#include <stdint.h>
#include <sys/types.h>

#include "kndl/error.h"

enum cgroup_version { CGROUP_V1, CGROUP_V2 };

/* FAILED_PRECONDITION where memory, cpu or pids cannot be limited at all. */
int cgroup_probe(enum cgroup_version *ret_version, struct kndl_error *err);

/* What config.json says as cgroupsPath. v1: below our own groups. v2: at the root, since a group
 * that has processes cannot give controllers to its children. */
void cgroup_path(enum cgroup_version version, const char *name, char *ret_path, size_t size);

struct cgroup_use {
    uint64_t cpu_us;
    uint64_t memory_bytes;
    uint64_t memory_peak_bytes;
    uint64_t pids;
};
/* Of the groups that this process is in. What a file does not tell stays 0. */
int cgroup_read(enum cgroup_version version, pid_t pid, struct cgroup_use *ret_use,
                struct kndl_error *err);

/* Kills whatever is left in the groups of that name and deletes them; none is fine. */
void cgroup_remove(enum cgroup_version version, const char *name);
