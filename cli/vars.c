/*
 * kndl vars: what Sessions on a Repo get in their environment. Values come from standard input,
 * never from argv.
 */

#include <stdio.h>
#include <string.h>

#include "dotenv.h"
#include "kndl/id.h"
#include "kndl/mem.h"
#include "kndl/secrets/v1/secrets_service.pb-c.h"
#include "redaction_test.h"
#include "secret_input.h"
#include "variable_view.h"
#include "verb.h"

#define V1(name) Kndl__Secrets__V1__##name
#define ACCESS(name) Kndl__RepoAccess__V1__##name
#define SERVICE kndl__secrets__v1__secrets_service__descriptor

enum { VALUE_BYTES_MAX = 16 * 1024, FILE_BYTES_MAX = 128 * 1024, VARIABLES_MAX = 50 };

/* ------------------------------------------------------------------------------ of a Repo */

static int list(struct cli *cli, const char *repo, V1(ListVariablesResponse) **ret_response,
                struct kndl_error *err)
{
    V1(ListVariablesRequest) request = KNDL__SECRETS__V1__LIST_VARIABLES_REQUEST__INIT;

    request.repo_name = (char *)repo;
    if (CLIENT_CALL(V1, ListVariables, SERVICE, cli, &request, ret_response, err) < 0)
        return verb_hint(KNDL_NOT_FOUND, "kndl repos lists yours", err);
    return 0;
}

static int show(struct cli *cli, const char *repo, bool json, struct kndl_error *err)
{
    V1(ListVariablesResponse) *response;

    if (list(cli, repo, &response, err) < 0)
        return -1;
    for (size_t i = 0; i < response->n_variables; i++)
        variable_view(&cli->screen, response->variables[i], json);
    if (response->n_variables == 0 && !json)
        fprintf(stderr, "%s has no Variables.\n", response->repo_name);
    if (response->git_tokens != NULL && response->git_tokens->count > 0)
        variable_view_git_tokens(&cli->screen, response->git_tokens, json);
    return 0;
}

static int find_repo(struct cli *cli, const char *repo, int64_t *ret_id, struct kndl_error *err)
{
    V1(ListVariablesResponse) *response;

    if (list(cli, repo, &response, err) < 0)
        return -1;
    *ret_id = response->repo_id;
    return 0;
}

/* To people, behind what a change answered. */
static void say(const struct args *args, const char *text)
{
    if (!args_has(args, "json"))
        fprintf(stderr, "%s.\n", text);
}

#define GONE                                                                                       \
    "Sessions start without it from here on, unless their Repo has another of that name; those "   \
    "that run keep it until they sleep"

static void say_set(const struct args *args)
{
    say(args, "It applies to each Session at its next start or wake");
    if (args_has(args, "build"))
        say(args,
            "It is kept as available at build; there are no Builds yet, so nothing uses that");
}

static int read_value(const char *name, const struct args *args, struct kndl_secret *ret_value,
                      struct kndl_error *err)
{
    char prompt[128];

    (void)snprintf(prompt, sizeof prompt, "Value of %.60s, %s", name,
                   args_has(args, "sensitive") ? "Sensitive"
                                               : "not Sensitive (--sensitive: it is)");
    return secret_input_read(prompt, SECRET_LINE, VALUE_BYTES_MAX, ret_value, err);
}

static int send_variables(struct cli *cli, int64_t repo_id, const struct dotenv_entry *entries,
                          size_t count, const struct args *args, struct kndl_error *err)
{
    V1(SetVariablesRequest) request = KNDL__SECRETS__V1__SET_VARIABLES_REQUEST__INIT;
    V1(NewVariable) news[VARIABLES_MAX];
    V1(NewVariable) *list_of[VARIABLES_MAX];
    V1(SetVariablesResponse) *response;

    for (size_t i = 0; i < count; i++) {
        news[i] = (V1(NewVariable))KNDL__SECRETS__V1__NEW_VARIABLE__INIT;
        news[i].name = (char *)entries[i].name;
        news[i].value = (char *)entries[i].value;
        news[i].sensitive = args_has(args, "sensitive");
        news[i].at_build = args_has(args, "build");
        list_of[i] = &news[i];
    }
    request.variables = list_of;
    request.n_variables = count;
    request.repo_id = repo_id;
    if (CLIENT_CHANGE(V1, SetVariables, SERVICE, cli, &request, &response, err) < 0)
        return -1;
    for (size_t i = 0; i < response->n_variables; i++)
        variable_view(&cli->screen, response->variables[i], args_has(args, "json"));
    variable_view_warnings(response->warnings, response->n_warnings);
    say_set(args);
    return 0;
}

