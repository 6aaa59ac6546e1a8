#pragma once

/*
 * What the sessions service remembers. All its SQL is behind this header (store*.c, edit.c).
 *
 * A store is one database connection: use it from one thread at a time. Each function is one
 * transaction; none waits for another service. What comes out lives in the arena given. A function
 * that changes a Session adds what viewers must hear to *changes, to be published once it has
 * returned 0 (live.h).
 *
 * Functions for people check, in this order: NOT_FOUND there is no such Session · PERMISSION_DENIED
 * the person is not its Creator · the request was made before (then the same answer, or
 * INVALID_ARGUMENT if it asked for something else) · ABORTED its state refuses it. Repo access is
 * the caller's to ask before. All fail with KNDL_UNAVAILABLE while the database is away.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kndl/done.h"
#include "kndl/error.h"
#include "kndl/event/v1/event.pb-c.h"
#include "kndl/id.h"
#include "kndl/sessions/v1/runners_service.pb-c.h"
#include "kndl/sessions/v1/session.pb-c.h"
#include "kndl/slice.h"
#include "life.h"

struct kndl_arena;
struct store;

/* A Session's row. Strings are never NULL. */
struct session {
    const char *id;
    const char *request_content;
    const char *creator_id;
    const char *creator_login;
    const char *creator_name;
    const char *creator_email;
    int64_t repo_id;
    const char *repo_name;
    const char *runner_id;
    const char *model;
    const char *effort;
    int64_t created_at_ms;

    const char *claude_session_id; /* the current one, a UUID */
    const char *title;
    life_state state;
    const char *reason_code;
    const char *reason;
    life_state frozen_from; /* what it was when its Runner went away */
    const char *sleep_code; /* why it goes to sleep once its Runner is back; "" if it does not */
    const char *sleep_reason;
    int64_t run; /* starts so far */
    bool conversation_exists;
    bool was_active;
    bool
        wake_held; /* its Claude Code ended by itself: prompts that waited do not wake it (LI-04) */
    bool queue_paused;
    bool turn_open; /* of the main thread */
    const char *turn_id;
    int64_t turn_expected_until_ms; /* a prompt was taken: its Turn begins any moment; 0: no */
    int64_t open_questions;
    int64_t running_subagents;
    int64_t last_seq;
    int64_t view_version;
    int64_t changed_at_ms;
    int64_t deadline_ms;      /* 0: none */
    const char *waits_code;   /* why the newest run's output waits on its Runner; "": it does not */
    const char *repo_problem; /* why nobody can work in its Repo, a reason code; "": they can */
    int64_t creator_removals; /* how often its Creator was removed as a Member */

    int64_t queued_count;
    int64_t now_ms; /* of the database, when this was read */
    struct kndl_slice seal_key;
    bool runner_away;
    int64_t runner_last_seen_ms;
    const char *runner_name;
    bool runner_removed;
};

/* What a transaction did to one Session. */
struct change {
    struct change *next;
    struct session session;          /* as it is now */
    Kndl__Event__V1__Event **events; /* appended, in order */
    size_t event_count;
    bool is_summary; /* lists of Sessions show something else now */
};
struct changes {
    struct change *first; /* newest first */
};

/* ---- the connection ---- */

/* Brings the schema up to date, under an advisory lock; once for each process. */
int store_migrate(struct kndl_error *err);

/* Connects to HUB_DATABASE_URL and prepares every statement. */
int store_open(struct store **ret_store, struct kndl_error *err);
void store_close(struct store *store);

/* ---- reading ---- */

/* Fails with KNDL_NOT_FOUND, in the words that hide a Session too. */
int store_read_session(struct store *store, struct kndl_arena *arena, const char *session_id,
                       struct session *ret_session, struct kndl_error *err);

/* The Repos that have Sessions, of one Creator or ("") of all. */
int store_list_repos(struct store *store, struct kndl_arena *arena, const char *creator_id,
                     int64_t **ret_ids, size_t *ret_count, struct kndl_error *err);

/* A Repo as GitHub has it now. */
struct repo_state {
    int64_t id;
    const char *name;
    const char *problem; /* "", "repo_gone" or "repo_suspended" */
};

/*
 * Its Sessions take its name. With a problem those that are awake go to sleep, and none takes a
 * prompt or is woken until it is over.
 */
