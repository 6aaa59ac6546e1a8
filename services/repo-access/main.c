/*
 * repo-access: who is this person, and may they see these Repos?
 *
 * Answers the two services of kndl.repo_access.v1, asks GitHub as the GitHub App, owns the
 * database schema "repo_access".
 */

#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "departures.h"
#include "doors.h"
#include "github.h"
#include "kndl/mem.h"
#include "kndl/secret.h"
#include "kndl/service.h"
#include "oauth.h"
#include "recheck.h"
#include "rpc.h"
#include "settings.h"
#include "store.h"

static void close_worker(void *state)
{
    struct repo_access *repo_access = state;

    oauth_close(repo_access->oauth);
    github_close(repo_access->github);
    store_close(repo_access->store);
    free(repo_access);
}

static int open_worker(struct kndl_bus *bus, void **ret_state, struct kndl_error *err)
{
    struct repo_access *repo_access = kndl_new0(struct repo_access);

    repo_access->bus = bus;
    if (store_open(&repo_access->store, err) < 0 || github_open(&repo_access->github, err) < 0 ||
        oauth_open(&repo_access->oauth, err) < 0) {
        close_worker(repo_access);
        return -1;
    }
    *ret_state = repo_access;
    return 0;
}

static int prepare(struct kndl_error *err)
{
    if (settings_check(err) < 0 || kndl_secret_guard_process(err) < 0)
        return -1;
    return store_migrate(err);
}

static ProtobufCService *const *const answers[] = {
    &repo_access_service,
    &repo_access_internal_service,
    NULL,
};

static const struct kndl_task *const tasks[] = {&doors_task, &departures_task, &recheck_task, NULL};

static const struct kndl_service service = {
    .name = "repo_access",
    .env = settings,
    .answers = answers,
    .tasks = tasks,
    .arena = KNDL_ARENA_SECRET, /* credentials and git tokens are in the answers */
    .prepare = prepare,
    .open = open_worker,
    .close = close_worker,
};

int main(int argc, char **argv)
{
    return kndl_service_main(&service, argc, argv);
}
