/* RepoAccessInternalService: what other services ask. The bus says who may. */

#include "rpc.h"

#include <inttypes.h>
#include <string.h>

#include "access.h"
#include "github.h"
#include "handlers.h"
#include "kndl/buf.h"
#include "kndl/clock.h"
#include "kndl/env.h"
#include "kndl/id.h"
#include "kndl/log.h"
#include "kndl/mem.h"
#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "kndl/rpc.h"
#include "signin.h"
#include "store.h"

#define V1(name) Kndl__RepoAccess__V1__##name

enum {
    IDS_MAX = 200,
    AUTHENTICATE_MS = 5000,     /* how long the gateway may keep an answer */
    RESOLVE_AGE_MS = 30 * 1000, /* a name that is not known is looked for in a listing this young */
    MINT_AGE_MS = 5 * 1000,     /* as is an installation, where the one that is known refuses */
};

static int read_kind(struct kndl_call *call, V1(AuthenticateRequest__Kind) kind,
                     enum signin_kind *ret_kind)
{
    switch (kind) {
    case KNDL__REPO_ACCESS__V1__AUTHENTICATE_REQUEST__KIND__KIND_WEB:
        *ret_kind = SIGNIN_WEB;
        return 0;
    case KNDL__REPO_ACCESS__V1__AUTHENTICATE_REQUEST__KIND__KIND_CLI:
        *ret_kind = SIGNIN_CLI;
        return 0;
    case KNDL__REPO_ACCESS__V1__AUTHENTICATE_REQUEST__KIND__KIND_CONFIRMED:
        *ret_kind = SIGNIN_CONFIRMED;
        return 0;
    default:
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT, "kind %d is none", (int)kind);
    }
}

/* One that somebody signs in as. */
static int read_sign_in_kind(struct kndl_call *call, V1(AuthenticateRequest__Kind) kind,
                             enum signin_kind *ret_kind)
{
    if (kind == KNDL__REPO_ACCESS__V1__AUTHENTICATE_REQUEST__KIND__KIND_CONFIRMED)
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT, "kind is neither web nor cli");
    return read_kind(call, kind, ret_kind);
}

static int authenticate(struct kndl_call *call, const V1(AuthenticateRequest) *req,
                        V1(AuthenticateResponse) *resp)
{
    struct repo_access *repo_access = call->state;
    struct holder holder;
    enum signin_kind kind;

    if (read_kind(call, req->kind, &kind) < 0 ||
        signin_find(repo_access->store, &req->credential_hash, kind, call->arena, &holder,
                    &call->err) < 0)
        return -1;
    resp->person = rpc_person(&holder.person, call->arena);
    resp->purpose = devices_purpose(holder.purpose);
    resp->valid_until_ms = kndl_clock_wall_ms() + AUTHENTICATE_MS;
    if (resp->valid_until_ms > holder.ends_at_ms)
        resp->valid_until_ms = holder.ends_at_ms;
    return 0;
}

static int dev_login(struct kndl_call *call, const V1(DevLoginRequest) *req,
                     V1(DevLoginResponse) *resp)
{
    struct repo_access *repo_access = call->state;
    KNDL_CLEANUP(kndl_secret_done) struct kndl_secret token = {0};
    struct github_user user;
    struct person person;
    enum signin_kind kind;
    char id[KNDL_ID_SIZE];

    if (strcmp(kndl_env_get("HUB_DEV_LOGIN"), "1") != 0)
        return kndl_fail(&call->err, KNDL_FAILED_PRECONDITION, "dev login is off");
    if (check_machine(call, req->machine) < 0 || read_sign_in_kind(call, req->kind, &kind) < 0 ||
        github_find_user(repo_access->github, req->login, call->arena, &user, &call->err) < 0)
        return -1;

    kndl_id_new(id);
    const struct person who = {
        .id = id, .github_id = user.id, .login = user.login, .name = user.name};
    if (store_admit_person(repo_access->store, &who, kndl_clock_wall_ms(), call->arena, &person,
                           &call->err) < 0)
        return -1;
    if (!person.is_member)
        return kndl_fail(&call->err, KNDL_PERMISSION_DENIED, "this Hub is invite-only");
    if (signin_issue(repo_access->store, person.id, kind, req->machine, &token,
                     &resp->expires_at_ms, &call->err) < 0 ||
        replace_credential(call, &req->replaces_hash) < 0)
        return -1;
    kndl_log(KNDL_INFO, "signed in by dev login", KNDL_STR("person", person.id),
             KNDL_STR("kind", signin_kind_name(kind)));
    resp->token = kndl_arena_copy(call->arena, (const char *)token.data);
    resp->person = rpc_person(&person, call->arena);
    return 0;
}

/* A person who may see anything at all: a Member. `false` without failing where they are not. */
static int find_member(struct kndl_call *call, const char *person_id, struct person *ret_person,
                       bool *ret_is_member)
{
    struct repo_access *repo_access = call->state;
    struct kndl_error cause = {0};

    if (store_find_person(repo_access->store, person_id, call->arena, ret_person, &cause) < 0) {
        if (cause.code != KNDL_NOT_FOUND)
            return kndl_fail(&call->err, cause.code, "%s", cause.message);
        *ret_is_member = false;
        return 0;
    }
    *ret_is_member = ret_person->is_member;
    return 0;
}

