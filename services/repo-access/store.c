/* The rows of repo-access. */

#include "store.h"

#include <stdlib.h>
#include <string.h>

#include "0001_people.sql.h"
#include "kndl/db.h"
#include "kndl/env.h"
#include "kndl/mem.h"
#include "people.sql.h"
#include "repos.sql.h"

static const char schema[] = "repo_access";

/* A use is written down so often; the 30 days are not so exact that each would matter. */
enum { TOUCH_MS = 60 * 1000 };

static const struct kndl_migration migrations[] = {
    {1, "0001_people", MIGRATION_0001_PEOPLE},
    {0, NULL, NULL},
};

static const struct kndl_statement statements[] = {
    {"find_person", SQL_FIND_PERSON},
    {"find_people", SQL_FIND_PEOPLE},
    {"admit_person", SQL_ADMIT_PERSON},
    {"add_credential", SQL_ADD_CREDENTIAL},
    {"find_credential", SQL_FIND_CREDENTIAL},
    {"touch_credential", SQL_TOUCH_CREDENTIAL},
    {"revoke_credential", SQL_REVOKE_CREDENTIAL},
    {"find_listing", SQL_FIND_LISTING},
    {"forget_repos", SQL_FORGET_REPOS},
    {"keep_repo", SQL_KEEP_REPO},
    {"keep_listing", SQL_KEEP_LISTING},
    {"find_repo", SQL_FIND_REPO},
    {"find_repo_by_name", SQL_FIND_REPO_BY_NAME},
    {"list_repos", SQL_LIST_REPOS},
    {"rename_repo", SQL_RENAME_REPO},
    {"find_access", SQL_FIND_ACCESS},
    {"keep_access", SQL_KEEP_ACCESS},
    {"keep_try", SQL_KEEP_TRY},
    {NULL, NULL},
};

struct store {
    struct kndl_db *db;
};

int store_migrate(struct kndl_error *err)
{
    return kndl_db_migrate(kndl_env_get("HUB_DATABASE_URL"), schema, migrations, err);
}

int store_open(struct store **ret_store, struct kndl_error *err)
{
    struct kndl_db *db;

    if (kndl_db_open(kndl_env_get("HUB_DATABASE_URL"), schema, statements, &db, err) < 0)
        return -1;
    *ret_store = kndl_new0(struct store);
    (*ret_store)->db = db;
    return 0;
}

void store_close(struct store *store)
{
    if (store == NULL)
        return;
    kndl_db_close(store->db);
    free(store);
}

static struct person read_person(const struct kndl_rows *rows, size_t row)
{
    return (struct person){
        .id = kndl_row_text(rows, row, 0),
        .github_id = kndl_row_i64(rows, row, 1),
        .login = kndl_row_text(rows, row, 2),
        .name = kndl_row_text(rows, row, 3),
        .is_owner = kndl_row_bool(rows, row, 4),
        .is_member = kndl_row_bool(rows, row, 5),
    };
}

int store_find_person(struct store *store, const char *id, struct kndl_arena *arena,
                      struct person *ret_person, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "find_person", arena, &rows, err, kndl_db_text(id)) < 0)
        return -1;
    if (rows.count == 0)
        return kndl_fail(err, KNDL_NOT_FOUND, "person %s does not exist", id);
    *ret_person = read_person(&rows, 0);
    return 0;
}

int store_find_people(struct store *store, const char *ids, struct kndl_arena *arena,
                      struct person **ret_people, size_t *ret_count, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "find_people", arena, &rows, err, kndl_db_text(ids)) < 0)
        return -1;
    *ret_people = kndl_arena_alloc(arena, (rows.count + 1) * sizeof **ret_people);
    for (size_t i = 0; i < rows.count; i++)
        (*ret_people)[i] = read_person(&rows, i);
    *ret_count = rows.count;
    return 0;
}

int store_admit_person(struct store *store, const struct person *who, int64_t now_ms,
                       struct kndl_arena *arena, struct person *ret_person, struct kndl_error *err)
{
    struct kndl_rows rows;
    struct kndl_error first = {0};
    int result = -1;

    /* Two who come first at once meet in the index of the Owner; the second sees the first then. */
    for (int i = 0; i < 2 && result < 0; i++) {
        result =
            kndl_db_exec(store->db, "admit_person", arena, &rows, &first, kndl_db_text(who->id),
                         kndl_db_i64(who->github_id), kndl_db_text(who->login),
                         kndl_db_text(who->name), kndl_db_i64(now_ms));
        if (result < 0 && first.code != KNDL_ALREADY_EXISTS)
            break;
    }
    if (result < 0)
        return kndl_fail(err, first.code, "%s", first.message);
    *ret_person = read_person(&rows, 0);
    return 0;
}

static struct kndl_slice hash_slice(const uint8_t *hash)
{
    return kndl_slice(hash, KNDL_HASH_BYTES);
}

