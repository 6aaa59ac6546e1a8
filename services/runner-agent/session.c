/* Sessions on this Runner: the list, what one consists of, and what it is asked. */

#include "session.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "disk.h"
#include "kndl/log.h"
#include "kndl/loop.h"
#include "kndl/mem.h"
#include "session_parts.h"

/* ------------------------------------------------------------------------------- its life */

struct session *session_find(struct runner *runner, const char *session_id)
{
    for (struct session *session = runner->sessions; session != NULL; session = session->next)
        if (!session->is_forgotten && strcmp(session->id, session_id) == 0)
            return session;
    return NULL;
}

void session_path(const struct session *session, const char *name, struct kndl_buf *out)
{
    kndl_buf_printf(out, "%s/%s", session->directory, name);
}

static struct session *new_session(struct runner *runner, const char *session_id)
{
    struct session *session = kndl_new0(struct session);
    struct kndl_buf directory = {0};

    session->runner = runner;
    memcpy(session->id, session_id, KNDL_ID_CHARS);
    sandbox_name(session_id, session->sandbox);
    kndl_buf_printf(&directory, "%s/sessions/%s", runner->home, session_id);
    session->directory = kndl_buf_take(&directory);
    session->next = runner->sessions;
    runner->sessions = session;
    return session;
}

static void free_session(struct session *session)
{
    struct session **at = &session->runner->sessions;

    while (*at != session)
        at = &(*at)->next;
    *at = session->next;
    if (session->start != NULL)
        kndl__runner__v1__start_run_request__free_unpacked(session->start, NULL);
    run_file_done(&session->ended_state);
    kndl_buf_done(&session->end.last_output);
    free(session->end.reason_code);
    free(session->end.reason);
    free(session->directory);
    free(session);
}

void session_enter(struct session *session)
{
    session->callbacks++;
}

bool session_leave(struct session *session)
{
    session->callbacks--;
    if (!session->is_forgotten)
        return true;
    if (session->callbacks == 0)
        free_session(session);
    return false;
}

static void drop_asks(struct session *session);

void session_forget(struct session *session)
{
    if (session->is_forgotten)
        return;
    session->is_forgotten = true;
    drop_asks(session);
    relay_close(kndl_steal(&session->relay));
    tmux_free(kndl_steal(&session->tmux));
    kndl_timer_free(kndl_steal(&session->timer));
    forward_free(kndl_steal(&session->forward));
    deltas_free(kndl_steal(&session->deltas));
    claude_reader_free(kndl_steal(&session->reader));
    prompts_free(kndl_steal(&session->prompts));
    answers_free(kndl_steal(&session->answers));
    orders_free(kndl_steal(&session->orders));
    spool_close(kndl_steal(&session->spool));
    kndl_arena_free(kndl_steal(&session->arena));
    kndl_secret_done(&session->mod_token);
    kndl_secret_done(&session->session_token);
    kndl_secret_done(&session->setup_token);
    if (session->callbacks == 0)
        free_session(session);
}

void session_free_all(struct runner *runner)
{
    while (runner->sessions != NULL) {
        struct session *session = runner->sessions;

        session->callbacks = 0; /* nobody calls back any more */
        if (session->is_forgotten)
            free_session(session);
        else
            session_forget(session);
    }
}

/* ------------------------------------------------------------------------- asking the Hub */

struct session_ask {
    struct session *session;
    struct hub_ask *ask;
    session_answer_fn fn;
    char note[64];
    size_t place;
};

static void answered(void *data, const struct kndl_error *err, const ProtobufCMessage *response)
{
    struct session_ask ask = *(struct session_ask *)data;

    free(data);
    ask.session->asks[ask.place] = NULL;
    if (ask.fn != NULL)
        ask.fn(ask.session, ask.note, err, response);
}

