/* RepoAccessService: what people ask of themselves and of the Repos that they may see. */

#include "rpc.h"

#include <string.h>

#include "access.h"
#include "handlers.h"
#include "kndl/buf.h"
#include "kndl/clock.h"
#include "kndl/mem.h"
#include "kndl/token.h"
#include "store_members.h"

#define V1(name) Kndl__RepoAccess__V1__##name

V1(Person) *rpc_person(const struct person *person, struct kndl_arena *arena)
{
    V1(Person) *out = kndl_arena_alloc(arena, sizeof *out);

    *out = (V1(Person))KNDL__REPO_ACCESS__V1__PERSON__INIT;
    out->id = (char *)person->id;
    out->login = (char *)person->login;
    out->name = (char *)person->name;
    out->github_id = person->github_id;
    out->is_owner = person->is_owner;
    return out;
}

V1(Repo) *rpc_repo(const struct repo *repo, struct kndl_arena *arena)
{
    V1(Repo) *out = kndl_arena_alloc(arena, sizeof *out);

    *out = (V1(Repo))KNDL__REPO_ACCESS__V1__REPO__INIT;
    out->id = repo->id;
    out->name = (char *)repo->name;
    out->default_branch = (char *)repo->default_branch;
    out->is_private = repo->is_private;
    out->description = (char *)repo->description;
    return out;
}

int rpc_ask(struct kndl_call *call, const char *request_id, const ProtobufCMessage *message,
            struct kndl_asked *ret_asked)
{
    uint8_t *hash = kndl_arena_alloc(call->arena, KNDL_HASH_BYTES);

    if (kndl_call_check_request_id(call, request_id) < 0)
        return -1;
    kndl_hash(kndl_call_content(call, message), hash);
    *ret_asked = (struct kndl_asked){
        .person_id = call->actor.id,
        .request_id = request_id,
        .now_ms = kndl_clock_wall_ms(),
        .content = kndl_slice(hash, KNDL_HASH_BYTES),
    };
    return 0;
}

int check_machine(struct kndl_call *call, const char *machine)
{
    if (strlen(machine) > MACHINE_CHARS_MAX)
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT,
                         "the machine's name has %zu bytes; the most is %d", strlen(machine),
                         MACHINE_CHARS_MAX);
    return 0;
}

int stand(struct kndl_call *call, const struct kndl_public *row, const ProtobufCMessage *request,
          unsigned *ret_who)
{
    struct repo_access *repo_access = call->state;
    struct person *person = kndl_arena_alloc(call->arena, sizeof *person);
    bool was_done = false;

    if (store_find_person(repo_access->store, call->actor.id, call->arena, person, &call->err) < 0)
        return kndl_stand_absent(call);
    if (!person->is_member)
        return 0;
    *ret_who |= KNDL_WHO_MEMBER;
    call->found = person;
    /* Who handed ownership over repeats that as a Member. Its row changes nothing then. */
    if (row->who == KNDL_WHO_OWNER && !person->is_owner &&
        store_was_done(repo_access->store, person->id, kndl_request_text(request, "request_id"),
                       call->arena, &was_done, &call->err) < 0)
        return -1;
    if (person->is_owner || was_done)
        *ret_who |= KNDL_WHO_OWNER;
    return 0;
}

/* The person who asks, who was a Member when the call came. Lives as long as the call. */
static const struct person *caller_of(const struct kndl_call *call)
{
    return call->found;
}

static int who_am_i(struct kndl_call *call, const V1(WhoAmIRequest) *req, V1(WhoAmIResponse) *resp)
{
    (void)req;
    resp->person = rpc_person(caller_of(call), call->arena);
    return 0;
}

