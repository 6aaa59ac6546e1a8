/* kndl vars, and what kndl show says of Variables. */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake_hub.h"
#include "kndl/clock.h"
#include "kndl/event/v1/event.pb-c.h"
#include "kndl/id.h"
#include "kndl/mem.h"
#include "kndl/redactor/v1/redactor_service.pb-c.h"
#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "kndl/secret.h"
#include "kndl/secrets/v1/secrets_service.pb-c.h"
#include "kndl/sessions/v1/sessions_service.pb-c.h"
#include "kndl/testing.h"
#include "verb.h"

#define V1(name) Kndl__Secrets__V1__##name
#define ACCESS(name) Kndl__RepoAccess__V1__##name
#define REDACTOR(name) Kndl__Redactor__V1__##name
#define SESSIONS(name) Kndl__Sessions__V1__##name
#define SINK(name) KNDL__REDACTOR__V1__TRIAL__SINK__SINK_##name
#define SPELLING(name) KNDL__REDACTOR__V1__TRIAL__SPELLING__SPELLING_##name

#define SESSION "aaaaaaaaaaaaaaaaaaaaaaaaaa"

struct fixture {
    struct hub hub;
    V1(Masked) masked;
    V1(Variable) variable, shown;
    V1(Variable) *variables[2];
    V1(ListVariablesResponse) list;
};

static int set_up(void **state)
{
    struct fixture *f = kndl_new0(struct fixture);
    int64_t now_ms = kndl_clock_wall_ms();

    f->masked = (V1(Masked))KNDL__SECRETS__V1__MASKED__INIT;
    f->masked.count = 12;
    f->masked.last_at_ms = now_ms - 7200 * 1000;
    f->variable = f->shown = (V1(Variable))KNDL__SECRETS__V1__VARIABLE__INIT;
    f->variable.name = (char *)"TOKEN";
    f->variable.sensitive = true;
    f->variable.changed_at_ms = f->shown.changed_at_ms = now_ms - 3 * 3600 * 1000;
    f->variable.masked = &f->masked;
    f->shown.name = (char *)"DB";
    f->shown.value = (char *)"localhost";
    f->variables[0] = &f->shown;
    f->variables[1] = &f->variable;
    f->list = (V1(ListVariablesResponse))KNDL__SECRETS__V1__LIST_VARIABLES_RESPONSE__INIT;
    f->list.repo_id = 7;
    f->list.repo_name = (char *)"demo/hello";
    f->list.variables = f->variables;
    f->list.n_variables = 2;
    *state = f;
    return 0;
}

#define RUN(f, verb, ...) hub_run(&(f)->hub, verb, (char *[]){__VA_ARGS__, NULL})

/* What standard input says from here on. */
static void say(const char *text)
{
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], text, strlen(text)), (ssize_t)strlen(text));
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
}

static void they_are_listed_with_how_often_each_was_masked(void **state)
{
    struct fixture *f = *state;

    hub_will_answer(&f->hub, "/ListVariables", &f->list.base);
    assert_int_equal(RUN(f, &verb_vars, "demo/hello"), 0);
    assert_string_equal(f->hub.text, "DB=localhost  3 h ago\n"
                                     "TOKEN  Sensitive  3 h ago  masked 12 times, last 2 h ago\n");
}

static void one_that_was_never_masked_says_so(void **state)
{
    struct fixture *f = *state;

    f->masked.count = 0;
    f->list.git_tokens = &f->masked;
    hub_will_answer(&f->hub, "/ListVariables", &f->list.base);
    assert_int_equal(RUN(f, &verb_vars, "demo/hello"), 0);
    assert_non_null(strstr(f->hub.text, "TOKEN  Sensitive  3 h ago  not masked yet\n"));
    assert_null(strstr(f->hub.text, "git tokens"));
}

static void git_tokens_that_were_masked_are_told_of(void **state)
{
    struct fixture *f = *state;

    f->list.git_tokens = &f->masked;
    f->list.n_variables = 0;
    hub_will_answer(&f->hub, "/ListVariables", &f->list.base);
    assert_int_equal(RUN(f, &verb_vars, "demo/hello"), 0);
    assert_string_equal(f->hub.text,
                        "git tokens of its Sandboxes: masked 12 times, last 2 h ago\n");
}

