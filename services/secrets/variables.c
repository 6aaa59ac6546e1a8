/* Variables of a Repo's Environment, for people. */

#include <string.h>

#include "handlers.h"
#include "kndl/clock.h"
#include "kndl/id.h"
#include "kndl/log.h"
#include "peers.h"
#include "rpc.h"
#include "variable.h"

#define V1(name) Kndl__Secrets__V1__##name

int list_variables(struct kndl_call *call, const V1(ListVariablesRequest) *req,
                   V1(ListVariablesResponse) *resp)
{
    struct secrets *secrets = call->state;
    struct variables variables;
    struct masked git_tokens;
    int64_t repo_id = named(call)->repo_id;

    (void)req;
    if (store_list_variables(secrets->store, repo_id, call->arena, &variables, &call->err) < 0 ||
        store_find_git_hits(secrets->store, repo_id, call->arena, &git_tokens, &call->err) < 0)
        return -1;
    resp->git_tokens = present_masked(&git_tokens, call->arena);
    resp->repo_id = repo_id;
    resp->repo_name = (char *)named(call)->repo_name;
    resp->variables =
        kndl_arena_alloc(call->arena, (variables.count + 1) * sizeof *resp->variables);
    for (size_t i = 0; i < variables.count; i++) {
        V1(Variable) *variable = present_variable(&variables.all[i], call->arena);

        for (size_t j = 0; j < i && variables.all[i].repo_id == 0; j++)
            if (variables.all[j].repo_id != 0 &&
                strcmp(variables.all[j].name, variables.all[i].name) == 0)
                variable->overridden = true;
        resp->variables[resp->n_variables++] = variable;
    }
    return 0;
}

/* Each is checked, and no name comes twice. Warnings go into the response. */
static int check_variables(struct kndl_call *call, const struct new_variable *news, size_t count,
                           V1(SetVariablesResponse) *resp)
{
    resp->warnings = kndl_arena_alloc(call->arena, (count + 1) * sizeof *resp->warnings);
    for (size_t i = 0; i < count; i++) {
        const char *warning;

        if (variable_check(&news[i], &warning, &call->err) < 0)
            return -1;
        for (size_t j = 0; j < i; j++)
            if (strcmp(news[i].name, news[j].name) == 0)
                return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT, "%s is there twice",
                                 news[i].name);
        if (warning != NULL)
            resp->warnings[resp->n_warnings++] =
                present_warning(news[i].name, warning, call->arena);
    }
    return 0;
}

int set_variables(struct kndl_call *call, const V1(SetVariablesRequest) *req,
                  V1(SetVariablesResponse) *resp)
{
    struct secrets *secrets = call->state;
    struct request request;
    struct variables variables;
    int64_t repo_id = named(call)->repo_id;

    if (read_request(call, req->request_id, &req->base, &request) < 0)
        return -1;
    if (req->n_variables == 0 || req->n_variables > VARIABLES_MAX)
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT,
                         "there are %zu Variables; it goes with 1 to %d at once", req->n_variables,
                         VARIABLES_MAX);
    struct new_variable *news = kndl_arena_alloc(call->arena, req->n_variables * sizeof *news);
    for (size_t i = 0; i < req->n_variables; i++)
        news[i] = (struct new_variable){
            .name = req->variables[i]->name,
            .value = req->variables[i]->value,
            .is_sensitive = req->variables[i]->sensitive,
            .at_build = req->variables[i]->at_build,
        };
    if (check_variables(call, news, req->n_variables, resp) < 0 ||
        store_set_variables(secrets->store, &request, repo_id, news, req->n_variables, call->arena,
                            &variables, &call->err) < 0)
        return -1;
    peers_say_masks_changed(secrets->bus);
    resp->variables =
        kndl_arena_alloc(call->arena, (variables.count + 1) * sizeof *resp->variables);
    for (size_t i = 0; i < variables.count; i++) {
        kndl_log(KNDL_INFO, "a Variable was set", KNDL_STR("person", call->actor.id),
                 KNDL_I64("repo", repo_id), KNDL_STR("name", variables.all[i].name));
        resp->variables[resp->n_variables++] = present_variable(&variables.all[i], call->arena);
    }
    return 0;
}

int remove_variable(struct kndl_call *call, const V1(RemoveVariableRequest) *req,
                    V1(RemoveVariableResponse) *resp)
{
    struct secrets *secrets = call->state;
    struct request request;
    int64_t repo_id = named(call)->repo_id;
    bool removed;

    if (read_request(call, req->request_id, &req->base, &request) < 0 ||
        store_remove_variable(secrets->store, &request, repo_id, req->name, call->arena, &removed,
                              &call->err) < 0)
        return -1;
    if (removed) {
        kndl_log(KNDL_INFO, "a Variable was removed", KNDL_STR("person", call->actor.id),
                 KNDL_I64("repo", repo_id), KNDL_STR("name", req->name));
        peers_say_masks_changed(secrets->bus);
    }
    resp->removed = removed;
    return 0;
}

int get_session_variables(struct kndl_call *call, const V1(GetSessionVariablesRequest) *req,
                          V1(GetSessionVariablesResponse) *resp)
{
    struct secrets *secrets = call->state;
    struct variable_changes changes = {0};

    if (named(call)->has_variables &&
        store_list_variable_changes(secrets->store, req->session_id, named(call)->repo_id,
                                    call->arena, &changes, &call->err) < 0)
        return -1;
    resp->changed = changes.count > 0;
    resp->changes = kndl_arena_alloc(call->arena, (changes.count + 1) * sizeof *resp->changes);
    for (size_t i = 0; i < changes.count; i++)
        resp->changes[resp->n_changes++] = present_change(&changes.all[i], call->arena);
    return 0;
}
