/* kndl show: one Session as it is now. */

#include "kndl/secrets/v1/secrets_service.pb-c.h"
#include "session_id.h"
#include "session_view.h"

#define V1(name) Kndl__Sessions__V1__##name
#define SECRETS(name) Kndl__Secrets__V1__##name

static void write_change(const struct screen *screen, const SECRETS(VariableChange) * change)
{
    static const char *const hows[] = {"changed", "added", "replaced", "removed"};
    size_t how = (size_t)change->how < sizeof hows / sizeof hows[0] ? change->how : 0;

    fputs("  ", screen->out);
    screen_line(screen, change->name, 20);
    fprintf(screen->out, " %s\n", hows[how]);
}

/* Secrets may be away; what was asked for is shown all the same. */
static void write_older_variables(struct cli *cli, const V1(Session) *session)
{
    SECRETS(GetSessionVariablesRequest)
    request = KNDL__SECRETS__V1__GET_SESSION_VARIABLES_REQUEST__INIT;
    SECRETS(GetSessionVariablesResponse) * response;
    struct kndl_error err = {0};

    request.session_id = session->id;
    if (session->state == KNDL__EVENT__V1__STATE__STATE_ACTIVE &&
        CLIENT_CALL(SECRETS, GetSessionVariables, kndl__secrets__v1__secrets_service__descriptor,
                    cli, &request, &response, &err) == 0 &&
        response->changed) {
        fputs("Variables of its Repo have changed since it started; that applies at its next "
              "wake:\n",
              cli->screen.out);
        for (size_t i = 0; i < response->n_changes; i++)
            write_change(&cli->screen, response->changes[i]);
    }
}

static int run(struct cli *cli, const struct args *args, struct kndl_error *err)
{
    V1(GetSessionResponse) *response;
    char session_id[KNDL_ID_SIZE];

    if (session_id_read(cli, args->rest[0], session_id, err) < 0 ||
        session_look(cli, session_id, &response, err) < 0)
        return -1;
    if (args_has(args, "json")) {
        print_json(&cli->screen, &response->base);
    } else {
        session_view_page(&cli->screen, response);
        write_older_variables(cli, response->session);
    }
    return 0;
}

const struct verb verb_show = {
    .name = "show",
    .usage = "SESSION [--json]",
    .summary = "one Session: state, queue, open questions",
    .help = "",
    .options = json_option,
    .least = 1,
    .most = 1,
    .run = run,
};
