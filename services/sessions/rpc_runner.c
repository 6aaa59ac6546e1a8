/* SessionsRunnerService: what Runners tell. call->runner_id is who asks, as the subject proved. */

#include <string.h>

#include "dispatch.h"
#include "handlers.h"
#include "kndl/log.h"
#include "kndl/mem.h"
#include "kndl/rpc.h"
#include "kndl/seal.h"
#include "kndl/sessions/v1/sessions_runner_service.pb-c.h"
#include "kndl/token.h"
#include "live.h"
#include "peers.h"
#include "present.h"
#include "protocol.h"
#include "rpc.h"
#include "store.h"

#define V1(name) Kndl__Sessions__V1__##name

enum {
    RUNS_MAX = 1000,
    NAME_BYTES_MAX = 64,
    HOST_BYTES_MAX = 255,
    REASON_BYTES_MAX = 1024,
    LAST_OUTPUT_BYTES_MAX = 16 * 1024,
};

static int done(struct kndl_call *call, const struct changes *changes)
{
    struct sessions *sessions = call->state;

    live_publish(sessions->bus, call->arena, changes, 0);
    call->wake = &dispatch_task;
    return 0;
}

static struct run_of run_of(const struct kndl_call *call, const char *session_id, int64_t run)
{
    return (struct run_of){call->runner_id, session_id, run};
}

/* The front (or the end) of a text that fits, at a character's edge. Masked before: what is left of
 * a value that was cut would not be found. */
static const char *cut(struct kndl_call *call, const char *text, size_t most, bool is_end)
{
    size_t size = strlen(text);

    if (size <= most)
        return text;
    if (is_end) {
        text += size - most;
        while (((unsigned char)*text & 0xc0) == 0x80)
            text++;
        return text;
    }
    while (((unsigned char)text[most] & 0xc0) == 0x80)
        most--;
    char *copy = kndl_arena_alloc(call->arena, most + 1);
    memcpy(copy, text, most);
    return copy;
}

/* ---- presence ---- */

static int check_attend(struct kndl_call *call, const V1(AttendRequest) *req)
{
    const struct spoken spoken = {req->protocol, req->version, req->update_note};

    if (!is_graphic(req->version, NAME_BYTES_MAX))
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT,
                         "the version is too long or no printable ASCII");
    if (protocol_check(call, call->runner_id, &spoken) < 0)
        return -1;
    if (req->seal_key.len != KNDL_SEAL_PUBLIC_BYTES)
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT, "seal_key has %zu bytes, not %d",
                         req->seal_key.len, KNDL_SEAL_PUBLIC_BYTES);
    if (req->n_runs > RUNS_MAX || !is_graphic(req->hostname, HOST_BYTES_MAX) ||
        !is_graphic(req->backend, NAME_BYTES_MAX) || !is_graphic(req->instance_id, NAME_BYTES_MAX))
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT,
                         "a name in the report is too long or no printable ASCII");
    return 0;
}

static int attend(struct kndl_call *call, const V1(AttendRequest) *req, V1(AttendResponse) *resp)
{
    struct sessions *sessions = call->state;
    struct changes changes = {0};
    struct attendance attendance = {
        .runner_id = call->runner_id,
        .instance_id = req->instance_id,
        .hostname = req->hostname,
        .version = req->version,
        .backend = req->backend,
        .update_note = req->update_note,
        .seal_key = kndl_slice(req->seal_key.data, req->seal_key.len),
        .count = req->n_runs,
        .runs = kndl_arena_alloc(call->arena, (req->n_runs + 1) * sizeof *attendance.runs),
    };

    if (check_attend(call, req) < 0)
        return -1;
    for (size_t i = 0; i < req->n_runs; i++)
        attendance.runs[i] = (struct attended){
            .session_id = req->runs[i]->session_id,
            .run = req->runs[i]->run,
            .phase = (enum run_phase)req->runs[i]->phase,
            .last_n = req->runs[i]->last_n,
        };
    if (store_attend(sessions->store, call->arena, &attendance, &resp->now_ms,
                     (const char ***)&resp->stop_session_ids, &resp->n_stop_session_ids, &changes,
                     &call->err) < 0)
        return -1;
    return done(call, &changes);
}

/* ---- runs ---- */

/* A word for programs. */
static bool is_code(const char *text)
{
    return strlen(text) <= NAME_BYTES_MAX &&
           text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0';
}

static int report_step(struct kndl_call *call, const V1(ReportStepRequest) *req,
                       V1(ReportStepResponse) *resp)
{
    struct sessions *sessions = call->state;
    const struct run_of run = run_of(call, req->session_id, req->run);
    struct changes changes = {0};

    (void)resp;
    if (req->step == NULL || req->step->name[0] == '\0' || strlen(req->step->name) > NAME_BYTES_MAX)
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT, "the step has no name of 1 to %d bytes",
                         NAME_BYTES_MAX);
    if (store_report_step(sessions->store, call->arena, &run, req->step->name, req->step->took_ms,
                          &changes, &call->err) < 0)
        return -1;
    kndl_log(KNDL_INFO, "step of a start", KNDL_STR("session", req->session_id),
             KNDL_I64("run", req->run), KNDL_STR("step", req->step->name),
             KNDL_I64("took_ms", req->step->took_ms));
    return done(call, &changes);
}

