/* A Session's parts and what goes between them: prompts, answers and their reports, the relay,
 * tmux. */

#include "session_parts.h"

#include <string.h>

#include "kndl/log.h"
#include "kndl/mem.h"

static const char *match_prompt(void *data, const char *text, bool was_typed)
{
    struct session *session = data;

    return prompts_match(session->prompts, text, was_typed);
}

static const char *match_turn(void *data, const char *text)
{
    struct session *session = data;

    return prompts_of_turn(session->prompts, text);
}

static const char *match_block(void *data, const char *subagent_id, enum claude_block kind,
                               const char *tool_use_id)
{
    struct session *session = data;

    return delta_match(session->deltas, subagent_id, kind, tool_use_id);
}

static const char *answered_by(void *data, const char *question_id)
{
    struct session *session = data;

    return answers_person(session->answers, question_id);
}

static void prompt_reported(struct session *session, const char *prompt_id,
                            const struct kndl_error *err, const ProtobufCMessage *response)
{
    (void)response;
    if (err->code != KNDL_OK)
        kndl_log(KNDL_WARNING, "sessions refused a prompt's report",
                 KNDL_STR("session", session->id), KNDL_STR("why", err->message));
    prompts_reported(session->prompts, prompt_id);
}

static void report_prompt(void *data, const char *prompt_id, prompt_outcome outcome,
                          const char *reason)
{
    struct session *session = data;
    SV1(ReportPromptRequest) request = KNDL__SESSIONS__V1__REPORT_PROMPT_REQUEST__INIT;
    struct hub_question question = {
        .service = &kndl__sessions__v1__sessions_runner_service__descriptor,
        .method = "ReportPrompt",
        .request = &request.base,
        .repeat = true,
    };

    request.session_id = session->id;
    request.run = session->start->run;
    request.prompt_id = (char *)prompt_id;
    request.outcome = outcome;
    request.reason = (char *)(reason == NULL ? "" : reason);
    kndl_log(KNDL_INFO, "prompt settled", KNDL_STR("session", session->id),
             KNDL_STR("prompt", prompt_id), KNDL_I64("outcome", outcome));
    session_ask(session, &question, prompt_reported, prompt_id);
}

void session_report_command(void *data, const char *command_id, bool done, const char *reason)
{
    struct session *session = data;
    SV1(ReportCommandRequest) request = KNDL__SESSIONS__V1__REPORT_COMMAND_REQUEST__INIT;
    struct hub_question question = {
        .service = &kndl__sessions__v1__sessions_runner_service__descriptor,
        .method = "ReportCommand",
        .request = &request.base,
        .repeat = true,
    };

    request.session_id = session->id;
    request.run = session->start->run;
    request.command_id = (char *)command_id;
    request.done = done;
    request.reason = (char *)reason;
    session_ask(session, &question, NULL, "");
}

static void wake_relay(void *data)
{
    struct session *session = data;

    relay_wake(session->relay);
}

static void press_enter(void *data)
{
    struct session *session = data;
    struct kndl_buf line = {0};

    kndl_buf_printf(&line, "send-keys -t %s -H 0d", session->pane);
    if (session->tmux != NULL)
        tmux_command(session->tmux, kndl_buf_text(&line), NULL, NULL);
    kndl_buf_done(&line);
}

static void stream_opened(void *data)
{
    struct session *session = data;

    delta_send_again(session->deltas);
}

static void drained(void *data)
{
    struct session *session = data;

    if (session->phase == SESSION_ENDED)
        session_report_ended(session);
}

