/*
 * An end: Claude Code first (its window is closed, which hangs up on it and lets its mod send the
 * rest), then tmux, the Sandbox, the relay; then what the transcript knows, then the report. Each
 * step follows whether or not the one before did what it should: a Sandbox that is stopped ends
 * all of it. What of the transcript finds no room on the disk waits for it, for an hour.
 */

#include "session_parts.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "disk.h"
#include "guest_file.h"
#include "kndl/clock.h"
#include "kndl/log.h"
#include "kndl/loop.h"
#include "kndl/mem.h"

/* A Claude Code whose setup token was removed is gone within five seconds, whatever it does
 * (CR-04); what its mod does not send until then, the transcript says. */
enum {
    EXIT_MS_MAX = 2500, /* the launcher says after two seconds that it goes on */
    STOP_GRACE_MS = 1500,
    STOP_TRIES_MAX = 5,
    AGAIN_MS = 1000,
    ROOM_AGAIN_MS = 3000,
    ROOM_MS_MAX = 60 * 60 * 1000,
};

/* ----------------------------------------------------------------------------------- the report */

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

/* Only files of ours, a few segments: quick enough for the disk's thread. */
static int remove_run(void *data, struct kndl_error *err)
{
    char *path = data;

    (void)err;
    (void)nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    return 0;
}

static void run_removed(void *data, const struct kndl_error *err)
{
    (void)err;
    free(data);
}

/* The Hub has all of it. */
static void forget_run(struct session *session)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf state = {0}, spool = {0};
    struct disk *disk = session->runner->disk;

    session_path(session, "state", &state);
    session_spool_path(session, &spool);
    kndl_log(KNDL_INFO, "a run is settled", KNDL_STR("session", session->id),
             KNDL_I64("run", session->start->run));
    session_forget(session);
    /* In this order: a process that dies between the two reports the end again. */
    disk_do(disk, remove_run, run_removed, kndl_buf_take(&spool));
    disk_remove_file(disk, kndl_buf_text(&state), NULL, NULL);
}

static void report_again(void *data)
{
    session_report_ended(data);
}

static void report_answered(struct session *session, const char *note, const struct kndl_error *err,
                            const ProtobufCMessage *response)
{
    const SV1(ReportEndedResponse) *answer = (const void *)response;
    int64_t last_n = spool_last_n(session->spool);

    (void)note;
    if (response == NULL) {
        /* The Session is gone, or this run is older than the Hub's: nobody wants it. */
        kndl_log(KNDL_WARNING, "sessions refused the report of an end",
                 KNDL_STR("session", session->id), KNDL_STR("why", err->message));
        if (err->code == KNDL_NOT_FOUND || err->code == KNDL_ABORTED) {
            forget_run(session);
            return;
        }
    } else if (answer->expected_n > last_n) {
        forget_run(session);
        return;
    }
    /* When the last Event was stored, drained() reports at once; this is for what was lost. */
    if (session->timer == NULL)
        session->timer = kndl_timer_new(session->runner->loop, report_again, session);
    kndl_timer_start(session->timer, AGAIN_MS, 0);
}

void session_report_ended(struct session *session)
{
    struct hub_question question = {
        .service = &kndl__sessions__v1__sessions_runner_service__descriptor,
        .method = "ReportEnded",
        .request = &session->ended_state.ended->base,
        .repeat = true,
    };

    if (session->phase != SESSION_ENDED)
        session_set_phase(session, SESSION_ENDED);
    session->ended_state.ended->last_n = spool_last_n(session->spool);
    if (session->mod_token.data == NULL) {
        /* After a restart: the rest of the spool needs a token to go with. */
        session_ask_mod_token(session);
    }
    session_ask(session, &question, report_answered, "");
}

static SV1(ReportEndedRequest) * make_report(const struct session *session)
{
    SV1(ReportEndedRequest) request = KNDL__SESSIONS__V1__REPORT_ENDED_REQUEST__INIT;
    size_t size;

    request.session_id = (char *)session->id;
    request.run = session->start->run;
    request.last_n = spool_last_n(session->spool);
    request.cause = session->end.cause;
    request.reason_code = session->end.reason_code;
    request.reason = session->end.reason;
    request.last_output = (char *)kndl_buf_text(&session->end.last_output);
    request.conversation_exists = session->end.conversation_exists;
    size = protobuf_c_message_get_packed_size(&request.base);
    KNDL_CLEANUP(kndl_free) uint8_t *bytes = kndl_alloc(1, size + 1);
    protobuf_c_message_pack(&request.base, bytes);
    return kndl__sessions__v1__report_ended_request__unpack(NULL, size, bytes);
}

