/* GitHub's endpoints, as a GitHub App's installation sees them. */

#include "github.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "github_api.h"
#include "kndl/clock.h"
#include "kndl/log.h"
#include "kndl/mem.h"

enum {
    PER_PAGE = 100,
    PAGES_MAX = 100,
    REPOS_MAX = 5000,
    ACCOUNTS_MAX = 1000,
    INSTALLATIONS_MAX = 64,
    CLONE_TOKENS_MAX = 64,
    TOKEN_MARGIN_MS = 5 * 60 * 1000,
    PATH_SIZE = 512,
};

/* Reads metadata of an installation's Repos and nothing else; kept until shortly before its end. */
struct reader {
    int64_t installation_id;
    struct kndl_secret token;
    int64_t expires_at_ms;
};

/* Reads one Repo's contents, for clones; given again until five minutes before its end. */
struct clone_token {
    int64_t repo_id;
    int64_t installation_id;
    char *repo_name;
    struct kndl_secret token;
    int64_t expires_at_ms;
};

#define GITHUB_APP_GONE "the GitHub App is not installed there any more"

struct github {
    struct github_api *api;
    struct reader readers[INSTALLATIONS_MAX];
    size_t next_reader; /* the one to replace when all are taken */
    struct clone_token clone_tokens[CLONE_TOKENS_MAX];
    size_t next_clone_token;
};

int github_open(struct github **ret_github, struct kndl_error *err)
{
    struct github *github = kndl_new0(struct github);

    if (github_api_open(&github->api, err) < 0) {
        github_close(github);
        return -1;
    }
    *ret_github = github;
    return 0;
}

static void clone_token_done(struct clone_token *kept)
{
    kndl_secret_done(&kept->token);
    free(kept->repo_name);
    *kept = (struct clone_token){0};
}

void github_close(struct github *github)
{
    if (github == NULL)
        return;
    for (size_t i = 0; i < INSTALLATIONS_MAX; i++)
        kndl_secret_done(&github->readers[i].token);
    for (size_t i = 0; i < CLONE_TOKENS_MAX; i++)
        clone_token_done(&github->clone_tokens[i]);
    github_api_close(github->api);
    free(github);
}

/* GitHub said something that its documentation does not: it decides nothing. */
static int unexpected(const struct github_answer *answer, const char *what, struct kndl_error *err)
{
    kndl_log(KNDL_WARNING, "GitHub gave an answer that is not understood", KNDL_STR("to", what),
             KNDL_I64("status", answer->status), KNDL_STR("says", github_answer_message(answer)));
    return kndl_fail(err, KNDL_UNAVAILABLE, "GitHub gave an answer that is not understood");
}

static const char *copy_text(struct kndl_arena *arena, const struct kndl_value *object,
                             const char *key)
{
    return kndl_arena_copy(arena, kndl_json_text(kndl_json_get(object, key), ""));
}

/* Logins and names of Repos go into paths: GitHub's own alphabet and nothing else. */
static bool is_plain(const char *text, const char *also)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-";

    if (text[0] == '\0' || strlen(text) > 200)
        return false;
    for (; *text != '\0'; text++)
        if (strchr(alphabet, *text) == NULL && strchr(also, *text) == NULL)
            return false;
    return true;
}

int github_find_user(struct github *github, const char *login, struct kndl_arena *arena,
                     struct github_user *ret_user, struct kndl_error *err)
{
    KNDL_CLEANUP(github_answer_done) struct github_answer answer = {0};
    char path[PATH_SIZE];

    /* "[bot]" ends the logins of Apps, which are nobody who signs in. */
    if (!is_plain(login, "_"))
        return kndl_fail(err, KNDL_NOT_FOUND, "GitHub knows nobody of that login");
    snprintf(path, sizeof path, "/users/%s", login);
    if (github_api_ask(github->api, &(struct github_question){.method = "GET", .path = path},
                       &answer, err) < 0)
        return -1;
    if (answer.status == 404)
        return kndl_fail(err, KNDL_NOT_FOUND, "GitHub knows nobody of the login %s", login);

