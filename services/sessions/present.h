#pragma once

/* Rows as people see them. Messages live in the arena and borrow from the rows. */

#include "kndl/sessions/v1/session.pb-c.h"
#include "store.h"

struct kndl_arena;

/* Why a run's output waits on its Runner, in words for people, by the code that the Runner reports;
 * NULL: there is no such code. */
const char *present_waits(const char *code);

/* person_id: who asks; NULL: for everybody (is_creator is left to the reader). Without steps. */
Kndl__Sessions__V1__Session *present_session(struct kndl_arena *arena,
                                             const struct session *session, const char *person_id);
