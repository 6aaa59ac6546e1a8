/* Shared variables and their links. */

#include <string.h>

#include "kndl/id.h"
#include "kndl/mem.h"
#include "store_parts.h"
#include "variable.h"

/* The one that begins at this row, and its links from the rows that follow; answers how many. */
static size_t gather_shared(const struct kndl_rows *rows, size_t first, struct kndl_arena *arena,
                            struct variable_row *ret_row)
{
    struct variable_row row = variable_row_of(rows, first);
    size_t count = 1;

    while (first + count < rows->count &&
           strcmp(kndl_row_text(rows, first + count, 0), row.variable.id) == 0)
        count++;
    int64_t *links = kndl_arena_alloc(arena, count * sizeof *links);
    struct masked *masked = kndl_arena_alloc(arena, count * sizeof *masked);
    for (size_t i = 0; i < count; i++) {
        if (kndl_row_is_null(rows, first + i, 11))
            continue;
        masked[row.variable.link_count] =
            (struct masked){kndl_row_i64(rows, first + i, 12), kndl_row_ms(rows, first + i, 13)};
        links[row.variable.link_count++] = kndl_row_i64(rows, first + i, 11);
    }
    row.variable.links = links;
    row.variable.link_masked = masked;
    *ret_row = row;
    return count;
}

int store_list_shared(struct store *store, struct kndl_arena *arena,
                      struct variables *ret_variables, struct kndl_error *err)
{
    struct variables variables = {0};
    struct kndl_rows rows;

    if (kndl_db_exec_params(store->db, "list_shared", NULL, 0, arena, &rows, err) < 0)
        return -1;
    variables.all = kndl_arena_alloc(arena, (rows.count + 1) * sizeof *variables.all);
    for (size_t at = 0; at < rows.count;) {
        struct variable_row row;

        at += gather_shared(&rows, at, arena, &row);
        show_variable(store, &row, arena);
        variables.all[variables.count++] = row.variable;
    }
    *ret_variables = variables;
    return 0;
}

int store_find_shared(struct store *store, const char *id, struct kndl_arena *arena,
                      struct variable *ret_variable, struct kndl_error *err)
{
    struct variable_row row;
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "find_shared", arena, &rows, err, kndl_db_text(id)) < 0)
        return -1;
    if (rows.count == 0)
        return kndl_fail(err, KNDL_NOT_FOUND, "this Shared variable does not exist");
    gather_shared(&rows, 0, arena, &row);
    show_variable(store, &row, arena);
    *ret_variable = row.variable;
    return 0;
}

/* Locks the Environments that it is linked to, in their order, then the row itself as found. */
static int lock_shared(struct store *store, const struct variable *found, struct kndl_arena *arena,
                       struct kndl_error *err)
{
    struct kndl_rows rows;

    for (size_t i = 0; i < found->link_count; i++)
        if (raise_environment(store, found->links[i], arena, NULL, err) < 0)
            return -1;
    if (kndl_db_exec(store->db, "lock_shared", arena, &rows, err, kndl_db_text(found->id),
                     kndl_db_i64(found->revision)) < 0)
        return -1;
    if (rows.count == 0)
        return kndl_fail(err, KNDL_ABORTED, "somebody else changed it at this moment; try again");
    return 0;
}

static int check_shared_scopes(struct store *store, const char *person_id,
                               const struct variable *variable, struct kndl_arena *arena,
                               struct kndl_error *err)
{
    struct kndl_rows rows;

    for (size_t i = 0; i < variable->link_count; i++)
        if (check_scopes(store, variable->links[i], arena, err) < 0)
            return -1;
    if (kndl_db_exec(store->db, "count_unlinked", arena, &rows, err, kndl_db_text(person_id)) < 0)
        return -1;
    return variable_check_scope(kndl_row_i64(&rows, 0, 0), 0,
                                "your Shared variables that are linked to no Repo", err);
}

