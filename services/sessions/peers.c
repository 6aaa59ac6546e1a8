/* Questions to secrets, repo-access and redactor over the bus. */

#include "peers.h"

#include <stdio.h>
#include <string.h>

#include "kndl/bus.h"
#include "kndl/clock.h"
#include "kndl/redactor/v1/redactor_service.pb-c.h"
#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "kndl/rpc.h"
#include "kndl/secrets/v1/secrets_service.pb-c.h"
#include "store.h"

#define ACCESS(name) Kndl__RepoAccess__V1__##name
#define SECRETS(name) Kndl__Secrets__V1__##name
#define REDACTOR(name) Kndl__Redactor__V1__##name

#define ACCESS_SERVICE kndl__repo_access__v1__repo_access_internal_service__descriptor
#define SECRETS_SERVICE kndl__secrets__v1__secrets_internal_service__descriptor
#define REDACTOR_SERVICE kndl__redactor__v1__redactor_internal_service__descriptor

enum {
    REPOS_BATCH_COUNT = 200,
    TASK_TIMEOUT_MS = 5000,
    MASK_MS = 2000, /* then another copy of redactor may be asked */
};

/* A task has no caller that waits, so it brings no deadline. */
static void limit(struct kndl_call *call)
{
    if (call->method == NULL)
        call->deadline_ms = kndl_clock_ms() + TASK_TIMEOUT_MS;
}

static const char *problem_of(ACCESS(GetReposResponse__Presence) presence)
{
    switch (presence) {
    case KNDL__REPO_ACCESS__V1__GET_REPOS_RESPONSE__PRESENCE__PRESENCE_SUSPENDED:
        return "repo_suspended";
    case KNDL__REPO_ACCESS__V1__GET_REPOS_RESPONSE__PRESENCE__PRESENCE_GONE:
        return "repo_gone";
    case KNDL__REPO_ACCESS__V1__GET_REPOS_RESPONSE__PRESENCE__PRESENCE_INSTALLED:
    case KNDL__REPO_ACCESS__V1__GET_REPOS_RESPONSE__PRESENCE__PRESENCE_UNSPECIFIED:
    default:
        return "";
    }
}

int peers_get_repos(struct kndl_bus *bus, struct kndl_call *call, const int64_t *repo_ids,
                    size_t count, struct repo_state **ret_repos, size_t *ret_count)
{
    struct repo_state *repos = kndl_arena_alloc(call->arena, (count + 1) * sizeof *repos);
    size_t found = 0;

    limit(call);
    for (size_t at = 0; at < count; at += REPOS_BATCH_COUNT) {
        ACCESS(GetReposRequest) req = KNDL__REPO_ACCESS__V1__GET_REPOS_REQUEST__INIT;
        ACCESS(GetReposResponse) * resp;

        req.repo_ids = (int64_t *)repo_ids + at;
        req.n_repo_ids = count - at < REPOS_BATCH_COUNT ? count - at : REPOS_BATCH_COUNT;
        if (KNDL_CALL(ACCESS, GetRepos, ACCESS_SERVICE, bus, call, &req, &resp) < 0)
            return -1;
        for (size_t i = 0; i < resp->n_repos && found < count; i++)
            repos[found++] = (struct repo_state){resp->repos[i]->id, resp->repos[i]->name,
                                                 problem_of(resp->repos[i]->presence)};
    }
    *ret_repos = repos;
    *ret_count = found;
    return 0;
}

int peers_get_person(struct kndl_bus *bus, struct kndl_call *call, struct person *ret_person)
{
    ACCESS(GetPeopleRequest) req = KNDL__REPO_ACCESS__V1__GET_PEOPLE_REQUEST__INIT;
    ACCESS(GetPeopleResponse) * resp;
    char *ids[] = {(char *)call->actor.id};
    char email[160];

    req.person_ids = ids;
    req.n_person_ids = 1;
    limit(call);
    if (KNDL_CALL(ACCESS, GetPeople, ACCESS_SERVICE, bus, call, &req, &resp) < 0)
        return -1;
    if (resp->n_people == 0)
        return kndl_fail(&call->err, KNDL_PERMISSION_DENIED, "you are not a Member of this Hub");

    const ACCESS(Person) *person = resp->people[0];
    snprintf(email, sizeof email, "%lld+%.80s@users.noreply.github.com",
             (long long)person->github_id, person->login);
    *ret_person = (struct person){
        .login = person->login,
        .name = person->name[0] == '\0' ? person->login : person->name,
        .email = kndl_arena_copy(call->arena, email),
        .is_owner = person->is_owner,
    };
    return 0;
}

int peers_mint_git_token(struct kndl_bus *bus, struct kndl_call *call, int64_t repo_id, bool write,
                         struct git_token *ret_token)
{
    ACCESS(MintGitTokenRequest) req = KNDL__REPO_ACCESS__V1__MINT_GIT_TOKEN_REQUEST__INIT;
    ACCESS(MintGitTokenResponse) * resp;

