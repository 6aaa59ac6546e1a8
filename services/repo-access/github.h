#pragma once

/*
 * What repo-access asks of GitHub, as the GitHub App. The only file that knows its endpoints.
 *
 * One thread at a time. The codes say what the answer is worth: KNDL_OK and KNDL_NOT_FOUND decide;
 * KNDL_UNAVAILABLE means that GitHub could not answer (no connection, its own failure, a rate
 * limit), so that nobody may gain or lose anything by it. Texts live in the arena.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kndl/arena.h"
#include "kndl/error.h"
#include "kndl/secret.h"
#include "store.h"

struct github;

struct github_user {
    int64_t id;
    const char *login; /* as GitHub spells it */
    const char *name;  /* "" if they gave none */
};

/* An installation token for one Repo. The caller calls kndl_secret_done() on `token`. */
struct github_token {
    struct kndl_secret token;
    int64_t expires_at_ms;
    const char *repo_name; /* as it is now */
};

/* Reads the App's key. Without GITHUB_APP_ID there is no App: nothing is listed, nothing minted. */
int github_open(struct github **ret_github, struct kndl_error *err);
void github_close(struct github *github);

/* An account by its login. KNDL_NOT_FOUND: there is none. */
int github_find_user(struct github *github, const char *login, struct kndl_arena *arena,
                     struct github_user *ret_user, struct kndl_error *err);

/* Every installation, and every Repo of those that are not suspended; all or nothing. */
int github_list_repos(struct github *github, struct kndl_arena *arena, struct listing *ret_listing,
                      struct kndl_error *err);

/*
 * Is that account a collaborator (of the Repo itself, by team, by base permission, as owner)? An
 * installation that is gone or suspended is a no. KNDL_ABORTED: the Repo has another name by now;
 * list the Repos again.
 */
int github_check_collaborator(struct github *github, const struct repo *repo, const char *login,
                              bool *ret_yes, struct kndl_error *err);

/*
 * What GitHub calls that account now, asked as the Repo's installation. KNDL_NOT_FOUND: it
 * does not say (no such account any more; the installation is gone or suspended).
 */
int github_find_login(struct github *github, const struct repo *repo, int64_t user_id,
                      struct kndl_arena *arena, const char **ret_login, struct kndl_error *err);

/*
 * A token for that Repo alone, by its id, so that a rename or a name used again cannot widen it:
 * contents write, new each time (GI-01), or contents read, given again until five minutes before it
 * ends (GI-06). KNDL_PERMISSION_DENIED: the App is not (or no longer)
 * installed on it, is suspended, or may not do this; the message says which of them to people.
 * KNDL_FAILED_PRECONDITION: there is no App.
 */
int github_mint(struct github *github, const struct repo *repo, bool write,
                struct kndl_arena *arena, struct github_token *ret_token, struct kndl_error *err);