int store_follow_repo(struct store *store, struct kndl_arena *arena, const struct repo_state *repo,
                      struct changes *changes, struct kndl_error *err);

/* A problem of a Repo as people read it: as a Session's reason, and as the end of a refusal. "" has
 * none (NULL). */
const char *store_repo_reason(const char *problem);
const char *store_repo_refusal(const char *problem);

/* Where a page of Sessions begins: behind this one, which changed then. */
struct session_place {
    int64_t changed_at_ms;
    const char *id;
};

/* Sessions of these Repos, the last changed first; of those that changed together, by id. */
int store_list_sessions(struct store *store, struct kndl_arena *arena, const int64_t *repo_ids,
                        size_t repo_count, const char *creator_id,
                        const struct session_place *behind, int64_t limit,
                        struct session **ret_sessions, size_t *ret_count, struct kndl_error *err);

/* What a view shows beside Events. The protos' own messages. */
struct view {
    Kndl__Sessions__V1__QueuedPrompt **queue;
    size_t queue_count;
    Kndl__Sessions__V1__OpenQuestion **questions;
    size_t question_count;
    Kndl__Sessions__V1__Subagent **subagents;
    size_t subagent_count;
};
int store_read_view(struct store *store, struct kndl_arena *arena, const char *session_id,
                    struct view *ret_view, struct kndl_error *err);

/* The steps of a run's start. */
int store_read_steps(struct store *store, struct kndl_arena *arena, const char *session_id,
                     int64_t run, Kndl__Sessions__V1__StartStep ***ret_steps, size_t *ret_count,
                     struct kndl_error *err);

/*
 * Events in rising order, `limit` of them and PAGE_BYTES_MAX at most, but one if there is one:
 * those that end before `before_seq`, or, if that is 0, those after `after_seq`.
 */
enum { PAGE_BYTES_MAX = 512 * 1024 };
int store_read_page(struct store *store, struct kndl_arena *arena, const char *session_id,
                    int64_t after_seq, int64_t before_seq, int64_t limit,
                    Kndl__Event__V1__Event ***ret_events, size_t *ret_count,
                    struct kndl_error *err);

/* The head of a Session if it is one of these Repos'; *ret_found tells. */
int store_read_head(struct store *store, struct kndl_arena *arena, const char *session_id,
                    const int64_t *repo_ids, size_t repo_count, bool *ret_found,
                    int64_t *ret_last_seq, int64_t *ret_view_version, struct kndl_error *err);

/* ---- making one ---- */

/* The Runner with the fewest Sessions awake. */
struct runner_choice {
    const char *id;
    struct kndl_slice seal_key;
    int64_t awake_count;
};
/* Fails with KNDL_UNAVAILABLE if none is there. */
int store_pick_runner(struct store *store, struct kndl_arena *arena,
                      struct runner_choice *ret_runner, struct kndl_error *err);

struct new_session {
    const char *id;
    const char *request_id;
    const char *content; /* what was asked, masked: tells a repeat from something else */
    const char *creator_id;
    const char *creator_login;
    const char *creator_name;
    const char *creator_email;
    int64_t repo_id;
    const char *repo_name;
    const char *runner_id;
    const char *model;
    const char *effort;
    const char *prompt_masked; /* "": none */
    struct kndl_slice prompt_sealed;
};

/* The Session that the person's request made, if it did: *ret_found tells. */
int store_find_created(struct store *store, struct kndl_arena *arena, const char *creator_id,
                       const char *request_id, const char *content, bool *ret_found,
                       struct session *ret_session, Kndl__Sessions__V1__QueuedPrompt **ret_prompt,
                       struct kndl_error *err);

/* Makes it, in state Starting, with its first run due. ABORTED if the request was just made by
 * somebody else: ask store_find_created() again. *ret_prompt is NULL without one. */
int store_create_session(struct store *store, struct kndl_arena *arena,
                         const struct new_session *made, struct session *ret_session,
                         Kndl__Sessions__V1__QueuedPrompt **ret_prompt, struct changes *changes,
                         struct kndl_error *err);

/* What a person reads who would start or wake a Session without one (CR-01). */
#define NO_SETUP_TOKEN                                                                             \
    "you have no setup token: make one with `claude setup-token`, set it in the web UI under "     \
    "Setup token, then try again"

/* ---- what the Creator does ---- */

