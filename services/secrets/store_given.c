/* What a run of a Session is given of its Repo's Variables and the Shared ones, and what the next
 * one would get in its place. */

#include <string.h>

#include "kndl/mem.h"
#include "store_parts.h"

/* The Repo's own come first and win: a linked one of the same name is left out. */
static void drop_overridden(struct variables *variables)
{
    size_t kept = 0;

    for (size_t i = 0; i < variables->count; i++) {
        bool is_overridden = false;

        for (size_t j = 0; j < kept; j++)
            is_overridden =
                is_overridden || strcmp(variables->all[i].name, variables->all[j].name) == 0;
        if (!is_overridden)
            variables->all[kept++] = variables->all[i];
    }
    variables->count = kept;
}

static int mask_variables(struct store *store, const char *session_id, struct assignment_row *row,
                          const struct variables *variables, struct kndl_arena *arena,
                          struct kndl_error *err)
{
    for (size_t i = 0; i < variables->count; i++) {
        KNDL_CLEANUP(kndl_buf_done) struct kndl_buf name = {0};
        const struct variable *variable = &variables->all[i];

        if (!variable->is_sensitive)
            continue;
        kndl_buf_printf(&name, "variable/%s", variable->name);
        if (add_mask(store, session_id, row, kndl_buf_text(&name), kndl_slice_of(variable->value),
                     arena, err) < 0)
            return -1;
    }
    return 0;
}

static int keep_given(struct store *store, const char *session_id, int64_t repo_id, int64_t version,
                      struct kndl_error *err)
{
    if (kndl_db_exec(store->db, "keep_variables_version", NULL, NULL, err, kndl_db_text(session_id),
                     kndl_db_i64(version)) < 0 ||
        kndl_db_exec(store->db, "forget_given", NULL, NULL, err, kndl_db_text(session_id)) < 0)
        return -1;
    return kndl_db_exec(store->db, "keep_given", NULL, NULL, err, kndl_db_text(session_id),
                        kndl_db_i64(repo_id));
}

int store_fetch_variables(struct store *store, const struct run *run, struct kndl_arena *arena,
                          struct variables *ret_variables, int64_t *ret_mask_version,
                          struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_tx_done) struct kndl_tx tx;
    struct variables variables;
    struct assignment_row row;
    struct kndl_rows rows;

    /* A change of these Variables raises the assignment's mask version, so that it waits for the
     * lock: version, values and masks belong together. */
    if (kndl_tx_begin(store->db, &tx, err) < 0 ||
        lock_run(store, run, PHASE_STARTING, PHASE_ACTIVE, arena, &row, err) < 0 ||
        kndl_db_exec(store->db, "find_environment", arena, &rows, err, kndl_db_i64(row.repo_id)) <
            0 ||
        read_variables(store, row.repo_id, true, arena, &variables, err) < 0)
        return -1;
    drop_overridden(&variables);
    if (mask_variables(store, run->session_id, &row, &variables, arena, err) < 0 ||
        keep_given(store, run->session_id, row.repo_id,
                   rows.count > 0 ? kndl_row_i64(&rows, 0, 0) : 0, err) < 0 ||
        kndl_tx_commit(&tx, err) < 0)
        return -1;
    *ret_variables = variables;
    *ret_mask_version = row.mask_version;
    return 0;
}

int store_find_session_repo(struct store *store, const char *session_id, struct kndl_arena *arena,
                            int64_t *ret_repo_id, bool *ret_has_variables, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "find_given_repo", arena, &rows, err, kndl_db_text(session_id)) < 0)
        return -1;
    if (rows.count == 0)
        return kndl_fail(err, KNDL_NOT_FOUND, "this Session does not exist");
    *ret_repo_id = kndl_row_i64(&rows, 0, 0);
    *ret_has_variables = kndl_row_bool(&rows, 0, 1);
    return 0;
}

int store_list_variable_changes(struct store *store, const char *session_id, int64_t repo_id,
                                struct kndl_arena *arena, struct variable_changes *ret_changes,
                                struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "list_changes", arena, &rows, err, kndl_db_text(session_id),
                     kndl_db_i64(repo_id)) < 0)
        return -1;
    ret_changes->all = kndl_arena_alloc(arena, (rows.count + 1) * sizeof *ret_changes->all);
    ret_changes->count = rows.count;
    for (size_t i = 0; i < rows.count; i++)
        ret_changes->all[i] = (struct variable_change){
            .name = kndl_row_text(&rows, i, 0),
            .how = (enum variable_how)kndl_row_i64(&rows, i, 1),
        };
    return 0;
}
