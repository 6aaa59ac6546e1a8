/* kndl cancel: takes back a prompt that still waits. */

#include "session_id.h"

#define V1(name) Kndl__Sessions__V1__##name

static int run(struct cli *cli, const struct args *args, struct kndl_error *err)
{
    V1(CancelPromptRequest) request = KNDL__SESSIONS__V1__CANCEL_PROMPT_REQUEST__INIT;
    V1(CancelPromptResponse) *response;
    char session_id[KNDL_ID_SIZE];

    if (session_id_read(cli, args->rest[0], session_id, err) < 0)
        return -1;
    request.session_id = session_id;
    request.prompt_id = (char *)args->rest[1];
    if (CLIENT_CHANGE(V1, CancelPrompt, kndl__sessions__v1__sessions_service__descriptor, cli,
                      &request, &response, err) < 0)
        return verb_hint(KNDL_NOT_FOUND, "kndl show SESSION lists those that wait", err);
    return 0;
}

const struct verb verb_cancel = {
    .name = "cancel",
    .usage = "SESSION PROMPT",
    .summary = "take back a prompt that still waits",
    .help = "PROMPT is the id that kndl prompt printed; kndl show lists those that wait.\n",
    .options = no_options,
    .least = 2,
    .most = 2,
    .run = run,
};