int session_open_parts(struct session *session, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf spool = {0}, prompt = {0}, answers = {0};
    struct runner *runner = session->runner;

    session_spool_path(session, &spool);
    struct spool_options spool_options = {
        .disk = runner->disk, .directory = kndl_buf_text(&spool), .bytes_most = SPOOL_BYTES_MAX};
    if (spool_open(&spool_options, &session->spool, err) < 0)
        return -1;
    session_path(session, "prompt", &prompt);
    session_path(session, "answers", &answers);

    session->arena = kndl_arena_new(KNDL_ARENA_PLAIN);
    session->orders = orders_new();
    session->deltas = deltas_new(&(struct deltas_options){.loop = runner->loop,
                                                          .run = session->start->run,
                                                          .is_taken_back = session->is_adopted,
                                                          .on_send = session_send_deltas,
                                                          .data = session});
    session->reader = claude_reader_new(
        &(struct claude_links){match_prompt, match_turn, match_block, answered_by, session});
    session->prompts = prompts_new(&(struct prompts_options){.loop = runner->loop,
                                                             .disk = runner->disk,
                                                             .orders = session->orders,
                                                             .seal_pair = &runner->seal_pair,
                                                             .path = kndl_buf_text(&prompt),
                                                             .on_outcome = report_prompt,
                                                             .on_enter = press_enter,
                                                             .on_order = wake_relay,
                                                             .data = session});
    session->answers = answers_new(&(struct answers_options){.disk = runner->disk,
                                                             .seal_pair = &runner->seal_pair,
                                                             .directory = kndl_buf_text(&answers),
                                                             .on_done = session_report_command,
                                                             .on_answer = wake_relay,
                                                             .data = session});
    session->forward = forward_new(&(struct forward_options){.loop = runner->loop,
                                                             .hub = runner->hub,
                                                             .spool = session->spool,
                                                             .session_id = session->id,
                                                             .run = session->start->run,
                                                             .on_drained = drained,
                                                             .on_opened = stream_opened,
                                                             .on_waiting = session_output_waits,
                                                             .data = session});
    session_open_blocks(session);
    return 0;
}

void session_take_mod_token(struct session *session, const char *token)
{
    kndl_secret_done(&session->mod_token);
    kndl_secret_copy(&session->mod_token, kndl_slice_of(token));
    forward_set_token(session->forward, &session->mod_token);
    if (session->relay != NULL)
        relay_set_ready(session->relay, true);
}

/* ----------------------------------------------------------------------------- the relay */

static void on_hello(void *data, const struct claude_hello *hello)
{
    session_said_hello(data, hello);
}

static void on_result(void *data, const struct claude_result *result)
{
    struct session *session = data;

    orders_result(session->orders, result);
}

static void on_slowed(void *data)
{
    session_note(data, "output_slowed",
                 "More happens in this Session than its Runner takes at once: it comes late, and "
                 "nothing is missing.");
}

static int64_t fetch_order(void *data, int64_t after, struct kndl_buf *out, const char **ret_id)
{
    struct session *session = data;

    return orders_fetch(session->orders, after, out, ret_id);
}

static enum answer_state look_answer(void *data, const char *question_id, struct kndl_buf *out)
{
    struct session *session = data;

    return answers_look(session->answers, question_id, out);
}

int session_open_relay(struct session *session, struct kndl_error *err)
{
    struct relay_options options = {
        .loop = session->runner->loop,
        .session_id = session->id,
        .on_hello = on_hello,
        .on_batch = session_take_batch,
        .on_result = on_result,
        .on_slowed = on_slowed,
        .fetch_order = fetch_order,
        .look_answer = look_answer,
        .data = session,
    };

    if (sandbox_relay_socket(session->runner->sandboxes, session->sandbox, &options.listen_fd,
                             err) < 0 ||
        relay_open(&options, &session->relay, err) < 0)
        return -1;
    relay_set_token(session->relay, session->session_token_hash);
    relay_set_ready(session->relay, session->mod_token.data != NULL);
    return 0;
}

void session_window_closed(void *data)
{
    struct session *session = data;

    if (!session->has_window || session->phase == SESSION_STOPPING)
        return;
    session->has_window = false;
    if (session->was_running)
        session_end_run(session, KNDL__SESSIONS__V1__REPORT_ENDED_REQUEST__CAUSE__CAUSE_EXITED,
                        "claude_exited", "Claude Code ended by itself.");
    else
        session_end_run(session, KNDL__SESSIONS__V1__REPORT_ENDED_REQUEST__CAUSE__CAUSE_FAILED,
                        "claude_exited",
                        "Claude Code ended as it started; its last output says why. Retry once "
                        "that is put right.");
}

void session_tmux_gone(void *data, const struct kndl_error *why)
{
    struct session *session = data;

    kndl_log(KNDL_WARNING, "tmux is gone", KNDL_STR("session", session->id),
             KNDL_STR("why", why->message));
    if (session->phase == SESSION_STOPPING)
        session_end_without_screen(session);
    if (session->phase == SESSION_STOPPING || session->phase == SESSION_ENDED)
        return;
    session->has_window = false;
    session_end_run(session,
                    session->was_running
                        ? KNDL__SESSIONS__V1__REPORT_ENDED_REQUEST__CAUSE__CAUSE_EXITED
                        : KNDL__SESSIONS__V1__REPORT_ENDED_REQUEST__CAUSE__CAUSE_FAILED,
                    session->was_running ? "claude_exited" : "sandbox_failed", why->message);
}