    const struct kndl_value *user = answer.json == NULL ? NULL : kndl_json_root(answer.json);
    *ret_user = (struct github_user){
        .id = kndl_json_i64(kndl_json_get(user, "id"), 0),
        .login = copy_text(arena, user, "login"),
        .name = copy_text(arena, user, "name"),
    };
    if (answer.status != 200 || ret_user->id <= 0 || ret_user->login[0] == '\0')
        return unexpected(&answer, "user", err);
    return 0;
}

static bool is_suspended(const struct kndl_value *installation)
{
    return kndl_json_kind(kndl_json_get(installation, "suspended_at")) == KNDL_JSON_STRING;
}

/* "2026-11-29T18:30:00Z", 0 if it is not that. */
static int64_t time_of(const char *text)
{
    struct tm tm = {0};

    return strptime(text, "%Y-%m-%dT%H:%M:%SZ", &tm) == NULL ? 0 : (int64_t)timegm(&tm) * 1000;
}

/*
 * Why GitHub gives no token: it says so of the installation itself, whatever the words of its
 * refusal are. Fails with KNDL_NOT_FOUND and a sentence's end for people if that decides it.
 */
static int find_refusal(struct github *github, int64_t installation_id, struct kndl_error *err)
{
    KNDL_CLEANUP(github_answer_done) struct github_answer answer = {0};
    char path[PATH_SIZE];

    snprintf(path, sizeof path, "/app/installations/%" PRId64, installation_id);
    if (github_api_ask(github->api,
                       &(struct github_question){.method = "GET", .path = path, .as_app = true},
                       &answer, err) < 0)
        return -1;
    if (answer.status == 404)
        return kndl_fail(err, KNDL_NOT_FOUND, GITHUB_APP_GONE);
    if (answer.status == 200 && is_suspended(kndl_json_root(answer.json)))
        return kndl_fail(err, KNDL_NOT_FOUND,
                         "the GitHub App is suspended there; who suspended it can lift that in "
                         "GitHub's settings of the account");
    return unexpected(&answer, "token", err);
}

/* Asks for an installation's token. KNDL_NOT_FOUND: it is gone, suspended or may not do that; the
 * message says which, as the end of a sentence. */
static int ask_token(struct github *github, int64_t installation_id, const char *body,
                     struct github_answer *ret_answer, struct kndl_error *err)
{
    char path[PATH_SIZE];

    snprintf(path, sizeof path, "/app/installations/%" PRId64 "/access_tokens", installation_id);
    if (github_api_ask(
            github->api,
            &(struct github_question){.method = "POST", .path = path, .as_app = true, .body = body},
            ret_answer, err) < 0)
        return -1;
    switch (ret_answer->status) {
    case 201:
        return 0;
    case 403: /* suspended, as a rule; rate limits have been sorted out */
        return find_refusal(github, installation_id, err);
    case 404:
        return kndl_fail(err, KNDL_NOT_FOUND, GITHUB_APP_GONE);
    case 422:
        return kndl_fail(err, KNDL_NOT_FOUND,
                         "the GitHub App is not installed on it, or lacks the permission Contents");
    default:
        return unexpected(ret_answer, "token", err);
    }
}

static int read_token(const struct github_answer *answer, struct kndl_secret *ret_token,
                      int64_t *ret_expires_at_ms, struct kndl_error *err)
{
    const struct kndl_value *root = answer->json == NULL ? NULL : kndl_json_root(answer->json);
    const char *token = kndl_json_text(kndl_json_get(root, "token"), "");
    int64_t expires_at_ms = time_of(kndl_json_text(kndl_json_get(root, "expires_at"), ""));

    if (token[0] == '\0' || expires_at_ms == 0)
        return unexpected(answer, "token", err);
    kndl_secret_copy(ret_token, kndl_slice_of(token));
    *ret_expires_at_ms = expires_at_ms;
    return 0;
}

static struct reader *reader_of(struct github *github, int64_t installation_id)
{
    for (size_t i = 0; i < INSTALLATIONS_MAX; i++)
        if (github->readers[i].installation_id == installation_id)
            return &github->readers[i];

    struct reader *reader = &github->readers[github->next_reader++ % INSTALLATIONS_MAX];
    kndl_secret_done(&reader->token);
    *reader = (struct reader){.installation_id = installation_id};
    return reader;
}

