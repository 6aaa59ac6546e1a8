#pragma once

/*
 * One Session's life on this Runner: a run is started, runs, ends, and is forgotten when the Hub
 * has all of it.
 *
 *   STARTING   clone, image, sandbox, relay, tmux, claude, hello: one step after the other
 *   RUNNING    the mod said hello
 *   STOPPING   Claude Code, tmux, Sandbox, relay: down, in this order
 *   ENDED      what is in the spool goes to the Hub; then the run is forgotten
 *
 * Everything is told to sessions by reports that are repeated until it answered. Belongs to the
 * loop's thread.
 */

#include "kndl/error.h"
#include "kndl/runner/v1/runner_service.pb-c.h"
#include "kndl/sessions/v1/sessions_runner_service.pb-c.h"

struct runner;
struct session;

/* "Taken", or why not. On the loop, once, never after session_free_all(). */
typedef void (*session_fn)(void *data, const struct kndl_error *err);

/* A run begins. The same again is taken again; ABORTED while another run of it is there. */
void session_start(struct runner *runner, const Kndl__Runner__V1__StartRunRequest *request,
                   session_fn fn, void *data);

/* The Session with a run here, or NULL. */
struct session *session_find(struct runner *runner, const char *session_id);

/* Ends the run, as commanded; one that ends already ends. ABORTED: another run is here. */
int session_stop(struct session *session, int64_t run, struct kndl_error *err);

/* The Hub does not want it any more. */
void session_stop_unwanted(struct session *session);

void session_hand_prompt(struct session *session,
                         const Kndl__Runner__V1__HandPromptRequest *request, session_fn fn,
                         void *data);
/* The git token of its Sandbox is asked for anew, if there was one. ABORTED: another run is here.
 */
int session_renew_git(struct session *session, int64_t run, struct kndl_error *err);
void session_give_answer(struct session *session,
                         const Kndl__Runner__V1__GiveAnswerRequest *request, session_fn fn,
                         void *data);
int session_stop_turn(struct session *session, const Kndl__Runner__V1__StopTurnRequest *request,
                      struct kndl_error *err);

/* Removes all of a Session from this host. ABORTED while it runs. */
void session_purge(struct runner *runner, const char *session_id, session_fn fn, void *data);

/* Takes back what an earlier process of this Runner left: runs go on, or are told as lost. */
void session_adopt_all(struct runner *runner);

/* For Attend. Strings are borrowed; the array is malloc'ed, each entry too. */
size_t session_list(struct runner *runner, Kndl__Sessions__V1__AttendRequest__Run ***ret_runs);

/* Lets go of all without stopping anything: Claude Code and Sandboxes stay (LI-07). */
void session_free_all(struct runner *runner);
