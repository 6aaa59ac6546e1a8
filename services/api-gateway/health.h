#pragma once

/* GET /health: alive, ready once each service answers, and what is missing. */

#include "gateway.h"

void health_begin(struct gateway *gateway, struct kndl_web_request *request, const char *trace);
void health_abort(struct gateway *gateway, struct kndl_web_request *request);
void health_open(struct gateway *gateway);
void health_close(struct gateway *gateway);
