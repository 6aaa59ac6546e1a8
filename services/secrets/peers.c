/* Calls to sessions and repo-access, and a fact for redactor. */

#include "peers.h"

#include <stdlib.h>

#include "kndl/bus.h"
#include "kndl/log.h"
#include "kndl/mem.h"
#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "kndl/rpc.h"
#include "kndl/secrets/v1/secrets_service.pb-c.h"
#include "kndl/sessions/v1/sessions_internal_service.pb-c.h"
#include "store.h"

#define V1(name) Kndl__Sessions__V1__##name
#define ACCESS(name) Kndl__RepoAccess__V1__##name

#define ACCESS_SERVICE kndl__repo_access__v1__repo_access_internal_service__descriptor

enum { ACCESS_BATCH_COUNT = 200 };

struct peers {
    struct kndl_bus *bus;
};

int peers_open(struct kndl_bus *bus, struct peers **ret_peers, struct kndl_error *err)
{
    (void)err;
    *ret_peers = kndl_new0(struct peers);
    (*ret_peers)->bus = bus;
    return 0;
}

void peers_close(struct peers *peers)
{
    free(peers);
}

static V1(SetupTokenChangedRequest__Change) change_of(const struct token_change *change)
{
    switch (change->what) {
    case TOKEN_ADDED:
        return KNDL__SESSIONS__V1__SETUP_TOKEN_CHANGED_REQUEST__CHANGE__CHANGE_ADDED;
    case TOKEN_REPLACED:
        return KNDL__SESSIONS__V1__SETUP_TOKEN_CHANGED_REQUEST__CHANGE__CHANGE_REPLACED;
    case TOKEN_REMOVED:
        return KNDL__SESSIONS__V1__SETUP_TOKEN_CHANGED_REQUEST__CHANGE__CHANGE_REMOVED;
    }
    abort();
}

int peers_tell_token_changed(struct peers *peers, struct kndl_call *call,
                             const struct token_change *change)
{
    V1(SetupTokenChangedRequest) request = KNDL__SESSIONS__V1__SETUP_TOKEN_CHANGED_REQUEST__INIT;
    V1(SetupTokenChangedResponse) *response;

    request.person_id = (char *)change->person_id;
    request.change = change_of(change);
    request.version = change->version;
    return KNDL_CALL(V1, SetupTokenChanged,
                     kndl__sessions__v1__sessions_internal_service__descriptor, peers->bus, call,
                     &request, &response);
}

int peers_resolve_repo(struct peers *peers, struct kndl_call *call, int64_t repo_id,
                       const char *name, int64_t *ret_id, const char **ret_name)
{
    ACCESS(ResolveRepoRequest) request = KNDL__REPO_ACCESS__V1__RESOLVE_REPO_REQUEST__INIT;
    ACCESS(ResolveRepoResponse) * response;

    request.person_id = (char *)call->actor.id;
    request.repo_id = repo_id;
    request.name = (char *)(repo_id == 0 ? name : "");
    if (KNDL_CALL(ACCESS, ResolveRepo, ACCESS_SERVICE, peers->bus, call, &request, &response) < 0)
        return -1;
    if (response->repo == NULL)
        return kndl_fail(&call->err, KNDL_INTERNAL, "repo-access answered without a Repo");
    *ret_id = response->repo->id;
    *ret_name = response->repo->name;
    return 0;
}

static int check_batch(struct peers *peers, struct kndl_call *call, const int64_t *repo_ids,
                       size_t count, bool *ret_allowed)
{
    ACCESS(CheckAccessRequest) request = KNDL__REPO_ACCESS__V1__CHECK_ACCESS_REQUEST__INIT;
    ACCESS(CheckAccessResponse) * response;

    request.person_id = (char *)call->actor.id;
    request.repo_ids = (int64_t *)repo_ids;
    request.n_repo_ids = count;
    if (KNDL_CALL(ACCESS, CheckAccess, ACCESS_SERVICE, peers->bus, call, &request, &response) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        ret_allowed[i] = false;
        for (size_t j = 0; j < response->n_allowed_repo_ids; j++)
            ret_allowed[i] = ret_allowed[i] || response->allowed_repo_ids[j] == repo_ids[i];
    }
    return 0;
}

int peers_check_access(struct peers *peers, struct kndl_call *call, const int64_t *repo_ids,
                       size_t count, bool *ret_allowed)
{
    for (size_t at = 0; at < count; at += ACCESS_BATCH_COUNT) {
        size_t batch = count - at < ACCESS_BATCH_COUNT ? count - at : ACCESS_BATCH_COUNT;

        if (check_batch(peers, call, repo_ids + at, batch, ret_allowed + at) < 0)
            return -1;
    }
    return 0;
}

void peers_say_masks_changed(struct peers *peers)
{
    Kndl__Secrets__V1__MasksChanged changed = KNDL__SECRETS__V1__MASKS_CHANGED__INIT;
    struct kndl_error err = {0};

    if (kndl_bus_publish_fact(peers->bus, "masks", &changed.base, &err) < 0)
        kndl_log(KNDL_WARNING, "a fact was not published; redactor learns of it later",
                 KNDL_STR("why", err.message));
}