    req.repo_id = repo_id;
    req.write = write;
    limit(call);
    if (KNDL_CALL(ACCESS, MintGitToken, ACCESS_SERVICE, bus, call, &req, &resp) < 0)
        return -1;
    *ret_token = (struct git_token){resp->token, resp->expires_at_ms, resp->clone_url};
    return 0;
}

int peers_check_setup_token(struct kndl_bus *bus, struct kndl_call *call, const char *person_id,
                            bool *ret_exists)
{
    SECRETS(CheckSetupTokenRequest) req = KNDL__SECRETS__V1__CHECK_SETUP_TOKEN_REQUEST__INIT;
    SECRETS(CheckSetupTokenResponse) * resp;

    req.person_id = (char *)person_id;
    limit(call);
    if (KNDL_CALL(SECRETS, CheckSetupToken, SECRETS_SERVICE, bus, call, &req, &resp) < 0)
        return -1;
    *ret_exists = resp->exists;
    return 0;
}

int peers_put_assignment(struct kndl_bus *bus, struct kndl_call *call,
                         const struct assignment *assignment)
{
    SECRETS(PutAssignmentRequest) req = KNDL__SECRETS__V1__PUT_ASSIGNMENT_REQUEST__INIT;
    SECRETS(PutAssignmentResponse) * resp;

    req.session_id = (char *)assignment->session_id;
    req.run = assignment->run;
    req.runner_id = (char *)assignment->runner_id;
    req.creator_id = (char *)assignment->creator_id;
    req.repo_id = assignment->repo_id;
    req.phase = (SECRETS(PutAssignmentRequest__Phase))assignment->phase;
    limit(call);
    return KNDL_CALL(SECRETS, PutAssignment, SECRETS_SERVICE, bus, call, &req, &resp);
}

int peers_put_mask(struct kndl_bus *bus, struct kndl_call *call, const char *session_id,
                   const char *name, const char *value, int64_t *ret_version)
{
    SECRETS(PutMaskRequest) req = KNDL__SECRETS__V1__PUT_MASK_REQUEST__INIT;
    SECRETS(PutMaskResponse) * resp;

    req.session_id = (char *)session_id;
    req.name = (char *)name;
    req.value = (char *)value;
    limit(call);
    if (KNDL_CALL(SECRETS, PutMask, SECRETS_SERVICE, bus, call, &req, &resp) < 0)
        return -1;
    *ret_version = resp->mask_version;
    return 0;
}

/* A copy of redactor that hangs keeps its place on the bus for a while: it is asked once more,
 * and another one may answer. */
static int ask_mask(struct kndl_bus *bus, struct kndl_call *call, const REDACTOR(MaskRequest) * req,
                    REDACTOR(MaskResponse) * *ret_resp)
{
    int64_t whole_ms = call->deadline_ms;
    int64_t first_ms = kndl_clock_ms() + MASK_MS;

    if (first_ms < whole_ms)
        call->deadline_ms = first_ms;
    int result = KNDL_CALL(REDACTOR, Mask, REDACTOR_SERVICE, bus, call, req, ret_resp);
    call->deadline_ms = whole_ms;
    if (result == 0 || call->err.code != KNDL_DEADLINE_EXCEEDED || first_ms >= whole_ms)
        return result;
    call->err = (struct kndl_error){0};
    return KNDL_CALL(REDACTOR, Mask, REDACTOR_SERVICE, bus, call, req, ret_resp);
}

int peers_mask(struct kndl_bus *bus, struct kndl_call *call, const struct masking *masking,
               const char *const *texts, size_t count, const char **ret_texts)
{
    REDACTOR(MaskRequest) req = KNDL__REDACTOR__V1__MASK_REQUEST__INIT;
    REDACTOR(MaskResponse) * resp;

    req.session_id = (char *)(masking->session_id == NULL ? "" : masking->session_id);
    req.creator_id = (char *)(masking->creator_id == NULL ? "" : masking->creator_id);
    req.repo_id = masking->repo_id;
    req.are_screens = masking->are_screens;
    req.texts = (char **)texts;
    req.n_texts = count;
    limit(call);
    if (ask_mask(bus, call, &req, &resp) < 0)
        return -1;
    if (resp->n_texts != count)
        return kndl_fail(&call->err, KNDL_INTERNAL, "redactor answered %zu of %zu texts",
                         resp->n_texts, count);
    for (size_t i = 0; i < count; i++)
        ret_texts[i] = resp->texts[i];
    return 0;
}

bool peers_redactor_answers(struct kndl_bus *bus, struct kndl_call *call)
{
    /* Nobody's texts: whoever is there refuses that. */
    REDACTOR(MaskRequest) req = KNDL__REDACTOR__V1__MASK_REQUEST__INIT;
    REDACTOR(MaskResponse) * resp;
    struct kndl_error kept = call->err;

    limit(call);
    (void)ask_mask(bus, call, &req, &resp);
    bool answers = call->err.code != KNDL_UNAVAILABLE && call->err.code != KNDL_DEADLINE_EXCEEDED;
    call->err = kept;
    return answers;
}
