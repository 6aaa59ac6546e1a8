/* The permission table. What a user may send and receive is nowhere else. */

#include "kndl/permissions.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kndl/mem.h"
#include "kndl/redactor/v1/redactor_service.pb-c.h"
#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "kndl/runner/v1/runner_service.pb-c.h"
#include "kndl/secrets/v1/secrets_service.pb-c.h"
#include "kndl/sessions/v1/runners_service.pb-c.h"
#include "kndl/sessions/v1/sessions_internal_service.pb-c.h"
#include "kndl/sessions/v1/sessions_runner_service.pb-c.h"
#include "kndl/sessions/v1/sessions_service.pb-c.h"
#include "subject.h"

#define RUNNER "runner"
#define INSPECT "inspect"

const char *const kndl_bus_users[] = {
    "api_gateway", "sessions", "secrets", "repo_access", "redactor", INSPECT, NULL,
};

/* Who answers a service, and who may ask which of its methods. "*": every method. */
struct row {
    const ProtobufCServiceDescriptor *service;
    const char *answers;
    const char *method;
    const char *asks[3]; /* NULL: nobody more */
};

#define ROWS_OF(name) &kndl__##name##__descriptor

static const struct row rows[] = {
    {ROWS_OF(sessions__v1__sessions_service), "sessions", "*", {"api_gateway"}},
    {ROWS_OF(sessions__v1__runners_service), "sessions", "*", {"api_gateway"}},
    {ROWS_OF(sessions__v1__sessions_internal_service), "sessions", "GetHealth", {"api_gateway"}},
    {ROWS_OF(sessions__v1__sessions_internal_service), "sessions", "AppendEvents", {"redactor"}},
    {ROWS_OF(sessions__v1__sessions_internal_service),
     "sessions",
     "SetupTokenChanged",
     {"secrets"}},
    {ROWS_OF(sessions__v1__sessions_internal_service),
     "sessions",
     "MemberRemoved",
     {"repo_access"}},
    {ROWS_OF(sessions__v1__sessions_internal_service),
     "sessions",
     "MintRunnerCredential",
     {"api_gateway"}},
    {ROWS_OF(sessions__v1__sessions_internal_service),
     "sessions",
     "CheckRunnerToken",
     {"api_gateway"}},
    {ROWS_OF(sessions__v1__sessions_runner_service), "sessions", "*", {RUNNER}},

    {ROWS_OF(secrets__v1__secrets_service), "secrets", "*", {"api_gateway"}},
    {ROWS_OF(secrets__v1__secrets_internal_service), "secrets", "CheckSetupToken", {"sessions"}},
    {ROWS_OF(secrets__v1__secrets_internal_service), "secrets", "PutAssignment", {"sessions"}},
    {ROWS_OF(secrets__v1__secrets_internal_service), "secrets", "PutMask", {"sessions"}},
    {ROWS_OF(secrets__v1__secrets_internal_service), "secrets", "GetMaskSet", {"redactor"}},
    {ROWS_OF(secrets__v1__secrets_internal_service), "secrets", "CountMasked", {"redactor"}},
    {ROWS_OF(secrets__v1__secrets_internal_service), "secrets", "MemberRemoved", {"repo_access"}},
    {ROWS_OF(secrets__v1__secrets_runner_service), "secrets", "*", {RUNNER}},

    {ROWS_OF(repo_access__v1__repo_access_service), "repo_access", "*", {"api_gateway"}},
    {ROWS_OF(repo_access__v1__repo_access_internal_service),
     "repo_access",
     "Authenticate",
     {"api_gateway"}},
    {ROWS_OF(repo_access__v1__repo_access_internal_service),
     "repo_access",
     "DevLogin",
     {"api_gateway"}},
    {ROWS_OF(repo_access__v1__repo_access_internal_service),
     "repo_access",
     "GetSignInMethods",
     {"api_gateway"}},
    {ROWS_OF(repo_access__v1__repo_access_internal_service),
     "repo_access",
     "BeginSignIn",
     {"api_gateway"}},
    {ROWS_OF(repo_access__v1__repo_access_internal_service),
     "repo_access",
     "CompleteSignIn",
     {"api_gateway"}},
    {ROWS_OF(repo_access__v1__repo_access_internal_service),
     "repo_access",
     "BeginDevice",
     {"api_gateway"}},
    {ROWS_OF(repo_access__v1__repo_access_internal_service),
     "repo_access",
     "PollDevice",
     {"api_gateway"}},
    {ROWS_OF(repo_access__v1__repo_access_internal_service),
     "repo_access",
     "CheckAccess",
     {"sessions", "api_gateway", "secrets"}},
    {ROWS_OF(repo_access__v1__repo_access_internal_service),
     "repo_access",
     "ResolveRepo",
     {"sessions", "secrets", "redactor"}},
    {ROWS_OF(repo_access__v1__repo_access_internal_service),
     "repo_access",
     "GetRepos",
     {"sessions"}},
    {ROWS_OF(repo_access__v1__repo_access_internal_service),
     "repo_access",
     "GetPeople",
     {"sessions", "api_gateway"}},
    {ROWS_OF(repo_access__v1__repo_access_internal_service),
     "repo_access",
     "MintGitToken",
     {"sessions"}},

    {ROWS_OF(redactor__v1__redactor_service), "redactor", "*", {"api_gateway"}},
    {ROWS_OF(redactor__v1__redactor_internal_service), "redactor", "Mask", {"sessions"}},
    {ROWS_OF(redactor__v1__redactor_runner_service), "redactor", "Open", {RUNNER}},
    {ROWS_OF(redactor__v1__redactor_raw_service), "redactor", "Put", {RUNNER}},

    {ROWS_OF(runner__v1__runner_service), RUNNER, "*", {"sessions"}},
};

