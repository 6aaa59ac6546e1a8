#pragma once

/* Where a request goes. For struct kndl_web_options; `gateway` is its data. */

#include "gateway.h"

void route_request(struct kndl_web_request *request, void *gateway);
void route_abort(struct kndl_web_request *request, void *gateway);
