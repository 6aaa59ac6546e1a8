#pragma once

/* The system calls a Sandbox may make, as the JSON that an OCI runtime takes. */

#include "kndl/buf.h"
#include "kndl/error.h"

/*
 * The host's default profile for containers (of golang-github-containers-common), flattened for
 * all capabilities, less what no Sandbox needs, less what "docker off" takes away: mounts, new
 * namespaces. FAILED_PRECONDITION where that profile is missing.
 */
int seccomp_append(struct kndl_buf *out, struct kndl_error *err);