static void in_json_the_count_is_protobufs(void **state)
{
    struct fixture *f = *state;

    f->list.git_tokens = &f->masked;
    hub_will_answer(&f->hub, "/ListVariables", &f->list.base);
    assert_int_equal(RUN(f, &verb_vars, "demo/hello", "--json"), 0);
    assert_non_null(strstr(f->hub.text, "\"masked\":{\"count\":\"12\",\"lastAtMs\":\""));
    assert_non_null(strstr(f->hub.text, "\n{\"gitTokens\":{\"count\":\"12\","));
}

/* CR-05: nothing secret is in argv. */
static void set_takes_the_value_from_standard_input(void **state)
{
    struct fixture *f = *state;
    V1(SetVariablesResponse) set = KNDL__SECRETS__V1__SET_VARIABLES_RESPONSE__INIT;

    set.variables = &f->variables[1];
    set.n_variables = 1;
    hub_will_answer(&f->hub, "/ListVariables", &f->list.base);
    hub_will_answer(&f->hub, "/SetVariables", &set.base);
    say("canary-value\n");
    assert_int_equal(RUN(f, &verb_vars, "demo/hello", "set", "TOKEN", "--sensitive"), 0);
    assert_null(strstr(f->hub.text, "canary"));

    V1(SetVariablesRequest) *request =
        hub_asked(&f->hub, 1, &kndl__secrets__v1__set_variables_request__descriptor);
    assert_int_equal(request->repo_id, 7);
    assert_int_equal(request->n_variables, 1);
    assert_string_equal(request->variables[0]->name, "TOKEN");
    assert_string_equal(request->variables[0]->value, "canary-value");
    assert_true(request->variables[0]->sensitive);
    assert_false(request->variables[0]->at_build);
    assert_true(kndl_id_is_valid(request->request_id));
    protobuf_c_message_free_unpacked(&request->base, NULL);
}

static void several_lines_are_told_by_their_number(void **state)
{
    struct fixture *f = *state;

    f->shown.value = (char *)"one\ntwo\nthree\n";
    f->list.n_variables = 1;
    hub_will_answer(&f->hub, "/ListVariables", &f->list.base);
    assert_int_equal(RUN(f, &verb_vars, "demo/hello"), 0);
    assert_string_equal(f->hub.text, "DB=one  +2 lines  3 h ago\n");
}

static void shared_ones_say_which_repos_have_them(void **state)
{
    struct fixture *f = *state;
    V1(ListSharedVariablesResponse)
    shared = KNDL__SECRETS__V1__LIST_SHARED_VARIABLES_RESPONSE__INIT;
    ACCESS(ListReposResponse) repos = KNDL__REPO_ACCESS__V1__LIST_REPOS_RESPONSE__INIT;
    ACCESS(Repo) hello = KNDL__REPO_ACCESS__V1__REPO__INIT;
    ACCESS(Repo) * all[] = {&hello};
    int64_t linked[] = {7, 8};

    hello.id = 7;
    hello.name = (char *)"demo/hello";
    repos.repos = all;
    repos.n_repos = 1;
    f->shown.shared_id = f->variable.shared_id = (char *)"an-id";
    f->variable.repo_ids = linked;
    f->variable.n_repo_ids = 2;
    f->variable.more_repos = true;
    shared.variables = f->variables;
    shared.n_variables = 2;
    hub_will_answer(&f->hub, "/ListSharedVariables", &shared.base);
    hub_will_answer(&f->hub, "/ListRepos", &repos.base);
    assert_int_equal(RUN(f, &verb_vars, "shared"), 0);
    assert_string_equal(f->hub.text,
                        "DB=localhost  Shared  3 h ago\n"
                        "  linked to no Repo\n"
                        "TOKEN  Sensitive  Shared  3 h ago  masked 12 times, last 2 h ago\n"
                        "  linked to demo/hello, Repo 8, and to others that you may not see, so "
                        "that you may not change it\n");
}