void session_ask(struct session *session, const struct hub_question *question, session_answer_fn fn,
                 const char *note)
{
    struct session_ask *ask;
    size_t place = 0;

    while (place < SESSION_ASKS_MAX && session->asks[place] != NULL)
        place++;
    if (place == SESSION_ASKS_MAX) {
        /* A Hub that is away for long: what counts is told again by Attend. */
        kndl_log(KNDL_WARNING, "too many reports wait", KNDL_STR("session", session->id),
                 KNDL_STR("method", question->method));
        return;
    }
    ask = kndl_new0(struct session_ask);
    ask->session = session;
    ask->fn = fn;
    ask->place = place;
    memcpy(ask->note, note, strnlen(note, sizeof ask->note - 1));
    session->asks[place] = ask;
    ask->ask = hub_ask(session->runner->hub, question, answered, ask);
}

static void drop_asks(struct session *session)
{
    for (size_t i = 0; i < SESSION_ASKS_MAX; i++) {
        struct session_ask *ask = kndl_steal(&session->asks[i]);

        if (ask == NULL)
            continue;
        hub_drop(ask->ask);
        free(ask);
    }
}

/* ------------------------------------------------------------------------ wiring its parts */

static const char *match_prompt(void *data, const char *text, bool was_typed)
{
    struct session *session = data;

    return prompts_match(session->prompts, text, was_typed);
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

static void report_command(void *data, const char *command_id, bool done, const char *reason)
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

static void drained(void *data)
{
    struct session *session = data;

    if (session->phase == SESSION_ENDED)
        session_report_ended(session);
}

int session_open_parts(struct session *session, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf spool = {0}, prompt = {0}, answers = {0};
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf prefix = {0};
    struct runner *runner = session->runner;

    kndl_buf_printf(&spool, "%s/spool-%lld", session->directory, (long long)session->start->run);
    struct spool_options spool_options = {
        .disk = runner->disk, .directory = kndl_buf_text(&spool), .bytes_most = SPOOL_BYTES_MAX};
    if (spool_open(&spool_options, &session->spool, err) < 0)
        return -1;
    session_path(session, "prompt", &prompt);
    session_path(session, "answers", &answers);
    kndl_buf_printf(&prefix, "%lld-%.6s", (long long)session->start->run, runner->instance_id);

    session->arena = kndl_arena_new(KNDL_ARENA_PLAIN);
    session->orders = orders_new();
    session->deltas = deltas_new(&(struct deltas_options){runner->loop, kndl_buf_text(&prefix),
                                                          session_send_deltas, session});
    session->reader =
        claude_reader_new(&(struct claude_links){match_prompt, match_block, answered_by, session});
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
                                                             .on_done = report_command,
                                                             .on_answer = wake_relay,
                                                             .data = session});
    session->forward = forward_new(&(struct forward_options){.loop = runner->loop,
                                                             .hub = runner->hub,
                                                             .spool = session->spool,
                                                             .session_id = session->id,
                                                             .run = session->start->run,
                                                             .on_drained = drained,
                                                             .data = session});
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
    if (session->phase == SESSION_STOPPING || session->phase == SESSION_ENDED)
        return;
    session->has_window = false;
    session_end_run(session,
                    session->was_running
                        ? KNDL__SESSIONS__V1__REPORT_ENDED_REQUEST__CAUSE__CAUSE_EXITED
                        : KNDL__SESSIONS__V1__REPORT_ENDED_REQUEST__CAUSE__CAUSE_FAILED,
                    session->was_running ? "claude_exited" : "sandbox_failed", why->message);
}

/* ------------------------------------------------------------------------- what it is asked */

void session_set_phase(struct session *session, enum session_phase phase)
{
    session->phase = phase;
    kndl_log(KNDL_INFO, "session phase", KNDL_STR("session", session->id),
             KNDL_I64("run", session->start->run), KNDL_I64("phase", phase));
}

/* A start that is being written down. */
struct taking {
    struct session *session;
    session_fn fn;
    void *data;
};

