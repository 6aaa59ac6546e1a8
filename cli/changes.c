/* kndl sleep, wake and resume: what becomes of a Session, shown in a line. */

#include "session_id.h"
#include "session_view.h"

#define V1(name) Kndl__Sessions__V1__##name

/* A verb's run: each call has types of its own, all with a session_id and a Session. */
#define CHANGE(verb, Method, METHOD)                                                               \
    static int verb(struct cli *cli, const struct args *args, struct kndl_error *err)              \
    {                                                                                              \
        V1(Method##Request) request = KNDL__SESSIONS__V1__##METHOD##_REQUEST__INIT;                \
        V1(Method##Response) *response;                                                            \
        char session_id[KNDL_ID_SIZE];                                                             \
                                                                                                   \
        if (session_id_read(cli, args->rest[0], session_id, err) < 0)                              \
            return -1;                                                                             \
        request.session_id = session_id;                                                           \
        if (CLIENT_CHANGE(V1, Method, kndl__sessions__v1__sessions_service__descriptor, cli,       \
                          &request, &response, err) < 0)                                           \
            return -1;                                                                             \
        if (response->session == NULL)                                                             \
            return client_misread(err);                                                            \
        session_view_line(&cli->screen, response->session);                                        \
        return 0;                                                                                  \
    }

CHANGE(put_to_sleep, SleepSession, SLEEP_SESSION)
CHANGE(wake, WakeSession, WAKE_SESSION)
CHANGE(resume, ResumeQueue, RESUME_QUEUE)

const struct verb verb_sleep = {
    .name = "sleep",
    .usage = "SESSION",
    .summary = "put an Active Session to sleep",
    .help = "What runs in it ends, also in the middle of a Turn; its files and the conversation "
            "stay. A prompt\nwakes it.\n",
    .options = no_options,
    .least = 1,
    .most = 1,
    .run = put_to_sleep,
};

const struct verb verb_wake = {
    .name = "wake",
    .usage = "SESSION",
    .summary = "wake a Session that sleeps, or try again one that Failed",
    .help = "",
    .options = no_options,
    .least = 1,
    .most = 1,
    .run = wake,
};

const struct verb verb_resume = {
    .name = "resume",
    .usage = "SESSION",
    .summary = "go on with the prompts of a paused queue",
    .help = "A queue pauses when its Turn is stopped.\n",
    .options = no_options,
    .least = 1,
    .most = 1,
    .run = resume,
};
