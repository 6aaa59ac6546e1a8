/* A person's own sign-ins. */

#include <string.h>

#include "handlers.h"
#include "kndl/clock.h"
#include "kndl/log.h"
#include "peers.h"
#include "rpc.h"
#include "store_doors.h"

#define V1(name) Kndl__RepoAccess__V1__##name

static bool is_hash(const ProtobufCBinaryData *data, const uint8_t hash[KNDL_HASH_BYTES])
{
    return data->len == KNDL_HASH_BYTES && kndl_hash_equal(data->data, hash);
}

int sign_out(struct kndl_call *call, const V1(SignOutRequest) *req, V1(SignOutResponse) *resp)
{
    struct repo_access *repo_access = call->state;

    (void)resp;
    if (req->credential_hash.len != KNDL_HASH_BYTES)
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT, "credential_hash is missing");
    if (store_revoke_credential(repo_access->store, req->credential_hash.data, call->actor.id,
                                kndl_clock_wall_ms(), &call->err) < 0)
        return -1;
    peers_publish(repo_access->bus, FACT_PEOPLE, call->actor.id);
    return 0;
}

static V1(SignIn) *sign_in_of(const struct sign_in *sign_in, bool is_current,
                              struct kndl_arena *arena)
{
    V1(SignIn) *out = kndl_arena_alloc(arena, sizeof *out);

    *out = (V1(SignIn))KNDL__REPO_ACCESS__V1__SIGN_IN__INIT;
    out->id = (char *)sign_in->id;
    out->kind = strcmp(sign_in->kind, "cli") == 0
                    ? KNDL__REPO_ACCESS__V1__AUTHENTICATE_REQUEST__KIND__KIND_CLI
                    : KNDL__REPO_ACCESS__V1__AUTHENTICATE_REQUEST__KIND__KIND_WEB;
    out->machine = (char *)sign_in->machine;
    out->created_at_ms = sign_in->created_at_ms;
    out->last_used_at_ms = sign_in->last_used_at_ms;
    out->ends_at_ms = sign_in->expires_at_ms;
    out->is_current = is_current;
    return out;
}

/* Does a CLI ask? It sees itself alone, and so does who comes with nothing known. */
static bool asks_by_cli(const struct sign_in *sign_ins, size_t count,
                        const ProtobufCBinaryData *hash)
{
    for (size_t i = 0; i < count; i++)
        if (is_hash(hash, sign_ins[i].hash))
            return strcmp(sign_ins[i].kind, "cli") == 0;
    return true;
}

int list_sign_ins(struct kndl_call *call, const V1(ListSignInsRequest) *req,
                  V1(ListSignInsResponse) *resp)
{
    struct repo_access *repo_access = call->state;
    struct sign_in *sign_ins;
    size_t count;

    if (store_list_credentials(repo_access->store, call->actor.id, kndl_clock_wall_ms(),
                               call->arena, &sign_ins, &count, &call->err) < 0)
        return -1;
    bool is_cli = asks_by_cli(sign_ins, count, &req->credential_hash);
    resp->sign_ins = kndl_arena_alloc(call->arena, (count + 1) * sizeof *resp->sign_ins);
    for (size_t i = 0; i < count; i++) {
        bool is_current = is_hash(&req->credential_hash, sign_ins[i].hash);

        if (is_current || !is_cli)
            resp->sign_ins[resp->n_sign_ins++] = sign_in_of(&sign_ins[i], is_current, call->arena);
    }
    return 0;
}

int end_sign_in(struct kndl_call *call, const V1(EndSignInRequest) *req,
                V1(EndSignInResponse) *resp)
{
    struct repo_access *repo_access = call->state;
    struct kndl_asked asked;

    (void)resp;
    if (rpc_ask(call, req->request_id, &req->base, &asked) < 0 ||
        store_end_credentials(repo_access->store, &asked, req->sign_in_id, call->arena,
                              &call->err) < 0)
        return -1;
    peers_publish(repo_access->bus, FACT_PEOPLE, call->actor.id);
    return 0;
}

int end_all_sign_ins(struct kndl_call *call, const V1(EndAllSignInsRequest) *req,
                     V1(EndAllSignInsResponse) *resp)
{
    struct repo_access *repo_access = call->state;
    struct kndl_asked asked;

    (void)resp;
    if (rpc_ask(call, req->request_id, &req->base, &asked) < 0 ||
        store_end_credentials(repo_access->store, &asked, NULL, call->arena, &call->err) < 0)
        return -1;
    kndl_log(KNDL_INFO, "signed out everywhere", KNDL_STR("person", call->actor.id));
    peers_publish(repo_access->bus, FACT_PEOPLE, call->actor.id);
    return 0;
}
