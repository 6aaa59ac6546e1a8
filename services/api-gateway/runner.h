#pragma once

/*
 * What a Runner asks by HTTP, with its RUNNER_TOKEN as a bearer.
 *
 * POST /runner/credential brings the public half of the nkey that it made, and gets an hour on NATS
 * with its own subjects. What the body says besides is ignored, so that any Runner is understood
 * well enough to be told that it is too new or too old.
 *
 *   {"userPublic": "U…", "protocol": 1, "version": "…", "updateNote": "…"}
 *   {"runnerId": …, "jwt": …, "expiresAtMs": …, "lastsMs": …}
 *
 * GET /runner/release gets what the Runner's release of this Hub is made of (release.h), and
 * GET /runner/release/<name> one of its files, whatever protocol the Runner speaks; 404 without
 * HUB_RUNNER_DIR.
 *
 * 401, alike for none, malformed, unknown, rotated and removed; 400 (failed_precondition) for a
 * protocol that is not this Hub's.
 */

#include "gateway.h"
#include "kndl/publics.h"

struct runner_request;

/* Owned by the request from here on. path: one of those three. */
void runner_begin(struct gateway *gateway, struct kndl_web_request *request, enum kndl_path_id path,
                  const char *trace);

/* The Runner went away. */
void runner_abort(struct runner_request *asked);
