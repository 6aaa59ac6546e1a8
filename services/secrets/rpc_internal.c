/* SecretsInternalService: sessions says who runs what, redactor asks what to mask, repo-access says
 * who is gone. */

#include "rpc.h"

#include <string.h>

#include "changes.h"
#include "kndl/clock.h"
#include "kndl/id.h"
#include "kndl/redact.h"
#include "kndl/rpc.h"
#include "kndl/secrets/v1/secrets_service.pb-c.h"
#include "store.h"

#define V1(name) Kndl__Secrets__V1__##name

enum {
    NAME_CHARS_MOST = 100,
    HITS_MOST = 1000, /* of one report */
};

static int check_setup_token(struct kndl_call *call, const V1(CheckSetupTokenRequest) *req,
                             V1(CheckSetupTokenResponse) *resp)
{
    struct secrets *secrets = call->state;
    struct setup_token token;

    if (store_find_token(secrets->store, req->person_id, call->arena, &token, &call->err) < 0)
        return -1;
    resp->exists = token.exists;
    resp->version = token.version;
    return 0;
}

static int put_assignment(struct kndl_call *call, const V1(PutAssignmentRequest) *req,
                          V1(PutAssignmentResponse) *resp)
{
    struct secrets *secrets = call->state;
    const struct assignment assignment = {
        .session_id = req->session_id,
        .run = req->run,
        .runner_id = req->runner_id,
        .creator_id = req->creator_id,
        .repo_id = req->repo_id,
        .phase = (enum phase)req->phase,
    };

    if (!kndl_id_is_valid(req->session_id))
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT, "session_id is not an id");
    if (assignment.phase < PHASE_MADE || assignment.phase > PHASE_PURGED)
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT, "phase %d is none", req->phase);
    if (req->run < 0 || req->runner_id[0] == '\0' || req->creator_id[0] == '\0')
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT,
                         "run, runner_id or creator_id is missing");
    return store_put_assignment(secrets->store, &assignment, call->arena, &resp->mask_version,
                                &call->err);
}

static int put_mask(struct kndl_call *call, const V1(PutMaskRequest) *req,
                    V1(PutMaskResponse) *resp)
{
    struct secrets *secrets = call->state;
    struct kndl_slice value = kndl_slice_of(req->value);

    if (req->name[0] == '\0' || strlen(req->name) > NAME_CHARS_MOST)
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT, "name is missing or too long");
    /* RD-06; and one value that cannot be masked stops all that would be masked beside it */
    if (kndl_redact_check(req->name, value, NULL, &call->err) < 0)
        return -1;
    return store_put_mask(secrets->store, req->session_id, req->name, value, call->arena,
                          &resp->mask_version, &call->err);
}

static V1(Counted) *rpc_counted(const struct counted *counted, struct kndl_arena *arena)
{
    V1(Counted) *out = kndl_arena_alloc(arena, sizeof *out);

    *out = (V1(Counted))KNDL__SECRETS__V1__COUNTED__INIT;
    out->id = (char *)counted->id;
    out->version = counted->version;
    return out;
}

static V1(GetMaskSetResponse__Value) *rpc_value(const struct mask *mask, struct kndl_arena *arena)
{
    V1(GetMaskSetResponse__Value) *out = kndl_arena_alloc(arena, sizeof *out);
    size_t count = 0;

    *out = (V1(GetMaskSetResponse__Value))KNDL__SECRETS__V1__GET_MASK_SET_RESPONSE__VALUE__INIT;
    out->name = (char *)mask->name;
    out->value = (char *)mask->value;
    for (const struct counted *at = mask->counted; at != NULL; at = at->next)
        count++;
    out->counted = kndl_arena_alloc(arena, (count + 1) * sizeof *out->counted);
    for (const struct counted *at = mask->counted; at != NULL; at = at->next)
        out->counted[out->n_counted++] = rpc_counted(at, arena);
    return out;
}