/*
 * A command of a person: who, on what, and by which request. creator_removals is the Session's as
 * it was read before repo-access was asked who they are: UNAUTHENTICATED if they were removed
 * since.
 */
struct asked {
    const char *person_id;
    const char *session_id;
    const char *request_id;
    int64_t creator_removals;
};

/* RESOURCE_EXHAUSTED: QUEUE_COUNT_MAX wait. */
enum { QUEUE_COUNT_MAX = 10 };
int store_append_prompt(struct store *store, struct kndl_arena *arena, const struct asked *asked,
                        const char *masked, struct kndl_slice sealed,
                        Kndl__Sessions__V1__QueuedPrompt **ret_prompt, struct changes *changes,
                        struct kndl_error *err);
int store_cancel_prompt(struct store *store, struct kndl_arena *arena, const struct asked *asked,
                        const char *prompt_id, Kndl__Sessions__V1__QueuedPrompt **ret_prompt,
                        struct changes *changes, struct kndl_error *err);
int store_resume_queue(struct store *store, struct kndl_arena *arena, const struct asked *asked,
                       struct session *ret_session, struct changes *changes,
                       struct kndl_error *err);
/* INVALID_ARGUMENT: answer_count is not the number of questions asked. */
int store_answer_question(struct store *store, struct kndl_arena *arena, const struct asked *asked,
                          const char *question_id, size_t answer_count, const char *masked,
                          struct kndl_slice sealed, struct changes *changes,
                          struct kndl_error *err);
int store_stop_turn(struct store *store, struct kndl_arena *arena, const struct asked *asked,
                    const char *turn_id, const char **ret_turn_id, struct changes *changes,
                    struct kndl_error *err);
int store_sleep_session(struct store *store, struct kndl_arena *arena, const struct asked *asked,
                        struct session *ret_session, struct changes *changes,
                        struct kndl_error *err);
/* has_token: whether the Creator has a setup token now; ABORTED without. */
int store_wake_session(struct store *store, struct kndl_arena *arena, const struct asked *asked,
                       bool has_token, struct session *ret_session, struct changes *changes,
                       struct kndl_error *err);

/*
 * A person's setup token was removed or replaced: their awake Sessions go to sleep, a Frozen one
 * when its Runner is back. A version that was acted upon changes nothing.
 */
int store_put_person_to_sleep(struct store *store, struct kndl_arena *arena, const char *person_id,
                              bool replaced, int64_t version, struct changes *changes,
                              struct kndl_error *err);

/* They are no Member any more: the same, as often as it is said, and what they left waiting is
 * cancelled, so that nothing wakes a Session of theirs. */
int store_put_removed_to_sleep(struct store *store, struct kndl_arena *arena, const char *person_id,
                               struct changes *changes, struct kndl_error *err);

/* ---- after an upgrade ---- */

/* The people whose Sessions are awake, or Frozen. */
int store_list_awake_creators(struct store *store, struct kndl_arena *arena,
                              const char *const **ret_person_ids, size_t *ret_count,
                              struct kndl_error *err);

/* They have no setup token: their awake Sessions go to sleep, a Frozen one when its Runner is
 * back, and what waits in them waits until its Creator resumes the queue. */
int store_put_tokenless_to_sleep(struct store *store, struct kndl_arena *arena,
                                 const char *person_id, struct changes *changes,
                                 struct kndl_error *err);

/* Cancels the prompts of one Session that wait and are not its Creator's, each with a note;
 * *ret_found is false if there are none. */
int store_cancel_others_next(struct store *store, struct kndl_arena *arena, bool *ret_found,
                             struct changes *changes, struct kndl_error *err);

/* ---- what a run says ---- */

struct batch {
    const char *runner_id;
    const char *session_id;
    int64_t run;
    int64_t first_n;
    Kndl__Event__V1__Event **events; /* changed: seq, times */
    size_t count;
    struct kndl_slice mod_token_hash;
    bool gap;
};
/* As SessionsInternalService.AppendEvents says. */
int store_append_events(struct store *store, struct kndl_arena *arena, const struct batch *batch,
                        int64_t *ret_expected_n, struct changes *changes, struct kndl_error *err);

/* A run of a Session, as its Runner names it. All below fail with KNDL_NOT_FOUND if that Runner
 * has no such Session or run. */
