/*
 * A start, step by step: clone, image, sandbox, relay, tmux, claude, hello. Each step is told to
 * sessions with its time, and one that fails ends the run with a reason that people can act on
 * (docs/failures.md). An adopted run takes the short way: its Claude Code may still be there.
 */

#include "session_parts.h"

#include <errno.h>
#include <fcntl.h>
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
#include "kndl/secrets/v1/secrets_service.pb-c.h"
#include "mod_copy.h"

#define XV1(name) Kndl__Secrets__V1__##name
#define FAILED KNDL__SESSIONS__V1__REPORT_ENDED_REQUEST__CAUSE__CAUSE_FAILED

enum { STEP_MS_MAX = 60 * 1000, PIDS_MOST = 1024, DEFAULT_MEMORY_MIB = 2048 };

/* ------------------------------------------------------------------------------ telling steps */

static void tell_steps(struct session *session);

static void step_told(struct session *session, const char *note, const struct kndl_error *err,
                      const ProtobufCMessage *response)
{
    (void)note;
    (void)err; /* a step that was not heard of is no reason to fail a start */
    (void)response;
    session->is_telling_steps = false;
    tell_steps(session);
}

static void tell_steps(struct session *session)
{
    SV1(ReportStepRequest) request = KNDL__SESSIONS__V1__REPORT_STEP_REQUEST__INIT;
    SV1(StartStep) step = KNDL__SESSIONS__V1__START_STEP__INIT;
    struct hub_question question = {
        .service = &kndl__sessions__v1__sessions_runner_service__descriptor,
        .method = "ReportStep",
        .request = &request.base,
    };

    if (session->is_telling_steps || session->step_reports_told == session->step_report_count)
        return;
    step.name = (char *)session->step_reports[session->step_reports_told].name;
    step.took_ms = session->step_reports[session->step_reports_told].took_ms;
    session->step_reports_told++;
    session->is_telling_steps = true;
    request.session_id = session->id;
    request.run = session->start->run;
    request.step = &step;
    session_ask(session, &question, step_told, "");
}

static void report_step(struct session *session, int64_t took_ms)
{
    if (session->step_report_count == STEP_REPORTS_MAX)
        return;
    session->step_reports[session->step_report_count].name = session->step;
    session->step_reports[session->step_report_count++].took_ms = took_ms;
    tell_steps(session);
}

static void end_step(struct session *session)
{
    int64_t took_us = kndl_clock_us() - session->step_began_us;

    if (session->step == NULL)
        return;
    kndl_log(KNDL_INFO, "start step", KNDL_STR("session", session->id),
             KNDL_I64("run", session->start->run), KNDL_STR("step", session->step),
             KNDL_I64("took_us", took_us));
    report_step(session, took_us / 1000);
    session->step = NULL;
}

static void begin_step(struct session *session, const char *name)
{
    end_step(session);
    session->step = name;
    session->step_began_us = kndl_clock_us();
    report_step(session, -1);
}

static void fail_start(struct session *session, const char *reason_code, const char *reason)
{
    session_end_run(session, FAILED, reason_code, reason);
}

/* Is the start still wanted? What came for one that is not is dropped. */
static bool goes_on(struct session *session)
{
    return session_leave(session) && session->phase == SESSION_STARTING;
}

/* A Sandbox's word for what went wrong, as one of ours with what to do about it. */
static void fail_by_answer(struct session *session, const struct sandbox_answer *answer,
                           const char *fallback)
{
    static const struct {
        const char *word;
        const char *code;
        const char *reason;
    } known[] = {
        {"no_space", "disk_full",
         "The disk of this Session's Runner is full. Make room on it, then Retry."},
        {"no_image", "image_missing",
         "This Runner has no image to start Sandboxes from (RUNNER_DEFAULT_IMAGE). Set it, then "
         "Retry."},
        {"repo_clone_failed", "repo_clone_failed",
         "The Repo could not be cloned. See that it exists and that its host answers, then Retry."},
        {"repo_denied", "repo_clone_failed",
         "The Repo's host refused the clone. See that kndl may read the Repo, then Retry."},
        {"download_failed", "claude_download_failed",
         "Claude Code could not be downloaded to the Runner. See that it reaches the npm registry, "
         "then Retry."},
        {"wrong_hash", "claude_download_failed",
         "What was downloaded as Claude Code is not what it should be; it was thrown away. Retry, "
         "and tell whoever runs the registry if it happens again."},
    };

    kndl_log(KNDL_WARNING, "a step failed", KNDL_STR("session", session->id),
             KNDL_STR("step", session->step), KNDL_STR("reason", answer->reason),
             KNDL_STR("why", answer->err.message));
    kndl_buf_append_text(&session->end.last_output, answer->err.message);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].word, answer->reason) == 0) {
            fail_start(session, known[i].code, known[i].reason);
            return;
        }
    if (answer->err.code == KNDL_RESOURCE_EXHAUSTED)
        fail_start(session, known[0].code, known[0].reason);
    else if (strcmp(fallback, "repo_clone_failed") == 0)
        fail_start(session, known[2].code, known[2].reason);
    else
        fail_start(session, fallback,
                   "The Sandbox could not be started; the log of the Runner says more. Retry.");
}

