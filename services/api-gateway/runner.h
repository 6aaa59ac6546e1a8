#pragma once

/*
 * POST /runner/credential: a Runner brings its RUNNER_TOKEN as a bearer and the public half of the
 * nkey that it made, and gets an hour on NATS with its own subjects.
 *
 *   {"userPublic": "U…", "protocol": 1, "version": "…"}
 *   {"runnerId": …, "jwt": …, "expiresAtMs": …, "lastsMs": …}
 *
 * 401, alike for none, malformed, unknown, rotated and removed; 400 (failed_precondition) for a
 * protocol that is not this Hub's.
 */

#include "gateway.h"

struct runner_request;

/* Owned by the request from here on. */
void runner_begin(struct gateway *gateway, struct kndl_web_request *request, const char *trace);

/* The Runner went away. */
void runner_abort(struct runner_request *asked);