static int set(struct cli *cli, const char *repo, const char *name, const struct args *args,
               struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_secret_done) struct kndl_secret value = {0};
    int64_t repo_id;

    if (find_repo(cli, repo, &repo_id, err) < 0 || read_value(name, args, &value, err) < 0)
        return -1;
    const struct dotenv_entry entry = {name, (const char *)value.data};
    return send_variables(cli, repo_id, &entry, 1, args, err);
}

static int import(struct cli *cli, const char *repo, const struct args *args,
                  struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_secret_done) struct kndl_secret text = {0};
    struct dotenv_entry entries[VARIABLES_MAX];
    int64_t repo_id;
    size_t count;

    if (find_repo(cli, repo, &repo_id, err) < 0 ||
        secret_input_read("Lines NAME=value, then Ctrl-D", SECRET_LINES, FILE_BYTES_MAX, &text,
                          err) < 0 ||
        dotenv_parse((char *)text.data, entries, VARIABLES_MAX, &count, err) < 0)
        return -1;
    if (count == 0)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "there is no line NAME=value");
    return send_variables(cli, repo_id, entries, count, args, err);
}

static int remove_variable(struct cli *cli, const char *repo, const char *name,
                           const struct args *args, struct kndl_error *err)
{
    V1(RemoveVariableRequest) request = KNDL__SECRETS__V1__REMOVE_VARIABLE_REQUEST__INIT;
    V1(RemoveVariableResponse) *response;

    request.name = (char *)name;
    if (find_repo(cli, repo, &request.repo_id, err) < 0 ||
        CLIENT_CHANGE(V1, RemoveVariable, SERVICE, cli, &request, &response, err) < 0)
        return -1;
    if (!response->removed)
        return kndl_fail(err, KNDL_NOT_FOUND,
                         "%s has no Variable of that name; kndl vars %s lists them", repo, repo);
    say(args, GONE);
    return 0;
}

/* --------------------------------------------------------------------------------- Shared */

static int list_shared(struct cli *cli, V1(ListSharedVariablesResponse) **ret_response,
                       struct kndl_error *err)
{
    V1(ListSharedVariablesRequest)
    request = KNDL__SECRETS__V1__LIST_SHARED_VARIABLES_REQUEST__INIT;

    return CLIENT_CALL(V1, ListSharedVariables, SERVICE, cli, &request, ret_response, err);
}

/* By id, or by name where only one that is seen has it. *ret_id is "" if there is none. */
static int find_shared(struct cli *cli, const char *name, const char **ret_id,
                       struct kndl_error *err)
{
    V1(ListSharedVariablesResponse) *response;
    const char *id = "";

    if (list_shared(cli, &response, err) < 0)
        return -1;
    for (size_t i = 0; i < response->n_variables; i++) {
        const V1(Variable) *variable = response->variables[i];

        if (strcmp(variable->shared_id, name) == 0) {
            *ret_id = variable->shared_id;
            return 0;
        }
        if (strcmp(variable->name, name) != 0)
            continue;
        if (id[0] != '\0')
            return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                             "there are several Shared variables of that name; give the id that "
                             "kndl vars shared --json says");
        id = variable->shared_id;
    }
    *ret_id = id;
    return 0;
}

static int need_shared(struct cli *cli, const char *name, const char **ret_id,
                       struct kndl_error *err)
{
    if (find_shared(cli, name, ret_id, err) < 0)
        return -1;
    if ((*ret_id)[0] == '\0') /* NOLINT(clang-analyzer-core.NullDereference): set, or failed */
        return kndl_fail(err, KNDL_NOT_FOUND,
                         "there is no Shared variable of that name; kndl vars shared lists them");
    return 0;
}