/* -------------------------------------------------------------------------------------- hello */

void session_report_running(struct session *session, const char *claude_session_id)
{
    SV1(ReportRunningRequest) request = KNDL__SESSIONS__V1__REPORT_RUNNING_REQUEST__INIT;
    struct hub_question question = {
        .service = &kndl__sessions__v1__sessions_runner_service__descriptor,
        .method = "ReportRunning",
        .request = &request.base,
        .repeat = true,
    };

    request.session_id = session->id;
    request.run = session->start->run;
    request.claude_session_id = (char *)claude_session_id;
    request.resumed = session->is_resumed;
    session_ask(session, &question, NULL, "");
}

void session_said_hello(struct session *session, const struct claude_hello *hello)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf path = {0};

    if (session->phase == SESSION_STOPPING || session->phase == SESSION_ENDED)
        return;
    if (session->phase == SESSION_STARTING) {
        end_step(session);
        kndl_timer_stop(session->timer);
        session->was_running = true;
        session_set_phase(session, SESSION_RUNNING);
        session_path(session, "state", &path);
        run_file_write(session->runner->disk, kndl_buf_text(&path),
                       &(struct run_file){.phase = RUN_RUNNING, .start = session->start}, NULL,
                       NULL);
    }
    session_report_running(session, hello->claude_session_id);
}

static void no_hello(void *data)
{
    fail_start(data, "mod_missing",
               "Claude Code started, but kndl's mod in it did not answer. An organization's policy "
               "can turn mods off; see Claude Code's last output. Retry.");
}

/* ------------------------------------------------------------------------------------- claude */

static void await_hello(struct session *session)
{
    begin_step(session, "hello");
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
        fail_start(session, "sandbox_failed", "tmux could not open Claude Code's window. Retry.");
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
    };
}

static void environment_written(void *data, const struct sandbox_exit *end)
{
    struct session *session = data;
    struct claude_start start;
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf command = {0};
    struct kndl_error err;

    if (!goes_on(session))
        return;
    if (end->err.code != KNDL_OK || end->code != 0) {
        kndl_log(KNDL_WARNING, "the environment was not taken", KNDL_STR("session", session->id),
                 KNDL_STR("why", end->err.message));
        fail_start(session, "sandbox_failed", "The Sandbox does not run commands. Retry.");
        return;
    }
    start = claude_start_of(session);
    if (claude_command(&start, &command, &err) < 0)
        fail_start(session, "claude_exited", err.message);
    else
        open_window(session, kndl_buf_text(&command));
}

static void write_environment(struct session *session)
{
    static const char *const argv[] = {CLAUDE_LAUNCHER, "--take-env", NULL};
    struct claude_start start = claude_start_of(session);
    struct kndl_buf environment = {0};
    struct sandbox_command command = {.argv = argv, .deadline_ms = STEP_MS_MAX};

    begin_step(session, "claude");
    claude_environment(&start, &environment);
    command.input = kndl_buf_slice(&environment);
    session_enter(session);
    sandbox_exec(session->runner->sandboxes, session->sandbox, &command, NULL, environment_written,
                 session);
    explicit_bzero(environment.data, environment.capacity);
    kndl_buf_done(&environment);
}

/* --------------------------------------------------------------------------------------- tmux */

static void tmux_ready(void *data)
{
    struct session *session = data;

    if (session->phase == SESSION_STARTING)
        write_environment(session);
}