static void nobody_waits(void *data, const struct kndl_error *err, const ProtobufCMessage *response)
{
    (void)data;
    (void)err;
    (void)response;
}

/*
 * There is no room even to write down that a run begins. It is taken all the same, and told as
 * failed: refusing it would only have it commanded again and again.
 */
static void fail_without_room(struct runner *runner, const Kndl__Runner__V1__StartRunRequest *start)
{
    SV1(ReportEndedRequest) request = KNDL__SESSIONS__V1__REPORT_ENDED_REQUEST__INIT;
    struct hub_question question = {
        .service = &kndl__sessions__v1__sessions_runner_service__descriptor,
        .method = "ReportEnded",
        .request = &request.base,
        .repeat = true,
    };

    kndl_log(KNDL_ERROR, "no room for a run", KNDL_STR("session", start->session_id));
    request.session_id = start->session_id;
    request.run = start->run;
    request.cause = KNDL__SESSIONS__V1__REPORT_ENDED_REQUEST__CAUSE__CAUSE_FAILED;
    request.reason_code = (char *)"disk_full";
    request.reason =
        (char *)"The disk of this Session's Runner is full. Make room on it, then Retry.";
    request.conversation_exists = start->resume;
    (void)hub_ask(runner->hub, &question, nobody_waits, NULL);
}

static void start_is_kept(void *data, const struct kndl_error *err)
{
    struct taking taking = *(struct taking *)data;
    struct kndl_error done = *err;

    free(data);
    if (!session_leave(taking.session))
        return;
    if (err->code == KNDL_RESOURCE_EXHAUSTED) {
        fail_without_room(taking.session->runner, taking.session->start);
        done = (struct kndl_error){0};
    }
    taking.fn(taking.data, &done);
    if (err->code == KNDL_OK)
        session_begin(taking.session);
    else
        session_forget(taking.session);
}

static Kndl__Runner__V1__StartRunRequest *
copy_start(const Kndl__Runner__V1__StartRunRequest *request)
{
    size_t size = protobuf_c_message_get_packed_size(&request->base);
    KNDL_CLEANUP(kndl_free) uint8_t *bytes = kndl_alloc(1, size + 1);

    protobuf_c_message_pack(&request->base, bytes);
    return kndl__runner__v1__start_run_request__unpack(NULL, size, bytes);
}

static int make_directory(const struct session *session, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf all = {0};

    kndl_buf_printf(&all, "%s/sessions", session->runner->home);
    if ((mkdir(kndl_buf_text(&all), 0700) < 0 && errno != EEXIST) ||
        (mkdir(session->directory, 0700) < 0 && errno != EEXIST))
        return kndl_fail(err, errno == ENOSPC ? KNDL_RESOURCE_EXHAUSTED : KNDL_INTERNAL,
                         "cannot make %s: %s", session->directory, strerror(errno));
    return 0;
}

static int check_start(const struct session *known,
                       const Kndl__Runner__V1__StartRunRequest *request, struct kndl_error *err)
{
    if (!kndl_id_is_valid(request->session_id) || request->run < 1 ||
        !claude_is_uuid(request->claude_session_id))
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "session_id, run or claude_session_id is none");
    if (known == NULL || known->start->run == request->run)
        return 0;
    if (known->start->run > request->run || known->phase != SESSION_ENDED ||
        !forward_is_drained(known->forward))
        return kndl_fail(err, KNDL_ABORTED, "run %lld of that Session is here",
                         (long long)known->start->run);
    return 0;
}

