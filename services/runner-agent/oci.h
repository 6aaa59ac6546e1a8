#pragma once

/* The OCI runtime's command line: runc, or crun where it works. */

#include "kndl/buf.h"
#include "kndl/error.h"
#include "program.h"

enum { OCI_PATH_SIZE = 256, OCI_ARGS_MAX = 24 };

/* RUNNER_OCI_RUNTIME, else the first of runc and crun that is there; does not block.
 * FAILED_PRECONDITION: none. */
int oci_path(char ret_path[OCI_PATH_SIZE], struct kndl_error *err);

/* "<RUNNER_HOME>/oci": its --root. */
void oci_root(char *ret_path, size_t size);

/* Runs it: `args` are what follows --root. output may be NULL. In verb children only. */
int oci_run(const char *const *args, struct kndl_buf *output, struct kndl_error *err);