static void open_tmux(struct session *session)
{
    begin_step(session, "tmux");
    session->tmux = tmux_open(&(struct tmux_options){.loop = session->runner->loop,
                                                     .sandboxes = session->runner->sandboxes,
                                                     .sandbox = session->sandbox,
                                                     .start_server = true,
                                                     .on_ready = tmux_ready,
                                                     .on_gone = session_tmux_gone,
                                                     .on_window_closed = session_window_closed,
                                                     .data = session});
}

/* ------------------------------------------------------------------------------------ sandbox */

static void sandbox_started(void *data, const struct sandbox_answer *answer)
{
    struct session *session = data;
    struct kndl_error err;

    if (!goes_on(session))
        return;
    if (answer->err.code != KNDL_OK) {
        fail_by_answer(session, answer, "sandbox_failed");
        return;
    }
    begin_step(session, "relay");
    if (session_open_relay(session, &err) < 0) {
        kndl_log(KNDL_WARNING, "the relay does not listen", KNDL_STR("session", session->id),
                 KNDL_STR("why", err.message));
        fail_start(session, "sandbox_failed", "The relay in the Sandbox does not listen. Retry.");
        return;
    }
    open_tmux(session);
}

static void mod_copied(void *data, const struct kndl_error *err)
{
    struct session *session = data;

    if (!goes_on(session))
        return;
    if (err->code != KNDL_OK) {
        fail_by_answer(session, &(struct sandbox_answer){.err = *err, .reason = ""}, "mod_missing");
        return;
    }
    session_enter(session);
    sandbox_start(session->runner->sandboxes, session->sandbox, sandbox_started, session);
}

static void copy_mod(struct session *session)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf to = {0};

    kndl_buf_printf(&to, "%s/mod/%s", session->directory, session->mod_copy);
    session_enter(session);
    mod_copy(session->runner->disk, session->runner->mod_dir, kndl_buf_text(&to), mod_copied,
             session);
}

static struct guest_place config_place(const struct session *session, struct kndl_buf *path)
{
    session_path(session, "config", path);
    return (struct guest_place){session->sandbox, kndl_buf_text(path)};
}

static void settings_written(void *data, const struct sandbox_answer *answer)
{
    struct session *session = data;

    if (!goes_on(session))
        return;
    if (answer->err.code != KNDL_OK)
        fail_by_answer(session, answer, "sandbox_failed");
    else
        copy_mod(session);
}

static void write_merged(struct session *session, const char *name, struct kndl_slice existing,
                         void (*merge)(struct kndl_slice, struct kndl_buf *), sandbox_fn fn)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf merged = {0}, path = {0};
    struct guest_place place = config_place(session, &path);

    merge(existing, &merged);
    session_enter(session);
    guest_file_write(session->runner->sandboxes, &place, name, kndl_buf_slice(&merged), 0600, fn,
                     session);
}

/* A file that is not there, or none that may be read, is one without keys. */
static void settings_read(void *data, const struct sandbox_answer *answer, struct kndl_slice bytes,
                          uint64_t size)
{
    struct session *session = data;
    bool is_whole = answer->err.code == KNDL_OK && bytes.size == size;

    if (goes_on(session))
        write_merged(session, "settings.json", is_whole ? bytes : (struct kndl_slice){0},
                     claude_merge_settings, settings_written);
}

static void read_config(struct session *session, const char *name, size_t most, guest_read_fn fn)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf path = {0};
    struct guest_place place = config_place(session, &path);

    session_enter(session);
    guest_file_read(session->runner->sandboxes, &place, name, 0, most, fn, session);
}

static void config_written(void *data, const struct sandbox_answer *answer)
{
    struct session *session = data;

    if (!goes_on(session))
        return;
    if (answer->err.code != KNDL_OK)
        fail_by_answer(session, answer, "sandbox_failed");
    else
        read_config(session, "settings.json", CLAUDE_CONFIG_BYTES_MAX, settings_read);
}

static void config_read(void *data, const struct sandbox_answer *answer, struct kndl_slice bytes,
                        uint64_t size)
{
    struct session *session = data;
    bool is_whole = answer->err.code == KNDL_OK && bytes.size == size;

    if (goes_on(session))
        write_merged(session, ".claude.json", is_whole ? bytes : (struct kndl_slice){0},
                     claude_merge_config, config_written);
}

/* --resume exits where there is no transcript; a start without one is a fresh conversation with
 * the same id (LI-05). */
