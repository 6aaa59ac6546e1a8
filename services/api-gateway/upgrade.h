#pragma once

/* Letting sockets in: an upgrade is refused like any request, by Host, route, rate, Origin and
 * credential. */

#include "gateway.h"

struct upgrade;

/* For struct kndl_web_options; `gateway` is its data. */
void upgrade_begin(struct kndl_web_request *request, void *gateway);

/* The client went away before it was known. */
void upgrade_abort(struct upgrade *upgrade);
