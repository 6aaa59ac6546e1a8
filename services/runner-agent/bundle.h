#pragma once

/* config.json: what an OCI runtime is told of a Sandbox, profile "docker off". */

#include <stddef.h>
#include <stdint.h>

#include "kndl/buf.h"
#include "kndl/error.h"

struct bundle_bind {
    char source[512]; /* on the host, ready: idmapped and read-only where it has to be */
    const char *target;
    bool read_only;
};

struct bundle_tmpfs {
    const char *target;
    uint64_t size_mib;
    uint32_t mode;
};

struct bundle {
    const char *name;
    const char *root;
    const char *cgroup_path;
    uint32_t uid_base;
    uint64_t memory_mib;
    uint64_t cpu_percent;
    uint64_t pids;
    const struct bundle_bind *binds;
    size_t bind_count;
    const struct bundle_tmpfs *tmpfs;
    size_t tmpfs_count;
};

int bundle_append(const struct bundle *bundle, struct kndl_buf *out, struct kndl_error *err);