static void transcript_looked(void *data, const struct sandbox_answer *answer,
                              struct kndl_slice bytes, uint64_t size)
{
    struct session *session = data;

    (void)bytes;
    if (!goes_on(session))
        return;
    session->is_resumed = answer->err.code == KNDL_OK && size > 0;
    if (session->start->resume && !session->is_resumed)
        session_note(session, "conversation_lost",
                     "Claude Code starts a fresh conversation here: the earlier one was never "
                     "written down, so Claude does not remember it. The Workspace is as it was.");
    read_config(session, ".claude.json", CLAUDE_CONFIG_BYTES_MAX, config_read);
}

static void sandbox_created(void *data, const struct sandbox_answer *answer)
{
    struct session *session = data;
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf path = {0};

    if (!goes_on(session))
        return;
    if (answer->err.code != KNDL_OK) {
        fail_by_answer(session, answer, "sandbox_failed");
        return;
    }
    claude_transcript_path(session->start->claude_session_id, &path);
    read_config(session, kndl_buf_text(&path), 1, transcript_looked);
}

static uint32_t within(int32_t wanted, int32_t most, int32_t usual)
{
    int32_t value = wanted > 0 ? wanted : usual;

    return (uint32_t)(most > 0 && value > most ? most : value);
}

static void create_sandbox(struct session *session)
{
    const struct runner *runner = session->runner;
    KNDL_CLEANUP(kndl_buf_done)
    struct kndl_buf workspace = {0}, config = {0}, claude = {0}, mod = {0};
    struct sandbox_mount mounts[] = {
        {.kind = SANDBOX_BIND_OWNED, .target = "/workspace"},
        {.kind = SANDBOX_BIND_OWNED, .target = CLAUDE_CONFIG_DIR},
        {.kind = SANDBOX_BIND_READ_ONLY, .target = CLAUDE_BINARY_DIR},
        {.kind = SANDBOX_BIND_READ_ONLY, .target = CLAUDE_MOD_DIR},
        {.kind = SANDBOX_BIND_READ_ONLY, .target = CLAUDE_LAUNCHER, .source = runner->launcher},
    };
    struct sandbox_spec spec = {
        .cpu_percent = 100 * within(session->start->cpus, runner->max_cpus,
                                    runner->max_cpus > 0 ? runner->max_cpus : 2),
        .memory_mib =
            within(session->start->memory_mib, runner->max_memory_mib, DEFAULT_MEMORY_MIB),
        .pids = PIDS_MOST,
        .relay_port = (uint16_t)runner->relay_port,
        .mounts = mounts,
        .mount_count = sizeof mounts / sizeof mounts[0],
    };

    begin_step(session, "sandbox");
    kndl_id_new(session->mod_copy);
    session_path(session, "workspace", &workspace);
    session_path(session, "config", &config);
    session_path(session, "mod", &mod);
    kndl_buf_printf(&claude, "%s/claude-code/" CLAUDE_CODE_VERSION "-glibc", runner->home);
    if ((mkdir(kndl_buf_text(&config), 0700) < 0 && errno != EEXIST) ||
        (mkdir(kndl_buf_text(&mod), 0755) < 0 && errno != EEXIST)) {
        struct sandbox_answer answer = {.reason = errno == ENOSPC ? "no_space" : ""};

        kndl_fail(&answer.err, KNDL_INTERNAL, "mkdir: %s", strerror(errno));
        fail_by_answer(session, &answer, "sandbox_failed");
        return;
    }
    mounts[0].source = kndl_buf_text(&workspace);
    mounts[1].source = kndl_buf_text(&config);
    mounts[2].source = kndl_buf_text(&claude);
    mounts[3].source = kndl_buf_text(&mod);
    session_enter(session);
    sandbox_create(runner->sandboxes, session->sandbox, &spec, sandbox_created, session);
}

/* ------------------------------------------------------------------------------------- tokens */

static void setup_token_fetched(struct session *session, const char *note,
                                const struct kndl_error *err, const ProtobufCMessage *response)
{
    const XV1(FetchSetupTokenResponse) *fetched = (const void *)response;

    (void)note;
    if (session->phase != SESSION_STARTING)
        return;
    if (response == NULL) {
        /* The message of a missing one is made for people (CR-01). */
        if (err->code == KNDL_ABORTED)
            fail_start(session, "no_setup_token", err->message);
        else
            fail_start(session, "setup_token_unavailable",
                       "The Creator's setup token could not be fetched from the Hub. Retry.");
        return;
    }
    kndl_secret_copy(&session->setup_token, kndl_slice_of(fetched->token));
    forward_set_mask_version(session->forward, fetched->mask_version);
    create_sandbox(session);
}