int store_set_shared(struct store *store, const struct request *request,
                     const struct variable *found, const struct new_variable *new,
                     struct kndl_arena *arena, struct variable *ret_variable,
                     struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_tx_done) struct kndl_tx tx;
    struct variable variable = {0};
    char *id = kndl_arena_alloc(arena, KNDL_ID_SIZE);
    const struct kndl_done *done;

    kndl_id_new(id);
    if (kndl_tx_begin(store->db, &tx, err) < 0 ||
        keep_done(store, request, found == NULL ? id : "", arena, &done, err) < 0)
        return -1;
    /* A repeat: how what it made or changed is now. */
    if (done != NULL)
        return store_find_shared(store, found == NULL ? done->made_id : found->id, arena,
                                 ret_variable, err);
    if (found != NULL) {
        if (lock_shared(store, found, arena, err) < 0)
            return -1;
        variable = *found;
    } else {
        variable.id = id;
        variable.made_by = request->person_id;
    }
    variable.version++;
    variable.name = new->name;
    variable.value = new->value;
    variable.is_sensitive = new->is_sensitive;
    variable.at_build = new->at_build;
    variable.changed_by = request->person_id;
    variable.changed_at_ms = request->now_ms;
    if (put_variable(store, request, &variable, err) < 0 ||
        check_shared_scopes(store, request->person_id, &variable, arena, err) < 0 ||
        kndl_tx_commit(&tx, err) < 0)
        return -1;
    *ret_variable = variable;
    return 0;
}

int store_remove_shared(struct store *store, const struct request *request,
                        const struct variable *found, struct kndl_arena *arena,
                        struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_tx_done) struct kndl_tx tx;
    const struct kndl_done *done;

    if (kndl_tx_begin(store->db, &tx, err) < 0 ||
        keep_done(store, request, "", arena, &done, err) < 0)
        return -1;
    if (done == NULL &&
        (lock_shared(store, found, arena, err) < 0 ||
         kndl_db_exec(store->db, "remove_shared", NULL, NULL, err, kndl_db_text(found->id)) < 0 ||
         kndl_db_exec(store->db, "forget_hits", NULL, NULL, err, kndl_db_text(found->id)) < 0))
        return -1;
    return kndl_tx_commit(&tx, err);
}

static int check_namesake(struct store *store, const struct variable *found, int64_t repo_id,
                          struct kndl_arena *arena, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "find_namesake", arena, &rows, err, kndl_db_i64(repo_id),
                     kndl_db_text(found->name), kndl_db_text(found->id)) < 0)
        return -1;
    if (rows.count > 0)
        return kndl_fail(err, KNDL_ALREADY_EXISTS,
                         "another Shared variable %s is linked to this Repo", found->name);
    return 0;
}

/* Under the locks of the Repo's Environment and of the row as it was found. */
static int change_link(struct store *store, const struct variable *found, int64_t repo_id,
                       bool linked, struct kndl_arena *arena, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (raise_environment(store, repo_id, arena, NULL, err) < 0 ||
        kndl_db_exec(store->db, "lock_shared", arena, &rows, err, kndl_db_text(found->id),
                     kndl_db_i64(found->revision)) < 0)
        return -1;
    if (rows.count == 0)
        return kndl_fail(err, KNDL_ABORTED, "somebody else changed it at this moment; try again");
    if ((linked && check_namesake(store, found, repo_id, arena, err) < 0) ||
        kndl_db_exec(store->db, linked ? "add_link" : "remove_link", NULL, NULL, err,
                     kndl_db_text(found->id), kndl_db_i64(repo_id)) < 0)
        return -1;
    return check_scopes(store, repo_id, arena, err);
}

int store_link_shared(struct store *store, const struct request *request,
                      const struct variable *found, int64_t repo_id, bool linked,
                      struct kndl_arena *arena, struct variable *ret_variable,
                      struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_tx_done) struct kndl_tx tx;
    const struct kndl_done *done;

    if (kndl_tx_begin(store->db, &tx, err) < 0 ||
        keep_done(store, request, "", arena, &done, err) < 0 ||
        (done == NULL && change_link(store, found, repo_id, linked, arena, err) < 0) ||
        store_find_shared(store, found->id, arena, ret_variable, err) < 0)
        return -1;
    if (ret_variable->link_count > VARIABLE_LINKS_MAX)
        return kndl_fail(err, KNDL_RESOURCE_EXHAUSTED,
                         "a Shared variable is linked to at most %d Repos", VARIABLE_LINKS_MAX);
    return kndl_tx_commit(&tx, err);
}
