/* kndl prompt: the next prompt of a Session. */

#include "follow.h"
#include "kndl/mem.h"
#include "prompt_text.h"
#include "session_id.h"
#include "verb.h"

#define V1(name) Kndl__Sessions__V1__##name

static const struct arg_option options[] = {
    {"wait", 0, NULL, "show what happens until the prompt's Turn has ended"},
    {"json", 0, NULL, "for programs: the prompt, then Events, one a line"},
    {NULL, 0, NULL, NULL},
};

static int send(struct cli *cli, const char *session_id, const char *text,
                V1(SendPromptResponse) **ret_response, struct kndl_error *err)
{
    V1(SendPromptRequest) request = KNDL__SESSIONS__V1__SEND_PROMPT_REQUEST__INIT;

    request.session_id = (char *)session_id;
    request.text = (char *)text;
    if (CLIENT_CHANGE(V1, SendPrompt, kndl__sessions__v1__sessions_service__descriptor, cli,
                      &request, ret_response, err) < 0)
        return -1;
    if ((*ret_response)->prompt == NULL)
        return client_misread(err);
    return 0;
}

static int run(struct cli *cli, const struct args *args, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf text = {0};
    bool json = args_has(args, "json"), wait = args_has(args, "wait");
    V1(SendPromptResponse) *response;
    char session_id[KNDL_ID_SIZE];
    struct follow follow;
    V1(GetSessionResponse) *before = NULL;

    if (prompt_text_read(args->rest[1], &text, err) < 0 ||
        session_id_read(cli, args->rest[0], session_id, err) < 0 ||
        (wait && session_look(cli, session_id, &before, err) < 0) ||
        send(cli, session_id, kndl_buf_text(&text), &response, err) < 0)
        return -1;
    if (json)
        print_json(&cli->screen, &response->prompt->base);
    if (!wait) {
        if (!json)
            fprintf(cli->screen.out, "%s\n", response->prompt->id);
        return 0;
    }

    follow_open(&follow, cli, session_id, before->session->last_seq);
    int result =
        follow_until_done(&follow, response->prompt->id, transcript_form(json, false), err);
    follow_close(&follow);
    return result;
}

const struct verb verb_prompt = {
    .name = "prompt",
    .usage = "SESSION [TEXT|-] [--wait] [--json]",
    .summary = "give a Session its next prompt",
    .help = "Without TEXT, or with -, the prompt is read from standard input. Prints the prompt's "
            "id.\nA Session that sleeps is woken for it.\n",
    .options = options,
    .least = 1,
    .most = 2,
    .run = run,
};