/* Sentences for the caller about what is not as it should be with GitHub. */
static int add_notices(struct kndl_call *call, V1(ListReposResponse) *resp)
{
    struct repo_access *repo_access = call->state;
    const char **accounts;
    int64_t listed_at_ms;
    size_t count;

    if (store_find_listing(repo_access->store, call->arena, &listed_at_ms, &call->err) < 0 ||
        store_list_suspended(repo_access->store, call->arena, &accounts, &count, &call->err) < 0)
        return -1;
    resp->notices = kndl_arena_alloc(call->arena, (count + 1) * sizeof *resp->notices);
    if (kndl_clock_wall_ms() - listed_at_ms >= access_ttl_ms())
        resp->notices[resp->n_notices++] =
            (char *)"GitHub does not answer at the moment: these are the Repos that it last named.";
    for (size_t i = 0; caller_of(call)->is_owner && i < count; i++) {
        KNDL_CLEANUP(kndl_buf_done) struct kndl_buf text = {0};

        kndl_buf_printf(&text,
                        "The GitHub App is suspended on %s: nobody has access to its Repos, and "
                        "their Sessions sleep, until it is lifted in GitHub's settings of that "
                        "account.",
                        accounts[i]);
        resp->notices[resp->n_notices++] = kndl_arena_copy(call->arena, kndl_buf_text(&text));
    }
    return 0;
}

static int list_repos(struct kndl_call *call, const V1(ListReposRequest) *req,
                      V1(ListReposResponse) *resp)
{
    struct repo_access *repo_access = call->state;
    struct repo *repos;
    size_t count;
    int64_t until_ms;

    (void)req;
    if (access_list(repo_access, access_ttl_ms(), call->arena, &call->err) < 0 ||
        store_list_repos(repo_access->store, call->arena, &repos, &count, &call->err) < 0)
        return -1;

    int64_t *ids = kndl_arena_alloc(call->arena, (count + 1) * sizeof *ids);
    bool *allowed = kndl_arena_alloc(call->arena, count + 1);
    for (size_t i = 0; i < count; i++)
        ids[i] = repos[i].id;
    if (access_check(repo_access, caller_of(call), ids, count, call->arena, allowed, &until_ms,
                     &call->err) < 0)
        return -1;

    resp->repos = kndl_arena_alloc(call->arena, (count + 1) * sizeof *resp->repos);
    for (size_t i = 0; i < count; i++)
        if (allowed[i])
            resp->repos[resp->n_repos++] = rpc_repo(&repos[i], call->arena);
    return add_notices(call, resp);
}

KNDL_PUBLIC(V1, RepoAccessService, WhoAmI, who_am_i, stand)
KNDL_PUBLIC(V1, RepoAccessService, ListRepos, list_repos, stand)
KNDL_PUBLIC(V1, RepoAccessService, SignOut, sign_out, stand)
KNDL_PUBLIC(V1, RepoAccessService, ListSignIns, list_sign_ins, stand)
KNDL_PUBLIC(V1, RepoAccessService, EndSignIn, end_sign_in, stand)
KNDL_PUBLIC(V1, RepoAccessService, EndAllSignIns, end_all_sign_ins, stand)
KNDL_PUBLIC(V1, RepoAccessService, FindDevice, find_device, stand)
KNDL_PUBLIC(V1, RepoAccessService, DecideDevice, decide_device, stand)
KNDL_PUBLIC(V1, RepoAccessService, BeginConfirmation, begin_confirmation, stand)
KNDL_PUBLIC(V1, RepoAccessService, TakeConfirmation, take_confirmation, stand)
KNDL_PUBLIC(V1, RepoAccessService, ListMembers, list_members, stand)
KNDL_PUBLIC(V1, RepoAccessService, ListInvites, list_invites, stand)
KNDL_PUBLIC(V1, RepoAccessService, InviteMember, invite_member, stand)
KNDL_PUBLIC(V1, RepoAccessService, RevokeInvite, revoke_invite, stand)
KNDL_PUBLIC(V1, RepoAccessService, RemoveMember, remove_member, stand)
KNDL_PUBLIC(V1, RepoAccessService, HandOverOwnership, hand_over_ownership, stand)

static V1(RepoAccessService_Service) service =
    KNDL__REPO_ACCESS__V1__REPO_ACCESS_SERVICE__INIT(rpc_);

ProtobufCService *const repo_access_service = &service.base;
