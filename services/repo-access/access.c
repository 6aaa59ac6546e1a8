/* Repo access: the cache, and what to make of a GitHub that cannot answer. */

#include "access.h"

#include <inttypes.h>
#include <stdio.h>

#include "flight.h"
#include "github.h"
#include "kndl/clock.h"
#include "kndl/env.h"
#include "peers.h"

enum {
    REFUSAL_MS_MAX = 30 * 1000,
};

int64_t access_ttl_ms(void)
{
    int64_t ttl_ms = 0;

    /* settings_check() saw to it before there was a worker. */
    (void)kndl_env_get_i64("HUB_REPO_ACCESS_TTL_MS", ACCESS_TTL_MS_LEAST, ACCESS_TTL_MS_MOST,
                           &ttl_ms, NULL);
    return ttl_ms;
}

/* Until when this counts without asking; in the past: ask. */
static int64_t fresh_until_ms(const struct access *access)
{
    int64_t ttl_ms = access_ttl_ms();

    if (!access->is_known)
        return 0;
    if (!access->is_allowed)
        return access->checked_at_ms + (ttl_ms < REFUSAL_MS_MAX ? ttl_ms : REFUSAL_MS_MAX);
    if (access->tried_at_ms > access->checked_at_ms)
        return access->tried_at_ms + (ttl_ms < ACCESS_RETRY_MS ? ttl_ms : ACCESS_RETRY_MS);
    return access->checked_at_ms + ttl_ms;
}

static bool is_undecided(enum kndl_code code)
{
    return code == KNDL_UNAVAILABLE || code == KNDL_RESOURCE_EXHAUSTED;
}

static int list_now(struct repo_access *repo_access, struct kndl_arena *arena,
                    struct kndl_error *err)
{
    int64_t now_ms = kndl_clock_wall_ms();
    struct listing listing;

    if (github_list_repos(repo_access->github, arena, &listing, err) < 0)
        return -1;
    return store_keep_listing(repo_access->store, &listing, now_ms, err);
}

int access_list(struct repo_access *repo_access, int64_t max_age_ms, struct kndl_arena *arena,
                struct kndl_error *err)
{
    struct kndl_error cause = {0};
    int64_t listed_at_ms;
    bool is_first;

    if (store_find_listing(repo_access->store, arena, &listed_at_ms, err) < 0)
        return -1;
    if (listed_at_ms > 0 && kndl_clock_wall_ms() - listed_at_ms < max_age_ms)
        return 0;

    int result = flight_begin("repos", &is_first, &cause);
    if (result == 0 && is_first) {
        result = list_now(repo_access, arena, &cause);
        flight_end("repos");
    }
    if (result == 0 || (is_undecided(cause.code) && listed_at_ms > 0))
        return 0;
    return kndl_fail(err, is_undecided(cause.code) ? KNDL_UNAVAILABLE : cause.code, "%s",
                     cause.message);
}

/*
 * GitHub is asked by login, and a login may be another account's by now: as often as the TTL it is
 * looked up by the account's id. Of an account that is not found it stays as it was.
 */
static int refresh_login(struct repo_access *repo_access, struct person *person,
                         const struct repo *repo, struct kndl_arena *arena, struct kndl_error *err)
{
    int64_t now_ms = kndl_clock_wall_ms();
    struct kndl_error cause = {0};

    if (now_ms - person->named_at_ms < access_ttl_ms())
        return 0;
    if (github_find_login(repo_access->github, repo, person->github_id, arena, &person->login,
                          &cause) < 0 &&
        cause.code != KNDL_NOT_FOUND)
        return kndl_fail(err, cause.code, "%s", cause.message);
    person->named_at_ms = now_ms;
    return store_name_person(repo_access->store, person->id, person->login, now_ms, err);
}

/*
 * Asks GitHub, by the Repo's name and installation as they were last listed. Of a Repo that was
 * given to another owner the older installation knows nothing: a no after a yes counts only of a
 * listing that is new (KNDL_ABORTED: list, then ask again).
 */
static int ask_github(struct repo_access *repo_access, struct person *person, int64_t repo_id,
                      bool is_doubted, struct kndl_arena *arena, bool *ret_yes,
                      struct kndl_error *err)
{
    struct kndl_error cause = {0};
    struct repo repo;

    /* One that the App is not installed on is a no that GitHub gave with the listing. */
    *ret_yes = false;
    if (store_find_repo(repo_access->store, repo_id, arena, &repo, &cause) < 0)
        return cause.code == KNDL_NOT_FOUND ? 0 : kndl_fail(err, cause.code, "%s", cause.message);
    if (!repo.is_installed)
        return 0;
    if (refresh_login(repo_access, person, &repo, arena, err) < 0 ||
        github_check_collaborator(repo_access->github, &repo, person->login, ret_yes, err) < 0)
        return -1;
    if (!*ret_yes && is_doubted)
        return kndl_fail(err, KNDL_ABORTED, "%s may have another owner now", repo.name);
    return 0;
}

