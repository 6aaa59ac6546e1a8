/* kndl ls: the Sessions that you may see. */

#include "session_view.h"
#include "verb.h"

#define V1(name) Kndl__Sessions__V1__##name

static const struct arg_option options[] = {
    {"mine", 0, NULL, "only those that you started"},
    {"json", 0, NULL, "for programs: one Session a line"},
    {NULL, 0, NULL, NULL},
};

enum { SHOWN_COUNT = 200 };

static int run(struct cli *cli, const struct args *args, struct kndl_error *err)
{
    V1(ListSessionsRequest) request = KNDL__SESSIONS__V1__LIST_SESSIONS_REQUEST__INIT;
    V1(ListSessionsResponse) *response;
    bool json = args_has(args, "json");

    request.mine = args_has(args, "mine");
    request.limit = SHOWN_COUNT;
    if (CLIENT_CALL(V1, ListSessions, kndl__sessions__v1__sessions_service__descriptor, cli,
                    &request, &response, err) < 0)
        return -1;
    for (size_t i = 0; i < response->n_sessions; i++) {
        if (json)
            print_json(&cli->screen, &response->sessions[i]->base);
        else
            session_view_line(&cli->screen, response->sessions[i]);
    }
    if (response->n_sessions == 0 && !json)
        fprintf(stderr, request.mine ? "You have started no Session.\n"
                                     : "There is no Session that you may see.\n");
    if (response->has_more && !json)
        fprintf(stderr, "There are more; these are the newest %d.\n", SHOWN_COUNT);
    return 0;
}

const struct verb verb_ls = {
    .name = "ls",
    .usage = "[--mine] [--json]",
    .summary = "the Sessions that you may see, the last changed first",
    .help = "",
    .options = options,
    .run = run,
};
