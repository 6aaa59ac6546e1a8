/* Setup tokens and what sessions must hear of them. */

#include "store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "0001_secrets.sql.h"
#include "0002_variables.sql.h"
#include "0003_done.sql.h"
#include "0004_given.sql.h"
#include "0005_hits.sql.h"
#include "0006_done_content.sql.h"
#include "given.sql.h"
#include "hits.sql.h"
#include "keys.sql.h"
#include "kndl/env.h"
#include "kndl/log.h"
#include "kndl/mem.h"
#include "masks.sql.h"
#include "store_parts.h"
#include "tokens.sql.h"
#include "variables.sql.h"

static const char schema[] = "secrets";

static const struct kndl_migration migrations[] = {
    {1, "0001_secrets", MIGRATION_0001_SECRETS},
    {2, "0002_variables", MIGRATION_0002_VARIABLES},
    {3, "0003_done", MIGRATION_0003_DONE},
    {4, "0004_given", MIGRATION_0004_GIVEN},
    {5, "0005_hits", MIGRATION_0005_HITS},
    {6, "0006_done_content", MIGRATION_0006_DONE_CONTENT},
    {0, NULL, NULL},
};

static const struct kndl_statement statements[] = {
    KNDL_DONE_STATEMENTS,
    {"keep_report", SQL_KEEP_REPORT},
    {"count_hits", SQL_COUNT_HITS},
    {"sum_hits", SQL_SUM_HITS},
    {"forget_hits", SQL_FORGET_HITS},
    {"lock_token", SQL_LOCK_TOKEN},
    {"find_token", SQL_FIND_TOKEN},
    {"change_token", SQL_CHANGE_TOKEN},
    {"raise_masks", SQL_RAISE_MASKS},
    {"keep_change", SQL_KEEP_CHANGE},
    {"claim_change", SQL_CLAIM_CHANGE},
    {"finish_change", SQL_FINISH_CHANGE},
    {"lock_assignment", SQL_LOCK_ASSIGNMENT},
    {"put_assignment", SQL_PUT_ASSIGNMENT},
    {"remove_masks", SQL_REMOVE_MASKS},
    {"find_mask", SQL_FIND_MASK},
    {"keep_mask", SQL_KEEP_MASK},
    {"remove_previous_mask", SQL_REMOVE_PREVIOUS_MASK},
    {"retire_mask", SQL_RETIRE_MASK},
    {"add_mask", SQL_ADD_MASK},
    {"raise_mask_version", SQL_RAISE_MASK_VERSION},
    {"list_masks", SQL_LIST_MASKS},
    {"raise_environment", SQL_RAISE_ENVIRONMENT},
    {"find_environment", SQL_FIND_ENVIRONMENT},
    {"raise_repo_masks", SQL_RAISE_REPO_MASKS},
    {"list_variables", SQL_LIST_VARIABLES},
    {"find_variable", SQL_FIND_VARIABLE},
    {"put_variable", SQL_PUT_VARIABLE},
    {"remove_variable", SQL_REMOVE_VARIABLE},
    {"measure_variables", SQL_MEASURE_VARIABLES},
    {"count_unlinked", SQL_COUNT_UNLINKED},
    {"list_shared", SQL_LIST_SHARED},
    {"find_shared", SQL_FIND_SHARED},
    {"lock_shared", SQL_LOCK_SHARED},
    {"remove_shared", SQL_REMOVE_SHARED},
    {"find_namesake", SQL_FIND_NAMESAKE},
    {"add_link", SQL_ADD_LINK},
    {"remove_link", SQL_REMOVE_LINK},
    {"keep_variables_version", SQL_KEEP_VARIABLES_VERSION},
    {"forget_given", SQL_FORGET_GIVEN},
    {"keep_given", SQL_KEEP_GIVEN},
    {"find_given_repo", SQL_FIND_GIVEN_REPO},
    {"list_changes", SQL_LIST_CHANGES},
    {"list_keys", SQL_LIST_KEYS},
    {"some_tokens", SQL_SOME_TOKENS},
    {"stale_tokens", SQL_STALE_TOKENS},
    {"await_tokens", SQL_AWAIT_TOKENS},
    {"await_masks", SQL_AWAIT_MASKS},
    {"await_variables", SQL_AWAIT_VARIABLES},
    {"reseal_tokens", SQL_RESEAL_TOKENS},
    {"some_masks", SQL_SOME_MASKS},
    {"stale_masks", SQL_STALE_MASKS},
    {"reseal_masks", SQL_RESEAL_MASKS},
    {"some_variables", SQL_SOME_VARIABLES},
    {"stale_variables", SQL_STALE_VARIABLES},
    {"reseal_variables", SQL_RESEAL_VARIABLES},
    {NULL, NULL},
};

int store_migrate(struct kndl_error *err)
{
    return kndl_db_migrate(kndl_env_get("HUB_DATABASE_URL"), schema, migrations, err);
}

