#include "fakes.h"

#include <string.h>

#include "kndl/access.h"
#include "kndl/arena.h"
#include "kndl/rpc.h"
#include "live.h"
#include "peers.h"
#include "runners.h"
#include "store.h"

int kndl_access_check(struct kndl_bus *bus, struct kndl_call *call, const int64_t *repo_ids,
                      size_t count, struct kndl_access *ret_access)
{
    struct kndl_access access = {.valid_until_ms = 300000};

    if (bus->peers.access_down)
        return kndl_fail(&call->err, KNDL_UNAVAILABLE, "repo-access does not answer");
    access.repo_ids = kndl_arena_alloc(call->arena, (count + 1) * sizeof *access.repo_ids);
    for (size_t i = 0; i < count; i++)
        if (!(bus->peers.hides_repo && repo_ids[i] == 7))
            access.repo_ids[access.count++] = repo_ids[i];
    *ret_access = access;
    return 0;
}

int kndl_access_resolve_repo(struct kndl_bus *bus, struct kndl_call *call, int64_t repo_id,
                             const char *name, int64_t *ret_id, const char **ret_name)
{
    (void)repo_id;
    if (bus->peers.hides_repo || (name[0] != '\0' && strcmp(name, "demo/hello") != 0))
        return kndl_fail(&call->err, KNDL_NOT_FOUND, "Repo %s does not exist", name);
    *ret_id = 7;
    *ret_name = "demo/hello";
    return 0;
}

int peers_get_repos(struct kndl_bus *bus, struct kndl_call *call, const int64_t *repo_ids,
                    size_t count, struct repo_state **ret_repos, size_t *ret_count)
{
    if (bus->peers.access_down)
        return kndl_fail(&call->err, KNDL_UNAVAILABLE, "repo-access does not answer");
    *ret_repos = kndl_arena_alloc(call->arena, sizeof **ret_repos);
    *ret_count = count > 0 && repo_ids[0] == 7 ? 1 : 0;
    (*ret_repos)[0] = (struct repo_state){
        .id = 7,
        .name = bus->peers.repo_name == NULL ? "demo/hello" : bus->peers.repo_name,
        .problem = bus->peers.repo_problem == NULL ? "" : bus->peers.repo_problem,
    };
    return 0;
}

int peers_get_person(struct kndl_bus *bus, struct kndl_call *call, struct person *ret_person)
{
    (void)bus;
    *ret_person = (struct person){call->actor.id, call->actor.id, "1+x@users.noreply.github.com",
                                  strcmp(call->actor.id, "ada") == 0};
    return 0;
}

int peers_mint_git_token(struct kndl_bus *bus, struct kndl_call *call, int64_t repo_id, bool write,
                         struct git_token *ret_token)
{
    (void)bus;
    (void)call;
    (void)repo_id;
    *ret_token = (struct git_token){write ? "ghs_write" : "ghs_read", 3600000,
                                    "https://github.com/demo/hello.git"};
    return 0;
}

int peers_check_setup_token(struct kndl_bus *bus, struct kndl_call *call, const char *person_id,
                            bool *ret_exists)
{
    (void)person_id;
    if (bus->peers.secrets_down)
        return kndl_fail(&call->err, KNDL_UNAVAILABLE, "secrets does not answer");
    *ret_exists = bus->peers.has_token;
    return 0;
}

int peers_put_assignment(struct kndl_bus *bus, struct kndl_call *call,
                         const struct assignment *assignment)
{
    (void)call;
    bus->peers.assignments++;
    bus->peers.last_phase = assignment->phase;
    return 0;
}

int peers_put_mask(struct kndl_bus *bus, struct kndl_call *call, const char *session_id,
                   const char *name, const char *value, int64_t *ret_version)
{
    (void)call;
    (void)session_id;
    (void)name;
    (void)value;
    *ret_version = ++bus->peers.put_masks;
    return 0;
}

int peers_mask(struct kndl_bus *bus, struct kndl_call *call, const struct masking *masking,
               const char *const *texts, size_t count, const char **ret_texts)
{
    (void)masking;
    if (bus->peers.redactor_down)
        return kndl_fail(&call->err, KNDL_UNAVAILABLE, "redactor does not answer");
    if (bus->peers.mask_unreadable)
        return kndl_fail(&call->err, KNDL_FAILED_PRECONDITION, "a value cannot be read any more");
    for (size_t i = 0; i < count; i++) {
        char *masked = kndl_arena_copy(call->arena, texts[i]);
        char *found = strstr(masked, "secret");

        if (found != NULL)
            memset(found, '*', 6);
        ret_texts[i] = masked;
        bus->peers.masked++;
    }
    if (bus->peers.meanwhile != NULL)
        bus->peers.meanwhile(bus->peers.data);
    return 0;
}

bool peers_redactor_answers(struct kndl_bus *bus, struct kndl_call *call)
{
    (void)call;
    return !bus->peers.redactor_down;
}

int runners_command(struct kndl_bus *bus, struct kndl_call *call, const struct delivery *delivery)
{
    bus->runners.commands++;
    if (bus->runners.code != KNDL_OK)
        return kndl_fail(&call->err, bus->runners.code, "Runner %s does not take it",
                         delivery->runner_id);
    return 0;
}

void runners_publish_removed(struct kndl_bus *bus, const char *runner_id)
{
    (void)runner_id;
    bus->runners.removed++;
}

void live_publish(struct kndl_bus *bus, struct kndl_arena *arena, const struct changes *changes,
                  int64_t relay_at_us)
{
    (void)arena;
    (void)relay_at_us;
    for (const struct change *change = changes->first; change != NULL; change = change->next)
        bus->viewers.changes++;
}
