/* A run that an earlier process of this Runner started: taken back if its Claude Code is still
 * there (LI-07), told as lost if not. */

#include "session_parts.h"

#include <dirent.h>
#include <string.h>

#include "kndl/log.h"
#include "kndl/mem.h"

enum { STRAY_GRACE_MS = 3000 };

static void lost(struct session *session, const char *why)
{
    kndl_log(KNDL_WARNING, "a run was lost", KNDL_STR("session", session->id),
             KNDL_STR("why", why));
    session->has_window = false;
    session_end_run(session, KNDL__SESSIONS__V1__REPORT_ENDED_REQUEST__CAUSE__CAUSE_LOST,
                    "runner_restarted",
                    "The Runner or its host restarted, and this Session's Claude Code did not "
                    "outlive it.");
}

static void adopted(struct session *session, const char *note, const struct kndl_error *err,
                    const ProtobufCMessage *response)
{
    const SV1(IssueModTokenResponse) *issued = (const void *)response;

    (void)note;
    if (session->phase != SESSION_STARTING)
        return;
    if (response == NULL) {
        lost(session, err->message);
        return;
    }
    session_take_mod_token(session, issued->token);
    session_set_phase(session, SESSION_RUNNING);
    session_keep_git(session);
    kndl_log(KNDL_INFO, "a run was taken back", KNDL_STR("session", session->id));
}

/* The Session token is read back from Claude Code and counts for this Session alone (RE-02). */
static void token_read(void *data, const struct sandbox_exit *end)
{
    struct session *session = data;
    struct kndl_slice token;
    struct kndl_error err;

    if (!session_goes_on(session))
        return;
    token = claude_variable(end->output, "KNDL_MOD_TOKEN");
    if (end->err.code != KNDL_OK || end->code != 0 || !kndl_token_is_valid(KNDL_TOKEN_SES, token)) {
        lost(session, "its Claude Code has no Session token");
        return;
    }
    kndl_hash(token, session->session_token_hash);
    if (session_open_relay(session, &err) < 0) {
        lost(session, err.message);
        return;
    }
    session_ask_token(session, adopted);
}

static void window_found(void *data, bool ok, struct kndl_slice text)
{
    static const char *const argv[] = {CLAUDE_LAUNCHER, "--session-token", NULL};
    struct session *session = data;
    struct sandbox_command command = {.argv = argv, .deadline_ms = 10000, .output_most = 4096};

    if (session->phase != SESSION_STARTING)
        return;
    if (!ok || text.size == 0 || text.size >= sizeof session->pane || text.data[0] != '%') {
        lost(session, "its window is closed");
        return;
    }
    memcpy(session->pane, text.data, text.size);
    session->pane[text.size] = '\0';
    session->has_window = true;
    session_enter(session);
    sandbox_exec(session->runner->sandboxes, session->sandbox, &command, NULL, token_read, session);
}

static void tmux_found(void *data)
{
    struct session *session = data;

    if (session->phase == SESSION_STARTING)
        tmux_command(session->tmux, "list-panes -t s:claude -F '#{pane_id}'", window_found,
                     session);
}

static void tmux_lost(void *data, const struct kndl_error *why)
{
    struct session *session = data;

    if (session->phase == SESSION_STARTING)
        lost(session, why->message);
    else
        session_tmux_gone(session, why);
}

void session_adopt(struct session *session)
{
    if (!session->was_running) {
        lost(session, "it had not started yet");
        return;
    }
    session->tmux = tmux_open(&(struct tmux_options){.loop = session->runner->loop,
                                                     .sandboxes = session->runner->sandboxes,
                                                     .sandbox = session->sandbox,
                                                     .on_ready = tmux_found,
                                                     .on_gone = tmux_lost,
                                                     .on_window_closed = session_window_closed,
                                                     .data = session});
}

static void adopt_one(struct runner *runner, const char *session_id)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf path = {0};
    struct session *session = session_new(runner, session_id);
    struct run_file state;
    struct kndl_error err = {0};

    session_path(session, "state", &path);
    if (run_file_read(kndl_buf_text(&path), &state, &err) < 0) {
        if (err.code != KNDL_NOT_FOUND)
            kndl_log(KNDL_ERROR, "a Session's state cannot be read",
                     KNDL_STR("session", session_id), KNDL_STR("why", err.message));
        session_forget(session);
        return;
    }
    session->start = kndl_steal(&state.start);
    session->is_adopted = true;
    session->was_running = state.phase != RUN_STARTING;
    session->is_resumed = session->start->resume;
    if (session_open_parts(session, &err) < 0) {
        kndl_log(KNDL_ERROR, "a Session cannot be taken back", KNDL_STR("session", session_id),
                 KNDL_STR("why", err.message));
        run_file_done(&state);
        session_forget(session);
        return;
    }
    if (state.phase == RUN_ENDED) {
        session->ended_state = state;
        session_report_ended(session);
        return;
    }
    run_file_done(&state);
    session_begin(session);
}

static void stray_stopped(void *data, const struct sandbox_answer *answer)
{
    (void)data;
    if (answer->err.code != KNDL_OK)
        kndl_log(KNDL_ERROR, "a stray Sandbox does not stop", KNDL_STR("why", answer->err.message));
}

/* One that runs for no Session here: what a Runner that was killed in the middle left behind. */
static void stop_if_stray(void *data, const struct sandbox_entry *entry,
                          const struct sandbox_answer *answer)
{
    struct runner *runner = data;

    if (entry == NULL) {
        if (answer->err.code != KNDL_OK)
            kndl_log(KNDL_ERROR, "Sandboxes cannot be listed",
                     KNDL_STR("why", answer->err.message));
        return;
    }
    if (entry->state == SANDBOX_STOPPED)
        return;
    for (const struct session *session = runner->sessions; session != NULL; session = session->next)
        if (strcmp(session->sandbox, entry->name) == 0)
            return;
    kndl_log(KNDL_WARNING, "a stray Sandbox is stopped", KNDL_STR("sandbox", entry->name));
    sandbox_stop(runner->sandboxes, entry->name, STRAY_GRACE_MS, stray_stopped, NULL);
}

void session_adopt_all(struct runner *runner)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf path = {0};
    const struct dirent *entry;
    DIR *folder;

    kndl_buf_printf(&path, "%s/sessions", runner->home);
    folder = opendir(kndl_buf_text(&path));
    while (folder != NULL && (entry = readdir(folder)) != NULL)
        if (kndl_id_is_valid(entry->d_name))
            adopt_one(runner, entry->d_name);
    if (folder != NULL)
        closedir(folder);
    sandbox_list(runner->sandboxes, stop_if_stray, runner);
}
