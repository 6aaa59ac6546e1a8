#pragma once

/*
 * The Runner's release of this Hub's version: what a Runner updates itself to (docs/adr/0025). The
 * folder HUB_RUNNER_DIR (runner-agent, run-claude, mod/), read once at the start and kept in
 * memory.
 */

#include "gateway.h"

struct release;

/* Fails with KNDL_INVALID_ARGUMENT if the folder cannot be read, lacks a program or is too big. */
int release_open(struct gateway *gateway, struct kndl_error *err);
void release_close(struct gateway *gateway);

/*
 * What there is, as JSON; data NULL without HUB_RUNNER_DIR:
 *
 *   {"version": "0.2.0", "protocol": 1, "machine": "x86_64",
 *    "files": [{"name": "mod/…", "size": 17, "sha256": "<64 hex digits>", "executable": false}, …]}
 */
struct kndl_slice release_manifest(const struct gateway *gateway);

/* The bytes of one of those files, which live as long as the gateway; data NULL: there is none. */
struct kndl_slice release_file(const struct gateway *gateway, const char *name);
