/* kndl repos: where you may start a Session. */

#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "verb.h"

#define V1(name) Kndl__RepoAccess__V1__##name

static int run(struct cli *cli, const struct args *args, struct kndl_error *err)
{
    V1(ListReposRequest) request = KNDL__REPO_ACCESS__V1__LIST_REPOS_REQUEST__INIT;
    V1(ListReposResponse) *response;

    if (CLIENT_CALL(V1, ListRepos, kndl__repo_access__v1__repo_access_service__descriptor, cli,
                    &request, &response, err) < 0)
        return -1;
    for (size_t i = 0; i < response->n_repos; i++) {
        const V1(Repo) *repo = response->repos[i];

        if (args_has(args, "json")) {
            print_json(&cli->screen, &repo->base);
            continue;
        }
        screen_line(&cli->screen, repo->name, 20);
        screen_color(&cli->screen, SCREEN_DIM);
        if (repo->description[0] != '\0') {
            fputs("  ", cli->screen.out);
            screen_line(&cli->screen, repo->description, 45);
        }
        screen_color(&cli->screen, SCREEN_PLAIN);
        fputc('\n', cli->screen.out);
    }
    for (size_t i = 0; i < response->n_notices; i++)
        fprintf(stderr, "%s\n", response->notices[i]);
    if (response->n_repos == 0 && !args_has(args, "json"))
        fputs("There is none: the GitHub App must be installed on a Repo, and you be its "
              "collaborator.\n",
              stderr);
    return 0;
}

const struct verb verb_repos = {
    .name = "repos",
    .usage = "[--json]",
    .summary = "the Repos on which you may start a Session",
    .help = "",
    .options = json_option,
    .run = run,
};
