/* kndl resume: goes on with a queue that was paused. */

#include "session_id.h"
#include "session_view.h"

#define V1(name) Kndl__Sessions__V1__##name

static int run(struct cli *cli, const struct args *args, struct kndl_error *err)
{
    V1(ResumeQueueRequest) request = KNDL__SESSIONS__V1__RESUME_QUEUE_REQUEST__INIT;
    V1(ResumeQueueResponse) *response;
    struct session_ids ids;

    if (session_ids_read(cli, args, &ids, err) < 0)
        return -1;
    request.session_id = ids.session;
    request.request_id = ids.request;
    if (CLIENT_CALL(V1, ResumeQueue, kndl__sessions__v1__sessions_service__descriptor, cli,
                    &request, &response, err) < 0)
        return -1;
    if (response->session != NULL)
        session_view_line(&cli->screen, response->session);
    return 0;
}

const struct verb verb_resume = {
    .name = "resume",
    .usage = "SESSION",
    .summary = "go on with the prompts of a paused queue",
    .help = "",
    .options = no_options,
    .least = 1,
    .most = 1,
    .run = run,
};
