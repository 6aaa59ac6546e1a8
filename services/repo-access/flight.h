#pragma once

/*
 * One question to GitHub at a time for each key, and at most so many workers that wait for it, so
 * that a GitHub which hangs does not keep people from signing in. The one thing that workers of
 * this process share; it holds names and counts, no answers: these go by the store.
 */

#include <stdbool.h>

#include "kndl/error.h"

enum { FLIGHT_WAITING_MAX = 4, FLIGHT_KEY_SIZE = 96 };

/*
 * Begins to ask what `key` names. *ret_is_first: nobody else does, so that the caller asks and
 * calls flight_end(). Otherwise whoever did has ended by now, and the store has what came of it.
 * Fails with KNDL_RESOURCE_EXHAUSTED at once if too many wait.
 */
int flight_begin(const char *key, bool *ret_is_first, struct kndl_error *err);
void flight_end(const char *key);
