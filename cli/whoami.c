/* kndl whoami: as whom, and to which Hub, this machine is signed in. */

#include <string.h>

#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "verb.h"

#define V1(name) Kndl__RepoAccess__V1__##name

static int run(struct cli *cli, const struct args *args, struct kndl_error *err)
{
    V1(WhoAmIRequest) request = KNDL__REPO_ACCESS__V1__WHO_AM_IREQUEST__INIT;
    V1(WhoAmIResponse) *response;

    if (CLIENT_CALL(V1, WhoAmI, kndl__repo_access__v1__repo_access_service__descriptor, cli,
                    &request, &response, err) < 0)
        return -1;
    if (response->person == NULL)
        return client_misread(err);
    if (args_has(args, "json")) {
        print_json(&cli->screen, &response->person->base);
        return 0;
    }
    screen_line(&cli->screen, response->person->login, 0);
    if (response->person->name[0] != '\0') {
        fputs(" (", cli->screen.out);
        screen_line(&cli->screen, response->person->name, 30);
        fputc(')', cli->screen.out);
    }
    fprintf(cli->screen.out, "%s, at %s\n", response->person->is_owner ? ", the Owner" : "",
            cli->config.url);
    return 0;
}

const struct verb verb_whoami = {
    .name = "whoami",
    .usage = "[--json]",
    .summary = "who you are, and at which Hub",
    .help = "",
    .options = json_option,
    .run = run,
};
