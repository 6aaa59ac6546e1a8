/* The settings that Sandboxes need, and what a name is made of. */

#include <stdio.h>

#include "sandbox.h"

const struct kndl_env sandbox_env[] = {
    {"RUNNER_HOME", NULL, "folder for Sandboxes, Workspaces, Claude Code (absolute)"},
    {"RUNNER_NAME_PREFIX", "kndl", "begins the names of Sandboxes, so that two Runners never meet"},
    {"RUNNER_SANDBOX_UID_BASE", "1000000", "first of the host's uids that are Sandboxes' alone"},
    {"RUNNER_SANDBOX_UID_RANGES", "64",
     "ranges of 65536 uids from there on: one more than Sandboxes may run at once"},
    {"RUNNER_DEFAULT_IMAGE", "", "root filesystem: folders, top:...:base"},
    {"RUNNER_SANDBOX_ALLOW", "",
     "private addresses Sandboxes may reach: ADDRESS[/BITS][:PORT],..."},
    {"RUNNER_OCI_RUNTIME", "", "the OCI runtime; empty: runc, else crun"},
    {"RUNNER_RELAY_PORT", "18080", "the mod relay's port, inside each Sandbox"},
    {NULL, NULL, NULL},
};

void sandbox_name(const char *session_id, char ret_name[SANDBOX_NAME_CHARS_MAX + 1])
{
    (void)snprintf(ret_name, SANDBOX_NAME_CHARS_MAX + 1, "%s-%s",
                   kndl_env_get("RUNNER_NAME_PREFIX"), session_id);
}