static int renew(struct github *github, struct reader *reader, struct kndl_error *err)
{
    KNDL_CLEANUP(github_answer_done) struct github_answer answer = {0};

    kndl_secret_done(&reader->token);
    reader->expires_at_ms = 0;
    if (ask_token(github, reader->installation_id, "{\"permissions\":{\"metadata\":\"read\"}}",
                  &answer, err) < 0)
        return -1;
    return read_token(&answer, &reader->token, &reader->expires_at_ms, err);
}

/* Asks as an installation. A token that is refused is made new once, then it is given up. */
static int ask_as_installation(struct github *github, int64_t installation_id,
                               struct github_question question, struct github_answer *ret_answer,
                               struct kndl_error *err)
{
    struct reader *reader = reader_of(github, installation_id);

    for (int i = 0; i < 2; i++) {
        if (reader->expires_at_ms - TOKEN_MARGIN_MS <= kndl_clock_wall_ms() &&
            renew(github, reader, err) < 0)
            return -1;
        question.method = "GET";
        question.token = &reader->token;
        if (github_api_ask(github->api, &question, ret_answer, err) < 0)
            return -1;
        if (ret_answer->status != 401)
            return 0;
        reader->expires_at_ms = 0;
        if (i == 0)
            github_answer_done(ret_answer);
    }
    return unexpected(ret_answer, "installation", err);
}

static struct repo read_repo(const struct kndl_value *value, int64_t installation_id,
                             struct kndl_arena *arena)
{
    return (struct repo){
        .id = kndl_json_i64(kndl_json_get(value, "id"), 0),
        .name = copy_text(arena, value, "full_name"),
        .installation_id = installation_id,
        .default_branch = copy_text(arena, value, "default_branch"),
        .is_private = kndl_json_bool(kndl_json_get(value, "private"), true),
        .description = copy_text(arena, value, "description"),
        .is_installed = true,
    };
}

/* A Repo that is not in a list was taken away, so only what is a list, and read to its end, is. */
static int find_list(const struct github_answer *answer, const char *member, const char *what,
                     const struct kndl_value **ret_list, struct kndl_error *err)
{
    const struct kndl_value *list = answer->json == NULL ? NULL : kndl_json_root(answer->json);

    if (member != NULL)
        list = kndl_json_get(list, member);
    if (answer->status != 200 || kndl_json_kind(list) != KNDL_JSON_ARRAY)
        return unexpected(answer, what, err);
    *ret_list = list;
    return 0;
}

static int fail_endless(const char *what, struct kndl_error *err)
{
    return kndl_fail(err, KNDL_UNAVAILABLE, "GitHub's list of %s has more than %d pages", what,
                     PAGES_MAX);
}

static int list_installation(struct github *github, int64_t installation_id,
                             struct kndl_arena *arena, struct listing *listing,
                             struct kndl_error *err)
{
    char path[PATH_SIZE];
    bool has_next = true;

    for (int page = 1; has_next && page <= PAGES_MAX; page++) {
        KNDL_CLEANUP(github_answer_done) struct github_answer answer = {0};

        snprintf(path, sizeof path, "/installation/repositories?per_page=%d&page=%d", PER_PAGE,
                 page);
        if (ask_as_installation(github, installation_id, (struct github_question){.path = path},
                                &answer, err) < 0)
            return -1;
        const struct kndl_value *repos;
        if (find_list(&answer, "repositories", "Repos", &repos, err) < 0)
            return -1;
        for (size_t i = 0; i < kndl_json_count(repos); i++) {
            if (listing->repo_count == REPOS_MAX)
                return kndl_fail(err, KNDL_UNAVAILABLE,
                                 "the GitHub App is installed on more than %d Repos", REPOS_MAX);
            struct repo repo = read_repo(kndl_json_at(repos, i), installation_id, arena);
            if (repo.id <= 0 || repo.name[0] == '\0')
                return unexpected(&answer, "Repos", err);
            listing->repos[listing->repo_count++] = repo;
        }
        has_next = answer.has_next;
    }
    return has_next ? fail_endless("Repos", err) : 0;
}

/* One whose suspension or end is only seen now has no Repos; all else stops the listing. */
static int list_one(struct github *github, const struct kndl_value *value, struct kndl_arena *arena,
                    struct listing *listing, struct kndl_error *err)
{
    struct kndl_error cause = {0};
    struct installation *installation;