static int list_repos(struct cli *cli, ACCESS(ListReposResponse) * *ret_repos,
                      struct kndl_error *err)
{
    ACCESS(ListReposRequest) request = KNDL__REPO_ACCESS__V1__LIST_REPOS_REQUEST__INIT;

    return CLIENT_CALL(ACCESS, ListRepos, kndl__repo_access__v1__repo_access_service__descriptor,
                       cli, &request, ret_repos, err);
}

static int show_shared(struct cli *cli, bool json, struct kndl_error *err)
{
    V1(ListSharedVariablesResponse) *response;
    ACCESS(ListReposResponse) *repos = NULL;

    if (list_shared(cli, &response, err) < 0)
        return -1;
    if (response->n_variables == 0 && !json)
        fputs("There are no Shared variables that you may see.\n", stderr);
    if (response->n_variables > 0 && !json && list_repos(cli, &repos, err) < 0)
        return -1;
    for (size_t i = 0; i < response->n_variables; i++) {
        variable_view(&cli->screen, response->variables[i], json);
        if (!json)
            variable_view_links(&cli->screen, response->variables[i], repos);
    }
    return 0;
}

static int set_shared(struct cli *cli, const char *name, const struct args *args,
                      struct kndl_error *err)
{
    V1(SetSharedVariableRequest) request = KNDL__SECRETS__V1__SET_SHARED_VARIABLE_REQUEST__INIT;
    V1(NewVariable) new = KNDL__SECRETS__V1__NEW_VARIABLE__INIT;
    KNDL_CLEANUP(kndl_secret_done) struct kndl_secret value = {0};
    V1(SetSharedVariableResponse) *response;
    const char *id;

    if (find_shared(cli, name, &id, err) < 0 || read_value(name, args, &value, err) < 0)
        return -1;
    new.name = (char *)name;
    new.value = (char *)value.data;
    new.sensitive = args_has(args, "sensitive");
    new.at_build = args_has(args, "build");
    request.shared_id = (char *)id;
    request.variable = &new;
    if (CLIENT_CHANGE(V1, SetSharedVariable, SERVICE, cli, &request, &response, err) < 0)
        return -1;
    if (response->variable == NULL)
        return client_misread(err);
    variable_view(&cli->screen, response->variable, args_has(args, "json"));
    variable_view_warnings(response->warnings, response->n_warnings);
    if (response->variable->n_repo_ids > 0)
        say_set(args);
    else
        say(args, "No Repo has it yet: kndl vars REPO link NAME gives it to one");
    return 0;
}

static int remove_shared(struct cli *cli, const char *name, const struct args *args,
                         struct kndl_error *err)
{
    V1(RemoveSharedVariableRequest)
    request = KNDL__SECRETS__V1__REMOVE_SHARED_VARIABLE_REQUEST__INIT;
    V1(RemoveSharedVariableResponse) *response;
    const char *id;

    if (need_shared(cli, name, &id, err) < 0)
        return -1;
    request.shared_id = (char *)id;
    if (CLIENT_CHANGE(V1, RemoveSharedVariable, SERVICE, cli, &request, &response, err) < 0)
        return -1;
    say(args, GONE);
    return 0;
}

static int link_shared(struct cli *cli, const char *repo, const char *name, const struct args *args,
                       struct kndl_error *err)
{
    bool linked = strcmp(args->rest[1], "link") == 0;
    V1(LinkSharedVariableRequest) request = KNDL__SECRETS__V1__LINK_SHARED_VARIABLE_REQUEST__INIT;
    V1(LinkSharedVariableResponse) *response;
    const char *id;

    if (need_shared(cli, name, &id, err) < 0 || find_repo(cli, repo, &request.repo_id, err) < 0)
        return -1;
    request.shared_id = (char *)id;
    request.linked = linked;
    if (CLIENT_CHANGE(V1, LinkSharedVariable, SERVICE, cli, &request, &response, err) < 0)
        return -1;
    if (linked)
        say_set(args);
    else
        say(args, GONE);
    return 0;
}

/* ----------------------------------------------------------------------------------- verb */

/* One of the words may be a value that somebody typed there: none is said. */
static const char *wrong_words(const struct args *args)
{
    if (args->count > 3 && strcmp(args->rest[1], "set") == 0)
        return "a value comes from standard input alone";
    return "those words are not understood";
}

