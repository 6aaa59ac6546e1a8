#include "scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "changes.h"
#include "kndl/mem.h"
#include "store.h"

const char *const runner = "runneraaaaaaaaaaaaaaaaaaaa";

static int64_t next_repo = 5000;

int set_up(void **state)
{
    struct fixture *f = kndl_new0(struct fixture);

    f->secrets.bus = &fake_bus;
    assert_int_equal(store_open(&f->secrets.store, &f->err), 0);
    /* What earlier tests left to be told is told. */
    f->err = kndl_test_task(&changes_task, &f->secrets);
    fake_bus = (struct kndl_bus){0};
    kndl_id_new(f->person);
    kndl_id_new(f->session);
    f->repo = next_repo++;
    f->other = next_repo++;
    fake_bus.repos[0] = f->repo;
    fake_bus.repos[1] = f->other;
    *state = f;
    return 0;
}

int tear_down(void **state)
{
    struct fixture *f = *state;

    store_close(f->secrets.store);
    free(f);
    return 0;
}

void note(struct fixture *f, const struct kndl_test_answer *answer)
{
    f->err = answer->err;
    f->wake = answer->wake;
}

static struct kndl_test_answer ask(struct fixture *f, const char *method, ProtobufCMessage *req)
{
    struct kndl_test_answer answer =
        kndl_test_call(secrets_service, &f->secrets, f->person, method, req);

    f->err = answer.err;
    return answer;
}

static bool done(struct fixture *f, struct kndl_test_answer *answer)
{
    kndl_test_done(answer);
    return f->err.code == KNDL_OK;
}

static void add(struct fixture *f, const char *name, const char *value)
{
    size_t used = strlen(f->text);

    snprintf(f->text + used, sizeof f->text - used, "%s%s=%s", used > 0 ? " " : "", name, value);
}

static V1(NewVariable) new_variable(const char *name, const char *value, bool sensitive)
{
    V1(NewVariable) new = KNDL__SECRETS__V1__NEW_VARIABLE__INIT;

    new.name = (char *)name;
    new.value = (char *)value;
    new.sensitive = sensitive;
    return new;
}

static char *request_id(void)
{
    static char id[32];
    static int count;

    snprintf(id, sizeof id, "q%d", ++count);
    return id;
}

bool set_as(struct fixture *f, const char *id, const char *name, const char *value, bool sensitive)
{
    V1(SetVariablesRequest) req = KNDL__SECRETS__V1__SET_VARIABLES_REQUEST__INIT;
    V1(NewVariable) new = new_variable(name, value, sensitive);
    V1(NewVariable) *news[] = {&new};

    req.request_id = (char *)id;
    req.repo_id = f->repo;
    req.variables = news;
    req.n_variables = 1;
    struct kndl_test_answer answer = ask(f, "SetVariables", &req.base);
    const V1(SetVariablesResponse) *resp = (V1(SetVariablesResponse) *)answer.response;
    f->warnings = resp != NULL ? resp->n_warnings : 0;
    if (resp != NULL && resp->n_variables > 0 && sensitive)
        assert_string_equal(resp->variables[0]->value, "");
    return done(f, &answer);
}

bool set(struct fixture *f, const char *name, const char *value, bool sensitive)
{
    return set_as(f, request_id(), name, value, sensitive);
}

bool remove_as(struct fixture *f, const char *id, const char *name)
{
    V1(RemoveVariableRequest) req = KNDL__SECRETS__V1__REMOVE_VARIABLE_REQUEST__INIT;

    req.request_id = (char *)id;
    req.repo_id = f->repo;
    req.name = (char *)name;
    struct kndl_test_answer answer = ask(f, "RemoveVariable", &req.base);
    bool removed =
        answer.response != NULL && ((V1(RemoveVariableResponse) *)answer.response)->removed;
    return done(f, &answer) && removed;
}

bool remove_one(struct fixture *f, const char *name)
{
    return remove_as(f, request_id(), name);
}

bool list(struct fixture *f, int64_t repo)
{
    V1(ListVariablesRequest) req = KNDL__SECRETS__V1__LIST_VARIABLES_REQUEST__INIT;

    req.repo_id = repo;
    struct kndl_test_answer answer = ask(f, "ListVariables", &req.base);
    const V1(ListVariablesResponse) *resp = (V1(ListVariablesResponse) *)answer.response;
    f->text[0] = '\0';
    for (size_t i = 0; resp != NULL && i < resp->n_variables; i++)
        add(f, resp->variables[i]->overridden ? "[]" : resp->variables[i]->name,
            resp->variables[i]->unreadable  ? "unreadable"
            : resp->variables[i]->sensitive ? "*"
                                            : resp->variables[i]->value);
    return done(f, &answer);
}

bool set_shared_as(struct fixture *f, const char *request, const char *id, const char *name,
                   const char *value, bool sensitive)
{
    V1(SetSharedVariableRequest) req = KNDL__SECRETS__V1__SET_SHARED_VARIABLE_REQUEST__INIT;
    V1(NewVariable) new = new_variable(name, value, sensitive);

    req.request_id = (char *)request;
    req.shared_id = (char *)id;
    req.variable = &new;
    struct kndl_test_answer answer = ask(f, "SetSharedVariable", &req.base);
    if (answer.response != NULL)
        strcpy(f->shared_id,
               ((V1(SetSharedVariableResponse) *)answer.response)->variable->shared_id);
    return done(f, &answer);
}

