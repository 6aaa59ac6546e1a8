#pragma once

/* GET /health: alive, and ready once each service answers; else the reasons. */

#include "gateway.h"

void health_begin(struct gateway *gateway, struct kndl_web_request *request, const char *trace);
void health_abort(struct gateway *gateway, struct kndl_web_request *request);
void health_open(struct gateway *gateway);
void health_close(struct gateway *gateway);
