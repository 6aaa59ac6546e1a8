/* Questions to repo-access about the person of a call. */

#include "kndl/access.h"

#include "kndl/arena.h"
#include "kndl/bus.h"
#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "kndl/rpc.h"

#define V1(name) Kndl__RepoAccess__V1__##name
#define SERVICE kndl__repo_access__v1__repo_access_internal_service__descriptor

enum { BATCH_COUNT = 200 };

static bool is_among(const V1(CheckAccessResponse) *resp, int64_t repo_id)
{
    for (size_t i = 0; i < resp->n_allowed_repo_ids; i++)
        if (resp->allowed_repo_ids[i] == repo_id)
            return true;
    return false;
}

static int check_batch(struct kndl_bus *bus, struct kndl_call *call, const int64_t *repo_ids,
                       size_t count, bool *allowed, struct kndl_access *access)
{
    V1(CheckAccessRequest) req = KNDL__REPO_ACCESS__V1__CHECK_ACCESS_REQUEST__INIT;
    V1(CheckAccessResponse) *resp;

    req.person_id = (char *)call->actor.id;
    req.repo_ids = (int64_t *)repo_ids;
    req.n_repo_ids = count;
    if (KNDL_CALL(V1, CheckAccess, SERVICE, bus, call, &req, &resp) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        allowed[i] = is_among(resp, repo_ids[i]);
        if (allowed[i])
            access->repo_ids[access->count++] = repo_ids[i];
    }
    if (access->valid_until_ms == 0 || resp->valid_until_ms < access->valid_until_ms)
        access->valid_until_ms = resp->valid_until_ms;
    return 0;
}

int kndl_access_check(struct kndl_bus *bus, struct kndl_call *call, const int64_t *repo_ids,
                      size_t count, struct kndl_access *ret_access)
{
    struct kndl_access access = {
        .allowed = kndl_arena_alloc(call->arena, (count + 1) * sizeof(bool)),
        .repo_ids = kndl_arena_alloc(call->arena, (count + 1) * sizeof(int64_t)),
    };

    for (size_t at = 0; at < count; at += BATCH_COUNT) {
        size_t batch = count - at < BATCH_COUNT ? count - at : BATCH_COUNT;

        if (check_batch(bus, call, repo_ids + at, batch, access.allowed + at, &access) < 0)
            return -1;
    }
    *ret_access = access;
    return 0;
}

int kndl_access_resolve_repo(struct kndl_bus *bus, struct kndl_call *call, int64_t repo_id,
                             const char *name, int64_t *ret_id, const char **ret_name)
{
    V1(ResolveRepoRequest) req = KNDL__REPO_ACCESS__V1__RESOLVE_REPO_REQUEST__INIT;
    V1(ResolveRepoResponse) *resp;

    req.person_id = (char *)call->actor.id;
    req.repo_id = repo_id;
    req.name = (char *)(repo_id == 0 ? name : "");
    if (KNDL_CALL(V1, ResolveRepo, SERVICE, bus, call, &req, &resp) < 0)
        return -1;
    if (resp->repo == NULL)
        return kndl_fail(&call->err, KNDL_INTERNAL, "repo-access answered without a Repo");
    *ret_id = resp->repo->id;
    *ret_name = resp->repo->name;
    return 0;
}