bool set_shared(struct fixture *f, const char *id, const char *name, const char *value,
                bool sensitive)
{
    return set_shared_as(f, request_id(), id, name, value, sensitive);
}

bool link_as(struct fixture *f, const char *request, int64_t repo, bool linked)
{
    V1(LinkSharedVariableRequest) req = KNDL__SECRETS__V1__LINK_SHARED_VARIABLE_REQUEST__INIT;

    req.request_id = (char *)request;
    req.shared_id = f->shared_id;
    req.repo_id = repo;
    req.linked = linked;
    struct kndl_test_answer answer = ask(f, "LinkSharedVariable", &req.base);
    return done(f, &answer);
}

bool link_shared(struct fixture *f, int64_t repo, bool linked)
{
    return link_as(f, request_id(), repo, linked);
}

bool remove_shared(struct fixture *f)
{
    V1(RemoveSharedVariableRequest) req = KNDL__SECRETS__V1__REMOVE_SHARED_VARIABLE_REQUEST__INIT;

    req.request_id = request_id();
    req.shared_id = f->shared_id;
    struct kndl_test_answer answer = ask(f, "RemoveSharedVariable", &req.base);
    return done(f, &answer);
}

size_t count_shared(struct fixture *f, bool *ret_more)
{
    V1(ListSharedVariablesRequest) req = KNDL__SECRETS__V1__LIST_SHARED_VARIABLES_REQUEST__INIT;
    struct kndl_test_answer answer = ask(f, "ListSharedVariables", &req.base);
    const V1(ListSharedVariablesResponse) *resp =
        (V1(ListSharedVariablesResponse) *)answer.response;
    size_t count = resp->n_variables;

    *ret_more = count > 0 && resp->variables[count - 1]->more_repos;
    kndl_test_done(&answer);
    return count;
}

void assign(struct fixture *f, int64_t run, V1(PutAssignmentRequest__Phase) phase)
{
    V1(PutAssignmentRequest) req = KNDL__SECRETS__V1__PUT_ASSIGNMENT_REQUEST__INIT;

    req.session_id = f->session;
    req.run = run;
    req.runner_id = (char *)runner;
    req.creator_id = f->person;
    req.repo_id = f->repo;
    req.phase = phase;
    struct kndl_test_answer answer = kndl_test_call(secrets_internal_service, &f->secrets,
                                                    "sessions", "PutAssignment", &req.base);
    note(f, &answer);
    assert_non_null(answer.response);
    f->version = ((V1(PutAssignmentResponse) *)answer.response)->mask_version;
    kndl_test_done(&answer);
}

bool fetch(struct fixture *f, const char *by, int64_t run)
{
    V1(FetchVariablesRequest) req = KNDL__SECRETS__V1__FETCH_VARIABLES_REQUEST__INIT;

    req.session_id = f->session;
    req.run = run;
    struct kndl_test_answer answer =
        kndl_test_runner_call(secrets_runner_service, &f->secrets, by, "FetchVariables", &req.base);
    const V1(FetchVariablesResponse) *resp = (V1(FetchVariablesResponse) *)answer.response;
    f->err = answer.err;
    f->text[0] = '\0';
    for (size_t i = 0; resp != NULL && i < resp->n_values; i++)
        add(f, resp->values[i]->name, resp->values[i]->value);
    if (resp != NULL)
        f->version = resp->mask_version;
    return done(f, &answer);
}

bool masks(struct fixture *f, const char *value)
{
    V1(GetMaskSetRequest) req = KNDL__SECRETS__V1__GET_MASK_SET_REQUEST__INIT;
    bool found = false;

    req.session_id = f->session;
    struct kndl_test_answer answer =
        kndl_test_call(secrets_internal_service, &f->secrets, "redactor", "GetMaskSet", &req.base);
    const V1(GetMaskSetResponse) *resp = (V1(GetMaskSetResponse) *)answer.response;
    assert_non_null(resp);
    for (size_t i = 0; i < resp->n_values; i++)
        found = found || strcmp(resp->values[i]->value, value) == 0;
    f->version = resp->version;
    kndl_test_done(&answer);
    return found;
}

bool is_changed(struct fixture *f)
{
    V1(GetSessionVariablesRequest) req = KNDL__SECRETS__V1__GET_SESSION_VARIABLES_REQUEST__INIT;

    req.session_id = f->session;
    struct kndl_test_answer answer = ask(f, "GetSessionVariables", &req.base);
    const V1(GetSessionVariablesResponse) *resp =
        (V1(GetSessionVariablesResponse) *)answer.response;
    bool changed = resp != NULL && resp->changed;
    static const char *const hows[] = {"?", "added", "replaced", "removed"};
    f->text[0] = '\0';
    for (size_t i = 0; resp != NULL && i < resp->n_changes; i++)
        add(f, resp->changes[i]->name, hows[resp->changes[i]->how]);
    return done(f, &answer) && changed;
}