static int get_mask_set(struct kndl_call *call, const V1(GetMaskSetRequest) *req,
                        V1(GetMaskSetResponse) *resp)
{
    struct secrets *secrets = call->state;
    const struct run run = {
        .session_id = req->session_id,
        .run = req->run,
        .runner_id = req->runner_id[0] == '\0' ? NULL : req->runner_id,
    };
    struct mask_set set;
    int result;

    if (req->session_id[0] != '\0')
        result = store_list_masks(secrets->store, &run, req->known_version, call->arena, &set,
                                  &call->err);
    else if (req->creator_id[0] != '\0')
        result = store_list_person_masks(secrets->store, req->creator_id, req->repo_id, call->arena,
                                         &set, &call->err);
    else
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT, "session_id or creator_id is missing");
    if (result < 0)
        return -1;
    if (set.version < req->at_least)
        return kndl_fail(&call->err, KNDL_UNAVAILABLE, "the mask set is at version %lld",
                         (long long)set.version);

    resp->version = set.version;
    resp->repo_id = set.repo_id;
    resp->values = kndl_arena_alloc(call->arena, (set.count + 1) * sizeof *resp->values);
    for (size_t i = 0; i < set.count; i++)
        resp->values[resp->n_values++] = rpc_value(&set.masks[i], call->arena);
    return 0;
}

static int count_masked(struct kndl_call *call, const V1(CountMaskedRequest) *req,
                        V1(CountMaskedResponse) *resp)
{
    struct secrets *secrets = call->state;
    struct report report = {.reporter_id = req->reporter_id, .n = req->n, .count = req->n_hits};

    (void)resp;
    if (req->reporter_id[0] == '\0' || strlen(req->reporter_id) > NAME_CHARS_MOST || req->n <= 0)
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT, "the report has no reporter or number");
    if (req->n_hits > HITS_MOST)
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT, "%zu hits at once; the most is %d",
                         req->n_hits, HITS_MOST);
    report.hits = kndl_arena_alloc(call->arena, (req->n_hits + 1) * sizeof *report.hits);
    for (size_t i = 0; i < req->n_hits; i++) {
        const V1(CountMaskedRequest__Hits) *hits = req->hits[i];

        if (hits->counted == NULL || hits->count <= 0)
            return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT, "hits are of something, and some");
        report.hits[i] = (struct hits){
            .counted_id = hits->counted->id,
            .version = hits->counted->version,
            .repo_id = hits->repo_id,
            .count = hits->count,
            .last_at_ms = hits->last_at_ms,
        };
    }
    return store_count_masked(secrets->store, &report, kndl_clock_wall_ms(), call->arena,
                              &call->err);
}

static int member_removed(struct kndl_call *call, const V1(MemberRemovedRequest) *req,
                          V1(MemberRemovedResponse) *resp)
{
    struct secrets *secrets = call->state;
    char request_id[KNDL_ID_SIZE];
    const struct request request = {req->person_id, request_id, kndl_clock_wall_ms(), {0}};
    bool changed;

    (void)resp;
    if (!kndl_id_is_valid(req->person_id) || !kndl_id_is_valid(req->removal_id))
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT, "person_id or removal_id is no id");
    /* The repeat a little later takes a token that was set in between: it is no repeat here. */
    kndl_id_new(request_id);
    if (store_remove_token(secrets->store, &request, call->arena, &changed, &call->err) < 0)
        return -1;
    if (changed)
        call->wake = &changes_task;
    return 0;
}

KNDL_RPC(V1, SecretsInternalService, CheckSetupToken, check_setup_token)
KNDL_RPC(V1, SecretsInternalService, PutAssignment, put_assignment)
KNDL_RPC(V1, SecretsInternalService, PutMask, put_mask)
KNDL_RPC(V1, SecretsInternalService, GetMaskSet, get_mask_set)
KNDL_RPC(V1, SecretsInternalService, CountMasked, count_masked)
KNDL_RPC(V1, SecretsInternalService, MemberRemoved, member_removed)

static V1(SecretsInternalService_Service) service =
    KNDL__SECRETS__V1__SECRETS_INTERNAL_SERVICE__INIT(rpc_);

ProtobufCService *const secrets_internal_service = &service.base;
