/* Members and Invites: all may see who is in, the Owner alone says who. */

#include <string.h>

#include "departures.h"
#include "doors.h"
#include "handlers.h"
#include "kndl/buf.h"
#include "kndl/clock.h"
#include "kndl/id.h"
#include "kndl/log.h"
#include "kndl/mem.h"
#include "kndl/token.h"
#include "peers.h"
#include "rpc.h"
#include "store_members.h"

#define V1(name) Kndl__RepoAccess__V1__##name

#define DAY_MS (INT64_C(24) * 60 * 60 * 1000)

static const int64_t invite_ms = 7 * DAY_MS;

enum { LOGIN_CHARS_MAX = 39 }; /* GitHub's */

int list_members(struct kndl_call *call, const V1(ListMembersRequest) *req,
                 V1(ListMembersResponse) *resp)
{
    struct repo_access *repo_access = call->state;
    struct member *members;
    size_t count;

    (void)req;
    if (store_list_members(repo_access->store, call->arena, &members, &count, &call->err) < 0)
        return -1;
    resp->members = kndl_arena_alloc(call->arena, (count + 1) * sizeof *resp->members);
    for (size_t i = 0; i < count; i++) {
        V1(Member) *member = kndl_arena_alloc(call->arena, sizeof *member);

        *member = (V1(Member))KNDL__REPO_ACCESS__V1__MEMBER__INIT;
        member->person = rpc_person(&members[i].person, call->arena);
        member->since_ms = members[i].since_ms;
        resp->members[resp->n_members++] = member;
    }
    return 0;
}

static V1(Invite) *invite_of(const struct invite *invite, struct kndl_arena *arena)
{
    V1(Invite) *out = kndl_arena_alloc(arena, sizeof *out);

    *out = (V1(Invite))KNDL__REPO_ACCESS__V1__INVITE__INIT;
    out->id = (char *)invite->id;
    out->login = (char *)invite->login;
    out->created_at_ms = invite->created_at_ms;
    out->ends_at_ms = invite->ends_at_ms;
    return out;
}

int list_invites(struct kndl_call *call, const V1(ListInvitesRequest) *req,
                 V1(ListInvitesResponse) *resp)
{
    struct repo_access *repo_access = call->state;
    struct invite *invites;
    size_t count;

    (void)req;
    if (store_list_invites(repo_access->store, call->actor.id, kndl_clock_wall_ms(), call->arena,
                           &invites, &count, &call->err) < 0)
        return -1;
    resp->invites = kndl_arena_alloc(call->arena, (count + 1) * sizeof *resp->invites);
    for (size_t i = 0; i < count; i++)
        resp->invites[resp->n_invites++] = invite_of(&invites[i], call->arena);
    return 0;
}

/* A login of GitHub's; a leading @ is how people write them. */
static int read_login(struct kndl_call *call, const char *text, const char **ret_login)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const char *login = text[0] == '@' ? text + 1 : text;
    size_t size = strlen(login);

    if (size == 0 || size > LOGIN_CHARS_MAX || strspn(login, plain) != size)
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT,
                         "a GitHub login has up to %d letters, digits and hyphens, unlike %.60s",
                         LOGIN_CHARS_MAX, text);
    *ret_login = login;
    return 0;
}

int invite_member(struct kndl_call *call, const V1(InviteMemberRequest) *req,
                  V1(InviteMemberResponse) *resp)
{
    struct repo_access *repo_access = call->state;
    KNDL_CLEANUP(kndl_secret_done) struct kndl_secret token = {0};
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf link = {0};
    uint8_t hash[KNDL_HASH_BYTES];
    struct invite invite;
    struct kndl_asked asked;
    const char *login;
    char id[KNDL_ID_SIZE];

    if (rpc_ask(call, req->request_id, &req->base, &asked) < 0 ||
        read_login(call, req->login, &login) < 0)
        return -1;
    kndl_id_new(id);
    kndl_token_new(KNDL_TOKEN_INV, &token);
    kndl_hash(kndl_slice(token.data, token.size), hash);
    if (store_invite(repo_access->store, &asked, id, login, hash, asked.now_ms + invite_ms,
                     call->arena, &invite, &call->err) < 0)
        return -1;
    kndl_log(KNDL_INFO, "somebody was invited", KNDL_STR("invite", invite.id),
             KNDL_STR("login", invite.login));
    resp->invite = invite_of(&invite, call->arena);
    doors_write_link("invite", (const char *)token.data, &link);
    resp->link = kndl_arena_copy(call->arena, kndl_buf_text(&link));
    explicit_bzero(link.data, link.size);
    return 0;
}

int revoke_invite(struct kndl_call *call, const V1(RevokeInviteRequest) *req,
                  V1(RevokeInviteResponse) *resp)
{
    struct repo_access *repo_access = call->state;
    struct kndl_asked asked;

    (void)resp;
    if (rpc_ask(call, req->request_id, &req->base, &asked) < 0 ||
        store_revoke_invite(repo_access->store, &asked, req->invite_id, call->arena, &call->err) <
            0)
        return -1;
    kndl_log(KNDL_INFO, "an Invite was revoked", KNDL_STR("invite", req->invite_id));
    return 0;
}

int remove_member(struct kndl_call *call, const V1(RemoveMemberRequest) *req,
                  V1(RemoveMemberResponse) *resp)
{
    struct repo_access *repo_access = call->state;
    char removal_id[KNDL_ID_SIZE];
    struct kndl_asked asked;

    (void)resp;
    kndl_id_new(removal_id);
    if (rpc_ask(call, req->request_id, &req->base, &asked) < 0 ||
        store_remove_member(repo_access->store, &asked, req->person_id, removal_id, call->arena,
                            &call->err) < 0)
        return -1;
    kndl_log(KNDL_INFO, "a Member was removed", KNDL_STR("person", req->person_id));
    peers_publish(repo_access->bus, FACT_PEOPLE, req->person_id);
    call->wake = &departures_task;
    return 0;
}

int hand_over_ownership(struct kndl_call *call, const V1(HandOverOwnershipRequest) *req,
                        V1(HandOverOwnershipResponse) *resp)
{
    struct repo_access *repo_access = call->state;
    struct kndl_asked asked;

    (void)resp;
    if (rpc_ask(call, req->request_id, &req->base, &asked) < 0 ||
        store_hand_over(repo_access->store, &asked, req->person_id, call->arena, &call->err) < 0)
        return -1;
    kndl_log(KNDL_INFO, "ownership was handed over", KNDL_STR("to", req->person_id));
    peers_publish(repo_access->bus, FACT_PEOPLE, req->person_id);
    return 0;
}
