#pragma once

/* How often a value was masked, for people. */

#include "kndl/secrets/v1/variable.pb-c.h"
#include "screen.h"

/* "masked 12 times, last 3 s ago", or "not masked yet"; nothing for NULL. */
void masked_write(const struct screen *screen, const Kndl__Secrets__V1__Masked *masked);
