/*
 * Follows the Repos of all Sessions: their names, and whether the GitHub App is on them. Asked for
 * every few seconds, since repo-access keeps what GitHub said; while GitHub cannot answer, or
 * repo-access is away, everything stays as it is.
 */

#include "dispatch.h"
#include "kndl/log.h"
#include "kndl/rpc.h"
#include "live.h"
#include "peers.h"
#include "rpc.h"
#include "store.h"

static int follow(struct kndl_call *call, const struct repo_state *repo)
{
    struct sessions *sessions = call->state;
    struct changes changes = {0};

    int result = store_follow_repo(sessions->store, call->arena, repo, &changes, &call->err);
    /* Those that were changed before it failed are changed all the same. */
    live_publish(sessions->bus, call->arena, &changes, 0);
    if (changes.first != NULL) {
        kndl_log(KNDL_INFO, "a Repo changed", KNDL_I64("repo", repo->id),
                 KNDL_STR("problem", repo->problem));
        call->wake = &dispatch_task;
    }
    return result;
}

static int follow_all(struct kndl_call *call)
{
    struct sessions *sessions = call->state;
    struct repo_state *repos;
    int64_t *ids;
    size_t count;

    if (store_list_repos(sessions->store, call->arena, "", &ids, &count, &call->err) < 0)
        return -1;
    if (peers_get_repos(sessions->bus, call, ids, count, &repos, &count) < 0) {
        /* Nobody gains and nobody loses: it is asked again. */
        call->err = (struct kndl_error){0};
        return 0;
    }
    for (size_t i = 0; i < count; i++)
        if (follow(call, &repos[i]) < 0)
            return -1;
    return 0;
}

const struct kndl_task repos_task = {
    .name = "repos",
    .period_ms = 5000,
    .run = follow_all,
};