struct run_of {
    const char *runner_id;
    const char *session_id;
    int64_t run; /* 0: the newest */
};
int store_report_step(struct store *store, struct kndl_arena *arena, const struct run_of *run,
                      const char *name, int64_t took_ms, struct changes *changes,
                      struct kndl_error *err);
int store_report_running(struct store *store, struct kndl_arena *arena, const struct run_of *run,
                         const char *claude_session_id, struct changes *changes,
                         struct kndl_error *err);

/* Why the run's output waits on its Runner (a word of present_waits()); "": it does not.
 * KNDL_ABORTED unless it is the newest run, and not over. */
int store_report_waiting(struct store *store, struct kndl_arena *arena, const struct run_of *run,
                         const char *waits_code, struct changes *changes, struct kndl_error *err);

/* SessionsRunnerService.ReportEnded.Cause */
enum end_cause { END_COMMANDED = 1, END_FAILED = 2, END_EXITED = 3, END_LOST = 4 };
struct ending {
    int64_t last_n;
    enum end_cause cause;
    const char *reason_code;
    const char *reason;      /* masked */
    const char *last_output; /* masked */
    bool conversation_exists;
};
int store_report_ended(struct store *store, struct kndl_arena *arena, const struct run_of *run,
                       const struct ending *ending, int64_t *ret_expected_n,
                       struct changes *changes, struct kndl_error *err);

/* ReportPrompt.Outcome */
enum prompt_outcome {
    PROMPT_STARTED = 1,
    PROMPT_REFUSED = 2,
    PROMPT_REQUEUE = 3,
    PROMPT_UNSURE = 4
};
int store_report_prompt(struct store *store, struct kndl_arena *arena, const struct run_of *run,
                        const char *prompt_id, enum prompt_outcome outcome, const char *reason,
                        struct changes *changes, struct kndl_error *err);
int store_report_command(struct store *store, struct kndl_arena *arena, const struct run_of *run,
                         const char *command_id, bool done, const char *reason,
                         struct changes *changes, struct kndl_error *err);

/* Keeps the hash of the run's newest mod token; the older one is worth nothing from here on.
 * ABORTED: the run has ended. */
int store_put_mod_token(struct store *store, struct kndl_arena *arena, const struct run_of *run,
                        struct kndl_slice hash, struct kndl_error *err);

/* The Session of a run that is starting or up. ABORTED: it is not. */
int store_read_running(struct store *store, struct kndl_arena *arena, const struct run_of *run,
                       struct session *ret_session, struct kndl_error *err);

/* ---- Runners ---- */

enum run_phase { RUN_STARTING = 1, RUN_RUNNING = 2, RUN_STOPPING = 3, RUN_ENDED = 4 };
struct attendance {
    const char *runner_id;
    const char *instance_id;
    const char *hostname;
    const char *version;
    const char *backend;
    const char *update_note; /* 400 characters of it are kept */
    struct kndl_slice seal_key;
    size_t count;
    struct attended {
        const char *session_id;
        int64_t run;
        enum run_phase phase;
        int64_t last_n;
    } * runs;
};
/* PERMISSION_DENIED: it is not registered (any more).
 * A Runner is there: its Frozen Sessions go on or are Asleep, what is not there any more has
 * ended. *ret_stop: Sessions that should not run on it. */
int store_attend(struct store *store, struct kndl_arena *arena, const struct attendance *attendance,
                 int64_t *ret_now_ms, const char ***ret_stop, size_t *ret_stop_count,
                 struct changes *changes, struct kndl_error *err);

/*
 * What the Owner does with Runners: each fails, and changes nothing at a repeat, as
 * kndl_done_keep() says. *ret_made is false for a repeat, whose token was shown already.
 */
struct new_runner {
    const char *id;
    const char *name;
    struct kndl_slice token_hash;
};
/* ALREADY_EXISTS: the name is. */
int store_register_runner(struct store *store, struct kndl_arena *arena,
                          const struct kndl_asked *asked, const struct new_runner *made,
                          Kndl__Sessions__V1__Runner **ret_runner, bool *ret_made,
                          struct kndl_error *err);
int store_list_runners(struct store *store, struct kndl_arena *arena,
                       Kndl__Sessions__V1__Runner ***ret_runners, size_t *ret_count,
                       struct kndl_error *err);
