#pragma once

/*
 * The way out of a Sandbox: its own network namespace, a pair of interfaces, a router namespace
 * that is the host's (its rules are not the guest's to change), and slirp4netns from there. The
 * host's own firewall and forwarding stay as they are. IPv4 only. In verb children only.
 */

#include <sys/types.h>

#include "kndl/error.h"

/*
 * Connects the namespace of `init` and returns slirp4netns, which outlives this process. `allow`
 * is RUNNER_SANDBOX_ALLOW: "ADDRESS[/BITS][:PORT]" separated by commas, the private addresses
 * that may be reached; all other private ones, and the host's own networks, are refused.
 */
int network_up(const char *name, pid_t init, const char *allow, const char *log, pid_t *ret_slirp,
               struct kndl_error *err);

/* Deletes the router namespace; none is fine. */
void network_down(const char *name);

/* What RUNNER_SANDBOX_ALLOW must look like; INVALID_ARGUMENT names the part that does not. */
int network_check_allow(const char *allow, struct kndl_error *err);
