/* The rows of repo-access: people and their credentials. Its other tables are store_*.c's. */

#include "store.h"

#include <stdlib.h>
#include <string.h>

#include "0001_people.sql.h"
#include "0002_members.sql.h"
#include "0003_logins.sql.h"
#include "0004_installations.sql.h"
#include "0005_confirmations.sql.h"
#include "0006_done_content.sql.h"
#include "0007_done_made.sql.h"
#include "doors.sql.h"
#include "kndl/env.h"
#include "kndl/mem.h"
#include "members.sql.h"
#include "people.sql.h"
#include "repos.sql.h"
#include "store_parts.h"

static const char schema[] = "repo_access";

/* A use is written down so often; the 30 days are not so exact that each would matter. */
enum { TOUCH_MS = 60 * 1000 };

static const struct kndl_migration migrations[] = {
    {1, "0001_people", MIGRATION_0001_PEOPLE},
    {2, "0002_members", MIGRATION_0002_MEMBERS},
    {3, "0003_logins", MIGRATION_0003_LOGINS},
    {4, "0004_installations", MIGRATION_0004_INSTALLATIONS},
    {5, "0005_confirmations", MIGRATION_0005_CONFIRMATIONS},
    {6, "0006_done_content", MIGRATION_0006_DONE_CONTENT},
    {7, "0007_done_made", MIGRATION_0007_DONE_MADE},
    {0, NULL, NULL},
};

static const struct kndl_statement statements[] = {
    {"find_person", SQL_FIND_PERSON},
    {"name_person", SQL_NAME_PERSON},
    {"find_people", SQL_FIND_PEOPLE},
    {"admit_person", SQL_ADMIT_PERSON},
    {"add_credential", SQL_ADD_CREDENTIAL},
    {"find_credential", SQL_FIND_CREDENTIAL},
    {"touch_credential", SQL_TOUCH_CREDENTIAL},
    {"revoke_credential", SQL_REVOKE_CREDENTIAL},
    {"end_replaced_credential", SQL_END_REPLACED_CREDENTIAL},
    {"list_credentials", SQL_LIST_CREDENTIALS},
    {"end_credential", SQL_END_CREDENTIAL},
    {"end_credentials", SQL_END_CREDENTIALS},
    {"tidy_confirmations", SQL_TIDY_CONFIRMATIONS},
    {"find_listing", SQL_FIND_LISTING},
    {"forget_repos", SQL_FORGET_REPOS},
    {"keep_repo", SQL_KEEP_REPO},
    {"forget_installations", SQL_FORGET_INSTALLATIONS},
    {"keep_installation", SQL_KEEP_INSTALLATION},
    {"list_suspended", SQL_LIST_SUSPENDED},
    {"keep_listing", SQL_KEEP_LISTING},
    {"find_repos", SQL_FIND_REPOS},
    {"find_repo", SQL_FIND_REPO},
    {"find_repo_by_name", SQL_FIND_REPO_BY_NAME},
    {"list_repos", SQL_LIST_REPOS},
    {"rename_repo", SQL_RENAME_REPO},
    {"find_access", SQL_FIND_ACCESS},
    {"keep_access", SQL_KEEP_ACCESS},
    {"keep_try", SQL_KEEP_TRY},
    {"claim_recheck", SQL_CLAIM_RECHECK},
    {"offer_setup_link", SQL_OFFER_SETUP_LINK},
    {"use_setup_link", SQL_USE_SETUP_LINK},
    {"use_invite", SQL_USE_INVITE},
    {"lock_account", SQL_LOCK_ACCOUNT},
    {"let_in", SQL_LET_IN},
    {"rename_person", SQL_RENAME_PERSON},
    {"begin_sign_in", SQL_BEGIN_SIGN_IN},
    {"take_sign_in", SQL_TAKE_SIGN_IN},
    {"begin_device", SQL_BEGIN_DEVICE},
    {"find_device", SQL_FIND_DEVICE},
    {"approve_device", SQL_APPROVE_DEVICE},
    {"refuse_device", SQL_REFUSE_DEVICE},
    {"peek_device", SQL_PEEK_DEVICE},
    {"take_device", SQL_TAKE_DEVICE},
    {"tidy_sign_ins", SQL_TIDY_SIGN_INS},
    {"tidy_devices", SQL_TIDY_DEVICES},
    {"refuse_devices_of", SQL_REFUSE_DEVICES_OF},
    {"lock_owner", SQL_LOCK_OWNER},
    KNDL_DONE_STATEMENTS,
    {"list_members", SQL_LIST_MEMBERS},
    {"find_member_by_login", SQL_FIND_MEMBER_BY_LOGIN},
    {"list_invites", SQL_LIST_INVITES},
    {"revoke_invites_of_login", SQL_REVOKE_INVITES_OF_LOGIN},
    {"keep_invite", SQL_KEEP_INVITE},
    {"revoke_invite", SQL_REVOKE_INVITE},
    {"remove_member", SQL_REMOVE_MEMBER},
    {"keep_departure", SQL_KEEP_DEPARTURE},
    {"take_ownership", SQL_TAKE_OWNERSHIP},
    {"give_ownership", SQL_GIVE_OWNERSHIP},
    {"claim_departure", SQL_CLAIM_DEPARTURE},
    {"repeat_departure", SQL_REPEAT_DEPARTURE},
    {"finish_departure", SQL_FINISH_DEPARTURE},
    {"forget_second_departures", SQL_FORGET_SECOND_DEPARTURES},
    {NULL, NULL},
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

struct person store_person_of(const struct kndl_rows *rows, size_t row)
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
    *ret_person = store_person_of(&rows, 0);
    ret_person->named_at_ms = kndl_row_ms(&rows, 0, 6);
    return 0;
}

