/* Claude Code's start in its Sandbox: tmux, its environment, its window, and the mod's hello. */

#include "session_parts.h"

#include <stdlib.h>
#include <string.h>

#include "kndl/log.h"
#include "kndl/loop.h"
#include "kndl/mem.h"

enum { TAKE_ENV_MS_MAX = 60 * 1000 };

/* -------------------------------------------------------------------------------------- hello */

static void report_running(struct session *session);

/* One is out at a time, so that the newest one is told last, however often it changes. */
static void running_told(struct session *session, const char *told_id, const struct kndl_error *err,
                         const ProtobufCMessage *response)
{
    session->is_telling_running = false;
    if (response == NULL)
        kndl_log(KNDL_WARNING, "sessions refused to hear that a run is up",
                 KNDL_STR("session", session->id), KNDL_STR("why", err->message));
    if (strcmp(told_id, session->claude_id) != 0)
        report_running(session);
}

/* Tells the Hub which conversation runs; again when that changes. */
static void report_running(struct session *session)
{
    SV1(ReportRunningRequest) request = KNDL__SESSIONS__V1__REPORT_RUNNING_REQUEST__INIT;
    struct hub_question question = {
        .service = &kndl__sessions__v1__sessions_runner_service__descriptor,
        .method = "ReportRunning",
        .request = &request.base,
        .repeat = true,
    };

    if (session->is_telling_running)
        return;
    session->is_telling_running = true;
    request.session_id = session->id;
    request.run = session->start->run;
    request.claude_session_id = session->claude_id;
    request.resumed = session->is_resumed;
    session_ask(session, &question, running_told, session->claude_id);
}

/* The conversation's id is what the next start resumes, and where its transcript lies. */
static void keep_conversation(struct session *session, const char *claude_id)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf path = {0};

    memcpy(session->claude_id, claude_id, sizeof session->claude_id);
    if (strcmp(session->start->claude_session_id, claude_id) != 0) {
        free(session->start->claude_session_id);
        session->start->claude_session_id = kndl_strdup(claude_id);
    }
    session_path(session, "state", &path);
    run_file_write(session->runner->disk, kndl_buf_text(&path),
                   &(struct run_file){.phase = RUN_RUNNING, .start = session->start}, NULL, NULL);
}

void session_said_hello(struct session *session, const struct claude_hello *hello)
{
    /* Once for each load of the mod, and after each /clear; whoever says it more often is ignored.
     */
    if (session->phase == SESSION_STOPPING || session->phase == SESSION_ENDED ||
        strcmp(session->claude_id, hello->claude_session_id) == 0)
        return;
    if (session->phase == SESSION_STARTING) {
        session_step_end(session);
        kndl_timer_stop(session->timer);
        session->was_running = true;
        session_set_phase(session, SESSION_RUNNING);
    }
    keep_conversation(session, hello->claude_session_id);
    report_running(session);
}

static void no_hello(void *data)
{
    session_fail(
        data, "mod_missing",
        "Claude Code started, but kndl's mod in it did not answer. An organization's policy "
        "can turn mods off; see Claude Code's last output. Retry.");
}

/* ------------------------------------------------------------------------------------- claude */

static void await_hello(struct session *session)
{
    session_step_begin(session, "hello");
    kndl_timer_free(session->timer);
    session->timer = kndl_timer_new(session->runner->loop, no_hello, session);
    kndl_timer_start(session->timer, HELLO_MS_MAX, 0);
}

static void window_opened(void *data, bool ok, struct kndl_slice text)
{
    struct session *session = data;

    if (session->phase != SESSION_STARTING)
        return;
    if (!ok || text.size == 0 || text.size >= sizeof session->pane || text.data[0] != '%') {
        session_fail(session, "sandbox_failed", "tmux could not open Claude Code's window. Retry.");
        return;
    }
    memcpy(session->pane, text.data, text.size);
    session->pane[text.size] = '\0';
    session->has_window = true;
    tmux_command(session->tmux, "resize-window -t s:claude -x 120 -y 40", NULL, NULL);
    await_hello(session);
}

/* The setup token goes by the keeper's stdin, in no argv and on no disk (CR-03). */
static void open_window(struct session *session, const char *command)
{
    struct kndl_buf line = {0};

    kndl_buf_reserve(&line, session->setup_token.size + strlen(command) + 256);
    kndl_buf_append_text(&line, "new-window -d -P -F '#{pane_id}' -t s: -n claude -c /workspace -e "
                                "'CLAUDE_CODE_OAUTH_TOKEN=");
    kndl_buf_append(&line, session->setup_token.data, session->setup_token.size);
    kndl_buf_printf(&line, "' %s", command);
    tmux_command(session->tmux, kndl_buf_text(&line), window_opened, session);
    explicit_bzero(line.data, line.capacity);
    kndl_buf_done(&line);
    kndl_secret_done(&session->setup_token);
    kndl_secret_done(&session->session_token);
}

static struct claude_start claude_start_of(const struct session *session)
{
    return (struct claude_start){
        .session_id = session->id,
        .claude_session_id = session->start->claude_session_id,
        .resume = session->is_resumed,
        .model = session->start->model,
        .effort = session->start->effort,
        .mod_copy = session->mod_copy,
        .time_zone = session->runner->time_zone,
        .relay_port = session->runner->relay_port,
        .session_token = kndl_slice(session->session_token.data, session->session_token.size),
        .variables = kndl_slice(session->variables.data, session->variables.size),
    };
}

static void environment_written(void *data, const struct sandbox_exit *end)
{
    struct session *session = data;
    struct claude_start start;
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf command = {0};
    struct kndl_error err;

    if (!session_goes_on(session))
        return;
    if (end->err.code != KNDL_OK || end->code != 0) {
        kndl_log(KNDL_WARNING, "the environment was not taken", KNDL_STR("session", session->id),
                 KNDL_STR("why", end->err.message));
        session_fail(session, "sandbox_failed", "The Sandbox does not run commands. Retry.");
        return;
    }
    start = claude_start_of(session);
    if (claude_command(&start, &command, &err) < 0)
        session_fail(session, "claude_exited", err.message);
    else
        open_window(session, kndl_buf_text(&command));
}

static void write_environment(struct session *session)
{
    static const char *const argv[] = {CLAUDE_LAUNCHER, "--take-env", NULL};
    struct claude_start start = claude_start_of(session);
    struct kndl_buf environment = {0};
    struct sandbox_command command = {.argv = argv, .deadline_ms = TAKE_ENV_MS_MAX};

    session_step_begin(session, "claude");
    claude_environment(&start, &environment);
    command.input = kndl_buf_slice(&environment);
    session_enter(session);
    sandbox_exec(session->runner->sandboxes, session->sandbox, &command, NULL, environment_written,
                 session);
    explicit_bzero(environment.data, environment.capacity);
    kndl_buf_done(&environment);
    kndl_secret_done(&session->variables);
}

/* --------------------------------------------------------------------------------------- tmux */

static void tmux_ready(void *data)
{
    struct session *session = data;

    if (session->phase == SESSION_STARTING)
        write_environment(session);
}

void session_start_claude(struct session *session)
{
    session_step_begin(session, "tmux");
    session->tmux = tmux_open(&(struct tmux_options){.loop = session->runner->loop,
                                                     .sandboxes = session->runner->sandboxes,
                                                     .sandbox = session->sandbox,
                                                     .start_server = true,
                                                     .on_ready = tmux_ready,
                                                     .on_gone = session_tmux_gone,
                                                     .on_window_closed = session_window_closed,
                                                     .data = session});
}