    if (listing->installation_count == ACCOUNTS_MAX)
        return kndl_fail(err, KNDL_UNAVAILABLE,
                         "the GitHub App is installed on more than %d accounts", ACCOUNTS_MAX);
    installation = &listing->installations[listing->installation_count++];
    *installation = (struct installation){
        .id = kndl_json_i64(kndl_json_get(value, "id"), 0),
        .account = copy_text(arena, kndl_json_get(value, "account"), "login"),
        .is_suspended = is_suspended(value),
    };
    if (installation->id <= 0)
        return kndl_fail(err, KNDL_UNAVAILABLE, "GitHub gave an answer that is not understood");
    if (installation->is_suspended)
        return 0;
    if (list_installation(github, installation->id, arena, listing, &cause) < 0 &&
        cause.code != KNDL_NOT_FOUND)
        return kndl_fail(err, cause.code, "%s", cause.message);
    return 0;
}

int github_list_repos(struct github *github, struct kndl_arena *arena, struct listing *ret_listing,
                      struct kndl_error *err)
{
    struct listing listing = {
        .repos = kndl_arena_alloc(arena, REPOS_MAX * sizeof *listing.repos),
        .installations = kndl_arena_alloc(arena, ACCOUNTS_MAX * sizeof *listing.installations),
    };
    char path[PATH_SIZE];
    bool has_next = github_api_has_app(github->api);

    for (int page = 1; has_next && page <= PAGES_MAX; page++) {
        KNDL_CLEANUP(github_answer_done) struct github_answer answer = {0};

        snprintf(path, sizeof path, "/app/installations?per_page=%d&page=%d", PER_PAGE, page);
        if (github_api_ask(github->api,
                           &(struct github_question){.method = "GET", .path = path, .as_app = true},
                           &answer, err) < 0)
            return -1;
        const struct kndl_value *installations;
        if (find_list(&answer, NULL, "installations", &installations, err) < 0)
            return -1;
        for (size_t i = 0; i < kndl_json_count(installations); i++)
            if (list_one(github, kndl_json_at(installations, i), arena, &listing, err) < 0)
                return -1;
        has_next = answer.has_next;
    }
    if (has_next)
        return fail_endless("installations", err);
    *ret_listing = listing;
    return 0;
}

int github_check_collaborator(struct github *github, const struct repo *repo, const char *login,
                              bool *ret_yes, struct kndl_error *err)
{
    KNDL_CLEANUP(github_answer_done) struct github_answer answer = {0};
    struct kndl_error cause = {0};
    char path[PATH_SIZE];

    if (!is_plain(login, "_") || !is_plain(repo->name, "._/"))
        return kndl_fail(err, KNDL_UNAVAILABLE, "a name of GitHub's is not understood");
    snprintf(path, sizeof path, "/repos/%s/collaborators/%s", repo->name, login);
    if (ask_as_installation(github, repo->installation_id,
                            (struct github_question){.path = path, .stay = true}, &answer,
                            &cause) < 0) {
        if (cause.code != KNDL_NOT_FOUND)
            return kndl_fail(err, cause.code, "%s", cause.message);
        *ret_yes = false;
        return 0;
    }
    if (answer.status == 301)
        return kndl_fail(err, KNDL_ABORTED, "%s has another name now", repo->name);
    if (answer.status != 204 && answer.status != 404)
        return unexpected(&answer, "collaborator", err);
    *ret_yes = answer.status == 204;
    return 0;
}

int github_find_login(struct github *github, const struct repo *repo, int64_t user_id,
                      struct kndl_arena *arena, const char **ret_login, struct kndl_error *err)
{
    KNDL_CLEANUP(github_answer_done) struct github_answer answer = {0};
    char path[PATH_SIZE];

    snprintf(path, sizeof path, "/user/%" PRId64, user_id);
    if (ask_as_installation(github, repo->installation_id, (struct github_question){.path = path},
                            &answer, err) < 0)
        return -1;
    if (answer.status != 200)
        return kndl_fail(err, KNDL_NOT_FOUND, "GitHub has no such account any more");
    const struct kndl_value *user = kndl_json_root(answer.json);
    const char *login = copy_text(arena, user, "login");
    if (kndl_json_i64(kndl_json_get(user, "id"), 0) != user_id || !is_plain(login, "_"))
        return unexpected(&answer, "login", err);
    *ret_login = login;
    return 0;
}

