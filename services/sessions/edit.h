#pragma once

/*
 * One Session changed in one transaction: locked, changed, written back. Only store*.c use it.
 *
 * edit_begin() locks the row, so that the numbers of Events are given in the order of commits.
 * Fields of edit.session are changed in place and edit_commit() writes them. Events appended on
 * the way get the next seq. edit_done() rolls back what was not committed.
 */

#include "kndl/arena.h"
#include "kndl/db.h"
#include "kndl/mem.h"
#include "store.h"

/* A store's body, for store*.c. */
struct store {
    struct kndl_db *db;
};

struct edit {
    struct store *store;
    struct kndl_arena *arena;
    struct kndl_tx tx;
    struct session before; /* as it was read */
    struct session session;
    bool is_new;
    bool view_changed; /* something of the view that is not in the row */
    Kndl__Event__V1__Event **events;
    size_t event_count;
    size_t event_room;
};

/* Fails with KNDL_NOT_FOUND. */
int edit_begin(struct store *store, struct kndl_arena *arena, const char *session_id,
               struct edit *edit, struct kndl_error *err);

/* The same where a statement without parameters finds and locks the Session; *ret_found is false,
 * and nothing is open, if it found none. */
int edit_begin_next(struct store *store, struct kndl_arena *arena, const char *statement,
                    struct edit *edit, bool *ret_found, struct kndl_error *err);

/* The same for a person: PERMISSION_DENIED unless they are its Creator, UNAUTHENTICATED if they
 * were removed since they were asked about. */
int edit_begin_asked(struct store *store, struct kndl_arena *arena, const struct asked *asked,
                     struct edit *edit, struct kndl_error *err);

/*
 * Was this request made before? Then *ret_repeat is true and *ret_result is what came of it;
 * INVALID_ARGUMENT if it asked for something else. Else edit_keep_request() keeps it.
 */
int edit_find_request(struct edit *edit, const struct asked *asked, const char *method,
                      const char *content, bool *ret_repeat, const char **ret_result,
                      struct kndl_error *err);
int edit_keep_request(struct edit *edit, const struct asked *asked, const char *method,
                      const char *content, const char *result, struct kndl_error *err);

/* Appends an Event, giving it its number, time and run. n: the Runner's number; 0: ours. */
int edit_event(struct edit *edit, Kndl__Event__V1__Event *event, int64_t n, struct kndl_error *err);

/* A new, empty one in the arena. */
Kndl__Event__V1__Event *edit_new_event(struct edit *edit);

/* Appends a Note. */
int edit_note(struct edit *edit, Kndl__Event__V1__Note__Level level, const char *code,
              const char *text, struct kndl_error *err);

/*
 * Changes the state, arms its deadline and appends why. To the state that it is in already:
 * nothing. The callers ask life.h before; a change that it forbids is a bug, and KNDL_INTERNAL.
 */
int edit_state(struct edit *edit, life_state state, const char *code, const char *reason,
               struct kndl_error *err);

/* A new command for the Session's Runner, in its newest run. */
int edit_command(struct edit *edit, enum delivery_kind kind, const char *target_id,
                 struct kndl_slice sealed, const char *reason_code, struct kndl_error *err);

/* Begins the next run: its row and its start, due at once. */
int edit_start_run(struct edit *edit, struct kndl_error *err);

/* Sends its newest run to its end; a start that surely was not taken is forgotten instead, and the
 * run settled. *ret_settled tells. */
int edit_stop_run(struct edit *edit, const char *reason_code, bool *ret_settled,
                  struct kndl_error *err);

/* Writes the row back, commits, and adds the change to the list. */
int edit_commit(struct edit *edit, struct changes *changes, struct kndl_error *err);
void edit_done(struct edit *edit);

/* Runs a statement of this store: the name is SQL's. */
#define edit_exec(edit, name, ret_rows, err, ...)                                                  \
    kndl_db_exec((edit)->store->db, name, (edit)->arena, ret_rows, err, __VA_ARGS__)

/* A row of read_session as a struct. */
void store_session_of(const struct kndl_rows *rows, size_t row, struct session *ret_session);

/* A row of find_prompt as the proto's message. */
Kndl__Sessions__V1__QueuedPrompt *store_prompt_of(const struct kndl_rows *rows, size_t row,
                                                  struct kndl_arena *arena);

/* secrets' PutAssignmentRequest.Phase, from a start on */
enum { ASSIGN_STARTING = 2, ASSIGN_ACTIVE = 3, ASSIGN_ENDED = 4, ASSIGN_SETTLED = 5 };

/* sessions.run.phase */
enum { PHASE_DUE = 1, PHASE_TAKEN = 2, PHASE_RUNNING = 3, PHASE_ENDED = 4, PHASE_SETTLED = 5 };

/* A run's row. */
struct run_row {
    const char *runner_id;
    int64_t phase;
    int64_t taken_at_ms;
    struct kndl_slice mod_token_hash;
    int64_t last_n;
    int64_t ended_n;
    enum end_cause cause;
    const char *reason_code;
    const char *reason;
    const char *last_output;
};
/* Locks a run of the edited Session. *ret_found is false if there is none. */
int edit_lock_run(struct edit *edit, int64_t run, bool *ret_found, struct run_row *ret_row,
                  struct kndl_error *err);

/* The run is over and all its Events are stored: closes what it left open, settles it, and gives
 * the Session its next state (run_end.c). An older run is settled alone. */
int edit_end_run(struct edit *edit, int64_t run, const struct run_row *row, struct kndl_error *err);

/* Notes the end of a run, and ends it if all its Events are stored. A repeat changes nothing. */
int edit_mark_ended(struct edit *edit, int64_t run, const struct ending *ending,
                    struct run_row *row, struct kndl_error *err);

/* A prompt that was handed is delivered; any other state stays. expect_turn: its Turn has not been
 * seen yet, so that the next prompt waits for it. */
int edit_deliver_prompt(struct edit *edit, const char *prompt_id, bool expect_turn,
                        struct kndl_error *err);

/* Ends the prompt of this row of handed_prompts or queued_prompts, with a note of what became of
 * it, or (QUEUED) lets it wait again. */
int edit_settle_prompt(struct edit *edit, const struct kndl_rows *prompts, size_t row,
                       int64_t state, const char *reason, struct kndl_error *err);

/* Closes every open question of a thread as unanswered; NULL: of all threads. */
int edit_close_questions(struct edit *edit, const char *subagent_id, struct kndl_error *err);

/* Makes a Frozen Session what it was, or sends it to sleep if that is wanted (store_runners.c). */
int edit_thaw(struct edit *edit, life_state state, struct kndl_error *err);

/* Sends it to sleep; a Frozen one when its Runner is back. */
int edit_put_to_sleep(struct edit *edit, const char *code, const char *reason,
                      struct kndl_error *err);

/* A title made of a masked prompt: its first line that says something, cut at a character's edge.
 */
const char *edit_title(struct edit *edit, const char *masked);

/* Do two masked texts agree? A star of either stands for any one character: a value may have
 * become known between a request and its repeat. */
bool edit_same_masked(const char *a, const char *b);
