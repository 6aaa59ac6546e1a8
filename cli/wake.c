/* kndl wake: wakes a Session, or tries a failed start again. */

#include "session_id.h"
#include "session_view.h"

#define V1(name) Kndl__Sessions__V1__##name

static int run(struct cli *cli, const struct args *args, struct kndl_error *err)
{
    V1(WakeSessionRequest) request = KNDL__SESSIONS__V1__WAKE_SESSION_REQUEST__INIT;
    V1(WakeSessionResponse) *response;
    struct session_ids ids;

    if (session_ids_read(cli, args, &ids, err) < 0)
        return -1;
    request.session_id = ids.session;
    request.request_id = ids.request;
    if (CLIENT_CALL(V1, WakeSession, kndl__sessions__v1__sessions_service__descriptor, cli,
                    &request, &response, err) < 0)
        return -1;
    if (response->session != NULL)
        session_view_line(&cli->screen, response->session);
    return 0;
}

const struct verb verb_wake = {
    .name = "wake",
    .usage = "SESSION",
    .summary = "wake a Session that sleeps, or try again one that Failed",
    .help = "",
    .options = no_options,
    .least = 1,
    .most = 1,
    .run = run,
};