/* What is published without a wish for an answer. @ stands for the Runner's id. */
static const struct {
    const char *subject;
    const char *publishes;
    const char *receives[3];
} feeds[] = {
    {"kndl.live.*.event", "sessions", {"api_gateway"}},
    {"kndl.live.*.summary", "sessions", {"api_gateway"}},
    {"kndl.live.*.delta", "redactor", {"api_gateway"}},
    {"kndl.fact.sessions.*", "sessions", {"api_gateway", "redactor"}},
    {"kndl.fact.secrets.*", "secrets", {"api_gateway", "redactor", "sessions"}},
    {"kndl.fact.repo_access.*", "repo_access", {"api_gateway", "sessions"}},
};

enum { ROWS = sizeof rows / sizeof rows[0], FEEDS = sizeof feeds / sizeof feeds[0] };

static bool is_in(const char *user, const char *const users[3])
{
    for (size_t i = 0; i < 3 && users[i] != NULL; i++)
        if (strcmp(users[i], user) == 0)
            return true;
    return false;
}

/* All that a user may publish or subscribe to, made from the table once. */
struct patterns {
    const char *user;
    bool publishes;
    const char *patterns[32];
    size_t count;
};

/* The users, and a Runner, in both directions; read-only once made. */
static struct patterns lists[16];
static size_t list_count;
static pthread_once_t lists_once = PTHREAD_ONCE_INIT;

static void add_pattern(struct patterns *list, const char *pattern)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->patterns[i], pattern) == 0)
            return;
    if (list->count == sizeof list->patterns / sizeof list->patterns[0])
        abort();
    list->patterns[list->count++] = kndl_strdup(pattern);
}

static void add_row(struct patterns *list, const struct row *row, bool publishes)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf subject = {0};
    bool is_runner = strcmp(list->user, RUNNER) == 0;
    const struct kndl_route route = {
        .method = publishes ? row->method : "*",
        .runner_id = is_runner ? "@" : "*",
        .instance_id = "*",
        .session_id = "*",
    };

    kndl_subject_write(&subject, row->service, &route);
    add_pattern(list, kndl_buf_text(&subject));
}

static void fill_list(struct patterns *list)
{
    for (size_t i = 0; i < ROWS; i++)
        if (list->publishes ? is_in(list->user, rows[i].asks)
                            : strcmp(rows[i].answers, list->user) == 0)
            add_row(list, &rows[i], list->publishes);
    for (size_t i = 0; i < FEEDS; i++)
        if (list->publishes ? strcmp(feeds[i].publishes, list->user) == 0
                            : is_in(list->user, feeds[i].receives))
            add_pattern(list, feeds[i].subject);

    bool is_inspect = strcmp(list->user, INSPECT) == 0;
    bool is_runner = strcmp(list->user, RUNNER) == 0;
    if (is_inspect == list->publishes && !is_runner)
        add_pattern(list, "$SRV.>");
    if (!list->publishes) {
        KNDL_CLEANUP(kndl_buf_done) struct kndl_buf inbox = {0};
        kndl_inbox_write(&inbox, list->user, is_runner ? "@" : NULL);
        kndl_buf_append_text(&inbox, ".>");
        add_pattern(list, kndl_buf_text(&inbox));
    }
}

static void add_lists(const char *user)
{
    for (int publishes = 0; publishes < 2; publishes++) {
        struct patterns *list = &lists[list_count++];
        list->user = user;
        list->publishes = publishes;
        fill_list(list);
    }
}

static void make_lists(void)
{
    for (size_t i = 0; kndl_bus_users[i] != NULL; i++)
        add_lists(kndl_bus_users[i]);
    add_lists(RUNNER);
}

static const struct patterns *find_list(const char *user, bool publishes)
{
    pthread_once(&lists_once, make_lists);
    for (size_t i = 0; i < list_count; i++)
        if (lists[i].publishes == publishes && strcmp(lists[i].user, user) == 0)
            return &lists[i];
    return NULL;
}