static int run_shared(struct cli *cli, const struct args *args, struct kndl_error *err)
{
    const char *what = args->count > 1 ? args->rest[1] : "";

    if (args->count == 1)
        return show_shared(cli, args_has(args, "json"), err);
    if (args->count == 3 && strcmp(what, "set") == 0)
        return set_shared(cli, args->rest[2], args, err);
    if (args->count == 3 && strcmp(what, "remove") == 0)
        return remove_shared(cli, args->rest[2], args, err);
    return verb_misused(&verb_vars, wrong_words(args), err);
}

static int run(struct cli *cli, const struct args *args, struct kndl_error *err)
{
    const char *repo = args->rest[0];
    const char *what = args->count > 1 ? args->rest[1] : "";
    const char *name = args->count > 2 ? args->rest[2] : "";

    if (strcmp(repo, "shared") == 0)
        return run_shared(cli, args, err);
    if (args->count == 1)
        return show(cli, repo, args_has(args, "json"), err);
    if (args->count == 2 && strcmp(what, "test") == 0)
        return redaction_test(cli, repo, args_has(args, "json"), err);
    if (args->count == 2 && strcmp(what, "import") == 0)
        return import(cli, repo, args, err);
    if (args->count == 3 && strcmp(what, "set") == 0)
        return set(cli, repo, name, args, err);
    if (args->count == 3 && strcmp(what, "remove") == 0)
        return remove_variable(cli, repo, name, args, err);
    if (args->count == 3 && (strcmp(what, "link") == 0 || strcmp(what, "unlink") == 0))
        return link_shared(cli, repo, name, args, err);
    return verb_misused(&verb_vars, wrong_words(args), err);
}

static const struct arg_option options[] = {
    {"sensitive", 0, NULL,
     "masked, and never shown again; without it whoever sees the Repo reads it"},
    {"build", 0, NULL, "available at build, too: kept for when there are Builds"},
    {"json", 0, NULL, "protobuf's JSON, one a line"},
    {NULL, 0, NULL, NULL},
};

const struct verb verb_vars = {
    .name = "vars",
    .usage = "REPO|shared [set NAME | import | remove NAME | link NAME | unlink NAME | test] "
             "[--sensitive] [--build] [--json]",
    .summary = "Variables in the environment of Sessions",
    .help =
        "kndl vars REPO               lists them, with how often each Sensitive one was masked\n"
        "kndl vars REPO set NAME      asks for the value, or reads it from standard input; one of\n"
        "                             the same name is replaced\n"
        "kndl vars REPO import        the same for a .env file, lines NAME=value: all or none\n"
        "kndl vars REPO remove NAME\n"
        "kndl vars REPO link NAME     gives the Repo a Shared variable; unlink takes it away\n"
        "kndl vars REPO test          sends a random value, none of yours, through what masks all\n"
        "                             that Sessions on the Repo say, and shows what comes out;\n"
        "                             fails if the value shows\n"
        "kndl vars shared             those that you may see, and which Repos have each\n"
        "kndl vars shared set NAME    makes one, or changes it in each Repo that has it\n"
        "kndl vars shared remove NAME takes it from each Repo that has it\n\n"
        "  kndl vars demo/hello set API_KEY --sensitive < key.txt\n"
        "  kndl vars demo/hello import --sensitive < .env\n\n"
        "A change applies to each Session at its next start or wake; kndl show says "
        "which. A Repo's own\n"
        "wins over a Shared one of the same name. A value has at most 16 KiB, a Repo at "
        "most 50 of its own\n"
        "and 64 KiB of them.\n"
        "\n"
        "A Sensitive value has at least 4 characters, and is masked wherever a Session "
        "shows it as it is,\n"
        "also JSON- or URL-encoded or wrapped by a terminal. Not found: one that was "
        "transformed (base64,\n"
        "a hash, cut in pieces), nor what Claude Code's own screen wraps with "
        "indentation. What a script\n"
        "writes to disk stays there, and up to seven characters of a value's beginning "
        "may show while it\n"
        "is typed slowly.\n",
    .options = options,
    .least = 1,
    .most = 4,
    .run = run,
};