static void fetch_setup_token(struct session *session)
{
    XV1(FetchSetupTokenRequest) request = KNDL__SECRETS__V1__FETCH_SETUP_TOKEN_REQUEST__INIT;
    struct hub_question question = {
        .service = &kndl__secrets__v1__secrets_runner_service__descriptor,
        .method = "FetchSetupToken",
        .request = &request.base,
        .repeat = true,
    };

    request.session_id = session->id;
    request.run = session->start->run;
    session_ask(session, &question, setup_token_fetched, "");
}

static void session_token_put(struct session *session, const char *note,
                              const struct kndl_error *err, const ProtobufCMessage *response)
{
    const XV1(PutSessionTokenResponse) *put = (const void *)response;

    (void)note;
    if (session->phase != SESSION_STARTING)
        return;
    if (response == NULL) {
        fail_start(session, "hub_refused", err->message);
        return;
    }
    forward_set_mask_version(session->forward, put->mask_version);
    fetch_setup_token(session);
}

/* 256 random bits, of this run alone (RE-02). Masked before anybody else knows it. */
static void make_session_token(struct session *session)
{
    XV1(PutSessionTokenRequest) request = KNDL__SECRETS__V1__PUT_SESSION_TOKEN_REQUEST__INIT;
    struct hub_question question = {
        .service = &kndl__secrets__v1__secrets_runner_service__descriptor,
        .method = "PutSessionToken",
        .request = &request.base,
        .repeat = true,
    };

    kndl_token_new(KNDL_TOKEN_SES, &session->session_token);
    kndl_hash(kndl_slice(session->session_token.data, session->session_token.size),
              session->session_token_hash);
    request.session_id = session->id;
    request.run = session->start->run;
    request.token = (char *)session->session_token.data;
    session_ask(session, &question, session_token_put, "");
}

static void mod_token_issued(struct session *session, const char *note,
                             const struct kndl_error *err, const ProtobufCMessage *response)
{
    const SV1(IssueModTokenResponse) *issued = (const void *)response;

    (void)note;
    if (session->phase != SESSION_STARTING)
        return;
    if (response == NULL) {
        fail_start(session, "hub_refused", err->message);
        return;
    }
    session_take_mod_token(session, issued->token);
    make_session_token(session);
}

static void ask_mod_token(struct session *session, session_answer_fn fn)
{
    SV1(IssueModTokenRequest) request = KNDL__SESSIONS__V1__ISSUE_MOD_TOKEN_REQUEST__INIT;
    struct hub_question question = {
        .service = &kndl__sessions__v1__sessions_runner_service__descriptor,
        .method = "IssueModToken",
        .request = &request.base,
        .repeat = true,
    };

    request.session_id = session->id;
    request.run = session->start->run;
    session_ask(session, &question, fn, "");
}

static void late_token_issued(struct session *session, const char *note,
                              const struct kndl_error *err, const ProtobufCMessage *response)
{
    const SV1(IssueModTokenResponse) *issued = (const void *)response;

    (void)note;
    if (response != NULL)
        session_take_mod_token(session, issued->token);
    else
        kndl_log(KNDL_WARNING, "no mod token for what is left", KNDL_STR("session", session->id),
                 KNDL_STR("why", err->message));
}

void session_ask_mod_token(struct session *session)
{
    if (!forward_is_drained(session->forward))
        ask_mod_token(session, late_token_issued);
}

/* -------------------------------------------------------------------------------------- image */

static void image_ready(void *data, const struct sandbox_answer *answer)
{
    struct session *session = data;

    if (!goes_on(session))
        return;
    if (answer->err.code != KNDL_OK)
        fail_by_answer(session, answer, "claude_download_failed");
    else
        ask_mod_token(session, mod_token_issued);
}

static void ready_image(struct session *session)
{
    begin_step(session, "image");
    session_enter(session);
    claude_code_ensure(session->runner->sandboxes, NULL, image_ready, session);
}

/* -------------------------------------------------------------------------------------- clone */

