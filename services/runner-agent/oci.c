/* Finds and calls the OCI runtime. */

#include "oci.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kndl/env.h"

int oci_path(char ret_path[OCI_PATH_SIZE], struct kndl_error *err)
{
    const char *set = kndl_env_get("RUNNER_OCI_RUNTIME");

    if (set[0] != '\0') {
        (void)snprintf(ret_path, OCI_PATH_SIZE, "%s", set);
        if (access(set, X_OK) == 0)
            return 0;
        return kndl_fail(err, KNDL_FAILED_PRECONDITION, "RUNNER_OCI_RUNTIME: %s cannot be run",
                         set);
    }
    if (program_find("runc", ret_path, OCI_PATH_SIZE) ||
        program_find("crun", ret_path, OCI_PATH_SIZE))
        return 0;
    return kndl_fail(err, KNDL_FAILED_PRECONDITION, "there is no OCI runtime: install runc");
}

void oci_root(char *ret_path, size_t size)
{
    (void)snprintf(ret_path, size, "%s/oci", kndl_env_get("RUNNER_HOME"));
}

int oci_run(const char *const *args, struct kndl_buf *output, struct kndl_error *err)
{
    char path[OCI_PATH_SIZE], root[512];
    const char *argv[OCI_ARGS_MAX] = {path, "--root", root};
    struct program program = {.argv = argv, .output = output};

    if (oci_path(path, err) < 0)
        return -1;
    oci_root(root, sizeof root);
    for (size_t i = 0; args[i] != NULL && i + 4 < OCI_ARGS_MAX; i++)
        argv[3 + i] = args[i];
    return program_run(&program, err);
}