/* The pattern with the Runner's id in its place. */
static char *fill_in(const char *pattern, const char *runner_id)
{
    const char *at = strchr(pattern, '@');
    struct kndl_buf subject = {0};

    if (at == NULL)
        return kndl_strdup(pattern);
    kndl_buf_append(&subject, pattern, (size_t)(at - pattern));
    kndl_buf_append_text(&subject, runner_id);
    kndl_buf_append_text(&subject, at + 1);
    return kndl_buf_take(&subject);
}

static char **copy_list(const struct patterns *list, const char *runner_id)
{
    char **copy = kndl_new_array(char *, list->count + 1);

    for (size_t i = 0; i < list->count; i++)
        copy[i] = fill_in(list->patterns[i], runner_id);
    return copy;
}

void kndl_permissions_of(const char *user, const char *runner_id, struct kndl_subjects *ret)
{
    const struct patterns *publish = find_list(user, true);
    const struct patterns *subscribe = find_list(user, false);

    if (publish == NULL || subscribe == NULL)
        abort();
    ret->publish = copy_list(publish, runner_id);
    ret->subscribe = copy_list(subscribe, runner_id);
    ret->responds = strcmp(user, INSPECT) != 0;
}

void kndl_subjects_done(struct kndl_subjects *subjects)
{
    for (char **at = subjects->publish; at != NULL && *at != NULL; at++)
        free(*at);
    for (char **at = subjects->subscribe; at != NULL && *at != NULL; at++)
        free(*at);
    free(subjects->publish);
    free(subjects->subscribe);
    *subjects = (struct kndl_subjects){0};
}

/* Does the subject fit the pattern, token by token? @ is the Runner's own id. */
static bool fits(const char *pattern, const char *subject, const char *runner_id)
{
    for (;;) {
        size_t wanted = strcspn(pattern, ".");
        size_t given = strcspn(subject, ".");

        if (given == 0)
            return false;
        if (wanted == 1 && *pattern == '>')
            return true;
        if (wanted == 1 && *pattern == '@') {
            if (runner_id == NULL || strlen(runner_id) != given ||
                memcmp(runner_id, subject, given) != 0)
                return false;
        } else if (!(wanted == 1 && *pattern == '*') &&
                   (wanted != given || memcmp(pattern, subject, given) != 0)) {
            return false;
        }
        pattern += wanted;
        subject += given;
        if (*pattern == '\0' || *subject == '\0')
            return *pattern == *subject;
        pattern++;
        subject++;
    }
}

bool kndl_permissions_allow(const char *user, const char *runner_id, const char *subject)
{
    const struct patterns *list = find_list(user, true);

    for (size_t i = 0; list != NULL && i < list->count; i++)
        if (fits(list->patterns[i], subject, runner_id))
            return true;
    return false;
}

static void print_users(struct kndl_buf *out, const char *const users[3])
{
    for (size_t i = 0; i < 3 && users[i] != NULL; i++)
        kndl_buf_printf(out, "%s%s", i > 0 ? ", " : "", users[i]);
}

static void print_row(struct kndl_buf *out, const struct row *row,
                      const ProtobufCMethodDescriptor *method)
{
    const struct kndl_route route = {
        .method = method->name,
        .runner_id = "<runner>",
        .instance_id = "<instance>",
        .session_id = "<session>",
    };

    kndl_buf_append_text(out, "| `");
    kndl_subject_write(out, row->service, &route);
    kndl_buf_append_text(out, "` | ");
    print_users(out, row->asks);
    kndl_buf_printf(out, " | %s |\n", row->answers);
}

void kndl_permissions_print(struct kndl_buf *out)
{
    kndl_buf_append_text(out,
                         "# Subjects\n\n"
                         "Made from the permission table and the protos; `libs/bus` has a test "
                         "that fails when this is stale.\n"
                         "Each user listens on its own inbox besides, `_INBOX.<user>.>` (a Runner: "
                         "`_INBOX.runner.<runner>.>`);\n"
                         "nobody publishes to `_INBOX.>` but in answer to what it received.\n\n"
                         "## Asked and answered\n\n| subject | asks | answers |\n|---|---|---|\n");
    for (size_t i = 0; i < ROWS; i++) {
        const ProtobufCServiceDescriptor *service = rows[i].service;
        for (unsigned m = 0; m < service->n_methods; m++)
            if (strcmp(rows[i].method, "*") == 0 ||
                strcmp(rows[i].method, service->methods[m].name) == 0)
                print_row(out, &rows[i], &service->methods[m]);
    }
    kndl_buf_append_text(out, "| `$SRV.>` | inspect | every service |\n\n"
                              "## Published\n\n| subject | publishes | receive |\n|---|---|---|\n");
    for (size_t i = 0; i < FEEDS; i++) {
        kndl_buf_printf(out, "| `%s` | %s | ", feeds[i].subject, feeds[i].publishes);
        print_users(out, feeds[i].receives);
        kndl_buf_append_text(out, " |\n");
    }
}