/* What was given must be what was asked for: that Repo alone, no permission more. */
static bool is_as_asked(const struct github_answer *answer, const struct repo *repo,
                        const char *level)
{
    const struct kndl_value *root = kndl_json_root(answer->json);
    const struct kndl_value *repos = kndl_json_get(root, "repositories");
    const struct kndl_value *permissions = kndl_json_get(root, "permissions");

    if (kndl_json_count(repos) != 1 ||
        kndl_json_i64(kndl_json_get(kndl_json_at(repos, 0), "id"), 0) != repo->id)
        return false;
    for (size_t i = 0; i < kndl_json_count(permissions); i++) {
        const char *name;
        const char *given = kndl_json_text(kndl_json_member(permissions, i, &name), "");

        if (strcmp(name, "contents") == 0
                ? strcmp(given, level) != 0
                : strcmp(name, "metadata") != 0 || strcmp(given, "read") != 0)
            return false;
    }
    return true;
}

/* A Repo that has another name or owner by now is another one here. NULL: none is good any more. */
static const struct clone_token *find_clone_token(const struct github *github,
                                                  const struct repo *repo)
{
    for (size_t i = 0; i < CLONE_TOKENS_MAX; i++) {
        const struct clone_token *kept = &github->clone_tokens[i];

        if (kept->repo_id == repo->id && kept->installation_id == repo->installation_id &&
            strcmp(kept->repo_name, repo->name) == 0 &&
            kept->expires_at_ms - TOKEN_MARGIN_MS > kndl_clock_wall_ms())
            return kept;
    }
    return NULL;
}

static void keep_clone_token(struct github *github, const struct repo *repo,
                             const struct github_token *token)
{
    struct clone_token *kept = &github->clone_tokens[github->next_clone_token++ % CLONE_TOKENS_MAX];

    clone_token_done(kept);
    kept->repo_id = repo->id;
    kept->installation_id = repo->installation_id;
    kept->repo_name = kndl_strdup(token->repo_name);
    kndl_secret_copy(&kept->token, kndl_slice(token->token.data, token->token.size));
    kept->expires_at_ms = token->expires_at_ms;
}

int github_mint(struct github *github, const struct repo *repo, bool write,
                struct kndl_arena *arena, struct github_token *ret_token, struct kndl_error *err)
{
    KNDL_CLEANUP(github_answer_done) struct github_answer answer = {0};
    const char *level = write ? "write" : "read";
    struct kndl_error cause = {0};
    char body[160];

    const struct clone_token *kept = write ? NULL : find_clone_token(github, repo);
    if (kept != NULL) {
        kndl_secret_copy(&ret_token->token, kndl_slice(kept->token.data, kept->token.size));
        ret_token->expires_at_ms = kept->expires_at_ms;
        ret_token->repo_name = kndl_arena_copy(arena, kept->repo_name);
        return 0;
    }
    snprintf(body, sizeof body,
             "{\"repository_ids\":[%" PRId64 "],"
             "\"permissions\":{\"contents\":\"%s\",\"metadata\":\"read\"}}",
             repo->id, level);
    if (ask_token(github, repo->installation_id, body, &answer, &cause) < 0)
        return cause.code == KNDL_NOT_FOUND
                   ? kndl_fail(err, KNDL_PERMISSION_DENIED, "kndl may not %s %s: %s",
                               write ? "write to" : "read", repo->name, cause.message)
                   : kndl_fail(err, cause.code, "%s", cause.message);
    if (answer.json == NULL || !is_as_asked(&answer, repo, level)) {
        kndl_log(KNDL_ERROR, "GitHub gave a token for other than was asked for");
        return kndl_fail(err, KNDL_UNAVAILABLE, "GitHub gave an answer that is not understood");
    }
    if (read_token(&answer, &ret_token->token, &ret_token->expires_at_ms, err) < 0)
        return -1;
    ret_token->repo_name = copy_text(
        arena, kndl_json_at(kndl_json_get(kndl_json_root(answer.json), "repositories"), 0),
        "full_name");
    if (!write)
        keep_clone_token(github, repo, ret_token);
    return 0;
}
