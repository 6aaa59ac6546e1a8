/* Tells sessions, and so people, that a Session's output waits here, and when it does not any more.
 * One report is out at a time, so that the last one told is how it is. */

#include "session_parts.h"

#include <string.h>

#include "kndl/log.h"

/* Codes of docs/failures.md. */
static const char *why_it_waits(const struct session *session)
{
    if (session->was_full)
        return "spool_full";
    return session->is_unmasked ? "output_waits" : "";
}

static void told(void *data, const struct kndl_error *err, const ProtobufCMessage *response)
{
    struct session *session = data;

    session->waits_ask = NULL;
    if (response == NULL)
        kndl_log(KNDL_WARNING, "sessions refused to hear that output waits",
                 KNDL_STR("session", session->id), KNDL_STR("why", err->message));
    session_tell_waits(session);
}

void session_tell_waits(struct session *session)
{
    SV1(ReportWaitingRequest) request = KNDL__SESSIONS__V1__REPORT_WAITING_REQUEST__INIT;
    struct hub_question question = {
        .service = &kndl__sessions__v1__sessions_runner_service__descriptor,
        .method = "ReportWaiting",
        .request = &request.base,
        .repeat = true,
    };
    const char *code = why_it_waits(session);

    if (session->waits_ask != NULL || strcmp(session->waits_told, code) == 0)
        return;
    session->waits_told = code;
    request.session_id = session->id;
    request.run = session->start->run;
    request.is_waiting = code[0] != '\0';
    request.reason_code = (char *)code;
    kndl_log(KNDL_INFO, code[0] == '\0' ? "output flows again" : "output waits",
             KNDL_STR("session", session->id), KNDL_I64("run", session->start->run),
             KNDL_STR("reason_code", code));
    session->waits_ask = hub_ask(session->runner->hub, &question, told, session);
}

void session_output_waits(void *data, bool is_waiting)
{
    struct session *session = data;

    session->is_unmasked = is_waiting;
    session_tell_waits(session);
}
