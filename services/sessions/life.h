#pragma once

/*
 * The life of a Session: which state may follow which, and how long each may last. One table, read
 * by the store, the deadlines and the tests. Pure; any thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "kndl/event/v1/event.pb-c.h"

/* LIFE(ACTIVE): the proto's enum, which is too long to read. UNSPECIFIED: not made yet. */
#define LIFE(state) KNDL__EVENT__V1__STATE__STATE_##state
enum { LIFE_STATES = LIFE(ARCHIVED) + 1 };

typedef Kndl__Event__V1__State life_state;

/* May a Session go from the one state to the other? Never to the same. */
bool life_can(life_state from, life_state to);

/*
 * How long a state may last before the deadlines' task acts, in milliseconds; 0: for ever. Armed
 * with the change of state, before anything is commanded because of it.
 */
int64_t life_limit_ms(life_state state);

/* Does its Claude Code run, or is it about to? */
bool life_is_awake(life_state state);

/* As people read it: "going to sleep". */
const char *life_name(life_state state);