static void clone_is_kept(void *data, const struct kndl_error *err)
{
    struct session *session = data;

    if (!goes_on(session))
        return;
    if (err->code != KNDL_OK)
        fail_by_answer(session, &(struct sandbox_answer){.err = *err, .reason = ""},
                       "sandbox_failed");
    else
        ready_image(session);
}

static void cloned(void *data, const struct sandbox_answer *answer)
{
    struct session *session = data;
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf path = {0};

    if (!goes_on(session))
        return;
    if (answer->err.code != KNDL_OK) {
        fail_by_answer(session, answer, "repo_clone_failed");
        return;
    }
    session_path(session, "cloned", &path);
    session_enter(session);
    disk_write_file(session->runner->disk, kndl_buf_text(&path), "1\n", 2, clone_is_kept, session);
}

static void start_clone(struct session *session, const char *url, struct kndl_slice token,
                        bool host_git)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf directory = {0};
    struct workspace_clone clone = {
        .sandbox = session->sandbox,
        .url = url,
        .base = "",
        .branch = "",
        .author_name = session->start->creator_name,
        .author_email = session->start->creator_email,
        .token = token,
        .host_git = host_git,
    };

    session_path(session, "workspace", &directory);
    clone.directory = kndl_buf_text(&directory);
    session_enter(session);
    workspace_clone(session->runner->sandboxes, &clone, NULL, cloned, session);
}

static void git_token_minted(struct session *session, const char *note,
                             const struct kndl_error *err, const ProtobufCMessage *response)
{
    const SV1(MintGitTokenResponse) *minted = (const void *)response;
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf url = {0};

    (void)note;
    if (session->phase != SESSION_STARTING)
        return;
    if (response != NULL) {
        forward_set_mask_version(session->forward, minted->mask_version);
        start_clone(session, minted->clone_url, kndl_slice_of(minted->token), false);
    } else if (err->code == KNDL_FAILED_PRECONDITION) {
        /* Without an App: the host's own git and its own credentials (GI-06). */
        kndl_buf_printf(&url, "https://github.com/%s.git", session->start->repo_name);
        start_clone(session, kndl_buf_text(&url), (struct kndl_slice){0}, true);
    } else {
        kndl_buf_append_text(&session->end.last_output, err->message);
        fail_start(session, "repo_clone_failed",
                   "kndl could not get a token to clone the Repo with. See that it may still use "
                   "the Repo, then Retry.");
    }
}

static void clone_repo(struct session *session)
{
    SV1(MintGitTokenRequest) request = KNDL__SESSIONS__V1__MINT_GIT_TOKEN_REQUEST__INIT;
    struct hub_question question = {
        .service = &kndl__sessions__v1__sessions_runner_service__descriptor,
        .method = "MintGitToken",
        .request = &request.base,
        .timeout_ms = 20000,
    };

    begin_step(session, "clone");
    request.session_id = session->id;
    request.use = KNDL__SESSIONS__V1__MINT_GIT_TOKEN_REQUEST__USE__USE_CLONE;
    session_ask(session, &question, git_token_minted, "");
}

/* ------------------------------------------------------------------------------------ adopting */

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
    kndl_log(KNDL_INFO, "a run was taken back", KNDL_STR("session", session->id));
}

/* The Session token is read back from Claude Code and counts for this Session alone (RE-02). */
static void environment_read(void *data, const struct sandbox_exit *end)
{
    struct session *session = data;
    struct kndl_slice token;
    struct kndl_error err;

    if (!goes_on(session))
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
    ask_mod_token(session, adopted);
}

static void window_found(void *data, bool ok, struct kndl_slice text)
{
    static const char *const argv[] = {CLAUDE_LAUNCHER, "--environ", NULL};
    struct session *session = data;
    struct sandbox_command command = {
        .argv = argv, .deadline_ms = 10000, .output_most = 1024 * 1024};

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
    sandbox_exec(session->runner->sandboxes, session->sandbox, &command, NULL, environment_read,
                 session);
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

static void adopt(struct session *session)
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

void session_begin(struct session *session)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf marker = {0};

    session_set_phase(session, SESSION_STARTING);
    if (session->is_adopted) {
        adopt(session);
        return;
    }
    session_path(session, "cloned", &marker);
    if (access(kndl_buf_text(&marker), F_OK) == 0)
        ready_image(session);
    else
        clone_repo(session);
}
