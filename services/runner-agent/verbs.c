/* The table of verbs; a test may link another. */

#include "verbs.h"

#include <stddef.h>

const struct verb verbs[] = {
    {"clone", "clones a Repo into a new Workspace", clone_run},
    {"clone-clear", "removes what a clone that was ended left", clone_clear_run},
    {"download", "fetches the pinned Claude Code", download_run},
    {"guest-read", "reads a file that a Sandbox made", guest_read_run},
    {"guest-write", "writes a file where a Sandbox may", guest_write_run},
    {"guest-list", "lists a folder that a Sandbox made", guest_list_run},
    {"tree-remove", "deletes a folder of a Session", tree_remove_run},
    {"hold", "keeps a relay's listening socket open", hold_run},
    {"sandbox-probe", "what this host can do", namespace_probe_run},
    {"sandbox-create", "writes down what a Sandbox is", namespace_create_run},
    {"sandbox-start", "mounts, connects and starts a Sandbox", namespace_start_run},
    {"sandbox-stop", "ends a Sandbox; its disks stay", namespace_stop_run},
    {"sandbox-remove", "deletes a Sandbox", namespace_remove_run},
    {"sandbox-list", "the Sandboxes of this Runner", namespace_list_run},
    {"sandbox-dial", "connects to a port inside", namespace_dial_run},
    {"sandbox-listeners", "what listens inside", namespace_listeners_run},
    {"sandbox-stats", "what it uses", namespace_stats_run},
    {NULL, NULL, NULL},
};
