/* kndl new: a Session on a Repo, with a first prompt. */

#include <string.h>

#include "follow.h"
#include "kndl/id.h"
#include "kndl/mem.h"
#include "prompt_text.h"
#include "session_view.h"
#include "verb.h"

#define V1(name) Kndl__Sessions__V1__##name

static const struct arg_option options[] = {
    {"prompt", 0, "TEXT", "the first prompt; - reads it from standard input"},
    {"model", 0, "MODEL", "Claude's model; Claude Code's own default otherwise"},
    {"effort", 0, "EFFORT", "low, medium, high, xhigh or max"},
    {"wait", 0, NULL, "show what happens until the prompt's Turn has ended"},
    {"json", 0, NULL, "for programs: the Session first, then Events, one a line"},
    {NULL, 0, NULL, NULL},
};

static int create(struct cli *cli, const struct args *args, const char *prompt,
                  V1(CreateSessionResponse) **ret_response, struct kndl_error *err)
{
    V1(CreateSessionRequest) request = KNDL__SESSIONS__V1__CREATE_SESSION_REQUEST__INIT;

    request.repo_name = (char *)args->rest[0];
    request.prompt = (char *)prompt;
    if (args_has(args, "model"))
        request.model = (char *)args_get(args, "model");
    if (args_has(args, "effort"))
        request.effort = (char *)args_get(args, "effort");
    if (CLIENT_CHANGE(V1, CreateSession, kndl__sessions__v1__sessions_service__descriptor, cli,
                      &request, ret_response, err) < 0)
        return verb_hint(KNDL_NOT_FOUND, "kndl repos lists yours", err);
    if ((*ret_response)->session == NULL)
        return client_misread(err);
    return 0;
}

static int run(struct cli *cli, const struct args *args, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf prompt = {0};
    bool json = args_has(args, "json");
    V1(CreateSessionResponse) *response;
    struct follow follow;

    if (args_has(args, "prompt") && prompt_text_read(args_get(args, "prompt"), &prompt, err) < 0)
        return -1;
    if (create(cli, args, kndl_buf_text(&prompt), &response, err) < 0)
        return -1;
    if (json) {
        print_json(&cli->screen, &response->session->base);
    } else {
        fprintf(cli->screen.out, "%s\n", response->session->id);
        fflush(cli->screen.out);
    }
    if (!args_has(args, "wait"))
        return 0;

    follow_open(&follow, cli, response->session->id, 0);
    int result = follow_until_done(&follow, response->prompt == NULL ? NULL : response->prompt->id,
                                   transcript_form(json, false), err);
    follow_close(&follow);
    return result;
}

const struct verb verb_new = {
    .name = "new",
    .usage = "REPO [--prompt TEXT] [--model MODEL] [--effort EFFORT] [--wait] [--json]",
    .summary = "start a Session on a Repo (owner/name)",
    .help = "Prints the Session's id. Without --prompt, --wait ends when the Session is Active.\n",
    .options = options,
    .least = 1,
    .most = 1,
    .run = run,
};