int store_open(struct store **ret_store, struct kndl_error *err)
{
    struct store *store = kndl_new0(struct store);

    if (kndl_keyring_open(kndl_env_get("HUB_SECRETS_KEY_FILE"), &store->ring, err) < 0 ||
        kndl_db_open(kndl_env_get("HUB_DATABASE_URL"), schema, statements, &store->db, err) < 0) {
        store_close(store);
        return -1;
    }
    *ret_store = store;
    return 0;
}

void store_close(struct store *store)
{
    if (store == NULL)
        return;
    kndl_db_close(store->db);
    if (store->ring != NULL)
        kndl_keyring_close(store->ring);
    free(store);
}

static struct kndl_place done_place(const struct request *request, char owner[OWNER_SIZE])
{
    snprintf(owner, OWNER_SIZE, "person/%s", request->person_id);
    return (struct kndl_place){
        .table = "done", .column = "content", .owner = owner, .name = request->request_id};
}

/* Had it asked for something else? What is sealed with a key that is gone says nothing. */
static bool is_other(struct store *store, const struct request *request,
                     const struct kndl_done *done)
{
    KNDL_CLEANUP(kndl_secret_done) struct kndl_secret content = {0};
    char owner[OWNER_SIZE];
    struct kndl_place place = done_place(request, owner);

    return kndl_column_open(store->ring, &place, done->content, &content, NULL) == 0 &&
           (content.size != KNDL_HASH_BYTES || !kndl_hash_equal(content.data, request->content));
}

int keep_done(struct store *store, const struct request *request, const char *made_id,
              struct kndl_arena *arena, const struct kndl_done **ret_done, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf sealed = {0};
    char owner[OWNER_SIZE];
    struct kndl_place place = done_place(request, owner);
    const struct kndl_done *done;

    kndl_column_seal(store->ring, &place, kndl_slice(request->content, sizeof request->content),
                     &sealed);
    const struct kndl_asked asked = {request->person_id, request->request_id, request->now_ms,
                                     kndl_buf_slice(&sealed)};
    if (kndl_done_put(store->db, &asked, made_id, arena, &done, err) < 0)
        return -1;
    if (done != NULL && is_other(store, request, done))
        return kndl_done_refuse(request->request_id, err);
    *ret_done = done;
    return 0;
}

int open_value(struct store *store, const struct kndl_place *place, struct kndl_slice sealed,
               struct kndl_arena *arena, const char **ret_value, struct kndl_error *err)
{
    struct kndl_secret plain = {0};

    if (kndl_column_open(store->ring, place, sealed, &plain, NULL) < 0) {
        /* Whoever asks cannot mend it; whoever runs the Hub must know which row. */
        kndl_log(KNDL_ERROR, "a sealed value cannot be opened", KNDL_STR("table", place->table),
                 KNDL_STR("owner", place->owner), KNDL_STR("name", place->name),
                 KNDL_I64("key", kndl_column_key(sealed)));
        return kndl_fail(err, KNDL_FAILED_PRECONDITION,
                         "a kept value cannot be read; set it again");
    }
    *ret_value = kndl_arena_copy(arena, (const char *)plain.data);
    kndl_secret_done(&plain);
    return 0;
}

struct kndl_place token_place(const char *person_id, int64_t version, char owner[OWNER_SIZE])
{
    snprintf(owner, OWNER_SIZE, "person/%s", person_id);
    return (struct kndl_place){.table = "setup_token",
                               .column = "sealed",
                               .owner = owner,
                               .name = "setup_token",
                               .version = version};
}

int read_token_row(struct store *store, const char *statement, const char *person_id,
                   struct kndl_arena *arena, struct token_row *ret_row, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, statement, arena, &rows, err, kndl_db_text(person_id)) < 0)
        return -1;
    *ret_row = (struct token_row){0};
    if (rows.count > 0)
        *ret_row = (struct token_row){
            .version = kndl_row_i64(&rows, 0, 0),
            .sealed = kndl_row_bytes(&rows, 0, 1),
            .set_at_ms = kndl_row_ms(&rows, 0, 2),
            .expires_at_ms = kndl_row_ms(&rows, 0, 3),
        };
    return 0;
}

int open_token(struct store *store, const char *person_id, const struct token_row *row,
               struct kndl_arena *arena, const char **ret_token, struct kndl_error *err)
{
    char owner[OWNER_SIZE];
    struct kndl_place place = token_place(person_id, row->version, owner);

    return open_value(store, &place, row->sealed, arena, ret_token, err);
}

static struct setup_token token_of(const struct token_row *row)
{
    return (struct setup_token){
        .exists = row->sealed.size > 0,
        .version = row->version,
        .set_at_ms = row->set_at_ms,
        .expires_at_ms = row->expires_at_ms,
    };
}

int store_find_token(struct store *store, const char *person_id, struct kndl_arena *arena,
                     struct setup_token *ret_token, struct kndl_error *err)
{
    struct token_row row;

