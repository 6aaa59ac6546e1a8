/* The rows of Repos, and who may see them. */

#include "store.h"

#include "kndl/mem.h"
#include "store_parts.h"

int store_find_listing(struct store *store, struct kndl_arena *arena, int64_t *ret_at_ms,
                       struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "find_listing", arena, &rows, err) < 0)
        return -1;
    *ret_at_ms = rows.count == 0 ? 0 : kndl_row_ms(&rows, 0, 0);
    return 0;
}

int store_keep_listing(struct store *store, const struct listing *listing, int64_t now_ms,
                       struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_tx_done) struct kndl_tx tx;

    /* The listing's row comes first: its lock keeps two listings from mixing. */
    if (kndl_tx_begin(store->db, &tx, err) < 0 ||
        kndl_db_exec(store->db, "keep_listing", NULL, NULL, err, kndl_db_i64(now_ms)) < 0 ||
        kndl_db_exec(store->db, "forget_repos", NULL, NULL, err) < 0 ||
        kndl_db_exec(store->db, "forget_installations", NULL, NULL, err) < 0)
        return -1;
    for (size_t i = 0; i < listing->installation_count; i++) {
        const struct installation *each = &listing->installations[i];

        if (kndl_db_exec(store->db, "keep_installation", NULL, NULL, err, kndl_db_i64(each->id),
                         kndl_db_text(each->account), kndl_db_bool(each->is_suspended)) < 0)
            return -1;
    }
    for (size_t i = 0; i < listing->repo_count; i++) {
        const struct repo *repo = &listing->repos[i];

        if (kndl_db_exec(store->db, "keep_repo", NULL, NULL, err, kndl_db_i64(repo->id),
                         kndl_db_text(repo->name), kndl_db_i64(repo->installation_id),
                         kndl_db_text(repo->default_branch), kndl_db_bool(repo->is_private),
                         kndl_db_text(repo->description)) < 0)
            return -1;
    }
    return kndl_tx_commit(&tx, err);
}

int store_list_suspended(struct store *store, struct kndl_arena *arena, const char ***ret_accounts,
                         size_t *ret_count, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "list_suspended", arena, &rows, err) < 0)
        return -1;
    *ret_accounts = kndl_arena_alloc(arena, (rows.count + 1) * sizeof **ret_accounts);
    for (size_t i = 0; i < rows.count; i++)
        (*ret_accounts)[i] = kndl_row_text(&rows, i, 0);
    *ret_count = rows.count;
    return 0;
}

static struct repo read_repo(const struct kndl_rows *rows, size_t row)
{
    return (struct repo){
        .id = kndl_row_i64(rows, row, 0),
        .name = kndl_row_text(rows, row, 1),
        .installation_id = kndl_row_i64(rows, row, 2),
        .default_branch = kndl_row_text(rows, row, 3),
        .is_private = kndl_row_bool(rows, row, 4),
        .description = kndl_row_text(rows, row, 5),
        .is_installed = kndl_row_bool(rows, row, 6),
        .is_suspended = kndl_row_bool(rows, row, 7),
    };
}

static int find_repo(struct store *store, const char *statement, struct kndl_param by,
                     struct kndl_arena *arena, struct repo *ret_repo, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, statement, arena, &rows, err, by) < 0)
        return -1;
    if (rows.count == 0)
        return kndl_fail(err, KNDL_NOT_FOUND, "there is no such Repo");
    *ret_repo = read_repo(&rows, 0);
    return 0;
}

int store_find_repo(struct store *store, int64_t id, struct kndl_arena *arena,
                    struct repo *ret_repo, struct kndl_error *err)
{
    return find_repo(store, "find_repo", kndl_db_i64(id), arena, ret_repo, err);
}

int store_find_repo_by_name(struct store *store, const char *name, struct kndl_arena *arena,
                            struct repo *ret_repo, struct kndl_error *err)
{
    return find_repo(store, "find_repo_by_name", kndl_db_text(name), arena, ret_repo, err);
}

static void read_repos(const struct kndl_rows *rows, struct kndl_arena *arena,
                       struct repo **ret_repos, size_t *ret_count)
{
    *ret_repos = kndl_arena_alloc(arena, (rows->count + 1) * sizeof **ret_repos);
    for (size_t i = 0; i < rows->count; i++)
        (*ret_repos)[i] = read_repo(rows, i);
    *ret_count = rows->count;
}

int store_find_repos(struct store *store, const int64_t *ids, size_t count,
                     struct kndl_arena *arena, struct repo **ret_repos, size_t *ret_count,
                     struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "find_repos", arena, &rows, err, kndl_db_i64s(ids, count)) < 0)
        return -1;
    read_repos(&rows, arena, ret_repos, ret_count);
    return 0;
}

int store_list_repos(struct store *store, struct kndl_arena *arena, struct repo **ret_repos,
                     size_t *ret_count, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "list_repos", arena, &rows, err) < 0)
        return -1;
    read_repos(&rows, arena, ret_repos, ret_count);
    return 0;
}

int store_rename_repo(struct store *store, int64_t id, const char *name, struct kndl_error *err)
{
    return kndl_db_exec(store->db, "rename_repo", NULL, NULL, err, kndl_db_i64(id),
                        kndl_db_text(name));
}

int store_find_access(struct store *store, const char *person_id, const int64_t *repo_ids,
                      size_t count, struct kndl_arena *arena, struct access *ret_access,
                      struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "find_access", arena, &rows, err, kndl_db_text(person_id),
                     kndl_db_i64s(repo_ids, count)) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        ret_access[i] = (struct access){.repo_id = repo_ids[i]};
        for (size_t row = 0; row < rows.count; row++)
            if (kndl_row_i64(&rows, row, 0) == repo_ids[i])
                ret_access[i] = (struct access){
                    .repo_id = repo_ids[i],
                    .is_known = true,
                    .is_allowed = kndl_row_bool(&rows, row, 1),
                    .checked_at_ms = kndl_row_ms(&rows, row, 2),
                    .tried_at_ms = kndl_row_ms(&rows, row, 3),
                };
    }
    return 0;
}

int store_keep_access(struct store *store, const char *person_id, int64_t repo_id, bool is_allowed,
                      int64_t now_ms, struct kndl_arena *arena, bool *ret_changed,
                      struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "keep_access", arena, &rows, err, kndl_db_text(person_id),
                     kndl_db_i64(repo_id), kndl_db_bool(is_allowed), kndl_db_i64(now_ms)) < 0)
        return -1;
    *ret_changed = kndl_row_bool(&rows, 0, 0);
    return 0;
}

int store_keep_try(struct store *store, const char *person_id, int64_t repo_id, int64_t now_ms,
                   struct kndl_error *err)
{
    return kndl_db_exec(store->db, "keep_try", NULL, NULL, err, kndl_db_text(person_id),
                        kndl_db_i64(repo_id), kndl_db_i64(now_ms));
}

int store_claim_recheck(struct store *store, int64_t now_ms, int64_t checked_before_ms,
                        int64_t tried_before_ms, int64_t used_since_ms, struct kndl_arena *arena,
                        struct recheck *ret_recheck, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "claim_recheck", arena, &rows, err, kndl_db_i64(now_ms),
                     kndl_db_i64(checked_before_ms), kndl_db_i64(tried_before_ms),
                     kndl_db_i64(used_since_ms)) < 0)
        return -1;
    *ret_recheck = (struct recheck){0};
    if (rows.count > 0)
        *ret_recheck = (struct recheck){kndl_row_text(&rows, 0, 0), kndl_row_i64(&rows, 0, 1)};
    return 0;
}