int store_add_credential(struct store *store, const struct credential *credential,
                         struct kndl_error *err)
{
    return kndl_db_exec(
        store->db, "add_credential", NULL, NULL, err, kndl_db_bytes(hash_slice(credential->hash)),
        kndl_db_text(credential->kind), kndl_db_text(credential->person_id),
        kndl_db_text(credential->machine), kndl_db_i64(credential->created_at_ms),
        kndl_db_i64(credential->expires_at_ms), kndl_db_i64(credential->ends_at_ms));
}

int store_use_credential(struct store *store, const uint8_t hash[KNDL_HASH_BYTES], const char *kind,
                         int64_t now_ms, int64_t idle_ms, struct kndl_arena *arena,
                         struct person *ret_person, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "find_credential", arena, &rows, err,
                     kndl_db_bytes(hash_slice(hash)), kndl_db_text(kind), kndl_db_i64(now_ms)) < 0)
        return -1;
    if (rows.count == 0 || !kndl_hash_equal(kndl_row_bytes(&rows, 0, 8).data, hash))
        return kndl_fail(err, KNDL_NOT_FOUND, "no such credential");
    if (now_ms - kndl_row_ms(&rows, 0, 6) >= TOUCH_MS &&
        kndl_db_exec(store->db, "touch_credential", NULL, NULL, err,
                     kndl_db_bytes(hash_slice(hash)), kndl_db_i64(now_ms),
                     kndl_db_i64(now_ms + idle_ms)) < 0)
        return -1;
    *ret_person = read_person(&rows, 0);
    return 0;
}

int store_revoke_credential(struct store *store, const uint8_t *hash, const char *person_id,
                            int64_t now_ms, struct kndl_error *err)
{
    return kndl_db_exec(store->db, "revoke_credential", NULL, NULL, err,
                        kndl_db_bytes(hash_slice(hash)), kndl_db_text(person_id),
                        kndl_db_i64(now_ms));
}

int store_find_listing(struct store *store, struct kndl_arena *arena, int64_t *ret_at_ms,
                       struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "find_listing", arena, &rows, err) < 0)
        return -1;
    *ret_at_ms = rows.count == 0 ? 0 : kndl_row_ms(&rows, 0, 0);
    return 0;
}

int store_keep_listing(struct store *store, const struct repo *repos, size_t count, int64_t now_ms,
                       struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_tx_done) struct kndl_tx tx;

    /* The listing's row comes first: its lock keeps two listings from mixing. */
    if (kndl_tx_begin(store->db, &tx, err) < 0 ||
        kndl_db_exec(store->db, "keep_listing", NULL, NULL, err, kndl_db_i64(now_ms)) < 0 ||
        kndl_db_exec(store->db, "forget_repos", NULL, NULL, err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (kndl_db_exec(store->db, "keep_repo", NULL, NULL, err, kndl_db_i64(repos[i].id),
                         kndl_db_text(repos[i].name), kndl_db_i64(repos[i].installation_id),
                         kndl_db_text(repos[i].default_branch), kndl_db_bool(repos[i].is_private),
                         kndl_db_text(repos[i].description)) < 0)
            return -1;
    return kndl_tx_commit(&tx, err);
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
    };
}

int store_find_repo(struct store *store, int64_t id, struct kndl_arena *arena,
                    struct repo *ret_repo, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "find_repo", arena, &rows, err, kndl_db_i64(id)) < 0)
        return -1;
    if (rows.count == 0)
        return kndl_fail(err, KNDL_NOT_FOUND, "there is no such Repo");
    *ret_repo = read_repo(&rows, 0);
    return 0;
}

int store_find_repo_by_name(struct store *store, const char *name, struct kndl_arena *arena,
                            struct repo *ret_repo, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "find_repo_by_name", arena, &rows, err, kndl_db_text(name)) < 0)
        return -1;
    if (rows.count == 0)
        return kndl_fail(err, KNDL_NOT_FOUND, "there is no such Repo");
    *ret_repo = read_repo(&rows, 0);
    return 0;
}

int store_list_repos(struct store *store, struct kndl_arena *arena, struct repo **ret_repos,
                     size_t *ret_count, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "list_repos", arena, &rows, err) < 0)
        return -1;
    *ret_repos = kndl_arena_alloc(arena, (rows.count + 1) * sizeof **ret_repos);
    for (size_t i = 0; i < rows.count; i++)
        (*ret_repos)[i] = read_repo(&rows, i);
    *ret_count = rows.count;
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
                      int64_t now_ms, struct kndl_error *err)
{
    return kndl_db_exec(store->db, "keep_access", NULL, NULL, err, kndl_db_text(person_id),
                        kndl_db_i64(repo_id), kndl_db_bool(is_allowed), kndl_db_i64(now_ms));
}

int store_keep_try(struct store *store, const char *person_id, int64_t repo_id, int64_t now_ms,
                   struct kndl_error *err)
{
    return kndl_db_exec(store->db, "keep_try", NULL, NULL, err, kndl_db_text(person_id),
                        kndl_db_i64(repo_id), kndl_db_i64(now_ms));
}