static bool is_uuid(const char *text)
{
    return strlen(text) == KNDL_UUID_SIZE - 1 &&
           strspn(text, "0123456789abcdef-") == KNDL_UUID_SIZE - 1;
}

static int report_running(struct kndl_call *call, const V1(ReportRunningRequest) *req,
                          V1(ReportRunningResponse) *resp)
{
    struct sessions *sessions = call->state;
    const struct run_of run = run_of(call, req->session_id, req->run);
    struct changes changes = {0};

    (void)resp;
    if (req->claude_session_id[0] != '\0' && !is_uuid(req->claude_session_id))
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT, "claude_session_id is no UUID");
    if (store_report_running(sessions->store, call->arena, &run, req->claude_session_id, &changes,
                             &call->err) < 0)
        return -1;
    kndl_log(KNDL_INFO, "run is up", KNDL_STR("session", req->session_id),
             KNDL_I64("run", req->run), KNDL_I64("resumed", req->resumed));
    return done(call, &changes);
}

/* Whose it is comes first: a Session of another Runner is nothing to ask the redactor about. */
static int check_own(struct kndl_call *call, const char *session_id)
{
    struct sessions *sessions = call->state;
    struct session session;

    if (store_read_session(sessions->store, call->arena, session_id, &session, &call->err) < 0)
        return -1;
    if (strcmp(session.runner_id, call->runner_id) != 0)
        return kndl_fail(&call->err, KNDL_NOT_FOUND, "Session %s does not exist", session_id);
    return 0;
}

/*
 * What the Runner says of an end, masked. Where a value cannot be read any more nothing of it can
 * ever be shown; but the end must be told, for its cause may be just that.
 */
static int mask_ending(struct kndl_call *call, const char *session_id, const char *texts[2],
                       const char *ret_masked[2])
{
    struct sessions *sessions = call->state;
    const struct masking masking = {.session_id = session_id, .are_screens = true};

    ret_masked[0] = ret_masked[1] = "";
    if (texts[0][0] == '\0' && texts[1][0] == '\0')
        return 0;
    if (peers_mask(sessions->bus, call, &masking, texts, 2, ret_masked) == 0)
        return 0;
    if (call->err.code != KNDL_FAILED_PRECONDITION)
        return -1;
    call->err = (struct kndl_error){0};
    ret_masked[0] =
        "What its Runner said cannot be shown, since a value to mask cannot be read any "
        "more: set the setup token, or the Variable, again, then Retry.";
    ret_masked[1] = "";
    return 0;
}

static int report_ended(struct kndl_call *call, const V1(ReportEndedRequest) *req,
                        V1(ReportEndedResponse) *resp)
{
    struct sessions *sessions = call->state;
    const struct run_of run = run_of(call, req->session_id, req->run);
    const char *texts[] = {req->reason, req->last_output};
    const char *masked[2];
    struct changes changes = {0};

    if ((int)req->cause < END_COMMANDED || (int)req->cause > END_LOST || req->last_n < 0 ||
        !is_code(req->reason_code))
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT, "the report names no end of a run");

    if (check_own(call, req->session_id) < 0 ||
        mask_ending(call, req->session_id, texts, masked) < 0)
        return -1;

    const struct ending ending = {
        .last_n = req->last_n,
        .cause = (enum end_cause)req->cause,
        .reason_code = req->reason_code,
        .reason = cut(call, masked[0], REASON_BYTES_MAX, false),
        .last_output = cut(call, masked[1], LAST_OUTPUT_BYTES_MAX, true),
        .conversation_exists = req->conversation_exists,
    };
    if (store_report_ended(sessions->store, call->arena, &run, &ending, &resp->expected_n, &changes,
                           &call->err) < 0)
        return -1;
    kndl_log(KNDL_INFO, "run is over", KNDL_STR("session", req->session_id),
             KNDL_I64("run", req->run), KNDL_I64("cause", req->cause),
             KNDL_STR("reason_code", req->reason_code), KNDL_I64("last_n", req->last_n),
             KNDL_I64("expected_n", resp->expected_n));
    return done(call, &changes);
}

/* ---- prompts and commands ---- */

static int mask_reason(struct kndl_call *call, const char *session_id, const char *reason,
                       const char **ret_masked)
{
    struct sessions *sessions = call->state;
    const struct masking masking = {.session_id = session_id};

    *ret_masked = "";
    if (reason[0] == '\0')
        return 0;
    if (check_own(call, session_id) < 0 ||
        peers_mask(sessions->bus, call, &masking, &reason, 1, ret_masked) < 0)
        return -1;
    *ret_masked = cut(call, *ret_masked, REASON_BYTES_MAX, false);
    return 0;
}