void session_start(struct runner *runner, const Kndl__Runner__V1__StartRunRequest *request,
                   session_fn fn, void *data)
{
    struct session *session = session_find(runner, request->session_id);
    struct kndl_error err = {0};
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf path = {0};
    struct taking *taking;

    if (check_start(session, request, &err) < 0 ||
        (session != NULL && session->start->run == request->run)) {
        fn(data, &err);
        return;
    }
    /* The Hub has all of the run before, or it would not start another. */
    if (session != NULL)
        session_forget(session);
    session = new_session(runner, request->session_id);
    session->start = copy_start(request);
    if (make_directory(session, &err) < 0 || session_open_parts(session, &err) < 0) {
        session_forget(session);
        if (err.code == KNDL_RESOURCE_EXHAUSTED) {
            fail_without_room(runner, request);
            err = (struct kndl_error){0};
        }
        fn(data, &err);
        return;
    }
    taking = kndl_new0(struct taking);
    *taking = (struct taking){session, fn, data};
    session_path(session, "state", &path);
    session_enter(session);
    run_file_write(runner->disk, kndl_buf_text(&path),
                   &(struct run_file){.phase = RUN_STARTING, .start = session->start},
                   start_is_kept, taking);
}

static int check_run(const struct session *session, int64_t run, struct kndl_error *err)
{
    if (session->start->run != run)
        return kndl_fail(err, KNDL_ABORTED, "run %lld is here, not %lld",
                         (long long)session->start->run, (long long)run);
    return 0;
}

int session_stop(struct session *session, int64_t run, struct kndl_error *err)
{
    if (check_run(session, run, err) < 0)
        return -1;
    session_end_run(session, KNDL__SESSIONS__V1__REPORT_ENDED_REQUEST__CAUSE__CAUSE_COMMANDED, "",
                    "");
    return 0;
}

void session_stop_unwanted(struct session *session)
{
    session_end_run(session, KNDL__SESSIONS__V1__REPORT_ENDED_REQUEST__CAUSE__CAUSE_COMMANDED,
                    "unwanted", "");
}

/* The Runner checks whose commands they are, too. */
static int check_driving(const struct session *session, int64_t run, const char *creator_id,
                         struct kndl_error *err)
{
    if (check_run(session, run, err) < 0)
        return -1;
    if (strcmp(session->start->creator_id, creator_id) != 0)
        return kndl_fail(err, KNDL_PERMISSION_DENIED, "only the Creator may drive a Session");
    if (session->phase != SESSION_RUNNING)
        return kndl_fail(err, KNDL_ABORTED, "the Session's Claude Code is not running");
    return 0;
}

void session_hand_prompt(struct session *session,
                         const Kndl__Runner__V1__HandPromptRequest *request, session_fn fn,
                         void *data)
{
    struct kndl_error err = {0};

    if (check_driving(session, request->run, request->creator_id, &err) < 0)
        fn(data, &err);
    else
        prompts_hand(session->prompts, request, fn, data);
}

void session_give_answer(struct session *session,
                         const Kndl__Runner__V1__GiveAnswerRequest *request, session_fn fn,
                         void *data)
{
    struct kndl_error err = {0};

    if (check_driving(session, request->run, request->creator_id, &err) < 0)
        fn(data, &err);
    else
        answers_give(session->answers, request, fn, data);
}

static void turn_stopped(void *data, const char *command_id, const struct claude_result *result)
{
    report_command(data, command_id, result->outcome == CLAUDE_DONE, result->reason);
}

int session_stop_turn(struct session *session, const Kndl__Runner__V1__StopTurnRequest *request,
                      struct kndl_error *err)
{
    if (check_driving(session, request->run, request->creator_id, err) < 0)
        return -1;
    orders_add(session->orders, &(struct order){.id = request->command_id,
                                                .op = ORDER_STOP,
                                                .turn_id = request->turn_id,
                                                .fn = turn_stopped,
                                                .data = session});
    relay_wake(session->relay);
    return 0;
}

/* ---------------------------------------------------------------------------------- purging */

struct purging {
    struct runner *runner;
    char *directory;
    session_fn fn;
    void *data;
};

static void directory_removed(void *data, const struct sandbox_answer *answer)
{
    struct purging *purging = data;

    purging->fn(purging->data, &answer->err);
    free(purging->directory);
    free(purging);
}

