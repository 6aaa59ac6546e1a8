#pragma once

/*
 * The way out of a Sandbox: its own network namespace, a pair of interfaces, a router namespace
 * that is the host's (its rules are not the guest's to change), and slirp4netns from there. The
 * host's own firewall and forwarding stay as they are. IPv4 only. In verb children only.
 */

#include <sys/types.h>

#include "kndl/error.h"

struct network {
    const char *name;  /* of the router namespace */
    pid_t init;        /* a process in the Sandbox's own one */
    const char *allow; /* RUNNER_SANDBOX_ALLOW: "ADDRESS[/BITS][:PORT]" separated by commas, the
                          private addresses that may be reached; all other private ones, and the
                          host's own networks, are refused */
    const char *log;   /* of slirp4netns, which outlives this process */
    int (*record)(void *data, pid_t slirp, struct kndl_error *err);
    void *data;
};

/* Connects it to the outside. What a failure leaves is for network_down(). */
int network_up(const struct network *network, struct kndl_error *err);

/* Deletes the router namespace; none is fine. */
void network_down(const char *name);

/* What RUNNER_SANDBOX_ALLOW must look like; INVALID_ARGUMENT names the part that does not. */
int network_check_allow(const char *allow, struct kndl_error *err);
