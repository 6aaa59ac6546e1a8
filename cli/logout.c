/* kndl logout: ends this machine's token, and forgets it. */

#include "kndl/id.h"
#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "verb.h"

#define V1(name) Kndl__RepoAccess__V1__##name

static int run(struct cli *cli, const struct args *args, struct kndl_error *err)
{
    V1(SignOutRequest) request = KNDL__REPO_ACCESS__V1__SIGN_OUT_REQUEST__INIT;
    V1(SignOutResponse) *response;

    (void)args;
    if (cli->config.token.size == 0)
        return 0;
    /* A token that is not good any more is as gone as it can be. */
    struct kndl_error cause = {0};
    if (CLIENT_CHANGE(V1, SignOut, kndl__repo_access__v1__repo_access_service__descriptor, cli,
                      &request, &response, &cause) < 0 &&
        cause.code != KNDL_UNAUTHENTICATED)
        return kndl_fail(err, cause.code, "%s", cause.message);
    kndl_secret_done(&cli->config.token);
    return config_save(&cli->config, err);
}

const struct verb verb_logout = {
    .name = "logout",
    .usage = "",
    .summary = "end this machine's token",
    .help = "",
    .options = no_options,
    .run = run,
};