static int check_access(struct kndl_call *call, const V1(CheckAccessRequest) *req,
                        V1(CheckAccessResponse) *resp)
{
    struct repo_access *repo_access = call->state;
    size_t count = req->n_repo_ids;
    struct person person;
    bool is_member;

    if (count > IDS_MAX)
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT, "%zu Repos asked for; the most is %d",
                         count, IDS_MAX);
    if (find_member(call, req->person_id, &person, &is_member) < 0)
        return -1;
    resp->valid_until_ms = kndl_clock_wall_ms();
    if (!is_member)
        return 0;

    bool *allowed = kndl_arena_alloc(call->arena, count + 1);
    if (access_check(repo_access, &person, req->repo_ids, count, call->arena, allowed,
                     &resp->valid_until_ms, &call->err) < 0)
        return -1;
    resp->allowed_repo_ids =
        kndl_arena_alloc(call->arena, (count + 1) * sizeof *resp->allowed_repo_ids);
    for (size_t i = 0; i < count; i++)
        if (allowed[i])
            resp->allowed_repo_ids[resp->n_allowed_repo_ids++] = req->repo_ids[i];
    return 0;
}

/* The Repo in the rows, whoever asks. A name that is new to us is looked for once more. */
static int find_repo(struct kndl_call *call, const V1(ResolveRepoRequest) *req,
                     struct repo *ret_repo, struct kndl_error *err)
{
    struct repo_access *repo_access = call->state;
    struct kndl_error cause = {0};

    if (access_list(repo_access, access_ttl_ms(), call->arena, err) < 0)
        return -1;
    for (int i = 0; i < 2; i++) {
        cause = (struct kndl_error){0};
        int result = req->repo_id != 0 ? store_find_repo(repo_access->store, req->repo_id,
                                                         call->arena, ret_repo, &cause)
                                       : store_find_repo_by_name(repo_access->store, req->name,
                                                                 call->arena, ret_repo, &cause);
        if (result == 0 && ret_repo->is_installed)
            return 0;
        if (result < 0 && cause.code != KNDL_NOT_FOUND)
            break;
        cause.code = KNDL_NOT_FOUND;
        if (i == 0 && access_list(repo_access, RESOLVE_AGE_MS, call->arena, err) < 0)
            return -1;
    }
    return kndl_fail(err, cause.code, "%s", cause.message);
}

static int resolve_repo(struct kndl_call *call, const V1(ResolveRepoRequest) *req,
                        V1(ResolveRepoResponse) *resp)
{
    struct repo_access *repo_access = call->state;
    struct kndl_error cause = {0};
    struct person person;
    struct repo repo;
    bool allowed = false;
    int64_t until_ms;

    if ((req->repo_id == 0) == (req->name[0] == '\0'))
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT, "give a Repo's id or its name");
    if (find_member(call, req->person_id, &person, &allowed) < 0)
        return -1;
    if (allowed && find_repo(call, req, &repo, &cause) < 0) {
        if (cause.code != KNDL_NOT_FOUND)
            return kndl_fail(&call->err, cause.code, "%s", cause.message);
        allowed = false;
    }
    if (allowed && access_check(repo_access, &person, &repo.id, 1, call->arena, &allowed, &until_ms,
                                &call->err) < 0)
        return -1;
    /* Word for word alike whether there is such a Repo or not. */
    if (!allowed)
        return req->repo_id != 0
                   ? kndl_fail(&call->err, KNDL_NOT_FOUND,
                               "you have no access to a Repo with the id %" PRId64, req->repo_id)
                   : kndl_fail(&call->err, KNDL_NOT_FOUND,
                               "you have no access to a Repo named %.140s: it needs the GitHub App "
                               "installed there, not suspended, and you as a collaborator",
                               req->name);
    resp->repo = rpc_repo(&repo, call->arena);
    return 0;
}

static V1(GetReposResponse__Presence) presence_of(const struct repo *repo)
{
    if (repo->is_installed)
        return KNDL__REPO_ACCESS__V1__GET_REPOS_RESPONSE__PRESENCE__PRESENCE_INSTALLED;
    return repo->is_suspended
               ? KNDL__REPO_ACCESS__V1__GET_REPOS_RESPONSE__PRESENCE__PRESENCE_SUSPENDED
               : KNDL__REPO_ACCESS__V1__GET_REPOS_RESPONSE__PRESENCE__PRESENCE_GONE;
}

