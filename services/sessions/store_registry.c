/* Runners as the Owner registers them: names and hashes of tokens. */

#include <string.h>

#include "edit.h"
#include "kndl/version.h"

#define STATE(name) KNDL__SESSIONS__V1__RUNNER__STATE__STATE_##name

static const char absent[] = "Runner %s does not exist";

static Kndl__Sessions__V1__Runner *runner_of(const struct kndl_rows *rows, size_t row,
                                             struct kndl_arena *arena)
{
    Kndl__Sessions__V1__Runner *runner = kndl_arena_alloc(arena, sizeof *runner);

    kndl__sessions__v1__runner__init(runner);
    runner->id = (char *)kndl_row_text(rows, row, 0);
    runner->name = (char *)kndl_row_text(rows, row, 1);
    runner->last_seen_ms = kndl_row_i64(rows, row, 2);
    runner->registered_at_ms = kndl_row_i64(rows, row, 3);
    runner->version = (char *)kndl_row_text(rows, row, 4);
    runner->backend = (char *)kndl_row_text(rows, row, 5);
    runner->problem = (char *)kndl_row_text(rows, row, 6);
    runner->awake_sessions = (int32_t)kndl_row_i64(rows, row, 8);
    runner->is_outdated =
        runner->version[0] != '\0' && kndl_version_compare(runner->version, KNDL_VERSION) < 0;
    if (runner->is_outdated || runner->problem[0] != '\0')
        runner->update_note = (char *)kndl_row_text(rows, row, 9);
    if (runner->problem[0] != '\0')
        runner->state = STATE(REFUSED);
    else if (runner->last_seen_ms == 0)
        runner->state = STATE(NEW);
    else
        runner->state = kndl_row_bool(rows, row, 7) ? STATE(AWAY) : STATE(CONNECTED);
    return runner;
}

int store_list_runners(struct store *store, struct kndl_arena *arena,
                       Kndl__Sessions__V1__Runner ***ret_runners, size_t *ret_count,
                       struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "list_runners", arena, &rows, err, kndl_db_text("")) < 0)
        return -1;
    *ret_runners = kndl_arena_alloc(arena, (rows.count + 1) * sizeof **ret_runners);
    for (size_t i = 0; i < rows.count; i++)
        (*ret_runners)[i] = runner_of(&rows, i, arena);
    *ret_count = rows.count;
    return 0;
}

static int read_runner(struct store *store, struct kndl_arena *arena, const char *runner_id,
                       Kndl__Sessions__V1__Runner **ret_runner, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (runner_id[0] == '\0')
        return kndl_fail(err, KNDL_NOT_FOUND, absent, runner_id);
    if (kndl_db_exec(store->db, "list_runners", arena, &rows, err, kndl_db_text(runner_id)) < 0)
        return -1;
    if (rows.count == 0)
        return kndl_fail(err, KNDL_NOT_FOUND, absent, runner_id);
    *ret_runner = runner_of(&rows, 0, arena);
    return 0;
}

/* The unique index says it too; this says it in words. */
static int check_name_is_free(struct store *store, struct kndl_arena *arena, const char *name,
                              const char *runner_id, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "find_runner_name", arena, &rows, err, kndl_db_text(name),
                     kndl_db_text(runner_id)) < 0)
        return -1;
    if (rows.count > 0)
        return kndl_fail(err, KNDL_ALREADY_EXISTS, "another Runner has the name %s", name);
    return 0;
}

int store_register_runner(struct store *store, struct kndl_arena *arena,
                          const struct kndl_asked *asked, const struct new_runner *made,
                          Kndl__Sessions__V1__Runner **ret_runner, bool *ret_made,
                          struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_tx_done) struct kndl_tx tx;
    const struct kndl_done *done;

    if (kndl_tx_begin(store->db, &tx, err) < 0 ||
        kndl_done_keep(store->db, asked, made->id, arena, &done, err) < 0)
        return -1;
    *ret_made = done == NULL;
    if (done != NULL)
        return read_runner(store, arena, done->made_id, ret_runner, err);
    if (check_name_is_free(store, arena, made->name, "", err) < 0 ||
        kndl_db_exec(store->db, "register_runner", arena, NULL, err, kndl_db_text(made->id),
                     kndl_db_text(made->name), kndl_db_text(asked->person_id),
                     kndl_db_bytes(made->token_hash)) < 0 ||
        read_runner(store, arena, made->id, ret_runner, err) < 0)
        return -1;
    return kndl_tx_commit(&tx, err);
}