static void remove_of_one_that_is_not_there_says_so(void **state)
{
    struct fixture *f = *state;
    V1(RemoveVariableResponse) removed = KNDL__SECRETS__V1__REMOVE_VARIABLE_RESPONSE__INIT;

    hub_will_answer(&f->hub, "/ListVariables", &f->list.base);
    hub_will_answer(&f->hub, "/RemoveVariable", &removed.base);
    assert_int_equal(RUN(f, &verb_vars, "demo/hello", "remove", "NONE"), -1);
    assert_int_equal(f->hub.err.code, KNDL_NOT_FOUND);
}

/* A Shared one that is linked applies once the Repo's own is gone. */
static void remove_says_that_another_of_that_name_applies(void **state)
{
    struct fixture *f = *state;
    V1(RemoveVariableResponse) removed = KNDL__SECRETS__V1__REMOVE_VARIABLE_RESPONSE__INIT;
    char said[300] = "";
    int kept = dup(STDERR_FILENO);
    FILE *err = tmpfile();

    removed.removed = true;
    hub_will_answer(&f->hub, "/ListVariables", &f->list.base);
    hub_will_answer(&f->hub, "/RemoveVariable", &removed.base);
    dup2(fileno(err), STDERR_FILENO);
    int result = RUN(f, &verb_vars, "demo/hello", "remove", "TOKEN");
    dup2(kept, STDERR_FILENO);
    close(kept);
    rewind(err);
    assert_non_null(fgets(said, sizeof said, err));
    fclose(err);
    assert_int_equal(result, 0);
    assert_non_null(strstr(said, "start without it from here on, unless their Repo has another of "
                                 "that name; "));
}

static void link_names_a_shared_variable_by_its_id(void **state)
{
    struct fixture *f = *state;
    V1(ListSharedVariablesResponse)
    shared = KNDL__SECRETS__V1__LIST_SHARED_VARIABLES_RESPONSE__INIT;
    V1(LinkSharedVariableResponse) linked = KNDL__SECRETS__V1__LINK_SHARED_VARIABLE_RESPONSE__INIT;

    f->variable.shared_id = (char *)"the-id";
    shared.variables = &f->variables[1];
    shared.n_variables = 1;
    hub_will_answer(&f->hub, "/ListSharedVariables", &shared.base);
    hub_will_answer(&f->hub, "/ListVariables", &f->list.base);
    hub_will_answer(&f->hub, "/LinkSharedVariable", &linked.base);
    assert_int_equal(RUN(f, &verb_vars, "demo/hello", "link", "TOKEN"), 0);

    V1(LinkSharedVariableRequest) *request =
        hub_asked(&f->hub, 2, &kndl__secrets__v1__link_shared_variable_request__descriptor);
    assert_string_equal(request->shared_id, "the-id");
    assert_int_equal(request->repo_id, 7);
    assert_true(request->linked);
    protobuf_c_message_free_unpacked(&request->base, NULL);
}

static REDACTOR(Trial) trial(REDACTOR(Trial__Sink) sink, REDACTOR(Trial__Spelling) spelling,
                             bool masked, bool known_limit)
{
    REDACTOR(Trial) trial = KNDL__REDACTOR__V1__TRIAL__INIT;

    trial.sink = sink;
    trial.spelling = spelling;
    trial.masked = masked;
    trial.known_limit = known_limit;
    trial.text = (char *)(masked ? "it is ****** here" : "it is \x1b[31mcanary here");
    return trial;
}

