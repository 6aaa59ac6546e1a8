#pragma once

/* What a Session on this Runner consists of. Only session*.c include it. */

#include <stdbool.h>
#include <stdint.h>

#include "answers.h"
#include "asks.h"
#include "claude.h"
#include "delta.h"
#include "forward.h"
#include "hub.h"
#include "kndl/id.h"
#include "kndl/secret.h"
#include "kndl/token.h"
#include "orders.h"
#include "prompts.h"
#include "relay.h"
#include "run_file.h"
#include "runner.h"
#include "sandbox.h"
#include "session.h"
#include "spool.h"
#include "tmux.h"

#define SV1(name) Kndl__Sessions__V1__##name

enum session_phase { SESSION_STARTING, SESSION_RUNNING, SESSION_STOPPING, SESSION_ENDED };

enum {
    STEP_REPORTS_MAX = 16, /* of the seven steps, each twice */
    HELLO_MS_MAX = 45 * 1000,
    SPOOL_BYTES_MAX = 256 * 1024 * 1024,
    EVENT_BYTES_MAX = 700 * 1024,
    LAST_OUTPUT_BYTES_MAX = 16 * 1024,
};

/* How a run ended, kept until it is told. The texts are the Session's. */
struct session_end {
    SV1(ReportEndedRequest__Cause) cause;
    char *reason_code;
    char *reason;
    struct kndl_buf last_output;
    bool conversation_exists;
    int64_t pass_first_n; /* of the Events that this reading of the transcript spools */
    int64_t gives_up_ms;  /* waiting for room on the disk; 0: it does not wait */
};

struct session {
    struct runner *runner;
    struct session *next;
    char id[KNDL_ID_SIZE];
    char sandbox[SANDBOX_NAME_CHARS_MAX + 1];
    char *directory; /* RUNNER_HOME/sessions/<id> */
    Kndl__Runner__V1__StartRunRequest *start;
    enum session_phase phase;
    bool was_running; /* the mod said hello in this run */
    bool is_resumed;
    bool is_adopted;
    bool is_telling_running;        /* ReportRunning is out */
    char claude_id[KNDL_UUID_SIZE]; /* of the conversation, as the mod said last; "": not yet */
    unsigned callbacks; /* of sandboxes, disk and spool that are out: free waits for them */
    bool is_forgotten;  /* freed when those came */

    /* The step that runs: session_start.c. */
    const char *step;
    int64_t step_began_us;
    struct {
        const char *name;
        int64_t took_ms;              /* -1: it begins */
    } step_reports[STEP_REPORTS_MAX]; /* told one after the other, so that they keep their order */
    size_t step_reports_told, step_report_count;
    bool is_telling_steps;
    char mod_copy[KNDL_ID_SIZE];

    /* Secrets: the mod token for each batch; the others only until Claude Code has them. */
    struct kndl_secret mod_token;
    struct kndl_secret session_token;
    struct kndl_secret setup_token;
    struct kndl_secret variables; /* "NAME=value", each followed by a NUL */
    uint8_t session_token_hash[KNDL_HASH_BYTES];

    struct relay *relay;
    struct tmux *tmux;
    bool has_window;          /* Claude Code's */
    char pane[16];            /* "%1" */
    struct kndl_timer *timer; /* of the step or of the end, one at a time */
    struct kndl_timer *git_timer;
    bool is_asking_git;  /* for a token, or writing it */
    bool asks_git_again; /* since it may be of the Repo's older owner */
    bool is_without_git; /* said in the log */
    unsigned tries;
    struct workspace_work *clone; /* that runs: an end cancels it and waits */
    bool is_capturing;            /* tmux is asked for the last screen */
    bool is_end_waiting;          /* … does so */

    struct spool *spool;
    struct forward *forward;
    struct deltas *deltas;
    struct claude_reader *reader;
    struct orders *orders;
    struct prompts *prompts;
    struct answers *answers;
    struct kndl_arena *arena; /* of one batch */
    char taken_epoch[40];     /* of the mod's events, also of those that are in no spool */
    uint64_t taken_m;
    int64_t relay_at_us;      /* when the newest of the mod's events arrived */
    bool was_full;            /* the spool refused something; said once it takes again */
    bool mod_sent_all;        /* the mod said its last word */
    enum kndl_code unspooled; /* why it refused something since an end read the transcript last */

    /* What streams, on the disk: session_blocks.c. */
    struct {
        struct kndl_timer *timer;
        int64_t next_ms; /* not written again before */
        uint64_t turn;   /* 0: there is no file */
        bool is_failing;
    } blocks;

    /* That output waits: session_waits.c. */
    bool is_unmasked;          /* the Hub masks nothing at the moment */
    const char *waits_told;    /* the code that sessions was told last; "": it does not wait */
    struct hub_ask *waits_ask; /* the report that is out */

    struct asks *asks;           /* that the Hub has not answered */
    struct session_tail *tail;   /* of a transcript, while it is read: session_tail.c */
    struct subagents *subagents; /* whose transcripts come next: session_transcript.c */
    struct session_end end;
    struct run_file ended_state;
};

/* --- session.c */

struct session *session_new(struct runner *runner, const char *session_id);

/* What a callback of a slow thing begins and ends with; after leave() the Session may be gone. */
void session_enter(struct session *session);
/* True: go on. False: the Session was forgotten meanwhile and is gone now. */
bool session_leave(struct session *session);

void session_path(const struct session *session, const char *name, struct kndl_buf *out);
/* The folder of this run's spool. */
void session_spool_path(const struct session *session, struct kndl_buf *out);