static void end_is_kept(void *data, const struct kndl_error *err)
{
    struct session *session = data;

    if (!session_leave(session))
        return;
    if (err->code != KNDL_OK)
        kndl_log(KNDL_ERROR, "the end of a run could not be written down",
                 KNDL_STR("session", session->id), KNDL_STR("why", err->message));
    forward_wake(session->forward, 0);
    session_report_ended(session);
}

/* Everything is on the disk or never will be. */
static void write_end(struct session *session)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf path = {0};

    session->ended_state = (struct run_file){
        .phase = RUN_ENDED,
        .start = session->start,
        .ended = make_report(session),
    };
    session_path(session, "state", &path);
    session_enter(session);
    run_file_write(session->runner->disk, kndl_buf_text(&path), &session->ended_state, end_is_kept,
                   session);
    session->ended_state.start = NULL; /* the Session's own */
}

static void read_again(void *data)
{
    struct session *session = data;

    kndl_timer_free(kndl_steal(&session->timer));
    session_read_transcript(session);
}

/* Something found no place on the disk. While that is full, what is missing waits in the transcript
 * and in the open blocks, which a run has that was up; false: not so, or for too long. */
static bool wait_for_room(struct session *session)
{
    int64_t now_ms = kndl_clock_ms();

    if (session->unspooled != KNDL_RESOURCE_EXHAUSTED || !session->was_running)
        return false;
    if (session->end.gives_up_ms == 0) {
        session->end.gives_up_ms = now_ms + ROOM_MS_MAX;
        kndl_log(KNDL_WARNING, "the end of a run waits for room on the disk",
                 KNDL_STR("session", session->id));
    }
    if (now_ms >= session->end.gives_up_ms) {
        kndl_log(KNDL_ERROR, "what happened at the end of a run is lost: its disk stays full",
                 KNDL_STR("session", session->id));
        return false;
    }
    session->was_full = true;
    session_tell_waits(session);
    kndl_timer_free(session->timer);
    session->timer = kndl_timer_new(session->runner->loop, read_again, session);
    kndl_timer_start(session->timer, ROOM_AGAIN_MS, 0);
    return true;
}

/* The transcript has told what Claude Code took of what it was asked. */
static void settle_asked(struct session *session)
{
    prompts_settle(session->prompts);
    answers_settle(session->answers);
    orders_settle(session->orders, "Claude Code ended first");
}

static void all_spooled(void *data, const struct kndl_error *err)
{
    struct session *session = data;
    bool has_all = session->unspooled == KNDL_OK;

    (void)err;
    if (!session_leave(session))
        return;
    delta_settle(session->deltas, has_all);
    if (!has_all)
        session_close_told(session, session->end.pass_first_n);
    if (!has_all && wait_for_room(session))
        return;
    if (!has_all)
        settle_asked(session);
    if (session->was_full && has_all) {
        session_full_no_more(session);
        session_enter(session);
        spool_append(session->spool, NULL, NULL, 0, all_spooled, session);
        return;
    }
    write_end(session);
}

/* The mod's last batch is on the disk, or the mod was told that it is not. */
static void batches_spooled(void *data, const struct kndl_error *err)
{
    struct session *session = data;

    (void)err;
    if (!session_leave(session))
        return;
    if (session->unspooled == KNDL_OK) {
        settle_asked(session);
        session_spool_unfinished(session);
    }
    session_enter(session);
    spool_append(session->spool, NULL, NULL, 0, all_spooled, session);
}

void session_transcript_read(struct session *session)
{
    session_enter(session);
    spool_append(session->spool, NULL, NULL, 0, batches_spooled, session);
}

/* ----------------------------------------------------------------------------- taking it all down
 */

static void stop_sandbox(struct session *session);

static void stop_again(void *data)
{
    stop_sandbox(data);
}

static void sandbox_stopped(void *data, const struct sandbox_answer *answer)
{
    struct session *session = data;
    bool is_down = answer->err.code == KNDL_OK || answer->err.code == KNDL_NOT_FOUND;

    if (!session_leave(session))
        return;
    if (!is_down)
        kndl_log(KNDL_ERROR, "a Sandbox does not stop", KNDL_STR("session", session->id),
                 KNDL_STR("why", answer->err.message));
    if (!is_down && ++session->tries < STOP_TRIES_MAX) {
        kndl_timer_free(session->timer);
        session->timer = kndl_timer_new(session->runner->loop, stop_again, session);
        kndl_timer_start(session->timer, AGAIN_MS, 0);
        return;
    }
    kndl_timer_free(kndl_steal(&session->timer));
    relay_close(kndl_steal(&session->relay));
    delta_flush(session->deltas);
    session_read_transcript(session);
}