/* These fail with KNDL_NOT_FOUND for a Runner that is not there (any more). */
int store_rename_runner(struct store *store, struct kndl_arena *arena,
                        const struct kndl_asked *asked, const char *runner_id, const char *name,
                        Kndl__Sessions__V1__Runner **ret_runner, struct kndl_error *err);
int store_rotate_runner_token(struct store *store, struct kndl_arena *arena,
                              const struct kndl_asked *asked, const char *runner_id,
                              struct kndl_slice hash, Kndl__Sessions__V1__Runner **ret_runner,
                              bool *ret_made, struct kndl_error *err);
/* From here on it is refused; store_end_removed_next() ends what ran on it. */
int store_remove_runner(struct store *store, struct kndl_arena *arena,
                        const struct kndl_asked *asked, const char *runner_id,
                        struct kndl_error *err);
int store_end_removed_next(struct store *store, struct kndl_arena *arena, bool *ret_found,
                           struct changes *changes, struct kndl_error *err);

/* Whose RUNNER_TOKEN has this hash? *ret_hash is the row's, to be compared once more. */
int store_find_runner_token(struct store *store, struct kndl_arena *arena, struct kndl_slice hash,
                            bool *ret_found, const char **ret_runner_id,
                            struct kndl_slice *ret_hash, struct kndl_error *err);
/* Why it is turned away, and what becomes of its update, for the Runners page; forgotten when it
 * attends. */
int store_set_runner_problem(struct store *store, struct kndl_arena *arena, const char *runner_id,
                             const char *problem, const char *version, const char *update_note,
                             struct kndl_error *err);

/* Marks the Runners that are silent for 20 s. */
int store_mark_silent(struct store *store, struct kndl_arena *arena, size_t *ret_count,
                      struct kndl_error *err);

/* How many Runners are there. */
int store_count_runners(struct store *store, struct kndl_arena *arena, int32_t *ret_count,
                        struct kndl_error *err);

/* Freezes one Session of a Runner that is away; *ret_found is false if there is none. */
int store_freeze_next(struct store *store, struct kndl_arena *arena, bool *ret_found,
                      struct changes *changes, struct kndl_error *err);

/* Acts on one Session that is past its deadline. */
int store_overdue_next(struct store *store, struct kndl_arena *arena, bool *ret_found,
                       struct changes *changes, struct kndl_error *err);

/* ---- what is due ---- */

enum delivery_kind {
    DELIVER_START = 1, /* the first five are the command rows' kinds */
    DELIVER_STOP_RUN = 2,
    DELIVER_STOP_TURN = 3,
    DELIVER_ANSWER = 4,
    DELIVER_RENEW_GIT = 5,
    DELIVER_PROMPT,
    DELIVER_ASSIGNMENT, /* to secrets, not to a Runner */
};

/* One thing that somebody has to be told. What does not belong to its kind is empty. */
struct delivery {
    enum delivery_kind kind;
    const char *id; /* of the command or the prompt */
    const char *session_id;
    int64_t run;
    const char *runner_id;
    const char *creator_id;
    int64_t repo_id;
    const char *target_id; /* Turn or question */
    struct kndl_slice sealed;
    const char *reason_code;
    int64_t assignment; /* PutAssignmentRequest.Phase */
    /* of a start */
    const char *creator_name;
    const char *creator_email;
    const char *repo_name;
    const char *claude_session_id;
    bool conversation_exists;
    const char *model;
    const char *effort;
    char **sources;
    size_t source_count;
};

/*
 * Claims the next delivery for ten seconds; no other store claims it meanwhile. An Asleep Session
 * whose prompts wait becomes Waking on the way. *ret_delivery is NULL if nothing is due.
 */
int store_claim_delivery(struct store *store, struct kndl_arena *arena,
                         const struct delivery **ret_delivery, struct changes *changes,
                         struct kndl_error *err);

/* It was taken. */
int store_settle_delivery(struct store *store, struct kndl_arena *arena,
                          const struct delivery *delivery, struct kndl_error *err);

/*
 * It was not taken, or (is_unsure) nobody knows: it is due again after a pause of its Runner, which
 * grows until the Runner takes something. A prompt that was surely not taken is queued again.
 */
int store_release_delivery(struct store *store, struct kndl_arena *arena,
                           const struct delivery *delivery, bool is_unsure, struct changes *changes,
                           struct kndl_error *err);