/* Asks the Hub; dropped with the Session. As asks_put(). */
void session_ask(struct session *session, const struct hub_question *question, session_answer_fn fn,
                 const char *note);

void session_set_phase(struct session *session, enum session_phase phase);

/* Lets go of it without stopping anything. It is freed when its last callback came. */
void session_forget(struct session *session);

/* --- session_wiring.c */

/* What became of a command of the Hub's (an answer, a stop). `data` is the Session. */
void session_report_command(void *data, const char *command_id, bool done, const char *reason);

/* Opens all that a run has besides its Sandbox. */
int session_open_parts(struct session *session, struct kndl_error *err);

/* The new mod token arrived. */
void session_take_mod_token(struct session *session, const char *token);

/* Opens the relay on the Sandbox's held socket. */
int session_open_relay(struct session *session, struct kndl_error *err);

/* tmux's callbacks for the rest of the run. */
void session_window_closed(void *data);
void session_tmux_gone(void *data, const struct kndl_error *why);

/* --- session_steps.c */

/* Begins a step, and so ends the one before; names are literals. */
void session_step_begin(struct session *session, const char *name);
void session_step_end(struct session *session);

/* The start did not succeed; the texts are for programs and for people. */
void session_fail(struct session *session, const char *reason_code, const char *reason);

/* The same for what a Sandbox answered; `fallback` is the code where it has no word for it. */
void session_fail_by_answer(struct session *session, const struct sandbox_answer *answer,
                            const char *fallback);

/* As session_leave(), for a callback of a start: false if that is not wanted any more. */
bool session_goes_on(struct session *session);
/* The same where it needs what was done: false also if that failed, and the start with it, as
 * session_fail_by_answer(). */
bool session_goes_on_after(struct session *session, const struct sandbox_answer *answer,
                           const char *fallback);

/* --- the order of a start: each goes on to the next */
void session_begin(struct session *session);        /* session_start.c: clone, image */
void session_fetch_tokens(struct session *session); /* session_tokens.c */
void session_make_sandbox(struct session *session); /* session_sandbox.c: sandbox, relay */
void session_start_claude(struct session *session); /* session_claude.c: tmux, claude, hello */
void session_adopt(struct session *session);        /* session_adopt.c, instead of all that */

/* session_tokens.c: asks for a mod token of the run; the second one if Events are left after an
 * end, which need one to go with. */
void session_ask_token(struct session *session, session_answer_fn fn);
void session_ask_mod_token(struct session *session);

void session_said_hello(struct session *session, const struct claude_hello *hello);

/* --- session_feed.c */
void session_take_batch(void *data, struct relay_held *held, const struct claude_batch *batch,
                        int64_t received_us);
void session_send_deltas(void *data, Kndl__Event__V1__Delta *const *pieces, size_t count,
                         const char *ended_turn_id);
/* Spools Events of our own, or of the transcript. Where that fails unspooled says why. */
void session_spool(struct session *session, Kndl__Event__V1__Event *const *events, size_t count);
void session_note(struct session *session, const char *code, const char *text);
/* What the spool refused it has now. */
void session_full_no_more(struct session *session);
/* The run is over: spools what had begun to stream and was never finished. */
void session_spool_unfinished(struct session *session);

/* --- session_blocks.c */

/* Takes back what streamed when an earlier process of this run ended. */
void session_open_blocks(struct session *session);
/* What streams is on the disk before what the disk is given afterwards. */
void session_keep_blocks(struct session *session);
/* The same at the end of this process, however short ago it was written. */
void session_keep_blocks_at_end(struct session *session);
/* Removes it, if nothing streams any more. */
void session_forget_blocks(struct session *session);
/* Closes what has its Event in the spool, from this one on. */
void session_close_told(struct session *session, int64_t first_n);

/* --- session_git.c */

/* The Sandbox runs: from here on it has a git token where there is one to be had (GI-02). */
void session_keep_git(struct session *session);
/* Its Repo changed: what the Sandbox has may not work any more. */
void session_ask_git_again(struct session *session);

/* --- session_waits.c */

/* The forwarder's word: what is in the spool cannot be masked for some seconds; or it can again. */
void session_output_waits(void *data, bool is_waiting);

/* Tells sessions if something else is true than what was told. */
void session_tell_waits(struct session *session);

/* --- session_end.c */

/* tmux went away while an end asked it for the last screen. */
void session_end_without_screen(struct session *session);

/* Goes on with an end that waited for its clone to be cancelled. */
void session_end_now(struct session *session);

/* The run is over, or goes on ending if it is already. Texts are copied. */
void session_end_run(struct session *session, SV1(ReportEndedRequest__Cause) cause,
                     const char *reason_code, const char *reason);
/* An earlier process had stopped all of it: only the report is left. */
void session_report_ended(struct session *session);

/* --- session_tail.c */

/* Spools the lines of a transcript's end that are not known yet, a few in each turn of the loop;
 * then calls `then`, later. Bytes are copied. The Session's timer is this one's meanwhile. */
void session_take_tail(struct session *session, struct kndl_slice bytes, bool is_whole,
                       const char *subagent_id, void (*then)(struct session *session));
/* Stops that, without a call. */
void session_drop_tail(struct session *session);

/* --- session_transcript.c */

/* Reads what the mod could not send any more into the spool, unless it said that it had sent all;
 * then session_transcript_read(). */
void session_read_transcript(struct session *session);
void session_transcript_read(struct session *session);
