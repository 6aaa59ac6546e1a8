/* kndl stop: stops the Turn that runs. */

#include "session_id.h"

#define V1(name) Kndl__Sessions__V1__##name

static int run(struct cli *cli, const struct args *args, struct kndl_error *err)
{
    V1(StopTurnRequest) request = KNDL__SESSIONS__V1__STOP_TURN_REQUEST__INIT;
    V1(StopTurnResponse) *response;
    char session_id[KNDL_ID_SIZE];

    if (session_id_read(cli, args->rest[0], session_id, err) < 0)
        return -1;
    request.session_id = session_id;
    return CLIENT_CHANGE(V1, StopTurn, kndl__sessions__v1__sessions_service__descriptor, cli,
                         &request, &response, err);
}

const struct verb verb_stop = {
    .name = "stop",
    .usage = "SESSION",
    .summary = "stop the Turn that runs; prompts that wait stay waiting",
    .help = "The queue pauses until you give the next prompt or say kndl resume.\n",
    .options = no_options,
    .least = 1,
    .most = 1,
    .run = run,
};