int store_rename_runner(struct store *store, struct kndl_arena *arena,
                        const struct kndl_asked *asked, const char *runner_id, const char *name,
                        Kndl__Sessions__V1__Runner **ret_runner, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_tx_done) struct kndl_tx tx;
    const struct kndl_done *done;

    if (kndl_tx_begin(store->db, &tx, err) < 0 ||
        kndl_done_keep(store->db, asked, "", arena, &done, err) < 0 ||
        read_runner(store, arena, runner_id, ret_runner, err) < 0)
        return -1;
    if (done != NULL)
        return 0;
    if (check_name_is_free(store, arena, name, runner_id, err) < 0 ||
        kndl_db_exec(store->db, "rename_runner", arena, NULL, err, kndl_db_text(runner_id),
                     kndl_db_text(name)) < 0 ||
        read_runner(store, arena, runner_id, ret_runner, err) < 0)
        return -1;
    return kndl_tx_commit(&tx, err);
}

int store_rotate_runner_token(struct store *store, struct kndl_arena *arena,
                              const struct kndl_asked *asked, const char *runner_id,
                              struct kndl_slice hash, Kndl__Sessions__V1__Runner **ret_runner,
                              bool *ret_made, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_tx_done) struct kndl_tx tx;
    const struct kndl_done *done;

    if (kndl_tx_begin(store->db, &tx, err) < 0 ||
        kndl_done_keep(store->db, asked, "", arena, &done, err) < 0 ||
        (done == NULL && kndl_db_exec(store->db, "rotate_runner_token", arena, NULL, err,
                                      kndl_db_text(runner_id), kndl_db_bytes(hash)) < 0) ||
        read_runner(store, arena, runner_id, ret_runner, err) < 0)
        return -1;
    *ret_made = done == NULL;
    return kndl_tx_commit(&tx, err);
}

int store_remove_runner(struct store *store, struct kndl_arena *arena,
                        const struct kndl_asked *asked, const char *runner_id,
                        struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_tx_done) struct kndl_tx tx;
    const struct kndl_done *done;
    struct kndl_rows rows;

    if (kndl_tx_begin(store->db, &tx, err) < 0 ||
        kndl_done_keep(store->db, asked, "", arena, &done, err) < 0)
        return -1;
    if (done != NULL)
        return 0;
    if (kndl_db_exec(store->db, "remove_runner", arena, &rows, err, kndl_db_text(runner_id)) < 0)
        return -1;
    if (rows.changed == 0)
        return kndl_fail(err, KNDL_NOT_FOUND, absent, runner_id);
    return kndl_tx_commit(&tx, err);
}

int store_find_runner_token(struct store *store, struct kndl_arena *arena, struct kndl_slice hash,
                            bool *ret_found, const char **ret_runner_id,
                            struct kndl_slice *ret_hash, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "find_runner_token", arena, &rows, err, kndl_db_bytes(hash)) < 0)
        return -1;
    *ret_found = rows.count > 0;
    if (*ret_found) {
        *ret_runner_id = kndl_row_text(&rows, 0, 0);
        *ret_hash = kndl_row_bytes(&rows, 0, 1);
    }
    return 0;
}

int store_set_runner_problem(struct store *store, struct kndl_arena *arena, const char *runner_id,
                             const char *problem, const char *version, const char *update_note,
                             struct kndl_error *err)
{
    struct kndl_rows rows;

    return kndl_db_exec(store->db, "set_runner_problem", arena, &rows, err, kndl_db_text(runner_id),
                        kndl_db_text(problem), kndl_db_text(version), kndl_db_text(update_note));
}

int store_end_removed_next(struct store *store, struct kndl_arena *arena, bool *ret_found,
                           struct changes *changes, struct kndl_error *err)
{
    const struct ending ending = {
        .cause = END_LOST,
        .reason_code = "runner_removed",
        .reason = "Its Runner was removed. What it did not push is lost, and it cannot be woken: "
                  "begin a new Session.",
        .last_output = "",
    };
    KNDL_CLEANUP(edit_done) struct edit edit = {0};
    struct kndl_rows rows;
    struct run_row row;
    bool found;

    if (kndl_db_exec_params(store->db, "run_of_removed", NULL, 0, arena, &rows, err) < 0)
        return -1;
    *ret_found = rows.count > 0;
    if (!*ret_found)
        return 0;
    int64_t run = kndl_row_i64(&rows, 0, 1);
    if (edit_begin(store, arena, kndl_row_text(&rows, 0, 0), &edit, err) < 0 ||
        edit_lock_run(&edit, run, &found, &row, err) < 0)
        return -1;
    if (!found || row.phase >= PHASE_SETTLED)
        return 0;
    row.cause = ending.cause;
    row.reason_code = ending.reason_code;
    row.reason = ending.reason;
    row.last_output = ending.last_output;
    if (edit_end_run(&edit, run, &row, err) < 0)
        return -1;
    return edit_commit(&edit, changes, err);
}