/* Asks and keeps what GitHub says, once for all who want to know the same. */
static int ask(struct repo_access *repo_access, struct person *person, int64_t repo_id,
               bool is_doubted, struct kndl_arena *arena, struct kndl_error *err)
{
    int64_t now_ms = kndl_clock_wall_ms();
    char key[FLIGHT_KEY_SIZE];
    bool is_first, yes, has_changed = false;

    snprintf(key, sizeof key, "%s/%" PRId64, person->id, repo_id);
    if (flight_begin(key, &is_first, err) < 0)
        return -1;
    if (!is_first)
        return 0;
    int result = ask_github(repo_access, person, repo_id, is_doubted, arena, &yes, err);
    if (result == 0)
        result = store_keep_access(repo_access->store, person->id, repo_id, yes, now_ms, arena,
                                   &has_changed, err);
    else if (is_undecided(err->code))
        (void)store_keep_try(repo_access->store, person->id, repo_id, now_ms, NULL);
    flight_end(key);
    if (has_changed)
        peers_publish(repo_access->bus, FACT_ACCESS, person->id);
    return result;
}

/* Asks GitHub and reads what is known then. A Repo that has another name is listed first. */
static int refresh(struct repo_access *repo_access, struct person *person, struct access *access,
                   struct kndl_arena *arena, struct kndl_error *err)
{
    struct kndl_error cause = {0};
    int result = -1;

    for (int i = 0; i < 2 && result < 0; i++) {
        /* Before the question, so that nobody waits for GitHub twice at once. */
        cause = (struct kndl_error){0};
        if (access_list(repo_access, i == 0 ? access_ttl_ms() : 0, arena, err) < 0)
            return -1;
        bool is_doubted = i == 0 && access->is_known && access->is_allowed;
        result = ask(repo_access, person, access->repo_id, is_doubted, arena, &cause);
        if (result < 0 && cause.code != KNDL_ABORTED)
            break;
    }
    if (result < 0)
        return kndl_fail(err, cause.code == KNDL_ABORTED ? KNDL_UNAVAILABLE : cause.code, "%s",
                         cause.message);
    return store_find_access(repo_access->store, person->id, &access->repo_id, 1, arena, access,
                             err);
}

int access_check(struct repo_access *repo_access, const struct person *person,
                 const int64_t *repo_ids, size_t count, struct kndl_arena *arena, bool *ret_allowed,
                 int64_t *ret_until_ms, struct kndl_error *err)
{
    struct access *access = kndl_arena_alloc(arena, (count + 1) * sizeof *access);
    int64_t until_ms = kndl_clock_wall_ms() + access_ttl_ms();
    struct person asked_for = *person; /* its login may change on the way */
    struct kndl_error last = {0};
    size_t known = 0;

    if (store_find_access(repo_access->store, person->id, repo_ids, count, arena, access, err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        int64_t now_ms = kndl_clock_wall_ms();

        if (fresh_until_ms(&access[i]) <= now_ms) {
            struct kndl_error cause = {0};

            if (refresh(repo_access, &asked_for, &access[i], arena, &cause) < 0) {
                if (!is_undecided(cause.code))
                    return kndl_fail(err, cause.code, "%s", cause.message);
                last = cause;
            }
        }
        int64_t fresh_ms = fresh_until_ms(&access[i]);
        if (fresh_ms <= now_ms)
            fresh_ms =
                now_ms + (access_ttl_ms() < ACCESS_RETRY_MS ? access_ttl_ms() : ACCESS_RETRY_MS);
        if (fresh_ms < until_ms)
            until_ms = fresh_ms;
        known += access[i].is_known;
        ret_allowed[i] = access[i].is_known && access[i].is_allowed;
    }
    if (known == 0 && last.code != KNDL_OK)
        return kndl_fail(err, KNDL_UNAVAILABLE, "%s", last.message);
    *ret_until_ms = until_ms;
    return 0;
}

int access_recheck(struct repo_access *repo_access, const char *person_id, int64_t repo_id,
                   struct kndl_arena *arena, struct kndl_error *err)
{
    struct access access = {.repo_id = repo_id};
    struct person person;

    if (store_find_person(repo_access->store, person_id, arena, &person, err) < 0 ||
        store_find_access(repo_access->store, person_id, &access.repo_id, 1, arena, &access, err) <
            0)
        return -1;
    return refresh(repo_access, &person, &access, arena, err);
}