/* Two sinks, in each of which the value is tried in JSON and in base64. */
static int test_redaction(struct fixture *f, bool masked_in_json)
{
    REDACTOR(Trial)
    trials[] = {
        trial(SINK(PROMPT), SPELLING(JSON), true, false),
        trial(SINK(PROMPT), SPELLING(BASE64), false, true),
        trial(SINK(NOTE), SPELLING(JSON), masked_in_json, false),
        trial(SINK(NOTE), SPELLING(BASE64), false, true),
    };
    REDACTOR(Trial) * list[] = {&trials[0], &trials[1], &trials[2], &trials[3]};
    REDACTOR(TestRedactionResponse)
    response = KNDL__REDACTOR__V1__TEST_REDACTION_RESPONSE__INIT;

    response.repo_name = (char *)"demo/hello";
    response.instance_id = (char *)"copy";
    response.value_count = 3;
    response.trials = list;
    response.n_trials = 4;
    hub_will_answer(&f->hub, "/TestRedaction", &response.base);
    return RUN(f, &verb_vars, "demo/hello", "test");
}

static void a_test_of_redaction_says_what_came_out_where(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(test_redaction(f, true), 0);
    assert_string_equal(f->hub.text,
                        "demo/hello: a random value, masked as its Sensitive ones are, "
                        "with the 3 that are masked there.\n"
                        "prompts, answers        masked  it is ****** here\n"
                        "notes                   masked  it is ****** here\n"
                        "Each of them in JSON. Known not to be found: base64.\n"
                        "Tested: redactor's copy copy.\n");
}

static void a_test_in_which_the_value_shows_fails_and_says_where(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(test_redaction(f, false), -1);
    assert_non_null(strstr(f->hub.text, "prompts, answers        masked"));
    assert_non_null(strstr(f->hub.text, "notes                   SHOWN\n  in JSON:\n    it is "));
    assert_null(
        strstr(f->hub.text, "\x1b[31mcanary")); /* what came out does not colour the screen */
    assert_non_null(strstr(f->hub.text, "canary here"));
}

static void show_says_which_variables_its_next_wake_changes(void **state)
{
    struct fixture *f = *state;
    SESSIONS(GetSessionResponse) got = KNDL__SESSIONS__V1__GET_SESSION_RESPONSE__INIT;
    SESSIONS(Session) session = KNDL__SESSIONS__V1__SESSION__INIT;
    V1(GetSessionVariablesResponse)
    variables = KNDL__SECRETS__V1__GET_SESSION_VARIABLES_RESPONSE__INIT;
    V1(VariableChange) added = KNDL__SECRETS__V1__VARIABLE_CHANGE__INIT;
    V1(VariableChange) removed = KNDL__SECRETS__V1__VARIABLE_CHANGE__INIT;

    session.id = (char *)SESSION;
    session.state = KNDL__EVENT__V1__STATE__STATE_ACTIVE;
    got.session = &session;
    added.name = (char *)"NEW";
    added.how = KNDL__SECRETS__V1__VARIABLE_CHANGE__HOW__HOW_ADDED;
    removed.name = (char *)"OLD";
    removed.how = KNDL__SECRETS__V1__VARIABLE_CHANGE__HOW__HOW_REMOVED;
    variables.changed = true;
    variables.changes = (V1(VariableChange) *[]){&added, &removed};
    variables.n_changes = 2;
    hub_will_answer(&f->hub, "/GetSession", &got.base);
    hub_will_answer(&f->hub, "/GetSessionVariables", &variables.base);
    assert_int_equal(RUN(f, &verb_show, SESSION), 0);
    assert_non_null(strstr(f->hub.text, "at its next wake:\n  NEW added\n  OLD removed\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, hub_tear_down)
        TEST(they_are_listed_with_how_often_each_was_masked),
        TEST(one_that_was_never_masked_says_so),
        TEST(git_tokens_that_were_masked_are_told_of),
        TEST(in_json_the_count_is_protobufs),
        TEST(set_takes_the_value_from_standard_input),
        TEST(remove_of_one_that_is_not_there_says_so),
        TEST(remove_says_that_another_of_that_name_applies),
        TEST(several_lines_are_told_by_their_number),
        TEST(shared_ones_say_which_repos_have_them),
        TEST(link_names_a_shared_variable_by_its_id),
        TEST(a_test_of_redaction_says_what_came_out_where),
        TEST(a_test_in_which_the_value_shows_fails_and_says_where),
        TEST(show_says_which_variables_its_next_wake_changes),
    };
    struct kndl_error err = {0};

    return kndl_crypt_init(&err) < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
