#include "fakes.h"

#include <string.h>

#include "kndl/access.h"
#include "kndl/arena.h"
#include "kndl/rpc.h"
#include "live.h"
#include "peers.h"
#include "runners.h"
#include "store.h"

int peers_check_access(struct peers *peers, struct kndl_call *call, const int64_t *repo_ids,
                       size_t count, struct kndl_access *ret_access)
{
    struct kndl_access access = {.valid_until_ms = 300000};

    if (peers->access_down)
        return kndl_fail(&call->err, KNDL_UNAVAILABLE, "repo-access does not answer");
    access.repo_ids = kndl_arena_alloc(call->arena, (count + 1) * sizeof *access.repo_ids);
    for (size_t i = 0; i < count; i++)
        if (!(peers->hides_repo && repo_ids[i] == 7))
            access.repo_ids[access.count++] = repo_ids[i];
    *ret_access = access;
    return 0;
}

int peers_resolve_repo(struct peers *peers, struct kndl_call *call, int64_t repo_id,
                       const char *name, int64_t *ret_id, const char **ret_name)
{
    (void)repo_id;
    if (peers->hides_repo || (name[0] != '\0' && strcmp(name, "demo/hello") != 0))
        return kndl_fail(&call->err, KNDL_NOT_FOUND, "Repo %s does not exist", name);
    *ret_id = 7;
    *ret_name = "demo/hello";
    return 0;
}

int peers_get_repos(struct peers *peers, struct kndl_call *call, const int64_t *repo_ids,
                    size_t count, struct repo_state **ret_repos, size_t *ret_count)
{
    if (peers->access_down)
        return kndl_fail(&call->err, KNDL_UNAVAILABLE, "repo-access does not answer");
    *ret_repos = kndl_arena_alloc(call->arena, sizeof **ret_repos);
    *ret_count = count > 0 && repo_ids[0] == 7 ? 1 : 0;
    (*ret_repos)[0] = (struct repo_state){
        .id = 7,
        .name = peers->repo_name == NULL ? "demo/hello" : peers->repo_name,
        .problem = peers->repo_problem == NULL ? "" : peers->repo_problem,
    };
    return 0;
}

int peers_get_person(struct peers *peers, struct kndl_call *call, struct person *ret_person)
{
    (void)peers;
    *ret_person = (struct person){call->actor.id, call->actor.id, "1+x@users.noreply.github.com",
                                  strcmp(call->actor.id, "ada") == 0};
    return 0;
}

int peers_mint_git_token(struct peers *peers, struct kndl_call *call, int64_t repo_id, bool write,
                         struct git_token *ret_token)
{
    (void)peers;
    (void)call;
    (void)repo_id;
    *ret_token = (struct git_token){write ? "ghs_write" : "ghs_read", 3600000,
                                    "https://github.com/demo/hello.git"};
    return 0;
}

int peers_check_setup_token(struct peers *peers, struct kndl_call *call, const char *person_id,
                            bool *ret_exists)
{
    (void)person_id;
    if (peers->secrets_down)
        return kndl_fail(&call->err, KNDL_UNAVAILABLE, "secrets does not answer");
    *ret_exists = peers->has_token;
    return 0;
}

int peers_put_assignment(struct peers *peers, struct kndl_call *call,
                         const struct assignment *assignment)
{
    (void)call;
    peers->assignments++;
    peers->last_phase = assignment->phase;
    return 0;
}

int peers_put_mask(struct peers *peers, struct kndl_call *call, const char *session_id,
                   const char *name, const char *value, int64_t *ret_version)
{
    (void)call;
    (void)session_id;
    (void)name;
    (void)value;
    *ret_version = ++peers->put_masks;
    return 0;
}

int peers_mask(struct peers *peers, struct kndl_call *call, const struct masking *masking,
               const char *const *texts, size_t count, const char **ret_texts)
{
    (void)masking;
    if (peers->redactor_down)
        return kndl_fail(&call->err, KNDL_UNAVAILABLE, "redactor does not answer");
    if (peers->mask_unreadable)
        return kndl_fail(&call->err, KNDL_FAILED_PRECONDITION, "a value cannot be read any more");
    for (size_t i = 0; i < count; i++) {
        char *masked = kndl_arena_copy(call->arena, texts[i]);
        char *found = strstr(masked, "secret");

        if (found != NULL)
            memset(found, '*', 6);
        ret_texts[i] = masked;
        peers->masked++;
    }
    if (peers->meanwhile != NULL)
        peers->meanwhile(peers->data);
    return 0;
}

bool peers_redactor_answers(struct peers *peers, struct kndl_call *call)
{
    (void)call;
    return !peers->redactor_down;
}

int runners_command(struct runners *runners, struct kndl_call *call,
                    const struct delivery *delivery)
{
    runners->commands++;
    if (runners->code != KNDL_OK)
        return kndl_fail(&call->err, runners->code, "Runner %s does not take it",
                         delivery->runner_id);
    return 0;
}

void runners_publish_removed(struct runners *runners, const char *runner_id)
{
    (void)runner_id;
    runners->removed++;
}

void live_publish(struct live *live, struct kndl_arena *arena, const struct changes *changes,
                  int64_t relay_at_us)
{
    (void)arena;
    (void)relay_at_us;
    for (const struct change *change = changes->first; change != NULL; change = change->next)
        live->changes++;
}
