/* kndl runners: the machines that Sessions run on, which the Owner administers. */

#include <string.h>
#include <strings.h>

#include "confirm.h"
#include "kndl/sessions/v1/runners_service.pb-c.h"
#include "verb.h"

#define V1(name) Kndl__Sessions__V1__##name
#define STATE(name) KNDL__SESSIONS__V1__RUNNER__STATE__STATE_##name
#define SERVICE kndl__sessions__v1__runners_service__descriptor

static const char *state_word(V1(Runner__State) state)
{
    switch (state) {
    case STATE(NEW):
        return "never seen";
    case STATE(CONNECTED):
        return "connected";
    case STATE(AWAY):
        return "away";
    case STATE(REFUSED):
        return "turned away";
    case STATE(UNSPECIFIED):
    default:
        return "unknown";
    }
}

/* What is to be said of it besides; nothing if it is "". */
static void print_words(struct cli *cli, const char *words)
{
    if (words[0] == '\0')
        return;
    fputs("  ", cli->screen.out);
    screen_line(&cli->screen, words, 60);
}

static void print_runner(struct cli *cli, const V1(Runner) *runner)
{
    screen_line(&cli->screen, runner->name, 40);
    fputs("  ", cli->screen.out);
    screen_line(&cli->screen, state_word(runner->state), 60);
    screen_color(&cli->screen, SCREEN_DIM);
    if (runner->awake_sessions > 0)
        fprintf(cli->screen.out, "  %d awake", (int)runner->awake_sessions);
    if (runner->version[0] != '\0') {
        fputs("  ", cli->screen.out);
        screen_line(&cli->screen, runner->version, 20);
        fputs(runner->is_outdated ? " (out of date)" : "", cli->screen.out);
    }
    print_words(cli, runner->problem);
    print_words(cli, runner->update_note);
    screen_color(&cli->screen, SCREEN_PLAIN);
    fputc('\n', cli->screen.out);
}

static int ask_runners(struct cli *cli, V1(ListRunnersResponse) **ret_runners,
                       struct kndl_error *err)
{
    V1(ListRunnersRequest) request = KNDL__SESSIONS__V1__LIST_RUNNERS_REQUEST__INIT;

    return CLIENT_CALL(V1, ListRunners, SERVICE, cli, &request, ret_runners, err);
}

static int list(struct cli *cli, bool json, struct kndl_error *err)
{
    V1(ListRunnersResponse) *response;

    if (ask_runners(cli, &response, err) < 0)
        return -1;
    for (size_t i = 0; i < response->n_runners; i++) {
        if (json)
            print_json(&cli->screen, &response->runners[i]->base);
        else
            print_runner(cli, response->runners[i]);
    }
    if (response->n_runners == 0 && !json)
        fputs("There is none: the Owner registers one with kndl runners add NAME.\n", stderr);
    return 0;
}

/* Finds it by its name, which has no case, before anybody is asked for a yes. */
static int find(struct cli *cli, const char *name, char **ret_id, struct kndl_error *err)
{
    V1(ListRunnersResponse) *response;

    if (ask_runners(cli, &response, err) < 0)
        return -1;
    for (size_t i = 0; i < response->n_runners; i++) {
        if (strcasecmp(response->runners[i]->name, name) == 0) {
            *ret_id = response->runners[i]->id;
            return 0;
        }
    }
    return kndl_fail(err, KNDL_NOT_FOUND, "no Runner is named %.64s; kndl runners lists them",
                     name);
}

/* Before anybody is asked for a yes; the Hub knows more exactly. */
static int check_name(const char *name, struct kndl_error *err)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ._-";

    if (name[0] == '\0' || name[strspn(name, letters)] != '\0')
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "a Runner's name is of letters, digits, spaces and . _ - alone, unlike "
                         "\"%.64s\"",
                         name);
    return 0;
}

static int ask_yes(struct cli *cli, struct kndl_error *err)
{
    return confirm(cli, KNDL__REPO_ACCESS__V1__PURPOSE__PURPOSE_RUNNERS, err);
}

/* What every change of one that is there begins with. */
static int find_and_ask(struct cli *cli, const char *name, char **ret_id, struct kndl_error *err)
{
    return find(cli, name, ret_id, err) < 0 ? -1 : ask_yes(cli, err);
}

