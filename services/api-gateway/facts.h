#pragma once

/*
 * What other services publish so that things happen sooner: whose sign-in or access ended. They
 * may be lost; what they hasten happens by itself within seconds.
 */

#include "gateway.h"

void facts_open(struct gateway *gateway);
void facts_close(struct gateway *gateway);
