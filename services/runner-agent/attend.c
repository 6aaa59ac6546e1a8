/* Attend, every 5 s. */

#include "attend.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "credential.h"
#include "hub.h"
#include "kndl/buf.h"
#include "kndl/clock.h"
#include "kndl/log.h"
#include "kndl/loop.h"
#include "kndl/mem.h"
#include "own_release.h"
#include "runner.h"
#include "session.h"
#include "update.h"

#define SV1(name) Kndl__Sessions__V1__##name

enum { PERIOD_MS = 5000, SOON_MS = 500 };

struct attend {
    struct runner *runner;
    struct kndl_timer *timer;
    struct hub_ask *ask;
    char hostname[256];
    bool was_heard; /* the last time */
    bool was_ever_heard;
    bool is_refused;
};

static void answered(void *data, const struct kndl_error *err, const ProtobufCMessage *response)
{
    struct attend *attend = data;
    const SV1(AttendResponse) *answer = (const void *)response;

    attend->ask = NULL;
    if (response == NULL) {
        bool was_refused = attend->is_refused;
        bool is_refusal =
            err->code == KNDL_FAILED_PRECONDITION || err->code == KNDL_PERMISSION_DENIED;

        if (is_refusal && !attend->is_refused)
            kndl_log(KNDL_ERROR, "the Hub turns this Runner away", KNDL_STR("why", err->message));
        else if (attend->was_heard && !is_refusal)
            kndl_log(KNDL_WARNING, "the Hub does not answer", KNDL_STR("why", err->message));
        attend->was_heard = false;
        attend->is_refused = is_refusal;
        if (is_refusal && !was_refused)
            credential_ask_soon(attend->runner->credential);
        if (is_refusal)
            return; /* asked again in its time */
        /* The first answer after a gap matters: Sessions are Frozen until then. */
        kndl_timer_start(attend->timer, SOON_MS, PERIOD_MS);
        return;
    }
    if (!attend->was_heard) {
        kndl_log(KNDL_INFO, "the Hub is there", KNDL_STR("runner", attend->runner->id));
        if (attend->was_ever_heard) /* it was away: it may be a newer one */
            credential_ask_soon(attend->runner->credential);
        update_reached_hub(attend->runner->update, attend->runner->disk);
    }
    attend->was_ever_heard = true;
    attend->was_heard = true;
    attend->is_refused = false;
    for (size_t i = 0; i < answer->n_stop_session_ids; i++) {
        struct session *session = session_find(attend->runner, answer->stop_session_ids[i]);

        if (session != NULL)
            session_stop_unwanted(session);
    }
}

static void tell(void *data)
{
    struct attend *attend = data;
    struct runner *runner = attend->runner;
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf note = {0};
    SV1(AttendRequest) request = KNDL__SESSIONS__V1__ATTEND_REQUEST__INIT;
    struct hub_question question = {
        .service = &kndl__sessions__v1__sessions_runner_service__descriptor,
        .method = "Attend",
        .request = &request.base,
        .timeout_ms = 4000,
    };

    if (attend->ask != NULL)
        return;
    request.instance_id = runner->instance_id;
    request.protocol = own_release.protocol;
    request.version = (char *)own_release.version;
    request.seal_key = (ProtobufCBinaryData){sizeof runner->seal_public, runner->seal_public};
    request.backend = (char *)"namespace";
    request.now_ms = kndl_clock_wall_ms();
    request.hostname = attend->hostname;
    (void)update_note(runner->update, &note);
    request.update_note = (char *)kndl_buf_text(&note);
    request.n_runs = session_list(runner, &request.runs);
    attend->ask = hub_ask(runner->hub, &question, answered, attend);
    for (size_t i = 0; i < request.n_runs; i++)
        free(request.runs[i]);
    free(request.runs);
}

struct attend *attend_new(struct runner *runner)
{
    struct attend *attend = kndl_new0(struct attend);

    attend->runner = runner;
    if (gethostname(attend->hostname, sizeof attend->hostname - 1) < 0)
        attend->hostname[0] = '\0';
    attend->timer = kndl_timer_new(runner->loop, tell, attend);
    kndl_timer_start(attend->timer, 0, PERIOD_MS);
    return attend;
}

void attend_free(struct attend *attend)
{
    if (attend == NULL)
        return;
    hub_drop(attend->ask);
    kndl_timer_free(attend->timer);
    free(attend);
}