/* A RUNNER_TOKEN, this once; in JSON all of the answer. */
static int hand_out(struct cli *cli, bool json, const ProtobufCMessage *answer, const char *name,
                    const char *token)
{
    if (json) {
        print_json(&cli->screen, answer);
        return 0;
    }
    fprintf(cli->screen.out, "The token of %.64s, for its RUNNER_TOKEN_FILE, shown this once:\n",
            name);
    screen_text(&cli->screen, "    ", token);
    return 0;
}

/* ---- what one does to them; `words` are what follows ---- */

static int add(struct cli *cli, const char *const *words, bool json, struct kndl_error *err)
{
    V1(RegisterRunnerRequest) request = KNDL__SESSIONS__V1__REGISTER_RUNNER_REQUEST__INIT;
    V1(RegisterRunnerResponse) *response;

    request.name = (char *)words[0];
    if (check_name(words[0], err) < 0 || ask_yes(cli, err) < 0 ||
        CLIENT_CHANGE(V1, RegisterRunner, SERVICE, cli, &request, &response, err) < 0)
        return -1;
    return hand_out(cli, json, &response->base, words[0], response->token);
}

static int rename_runner(struct cli *cli, const char *const *words, bool json,
                         struct kndl_error *err)
{
    V1(RenameRunnerRequest) request = KNDL__SESSIONS__V1__RENAME_RUNNER_REQUEST__INIT;
    V1(RenameRunnerResponse) *response;

    request.name = (char *)words[1];
    if (check_name(words[1], err) < 0 || find_and_ask(cli, words[0], &request.runner_id, err) < 0 ||
        CLIENT_CHANGE(V1, RenameRunner, SERVICE, cli, &request, &response, err) < 0)
        return -1;
    if (json)
        print_json(&cli->screen, &response->base);
    return 0;
}

static int rotate(struct cli *cli, const char *const *words, bool json, struct kndl_error *err)
{
    V1(RotateRunnerTokenRequest) request = KNDL__SESSIONS__V1__ROTATE_RUNNER_TOKEN_REQUEST__INIT;
    V1(RotateRunnerTokenResponse) *response;

    if (find_and_ask(cli, words[0], &request.runner_id, err) < 0 ||
        CLIENT_CHANGE(V1, RotateRunnerToken, SERVICE, cli, &request, &response, err) < 0)
        return -1;
    return hand_out(cli, json, &response->base, words[0], response->token);
}

static int remove_runner(struct cli *cli, const char *const *words, bool json,
                         struct kndl_error *err)
{
    V1(RemoveRunnerRequest) request = KNDL__SESSIONS__V1__REMOVE_RUNNER_REQUEST__INIT;
    V1(RemoveRunnerResponse) *response;

    (void)json;
    if (find_and_ask(cli, words[0], &request.runner_id, err) < 0)
        return -1;
    return CLIENT_CHANGE(V1, RemoveRunner, SERVICE, cli, &request, &response, err);
}

static const struct {
    const char *name;
    size_t words;
    int (*run)(struct cli *cli, const char *const *words, bool json, struct kndl_error *err);
} deeds[] = {
    {"add", 1, add},
    {"rename", 2, rename_runner},
    {"rotate", 1, rotate},
    {"remove", 1, remove_runner},
};

static int run(struct cli *cli, const struct args *args, struct kndl_error *err)
{
    bool json = args_has(args, "json");

    if (args->count == 0)
        return list(cli, json, err);
    for (size_t i = 0; i < sizeof deeds / sizeof deeds[0]; i++)
        if (strcmp(args->rest[0], deeds[i].name) == 0 && args->count == deeds[i].words + 1)
            return deeds[i].run(cli, args->rest + 1, json, err);
    return verb_unknown_word(&verb_runners, args->rest[0], err);
}

const struct verb verb_runners = {
    .name = "runners",
    .usage = "[add NAME | rename NAME NEW_NAME | rotate NAME | remove NAME] [--json]",
    .summary = "the Runners that Sessions run on",
    .help = "The Owner administers them. add and rotate print a RUNNER_TOKEN, this once; the older "
            "one is\nrefused from then on. The Sessions of a Runner that is removed never wake "
            "again, and what they did\nnot push is lost.\n\nadd, rename, rotate and "
            "remove:\n" CONFIRM_HELP,
    .options = json_option,
    .most = 3,
    .run = run,
};