static int get_repos(struct kndl_call *call, const V1(GetReposRequest) *req,
                     V1(GetReposResponse) *resp)
{
    struct repo_access *repo_access = call->state;
    struct repo *repos;
    size_t count;

    if (req->n_repo_ids > IDS_MAX)
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT, "%zu Repos asked for; the most is %d",
                         req->n_repo_ids, IDS_MAX);
    if (access_list(repo_access, access_ttl_ms(), call->arena, &call->err) < 0 ||
        store_find_repos(repo_access->store, req->repo_ids, req->n_repo_ids, call->arena, &repos,
                         &count, &call->err) < 0)
        return -1;
    resp->repos = kndl_arena_alloc(call->arena, (count + 1) * sizeof *resp->repos);
    for (size_t i = 0; i < count; i++) {
        V1(GetReposResponse__State) *state = kndl_arena_alloc(call->arena, sizeof *state);

        kndl__repo_access__v1__get_repos_response__state__init(state);
        state->id = repos[i].id;
        state->name = (char *)repos[i].name;
        state->presence = presence_of(&repos[i]);
        resp->repos[resp->n_repos++] = state;
    }
    return 0;
}

static int get_people(struct kndl_call *call, const V1(GetPeopleRequest) *req,
                      V1(GetPeopleResponse) *resp)
{
    struct repo_access *repo_access = call->state;
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf ids = {0};
    struct person *people;
    size_t count;

    if (req->n_person_ids > IDS_MAX)
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT, "%zu people asked for; the most is %d",
                         req->n_person_ids, IDS_MAX);
    for (size_t i = 0; i < req->n_person_ids; i++)
        if (kndl_id_is_valid(req->person_ids[i]))
            kndl_buf_printf(&ids, "%s%s", ids.size > 0 ? "," : "", req->person_ids[i]);
    if (store_find_people(repo_access->store, kndl_buf_text(&ids), call->arena, &people, &count,
                          &call->err) < 0)
        return -1;
    resp->people = kndl_arena_alloc(call->arena, (count + 1) * sizeof *resp->people);
    for (size_t i = 0; i < count; i++)
        resp->people[resp->n_people++] = rpc_person(&people[i], call->arena);
    return 0;
}

/* A Repo that was given to another owner is another installation's: it is listed anew once. */
static int mint(struct kndl_call *call, const V1(MintGitTokenRequest) *req, struct repo *ret_repo,
                struct github_token *ret_token)
{
    struct repo_access *repo_access = call->state;
    struct kndl_error cause = {0};
    int64_t refused_by = 0;

    for (;;) {
        if (store_find_repo(repo_access->store, req->repo_id, call->arena, ret_repo, &call->err) <
            0)
            return -1;
        if (ret_repo->installation_id == refused_by)
            return kndl_fail(&call->err, cause.code, "%s", cause.message);
        cause = (struct kndl_error){0};
        if (github_mint(repo_access->github, ret_repo, req->write, call->arena, ret_token,
                        &cause) == 0)
            return 0;
        if (cause.code != KNDL_PERMISSION_DENIED || refused_by != 0)
            return kndl_fail(&call->err, cause.code, "%s", cause.message);
        refused_by = ret_repo->installation_id;
        if (access_list(repo_access, MINT_AGE_MS, call->arena, &call->err) < 0)
            return -1;
    }
}

static int mint_git_token(struct kndl_call *call, const V1(MintGitTokenRequest) *req,
                          V1(MintGitTokenResponse) *resp)
{
    struct repo_access *repo_access = call->state;
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf url = {0};
    struct github_token token = {0};
    struct repo repo;

    if (mint(call, req, &repo, &token) < 0)
        return -1;
    resp->token = kndl_arena_copy(call->arena, (const char *)token.token.data);
    kndl_secret_done(&token.token);
    resp->expires_at_ms = token.expires_at_ms;
    resp->repo_name = (char *)token.repo_name;
    kndl_buf_printf(&url, "%s/%s.git", kndl_env_get("HUB_GITHUB_URL"), token.repo_name);
    resp->clone_url = kndl_arena_copy(call->arena, kndl_buf_text(&url));
    if (strcmp(repo.name, token.repo_name) != 0)
        return store_rename_repo(repo_access->store, repo.id, token.repo_name, &call->err);
    return 0;
}

KNDL_RPC(V1, RepoAccessInternalService, Authenticate, authenticate)
KNDL_RPC(V1, RepoAccessInternalService, DevLogin, dev_login)
KNDL_RPC(V1, RepoAccessInternalService, GetSignInMethods, get_sign_in_methods)
KNDL_RPC(V1, RepoAccessInternalService, BeginSignIn, begin_sign_in)
KNDL_RPC(V1, RepoAccessInternalService, CompleteSignIn, complete_sign_in)
KNDL_RPC(V1, RepoAccessInternalService, BeginDevice, begin_device)
KNDL_RPC(V1, RepoAccessInternalService, PollDevice, poll_device)
KNDL_RPC(V1, RepoAccessInternalService, CheckAccess, check_access)
KNDL_RPC(V1, RepoAccessInternalService, ResolveRepo, resolve_repo)
KNDL_RPC(V1, RepoAccessInternalService, GetRepos, get_repos)
KNDL_RPC(V1, RepoAccessInternalService, GetPeople, get_people)
KNDL_RPC(V1, RepoAccessInternalService, MintGitToken, mint_git_token)

static V1(RepoAccessInternalService_Service) service =
    KNDL__REPO_ACCESS__V1__REPO_ACCESS_INTERNAL_SERVICE__INIT(rpc_);

ProtobufCService *const repo_access_internal_service = &service.base;
