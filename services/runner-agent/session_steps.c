/* The steps of a start: each is told to sessions with its time, and one that fails ends the run
 * with a reason that people can act on (docs/failures.md). */

#include "session_parts.h"

#include <string.h>

#include "kndl/clock.h"
#include "kndl/log.h"

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

void session_step_end(struct session *session)
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

void session_step_begin(struct session *session, const char *name)
{
    session_step_end(session);
    session->step = name;
    session->step_began_us = kndl_clock_us();
    report_step(session, -1);
}

void session_fail(struct session *session, const char *reason_code, const char *reason)
{
    session_end_run(session, KNDL__SESSIONS__V1__REPORT_ENDED_REQUEST__CAUSE__CAUSE_FAILED,
                    reason_code, reason);
}

/* Is the start still wanted? What came for one that is not is dropped. */
bool session_goes_on(struct session *session)
{
    return session_leave(session) && session->phase == SESSION_STARTING;
}

/* A Sandbox's word for what went wrong, as one of ours with what to do about it. */
void session_fail_by_answer(struct session *session, const struct sandbox_answer *answer,
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
            session_fail(session, known[i].code, known[i].reason);
            return;
        }
    if (answer->err.code == KNDL_RESOURCE_EXHAUSTED)
        session_fail(session, known[0].code, known[0].reason);
    else if (strcmp(fallback, "repo_clone_failed") == 0)
        session_fail(session, known[2].code, known[2].reason);
    else
        session_fail(session, fallback,
                     "The Sandbox could not be started; the log of the Runner says more. Retry.");
}

bool session_goes_on_after(struct session *session, const struct sandbox_answer *answer,
                           const char *fallback)
{
    if (!session_goes_on(session))
        return false;
    if (answer->err.code != KNDL_OK)
        session_fail_by_answer(session, answer, fallback);
    return answer->err.code == KNDL_OK;
}
