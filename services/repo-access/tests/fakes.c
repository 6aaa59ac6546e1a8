/* The functions of github.c, oauth.c and peers.c, without GitHub and without a bus. */

#include "fakes.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "kndl/mem.h"
#include "kndl/rpc.h"
#include "store_members.h"

struct github the_github;
struct oauth the_oauth;
struct kndl_bus the_bus;

void fakes_reset(void)
{
    the_github = (struct github){0};
    the_oauth = (struct oauth){0};
    the_bus = (struct kndl_bus){0};
}

int github_open(struct github **ret_github, struct kndl_error *err)
{
    (void)err;
    *ret_github = &the_github;
    return 0;
}

void github_close(struct github *github)
{
    (void)github;
}

static int away(struct kndl_error *err)
{
    return kndl_fail(err, KNDL_UNAVAILABLE, "GitHub cannot answer at the moment");
}

int github_find_user(struct github *github, const char *login, struct kndl_arena *arena,
                     struct github_user *ret_user, struct kndl_error *err)
{
    (void)arena;
    if (github->is_away)
        return away(err);
    if (strcasecmp(login, "ada") == 0)
        *ret_user = (struct github_user){501, "ada", "Ada"};
    else if (strcasecmp(login, "grace") == 0)
        *ret_user = (struct github_user){502, "grace", ""};
    else
        return kndl_fail(err, KNDL_NOT_FOUND, "GitHub knows nobody of the login %s", login);
    return 0;
}

int github_list_repos(struct github *github, struct kndl_arena *arena, struct listing *ret_listing,
                      struct kndl_error *err)
{
    static struct installation installations[2];
    static struct repo repos[2];
    int64_t hello_is_of = github->is_given_away ? 2002 : 2001;

    (void)arena;
    if (github->is_away)
        return away(err);
    github->lists++;
    installations[0] = (struct installation){2001, "demo", github->is_suspended};
    installations[1] = (struct installation){2002, "other", false};
    repos[0] = (struct repo){.id = 3001,
                             .name = github->is_renamed ? "demo/hi" : "demo/hello",
                             .installation_id = hello_is_of,
                             .default_branch = "main",
                             .is_private = true,
                             .description = "Says hello"};
    repos[1] = (struct repo){.id = 3002,
                             .name = "demo/Notes",
                             .installation_id = 2001,
                             .default_branch = "trunk",
                             .description = ""};
    *ret_listing = (struct listing){repos, github->is_uninstalled ? 1 : 2, installations, 2};
    if (github->is_suspended)
        ret_listing->repo_count = 0;
    return 0;
}

/* The installation that has demo/hello no longer answers as if there were none. */
static bool is_stale(const struct github *github, const struct repo *repo)
{
    return github->is_given_away && repo->id == 3001 && repo->installation_id == 2001;
}

int github_check_collaborator(struct github *github, const struct repo *repo, const char *login,
                              bool *ret_yes, struct kndl_error *err)
{
    if (github->is_away)
        return away(err);
    github->checks++;
    if (github->is_renamed && strcmp(repo->name, "demo/hello") == 0)
        return kndl_fail(err, KNDL_ABORTED, "renamed");
    const char *grace = github->grace_is_called == NULL ? "grace" : github->grace_is_called;
    *ret_yes = false;
    if (is_stale(github, repo))
        return 0;
    *ret_yes = strcmp(login, "ada") == 0 ||
               (repo->id == 3001 && !github->has_lost_grace && strcmp(login, grace) == 0);
    return 0;
}

int github_find_login(struct github *github, const struct repo *repo, int64_t user_id,
                      struct kndl_arena *arena, const char **ret_login, struct kndl_error *err)
{
    (void)repo;
    (void)arena;
    if (github->is_away)
        return away(err);
    github->lookups++;
    if (user_id == 501)
        *ret_login = "ada";
    else if (user_id == 502)
        *ret_login = github->grace_is_called == NULL ? "grace" : github->grace_is_called;
    else
        return kndl_fail(err, KNDL_NOT_FOUND, "GitHub has no such account any more");
    return 0;
}

int github_mint(struct github *github, const struct repo *repo, bool write,
                struct kndl_arena *arena, struct github_token *ret_token, struct kndl_error *err)
{
    (void)arena;
    if (github->is_away)
        return away(err);
    if (github->is_suspended || is_stale(github, repo))
        return kndl_fail(err, KNDL_PERMISSION_DENIED, "kndl may not read %s", repo->name);
    kndl_secret_copy(&ret_token->token, kndl_slice_of(write ? "ghs_write" : "ghs_read"));
    ret_token->expires_at_ms = 7;
    ret_token->repo_name = github->is_renamed ? "demo/hi" : repo->name;
    return 0;
}

/* ---- oauth.c ---- */

int oauth_open(struct oauth **ret_oauth, struct kndl_error *err)
{
    (void)err;
    *ret_oauth = &the_oauth;
    return 0;
}

void oauth_close(struct oauth *oauth)
{
    (void)oauth;
}

bool oauth_is_on(const struct oauth *oauth)
{
    return !oauth->is_off;
}

/* The state is the secret behind "state-": enough to tell browsers apart. */
void oauth_write_url(const struct oauth *oauth, struct kndl_slice browser, struct kndl_buf *out)
{
    (void)oauth;
    kndl_buf_printf(out, "https://github.example/authorize?state=state-%.*s", (int)browser.size,
                    (const char *)browser.data);
}

bool oauth_is_state(struct kndl_slice browser, const char *state)
{
    return strncmp(state, "state-", 6) == 0 && kndl_slice_equal(kndl_slice_of(state + 6), browser);
}

int oauth_find_user(struct oauth *oauth, struct kndl_slice browser, const char *code,
                    struct kndl_arena *arena, struct github_user *ret_user, struct kndl_error *err)
{
    (void)browser;
    oauth->exchanges++;
    if (oauth->is_away)
        return away(err);
    if (strncmp(code, "code-", 5) != 0)
        return kndl_fail(err, KNDL_UNAUTHENTICATED, "GitHub refuses the code");
    if (github_find_user(&the_github, code + 5, arena, ret_user, err) == 0)
        return 0;
    /* Strangers have accounts, too. */
    *ret_user = (struct github_user){900, "stranger", "A stranger"};
    *err = (struct kndl_error){0};
    return 0;
}

/* ---- peers.c ---- */

static void note(struct kndl_bus *bus, const char *what, const char *person_id)
{
    size_t used = strlen(bus->told);

    snprintf(bus->told + used, sizeof bus->told - used, "%s%s:%s", used > 0 ? " " : "", what,
             person_id);
}

int peers_tell_departure(struct kndl_bus *bus, struct kndl_call *call,
                         const struct departure *departure)
{
    if (bus->is_away)
        return kndl_fail(&call->err, KNDL_UNAVAILABLE, "nobody serves it");
    note(bus, departure->service, departure->person_id);
    return 0;
}

void peers_publish(struct kndl_bus *bus, enum peers_fact fact, const char *person_id)
{
    note(bus, fact == FACT_PEOPLE ? "people" : "access", person_id);
}
