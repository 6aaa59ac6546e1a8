/* kndl runners: the machines that Sessions run on. The Owner administers them in the browser. */

#include "kndl/sessions/v1/runners_service.pb-c.h"
#include "verb.h"

#define V1(name) Kndl__Sessions__V1__##name
#define STATE(name) KNDL__SESSIONS__V1__RUNNER__STATE__STATE_##name

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

static int run(struct cli *cli, const struct args *args, struct kndl_error *err)
{
    V1(ListRunnersRequest) request = KNDL__SESSIONS__V1__LIST_RUNNERS_REQUEST__INIT;
    V1(ListRunnersResponse) *response;

    if (CLIENT_CALL(V1, ListRunners, kndl__sessions__v1__runners_service__descriptor, cli, &request,
                    &response, err) < 0)
        return -1;
    for (size_t i = 0; i < response->n_runners; i++) {
        if (args_has(args, "json"))
            print_json(&cli->screen, &response->runners[i]->base);
        else
            print_runner(cli, response->runners[i]);
    }
    if (response->n_runners == 0 && !args_has(args, "json"))
        fputs("There is none: the Owner registers one in the browser, under Runners.\n", stderr);
    return 0;
}

const struct verb verb_runners = {
    .name = "runners",
    .usage = "[--json]",
    .summary = "the Runners that Sessions run on",
    .help = "",
    .options = json_option,
    .run = run,
};