static void stop_sandbox(struct session *session)
{
    session_enter(session);
    sandbox_stop(session->runner->sandboxes, session->sandbox, STOP_GRACE_MS, sandbox_stopped,
                 session);
}

static void stop_tmux(struct session *session)
{
    if (session->tmux != NULL)
        tmux_command(session->tmux, "kill-server", NULL, NULL);
    tmux_free(kndl_steal(&session->tmux));
    stop_sandbox(session);
}

static void claude_is_gone(void *data, const struct sandbox_exit *end)
{
    struct session *session = data;

    (void)end;
    if (session_leave(session))
        stop_tmux(session);
}

/* Hangs up on Claude Code and waits: its mod sends what it still has. */
static void end_claude(struct session *session)
{
    static const char *const argv[] = {CLAUDE_LAUNCHER, "--wait", NULL};
    struct sandbox_command command = {.argv = argv, .deadline_ms = EXIT_MS_MAX};

    tmux_command(session->tmux, "kill-window -t s:claude", NULL, NULL);
    session->has_window = false;
    session_enter(session);
    sandbox_exec(session->runner->sandboxes, session->sandbox, &command, NULL, claude_is_gone,
                 session);
}

static void screen_captured(void *data, bool ok, struct kndl_slice text)
{
    struct session *session = data;

    session->is_capturing = false;
    if (ok && session->end.last_output.size == 0)
        kndl_buf_append(&session->end.last_output, text.data,
                        text.size < LAST_OUTPUT_BYTES_MAX ? text.size : LAST_OUTPUT_BYTES_MAX);
    end_claude(session);
}

void session_end_without_screen(struct session *session)
{
    if (!session->is_capturing)
        return;
    session->is_capturing = false;
    session->has_window = false;
    stop_tmux(session);
}

static void screen_read(void *data, const struct sandbox_exit *end)
{
    struct session *session = data;

    if (!session_leave(session))
        return;
    if (end->err.code == KNDL_OK && end->code == 0) {
        kndl_buf_clear(&session->end.last_output);
        kndl_buf_append(&session->end.last_output, end->output.data, end->output.size);
    }
    stop_tmux(session);
}

/* Its window is closed already; the launcher kept the last screen. */
static void read_screen(struct session *session)
{
    static const char *const argv[] = {"cat", "/run/kndl/last-screen", NULL};
    struct sandbox_command command = {
        .argv = argv, .deadline_ms = 5000, .output_most = LAST_OUTPUT_BYTES_MAX};

    session_enter(session);
    sandbox_exec(session->runner->sandboxes, session->sandbox, &command, NULL, screen_read,
                 session);
}

void session_end_now(struct session *session)
{
    bool is_exit = strcmp(session->end.reason_code, "claude_exited") == 0;

    if (!session->is_end_waiting)
        return;
    session->is_end_waiting = false;
    kndl_timer_free(kndl_steal(&session->timer));
    if (session->has_window && session->tmux != NULL &&
        session->end.cause != KNDL__SESSIONS__V1__REPORT_ENDED_REQUEST__CAUSE__CAUSE_COMMANDED) {
        session->is_capturing = true;
        tmux_command(session->tmux, "capture-pane -p -t s:claude", screen_captured, session);
    } else if (session->has_window && session->tmux != NULL)
        end_claude(session);
    else if (is_exit)
        read_screen(session);
    else
        stop_tmux(session);
}

void session_end_run(struct session *session, SV1(ReportEndedRequest__Cause) cause,
                     const char *reason_code, const char *reason)
{
    if (session->phase == SESSION_STOPPING || session->phase == SESSION_ENDED)
        return;
    kndl_log(KNDL_INFO, "a run ends", KNDL_STR("session", session->id),
             KNDL_I64("run", session->start->run), KNDL_I64("cause", cause),
             KNDL_STR("reason_code", reason_code));
    session_set_phase(session, SESSION_STOPPING);
    session->end.cause = cause;
    session->end.reason_code = kndl_strdup(reason_code);
    session->end.reason = kndl_strdup(reason);
    session->tries = 0;
    kndl_timer_free(kndl_steal(&session->timer));
    kndl_secret_done(&session->setup_token);
    kndl_secret_done(&session->variables);
    kndl_secret_done(&session->session_token);
    session->is_end_waiting = true;
    if (session->clone != NULL)
        workspace_cancel(session->clone); /* cloned() goes on */
    else
        session_end_now(session);
}