int store_name_person(struct store *store, const char *id, const char *login, int64_t now_ms,
                      struct kndl_error *err)
{
    return kndl_db_exec(store->db, "name_person", NULL, NULL, err, kndl_db_text(id),
                        kndl_db_text(login), kndl_db_i64(now_ms));
}

int store_find_people(struct store *store, const char *ids, struct kndl_arena *arena,
                      struct person **ret_people, size_t *ret_count, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "find_people", arena, &rows, err, kndl_db_text(ids)) < 0)
        return -1;
    *ret_people = kndl_arena_alloc(arena, (rows.count + 1) * sizeof **ret_people);
    for (size_t i = 0; i < rows.count; i++)
        (*ret_people)[i] = store_person_of(&rows, i);
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
    *ret_person = store_person_of(&rows, 0);
    return 0;
}

int store_add_credential(struct store *store, const struct credential *credential,
                         struct kndl_error *err)
{
    return kndl_db_exec(store->db, "add_credential", NULL, NULL, err, store_hash(credential->hash),
                        kndl_db_text(credential->kind), kndl_db_text(credential->person_id),
                        kndl_db_text(credential->machine), kndl_db_i64(credential->created_at_ms),
                        kndl_db_i64(credential->expires_at_ms), kndl_db_i64(credential->ends_at_ms),
                        kndl_db_text(credential->id), kndl_db_text(credential->cli_id),
                        kndl_db_text(credential->purpose));
}

int store_use_credential(struct store *store, const uint8_t hash[KNDL_HASH_BYTES], const char *kind,
                         int64_t now_ms, int64_t idle_ms, struct kndl_arena *arena,
                         struct holder *ret_holder, struct kndl_error *err)
{
    static const uint8_t nobodys[KNDL_HASH_BYTES];
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "find_credential", arena, &rows, err, store_hash(hash),
                     kndl_db_text(kind), kndl_db_i64(now_ms)) < 0)
        return -1;
    /* The same work for what is unknown. */
    const uint8_t *kept = rows.count == 0 ? nobodys : kndl_row_bytes(&rows, 0, 8).data;
    if (!kndl_hash_equal(kept, hash) || rows.count == 0)
        return kndl_fail(err, KNDL_NOT_FOUND, "no such credential");
    if (now_ms - kndl_row_ms(&rows, 0, 6) >= TOUCH_MS &&
        kndl_db_exec(store->db, "touch_credential", NULL, NULL, err, store_hash(hash),
                     kndl_db_i64(now_ms), kndl_db_i64(now_ms + idle_ms)) < 0)
        return -1;
    *ret_holder = (struct holder){
        .person = store_person_of(&rows, 0),
        .credential_id = kndl_row_text(&rows, 0, 9),
        .machine = kndl_row_text(&rows, 0, 10),
        .purpose = kndl_row_text(&rows, 0, 11),
        .ends_at_ms = kndl_row_ms(&rows, 0, 7),
    };
    return 0;
}

int store_revoke_credential(struct store *store, const uint8_t *hash, const char *person_id,
                            int64_t now_ms, struct kndl_error *err)
{
    return kndl_db_exec(store->db, "revoke_credential", NULL, NULL, err, store_hash(hash),
                        kndl_db_text(person_id), kndl_db_i64(now_ms));
}

int store_replace_credential(struct store *store, const uint8_t *hash, int64_t now_ms,
                             struct kndl_arena *arena, const char **ret_person,
                             struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "end_replaced_credential", arena, &rows, err, store_hash(hash),
                     kndl_db_i64(now_ms)) < 0)
        return -1;
    *ret_person = rows.count == 0 ? "" : kndl_row_text(&rows, 0, 0);
    return 0;
}

int store_list_credentials(struct store *store, const char *person_id, int64_t now_ms,
                           struct kndl_arena *arena, struct sign_in **ret_sign_ins,
                           size_t *ret_count, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "list_credentials", arena, &rows, err, kndl_db_text(person_id),
                     kndl_db_i64(now_ms)) < 0)
        return -1;
    *ret_sign_ins = kndl_arena_alloc(arena, (rows.count + 1) * sizeof **ret_sign_ins);
    for (size_t i = 0; i < rows.count; i++) {
        (*ret_sign_ins)[i] = (struct sign_in){
            .id = kndl_row_text(&rows, i, 0),
            .kind = kndl_row_text(&rows, i, 1),
            .machine = kndl_row_text(&rows, i, 2),
            .created_at_ms = kndl_row_ms(&rows, i, 3),
            .last_used_at_ms = kndl_row_ms(&rows, i, 4),
            .expires_at_ms = kndl_row_ms(&rows, i, 5),
        };
        memcpy((*ret_sign_ins)[i].hash, kndl_row_bytes(&rows, i, 6).data, KNDL_HASH_BYTES);
    }
    *ret_count = rows.count;
    return 0;
}

int store_end_credentials(struct store *store, const struct kndl_asked *asked, const char *id,
                          struct kndl_arena *arena, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_tx_done) struct kndl_tx tx;
    struct kndl_param person = kndl_db_text(asked->person_id);
    struct kndl_param now = kndl_db_i64(asked->now_ms);
    const struct kndl_done *done;
    int result = 0;

    if (kndl_tx_begin(store->db, &tx, err) < 0 ||
        kndl_done_keep(store->db, asked, "", arena, &done, err) < 0)
        return -1;
    if (done == NULL && id != NULL)
        result = kndl_db_exec(store->db, "end_credential", NULL, NULL, err, kndl_db_text(id),
                              person, now);
    else if (done == NULL)
        result = kndl_db_exec(store->db, "end_credentials", NULL, NULL, err, person, now);
    return result < 0 ? -1 : kndl_tx_commit(&tx, err);
}