static void sandbox_removed(void *data, const struct sandbox_answer *answer)
{
    struct purging *purging = data;

    if (answer->err.code != KNDL_OK && answer->err.code != KNDL_NOT_FOUND) {
        directory_removed(data, answer);
        return;
    }
    workspace_remove(purging->runner->sandboxes, purging->directory, directory_removed, purging);
}

void session_purge(struct runner *runner, const char *session_id, session_fn fn, void *data)
{
    struct session *session = session_find(runner, session_id);
    char name[SANDBOX_NAME_CHARS_MAX + 1];
    struct kndl_buf directory = {0};
    struct kndl_error err = {0};
    struct purging *purging;

    if (!kndl_id_is_valid(session_id)) {
        kndl_fail(&err, KNDL_INVALID_ARGUMENT, "session_id is no id");
        fn(data, &err);
        return;
    }
    if (session != NULL && session->phase != SESSION_ENDED) {
        kndl_fail(&err, KNDL_ABORTED, "the Session runs");
        fn(data, &err);
        return;
    }
    if (session != NULL)
        session_forget(session);
    kndl_buf_printf(&directory, "%s/sessions/%s", runner->home, session_id);
    purging = kndl_new0(struct purging);
    *purging = (struct purging){runner, kndl_buf_take(&directory), fn, data};
    sandbox_name(session_id, name);
    sandbox_remove(runner->sandboxes, name, sandbox_removed, purging);
}

/* ---------------------------------------------------------------------------------- listing */

size_t session_list(struct runner *runner, SV1(AttendRequest__Run) * **ret_runs)
{
    size_t count = 0, i = 0;

    for (struct session *session = runner->sessions; session != NULL; session = session->next)
        count++;
    *ret_runs = kndl_alloc(count + 1, sizeof **ret_runs);
    for (struct session *session = runner->sessions; session != NULL; session = session->next) {
        static const SV1(AttendRequest__Phase) phases[] = {
            [SESSION_STARTING] = KNDL__SESSIONS__V1__ATTEND_REQUEST__PHASE__PHASE_STARTING,
            [SESSION_RUNNING] = KNDL__SESSIONS__V1__ATTEND_REQUEST__PHASE__PHASE_RUNNING,
            [SESSION_STOPPING] = KNDL__SESSIONS__V1__ATTEND_REQUEST__PHASE__PHASE_STOPPING,
            [SESSION_ENDED] = KNDL__SESSIONS__V1__ATTEND_REQUEST__PHASE__PHASE_ENDED,
        };
        SV1(AttendRequest__Run) * run;

        if (session->is_forgotten || session->start == NULL)
            continue;
        run = kndl_new0(SV1(AttendRequest__Run));
        kndl__sessions__v1__attend_request__run__init(run);
        run->session_id = session->id;
        run->run = session->start->run;
        run->phase = phases[session->phase];
        /* One that is being taken back runs, as far as anybody knows. */
        if (session->is_adopted && session->was_running && session->phase == SESSION_STARTING)
            run->phase = phases[SESSION_RUNNING];
        run->last_n = spool_last_n(session->spool);
        (*ret_runs)[i++] = run;
    }
    return i;
}

/* --------------------------------------------------------------------------------- adopting */

static void adopt(struct runner *runner, const char *session_id)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf path = {0};
    struct session *session = new_session(runner, session_id);
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

void session_adopt_all(struct runner *runner)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf path = {0};
    const struct dirent *entry;
    DIR *folder;

    kndl_buf_printf(&path, "%s/sessions", runner->home);
    folder = opendir(kndl_buf_text(&path));
    while (folder != NULL && (entry = readdir(folder)) != NULL)
        if (kndl_id_is_valid(entry->d_name))
            adopt(runner, entry->d_name);
    if (folder != NULL)
        closedir(folder);
}
