#pragma once

/*
 * A store on a PostgreSQL of the test's own, whose clock can be moved, and the steps that every
 * test takes: a Runner that is there, a Session on it, its run up. What fails fails the test.
 */

#include <stdbool.h>
#include <stdint.h>

#include "kndl/arena.h"
#include "kndl/testing.h"
#include "store.h"

struct stage {
    struct store *store;
    struct kndl_arena *arena;
    struct changes changes; /* of all that was done */
    struct kndl_error err;  /* of the last call that failed */
};

/* Shared by the tests of one executable. */
int stage_open(void **state);
int stage_close(void **state);

/* Another connection to the same database. */
struct store *stage_connect(void);

/* Moves the database's clock, for good. */
void stage_pass(int64_t ms);

/* As if all Sessions had changed in the same millisecond, just now. */
void stage_change_together(void);

/* Acts on every state that has lasted too long by now. */
void stage_overdue(struct stage *stage);

/* The Runner speaks: these runs are on it. */
void stage_attend(struct stage *stage, const char *runner, const struct attended *runs,
                  size_t count);
/* The same after its restart. */
void stage_reconnect(struct stage *stage, const char *runner, const struct attended *runs,
                     size_t count);

/* A Session of the person on that Runner, Starting, with a prompt or "". Its id. */
const char *stage_make(struct stage *stage, const char *person, const char *runner,
                       const char *prompt);

/* A prompt that waits in it, of any author, as a release may have left it that let others ask. */
void stage_leave_prompt(const char *session_id, const char *author, const char *text);

/* Everything that is due is taken, until nothing is. How much of it was this Session's. */
size_t stage_deliver(struct stage *stage, const char *session_id);

/* Claims until a delivery of this kind for this Session comes, taking all others; NULL: none. */
const struct delivery *stage_claim(struct stage *stage, const char *session_id,
                                   enum delivery_kind kind);

/* Its start is taken and its Claude Code is up: Active, with stage_token's mod token. */
void stage_run(struct stage *stage, const char *runner, const char *session_id);
extern const struct kndl_slice stage_token;

/* A Session of ada's that is Active on r1, which attends; with a prompt or "". Its id. */
const char *stage_make_active(struct stage *stage, const char *prompt);

/* As it is now. */
struct session stage_read(struct stage *stage, const char *session_id);
struct view stage_view(struct stage *stage, const char *session_id);

/* Appends Events of the newest run as its Runner; what AppendEvents answers. */
int64_t stage_append(struct stage *stage, const char *runner, const char *session_id,
                     int64_t first_n, Kndl__Event__V1__Event **events, size_t count);

/* Events to append. */
Kndl__Event__V1__Event *stage_text(struct stage *stage, const char *text);
Kndl__Event__V1__Event *stage_prompt(struct stage *stage, const char *prompt_id, const char *text);
Kndl__Event__V1__Event *stage_turn_started(struct stage *stage, const char *turn_id,
                                           const char *prompt_id);
Kndl__Event__V1__Event *stage_turn_ended(struct stage *stage, const char *turn_id,
                                         const char *error_code);
Kndl__Event__V1__Event *stage_question(struct stage *stage, const char *id);
Kndl__Event__V1__Event *stage_subagent(struct stage *stage, const char *id);

/* The run is over. */
int64_t stage_end(struct stage *stage, const char *runner, const char *session_id, int64_t last_n,
                  enum end_cause cause);

/* All Events of a Session, checked to be numbered from 1 without a gap. */
size_t stage_events(struct stage *stage, const char *session_id,
                    Kndl__Event__V1__Event ***ret_events);
