#pragma once

/*
 * The gateway's own routes for people, below /auth/: methods, dev, github, github/callback, device,
 * device/token, signout. They alone write cookies.
 */

#include "gateway.h"
#include "kndl/publics.h"

struct auth;

/* `path` is one of those. What it keeps for the request is its data. */
void auth_begin(struct gateway *gateway, struct kndl_web_request *request, enum kndl_path_id path,
                const char *trace);

/* The client went away. */
void auth_abort(struct auth *auth);