    if (read_token_row(store, "find_token", person_id, arena, &row, err) < 0)
        return -1;
    *ret_token = token_of(&row);
    return find_hits(store, person_id, 0, row.version, arena, &ret_token->masked, err);
}

/* The row, the mask sets that have its value, and the change that sessions hears of. */
static int change_token(struct store *store, const struct request *request,
                        const struct token_row *row, const char *change, struct kndl_error *err)
{
    const char *person_id = request->person_id;
    bool exists = row->sealed.size > 0;

    if (kndl_db_exec(store->db, "change_token", NULL, NULL, err, kndl_db_text(person_id),
                     kndl_db_i64(row->version),
                     exists ? kndl_db_bytes(row->sealed) : kndl_db_null(),
                     exists ? kndl_db_i64(row->set_at_ms) : kndl_db_null(),
                     exists ? kndl_db_i64(row->expires_at_ms) : kndl_db_null(),
                     kndl_db_text(request->request_id)) < 0 ||
        kndl_db_exec(store->db, "raise_masks", NULL, NULL, err, kndl_db_text(person_id)) < 0)
        return -1;
    return kndl_db_exec(store->db, "keep_change", NULL, NULL, err, kndl_db_text(person_id),
                        kndl_db_text(change), kndl_db_i64(row->version),
                        kndl_db_i64(request->now_ms));
}

/* Is this what the row holds already? A value that cannot be opened is replaced. */
static bool is_same(struct store *store, const char *person_id, const struct token_row *row,
                    struct kndl_slice token, struct kndl_arena *arena)
{
    const char *kept;

    return row->sealed.size > 0 && open_token(store, person_id, row, arena, &kept, NULL) == 0 &&
           kndl_slice_equal(kndl_slice_of(kept), token);
}

int store_set_token(struct store *store, const struct request *request, struct kndl_slice token,
                    int64_t expires_at_ms, struct kndl_arena *arena, struct setup_token *ret_token,
                    bool *ret_changed, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_tx_done) struct kndl_tx tx;
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf sealed = {0};
    const char *person_id = request->person_id;
    char owner[OWNER_SIZE];
    struct token_row row;
    const struct kndl_done *done;

    if (kndl_tx_begin(store->db, &tx, err) < 0 ||
        keep_done(store, request, "", arena, &done, err) < 0 ||
        read_token_row(store, "lock_token", person_id, arena, &row, err) < 0)
        return -1;
    if (done != NULL || is_same(store, person_id, &row, token, arena)) {
        *ret_token = token_of(&row);
        *ret_changed = false;
        return kndl_tx_commit(&tx, err);
    }

    const char *change = row.sealed.size > 0 ? "replaced" : "added";
    struct kndl_place place = token_place(person_id, row.version + 1, owner);
    kndl_column_seal(store->ring, &place, token, &sealed);
    row = (struct token_row){
        .version = row.version + 1,
        .sealed = kndl_buf_slice(&sealed),
        .set_at_ms = request->now_ms,
        .expires_at_ms = expires_at_ms,
    };
    if (change_token(store, request, &row, change, err) < 0 || kndl_tx_commit(&tx, err) < 0)
        return -1;
    *ret_token = token_of(&row);
    *ret_changed = true;
    return 0;
}

int store_remove_token(struct store *store, const struct request *request, struct kndl_arena *arena,
                       bool *ret_changed, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_tx_done) struct kndl_tx tx;
    struct token_row row;
    const struct kndl_done *done;

    if (kndl_tx_begin(store->db, &tx, err) < 0 ||
        keep_done(store, request, "", arena, &done, err) < 0 ||
        read_token_row(store, "lock_token", request->person_id, arena, &row, err) < 0)
        return -1;
    *ret_changed = row.sealed.size > 0 && done == NULL;
    row = (struct token_row){.version = row.version + 1};
    if (*ret_changed && change_token(store, request, &row, "removed", err) < 0)
        return -1;
    return kndl_tx_commit(&tx, err);
}

int store_claim_change(struct store *store, int64_t now_ms, struct kndl_arena *arena,
                       const struct token_change **ret_change, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "claim_change", arena, &rows, err, kndl_db_i64(now_ms)) < 0)
        return -1;
    *ret_change = NULL;
    if (rows.count == 0)
        return 0;

    struct token_change *change = kndl_arena_alloc(arena, sizeof *change);
    const char *what = kndl_row_text(&rows, 0, 1);
    change->person_id = kndl_row_text(&rows, 0, 0);
    change->what = strcmp(what, "added") == 0      ? TOKEN_ADDED
                   : strcmp(what, "replaced") == 0 ? TOKEN_REPLACED
                                                   : TOKEN_REMOVED;
    change->version = kndl_row_i64(&rows, 0, 2);
    *ret_change = change;
    return 0;
}

int store_finish_change(struct store *store, const struct token_change *change,
                        struct kndl_error *err)
{
    return kndl_db_exec(store->db, "finish_change", NULL, NULL, err,
                        kndl_db_text(change->person_id), kndl_db_i64(change->version));
}