static int report_prompt(struct kndl_call *call, const V1(ReportPromptRequest) *req,
                         V1(ReportPromptResponse) *resp)
{
    struct sessions *sessions = call->state;
    const struct run_of run = run_of(call, req->session_id, req->run);
    struct changes changes = {0};
    const char *reason;

    (void)resp;
    if ((int)req->outcome < PROMPT_STARTED || (int)req->outcome > PROMPT_UNSURE)
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT, "the outcome is not named");
    if (mask_reason(call, req->session_id, req->reason, &reason) < 0 ||
        store_report_prompt(sessions->store, call->arena, &run, req->prompt_id,
                            (enum prompt_outcome)req->outcome, reason, &changes, &call->err) < 0)
        return -1;
    kndl_log(KNDL_INFO, "prompt reported", KNDL_STR("session", req->session_id),
             KNDL_STR("prompt", req->prompt_id), KNDL_I64("outcome", req->outcome));
    return done(call, &changes);
}

static int report_command(struct kndl_call *call, const V1(ReportCommandRequest) *req,
                          V1(ReportCommandResponse) *resp)
{
    struct sessions *sessions = call->state;
    const struct run_of run = run_of(call, req->session_id, req->run);
    struct changes changes = {0};
    const char *reason;

    (void)resp;
    if (mask_reason(call, req->session_id, req->reason, &reason) < 0 ||
        store_report_command(sessions->store, call->arena, &run, req->command_id, req->done, reason,
                             &changes, &call->err) < 0)
        return -1;
    return done(call, &changes);
}

static int report_waiting(struct kndl_call *call, const V1(ReportWaitingRequest) *req,
                          V1(ReportWaitingResponse) *resp)
{
    struct sessions *sessions = call->state;
    const struct run_of run = run_of(call, req->session_id, req->run);
    struct changes changes = {0};

    (void)resp;
    if (req->is_waiting && present_waits(req->reason_code) == NULL)
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT, "the report names no reason to wait");
    if (store_report_waiting(sessions->store, call->arena, &run,
                             req->is_waiting ? req->reason_code : "", &changes, &call->err) < 0)
        return -1;
    kndl_log(KNDL_INFO, "output of a run", KNDL_STR("session", req->session_id),
             KNDL_I64("run", req->run), KNDL_STR("waits", req->is_waiting ? req->reason_code : ""));
    return done(call, &changes);
}

/* ---- tokens ---- */

static int issue_mod_token(struct kndl_call *call, const V1(IssueModTokenRequest) *req,
                           V1(IssueModTokenResponse) *resp)
{
    struct sessions *sessions = call->state;
    KNDL_CLEANUP(kndl_secret_done) struct kndl_secret token = {0};
    const struct run_of run = run_of(call, req->session_id, req->run);
    uint8_t hash[KNDL_HASH_BYTES];

    kndl_token_new(KNDL_TOKEN_MOD, &token);
    kndl_hash(kndl_slice(token.data, token.size), hash);
    if (store_put_mod_token(sessions->store, call->arena, &run, kndl_slice(hash, sizeof hash),
                            &call->err) < 0)
        return -1;
    resp->token = kndl_arena_copy(call->arena, (const char *)token.data);
    return 0;
}

static int mint_git_token(struct kndl_call *call, const V1(MintGitTokenRequest) *req,
                          V1(MintGitTokenResponse) *resp)
{
    struct sessions *sessions = call->state;
    const struct run_of run = run_of(call, req->session_id, 0);
    bool write = req->use == KNDL__SESSIONS__V1__MINT_GIT_TOKEN_REQUEST__USE__USE_SANDBOX;
    struct session session;
    struct git_token token;

    if (!write && req->use != KNDL__SESSIONS__V1__MINT_GIT_TOKEN_REQUEST__USE__USE_CLONE)
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT, "the use is not named");
    if (store_read_running(sessions->store, call->arena, &run, &session, &call->err) < 0 ||
        peers_mint_git_token(sessions->bus, call, session.repo_id, write, &token) < 0 ||
        peers_put_mask(sessions->bus, call, session.id, write ? "git_token" : "clone_token",
                       token.token, &resp->mask_version) < 0)
        return -1;
    resp->token = (char *)token.token;
    resp->expires_at_ms = token.expires_at_ms;
    resp->clone_url = (char *)token.clone_url;
    return 0;
}

KNDL_RPC(V1, SessionsRunnerService, Attend, attend)
KNDL_RPC(V1, SessionsRunnerService, ReportStep, report_step)
KNDL_RPC(V1, SessionsRunnerService, ReportRunning, report_running)
KNDL_RPC(V1, SessionsRunnerService, ReportEnded, report_ended)
KNDL_RPC(V1, SessionsRunnerService, ReportPrompt, report_prompt)
KNDL_RPC(V1, SessionsRunnerService, ReportCommand, report_command)
KNDL_RPC(V1, SessionsRunnerService, ReportWaiting, report_waiting)
KNDL_RPC(V1, SessionsRunnerService, IssueModToken, issue_mod_token)
KNDL_RPC(V1, SessionsRunnerService, MintGitToken, mint_git_token)

static V1(SessionsRunnerService_Service) service =
    KNDL__SESSIONS__V1__SESSIONS_RUNNER_SERVICE__INIT(rpc_);

ProtobufCService *const sessions_runner_service = &service.base;
