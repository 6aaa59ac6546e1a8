/*
 * Shared variables, for people. One is seen by whoever may see a Repo that it is linked to, and
 * changed by whoever may see all of them: linking it hands its value to that Repo's Sessions, and
 * changing it changes what runs in them. While it is linked to none it is its maker's alone.
 */

#include <string.h>

#include "handlers.h"
#include "kndl/access.h"
#include "kndl/clock.h"
#include "kndl/log.h"
#include "peers.h"
#include "rpc.h"
#include "variable.h"

#define V1(name) Kndl__Secrets__V1__##name

/* With what was masked in those of its Repos that are allowed (NULL: in all). */
static V1(Variable) *present_in(const struct variable *variable, const bool *allowed,
                                struct kndl_arena *arena)
{
    struct variable seen = *variable;

    for (size_t i = 0; i < variable->link_count; i++) {
        const struct masked *there = &variable->link_masked[i];

        if (allowed != NULL && !allowed[i])
            continue;
        seen.masked.count += there->count;
        if (there->last_at_ms > seen.masked.last_at_ms)
            seen.masked.last_at_ms = there->last_at_ms;
    }
    return present_variable(&seen, arena);
}

/* What the caller may do with one. */
enum verdict { HIDDEN, SEEN, CHANGEABLE };

/* *ret_out has the links that they may see. */
static enum verdict judge(const struct kndl_call *call, const struct variable *variable,
                          const bool *allowed, V1(Variable) **ret_out)
{
    V1(Variable) *out = present_in(variable, allowed, call->arena);

    out->repo_ids = kndl_arena_alloc(call->arena, (variable->link_count + 1) * sizeof(int64_t));
    for (size_t i = 0; i < variable->link_count; i++)
        if (allowed[i])
            out->repo_ids[out->n_repo_ids++] = variable->links[i];
    out->more_repos = out->n_repo_ids < variable->link_count;
    *ret_out = out;
    if (variable->link_count == 0)
        return strcmp(variable->made_by, call->actor.id) == 0 ? CHANGEABLE : HIDDEN;
    return out->n_repo_ids == 0 ? HIDDEN : out->more_repos ? SEEN : CHANGEABLE;
}

int list_shared_variables(struct kndl_call *call, const V1(ListSharedVariablesRequest) *req,
                          V1(ListSharedVariablesResponse) *resp)
{
    struct secrets *secrets = call->state;
    struct variables variables;
    struct kndl_access access;
    size_t links = 0, at = 0;

    (void)req;
    if (store_list_shared(secrets->store, call->arena, &variables, &call->err) < 0)
        return -1;
    for (size_t i = 0; i < variables.count; i++)
        links += variables.all[i].link_count;

    int64_t *repo_ids = kndl_arena_alloc(call->arena, (links + 1) * sizeof *repo_ids);
    for (size_t i = 0; i < variables.count; i++) {
        memcpy(repo_ids + at, variables.all[i].links,
               variables.all[i].link_count * sizeof *repo_ids);
        at += variables.all[i].link_count;
    }
    if (kndl_access_check(secrets->bus, call, repo_ids, links, &access) < 0)
        return -1;

    resp->variables =
        kndl_arena_alloc(call->arena, (variables.count + 1) * sizeof *resp->variables);
    at = 0;
    for (size_t i = 0; i < variables.count; i++) {
        V1(Variable) *out;

        if (judge(call, &variables.all[i], access.allowed + at, &out) != HIDDEN)
            resp->variables[resp->n_variables++] = out;
        at += variables.all[i].link_count;
    }
    return 0;
}

int stand_to_shared(struct kndl_call *call, const struct variable *variable, unsigned *ret_who)
{
    struct secrets *secrets = call->state;
    struct kndl_access access;
    V1(Variable) *out;

    if (kndl_access_check(secrets->bus, call, variable->links, variable->link_count, &access) < 0)
        return -1;
    switch (judge(call, variable, access.allowed, &out)) {
    case HIDDEN:
        break;
    case SEEN:
        *ret_who |= KNDL_WHO_PARTICIPANT;
        break;
    case CHANGEABLE:
        *ret_who |= KNDL_WHO_PARTICIPANT | KNDL_WHO_KEEPER;
        break;
    }
    return 0;
}

/* As its changer sees it: all of its links. */
static V1(Variable) *present_whole(struct kndl_call *call, const struct variable *variable)
{
    V1(Variable) *out = present_in(variable, NULL, call->arena);

    out->repo_ids = (int64_t *)variable->links;
    out->n_repo_ids = variable->link_count;
    return out;
}

static void changed(struct kndl_call *call, const struct variable *variable, const char *what)
{
    struct secrets *secrets = call->state;

    kndl_log(KNDL_INFO, what, KNDL_STR("person", call->actor.id), KNDL_STR("id", variable->id),
             KNDL_STR("name", variable->name));
    peers_say_masks_changed(secrets->bus);
}

int set_shared_variable(struct kndl_call *call, const V1(SetSharedVariableRequest) *req,
                        V1(SetSharedVariableResponse) *resp)
{
    struct secrets *secrets = call->state;
    struct request request;
    const struct variable *found = named(call)->shared;
    struct variable variable;
    const char *warning;

    if (read_request(call, req->request_id, &req->base, &request) < 0)
        return -1;
    if (req->variable == NULL)
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT, "the Variable is missing");
    const struct new_variable new = {
        .name = req->variable->name,
        .value = req->variable->value,
        .is_sensitive = req->variable->sensitive,
        .at_build = req->variable->at_build,
    };
    if (variable_check(&new, &warning, &call->err) < 0)
        return -1;
    if (found != NULL && strcmp(found->name, new.name) != 0)
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT,
                         "a Shared variable keeps its name; make another one");
    if (store_set_shared(secrets->store, &request, found, &new, call->arena, &variable,
                         &call->err) < 0)
        return -1;
    changed(call, &variable, "a Shared variable was set");
    resp->variable = present_whole(call, &variable);
    resp->warnings = kndl_arena_alloc(call->arena, sizeof *resp->warnings);
    if (warning != NULL)
        resp->warnings[resp->n_warnings++] = present_warning(new.name, warning, call->arena);
    return 0;
}

int remove_shared_variable(struct kndl_call *call, const V1(RemoveSharedVariableRequest) *req,
                           V1(RemoveSharedVariableResponse) *resp)
{
    struct secrets *secrets = call->state;
    struct request request;
    const struct variable *found = named(call)->shared;

    (void)resp;
    if (read_request(call, req->request_id, &req->base, &request) < 0 ||
        store_remove_shared(secrets->store, &request, found, call->arena, &call->err) < 0)
        return -1;
    changed(call, found, "a Shared variable was removed");
    return 0;
}

int link_shared_variable(struct kndl_call *call, const V1(LinkSharedVariableRequest) *req,
                         V1(LinkSharedVariableResponse) *resp)
{
    struct secrets *secrets = call->state;
    struct request request;
    struct variable variable;

    if (read_request(call, req->request_id, &req->base, &request) < 0)
        return -1;
    if (named(call)->repo_id == 0)
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT, "name a Repo, by its id");
    if (store_link_shared(secrets->store, &request, named(call)->shared, named(call)->repo_id,
                          req->linked, call->arena, &variable, &call->err) < 0)
        return -1;
    changed(call, &variable,
            req->linked ? "a Shared variable was linked" : "a Shared variable was unlinked");
    resp->variable = present_whole(call, &variable);
    return 0;
}
