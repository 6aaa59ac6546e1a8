/* Variables of Repos, and what a run of a Session gets of them and of the Shared ones. */

#include <stdio.h>
#include <string.h>

#include "kndl/id.h"
#include "kndl/mem.h"
#include "store_parts.h"
#include "variable.h"

/* Bound to its Repo and to whether it is Sensitive, too: neither can be changed in the row. */
struct kndl_place variable_place(const struct variable *variable, char owner[OWNER_SIZE])
{
    if (variable->repo_id != 0)
        snprintf(owner, OWNER_SIZE, "repo/%lld", (long long)variable->repo_id);
    else
        snprintf(owner, OWNER_SIZE, "shared/%s", variable->id);
    return (struct kndl_place){.table = "variable",
                               .column = variable->is_sensitive ? "sensitive" : "shown",
                               .owner = owner,
                               .name = variable->name,
                               .version = variable->version};
}

struct variable_row variable_row_of(const struct kndl_rows *rows, size_t row)
{
    return (struct variable_row){
        .variable =
            {
                .id = kndl_row_text(rows, row, 0),
                .repo_id = kndl_row_i64(rows, row, 1),
                .name = kndl_row_text(rows, row, 2),
                .value = "",
                .is_sensitive = kndl_row_bool(rows, row, 3),
                .at_build = kndl_row_bool(rows, row, 4),
                .version = kndl_row_i64(rows, row, 5),
                .revision = kndl_row_i64(rows, row, 6),
                .made_by = kndl_row_text(rows, row, 8),
                .changed_by = kndl_row_text(rows, row, 9),
                .changed_at_ms = kndl_row_ms(rows, row, 10),
            },
        .sealed = kndl_row_bytes(rows, row, 7),
    };
}

void show_variable(struct store *store, struct variable_row *row, struct kndl_arena *arena)
{
    KNDL_CLEANUP(kndl_secret_done) struct kndl_secret plain = {0};
    char owner[OWNER_SIZE];
    struct kndl_place place = variable_place(&row->variable, owner);

    row->variable.is_unreadable =
        kndl_column_open(store->ring, &place, row->sealed, &plain, NULL) < 0;
    if (!row->variable.is_unreadable && !row->variable.is_sensitive)
        row->variable.value = kndl_arena_copy(arena, (const char *)plain.data);
}

/* For a run or its masks, which go without none. */
static int open_variable(struct store *store, struct variable_row *row, struct kndl_arena *arena,
                         struct kndl_error *err)
{
    char owner[OWNER_SIZE];
    struct kndl_place place = variable_place(&row->variable, owner);

    if (open_value(store, &place, row->sealed, arena, &row->variable.value, err) < 0)
        return kndl_wrap(err, "Variable %s", row->variable.name);
    return 0;
}

int read_variables(struct store *store, int64_t repo_id, bool with_sensitive,
                   struct kndl_arena *arena, struct variables *ret_variables,
                   struct kndl_error *err)
{
    struct variables variables = {0};
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "list_variables", arena, &rows, err, kndl_db_i64(repo_id)) < 0)
        return -1;
    variables.all = kndl_arena_alloc(arena, (rows.count + 1) * sizeof *variables.all);
    for (; variables.count < rows.count; variables.count++) {
        struct variable_row row = variable_row_of(&rows, variables.count);

        if (!with_sensitive)
            show_variable(store, &row, arena);
        else if (open_variable(store, &row, arena, err) < 0)
            return -1;
        row.variable.masked = (struct masked){kndl_row_i64(&rows, variables.count, 11),
                                              kndl_row_ms(&rows, variables.count, 12)};
        variables.all[variables.count] = row.variable;
    }
    *ret_variables = variables;
    return 0;
}

int store_list_variables(struct store *store, int64_t repo_id, struct kndl_arena *arena,
                         struct variables *ret_variables, struct kndl_error *err)
{
    return read_variables(store, repo_id, false, arena, ret_variables, err);
}

int raise_environment(struct store *store, int64_t repo_id, struct kndl_arena *arena,
                      int64_t *ret_version, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "raise_environment", arena, &rows, err, kndl_db_i64(repo_id)) < 0)
        return -1;
    if (ret_version != NULL)
        *ret_version = kndl_row_i64(&rows, 0, 0);
    return kndl_db_exec(store->db, "raise_repo_masks", NULL, NULL, err, kndl_db_i64(repo_id));
}

int check_scopes(struct store *store, int64_t repo_id, struct kndl_arena *arena,
                 struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "measure_variables", arena, &rows, err, kndl_db_i64(repo_id)) < 0 ||
        variable_check_scope(kndl_row_i64(&rows, 0, 0), kndl_row_i64(&rows, 0, 1),
                             "the Variables of this Repo", err) < 0)
        return -1;
    return variable_check_scope(kndl_row_i64(&rows, 0, 2), kndl_row_i64(&rows, 0, 3),
                                "the Shared variables linked to one of its Repos", err);
}

int put_variable(struct store *store, const struct request *request,
                 const struct variable *variable, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf sealed = {0};
    char owner[OWNER_SIZE];
    struct kndl_place place = variable_place(variable, owner);

    kndl_column_seal(store->ring, &place, kndl_slice_of(variable->value), &sealed);
    return kndl_db_exec(store->db, "put_variable", NULL, NULL, err, kndl_db_text(variable->id),
                        variable->repo_id != 0 ? kndl_db_i64(variable->repo_id) : kndl_db_null(),
                        kndl_db_text(variable->name), kndl_db_bool(variable->is_sensitive),
                        kndl_db_bool(variable->at_build), kndl_db_i64(variable->version),
                        kndl_db_bytes(kndl_buf_slice(&sealed)), kndl_db_text(request->person_id),
                        kndl_db_i64(request->now_ms), kndl_db_text(request->request_id));
}

/* One of a Repo's as it is now; *ret_exists. */
static int find_variable(struct store *store, int64_t repo_id, const char *name,
                         struct kndl_arena *arena, struct variable *ret_variable, bool *ret_exists,
                         struct kndl_error *err)
{
    struct variable_row row;
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "find_variable", arena, &rows, err, kndl_db_i64(repo_id),
                     kndl_db_text(name)) < 0)
        return -1;
    *ret_exists = rows.count > 0;
    if (rows.count == 0)
        return 0;
    row = variable_row_of(&rows, 0);
    show_variable(store, &row, arena);
    *ret_variable = row.variable;
    return 0;
}

/* One of a Repo's, under the lock of its Environment. What cannot be read can be set again. */
static int set_variable(struct store *store, const struct request *request, int64_t repo_id,
                        int64_t version, const struct new_variable *new, struct kndl_arena *arena,
                        struct variable *ret_variable, struct kndl_error *err)
{
    struct kndl_rows rows;
    char *id = kndl_arena_alloc(arena, KNDL_ID_SIZE);

    if (kndl_db_exec(store->db, "find_variable", arena, &rows, err, kndl_db_i64(repo_id),
                     kndl_db_text(new->name)) < 0)
        return -1;
    if (rows.count > 0)
        strcpy(id, kndl_row_text(&rows, 0, 0));
    else
        kndl_id_new(id);
    *ret_variable = (struct variable){
        .id = id,
        .repo_id = repo_id,
        .name = new->name,
        .value = new->value,
        .is_sensitive = new->is_sensitive,
        .at_build = new->at_build,
        .version = version,
        .changed_by = request->person_id,
        .changed_at_ms = request->now_ms,
    };
    return put_variable(store, request, ret_variable, err);
}

/* The request was done: how those that it names are now. */
static int find_named(struct store *store, int64_t repo_id, const struct new_variable *news,
                      size_t count, struct kndl_arena *arena, struct variables *ret_variables,
                      struct kndl_error *err)
{
    for (size_t i = 0; i < count; i++) {
        bool exists;

        if (find_variable(store, repo_id, news[i].name, arena,
                          &ret_variables->all[ret_variables->count], &exists, err) < 0)
            return -1;
        ret_variables->count += exists;
    }
    return 0;
}

int store_set_variables(struct store *store, const struct request *request, int64_t repo_id,
                        const struct new_variable *news, size_t count, struct kndl_arena *arena,
                        struct variables *ret_variables, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_tx_done) struct kndl_tx tx;
    struct variables variables = {0};
    int64_t version;
    const struct kndl_done *done;

    variables.all = kndl_arena_alloc(arena, (count + 1) * sizeof *variables.all);
    if (kndl_tx_begin(store->db, &tx, err) < 0 ||
        keep_done(store, request, "", arena, &done, err) < 0)
        return -1;
    if (done != NULL) {
        if (find_named(store, repo_id, news, count, arena, &variables, err) < 0)
            return -1;
        *ret_variables = variables;
        return 0;
    }
    if (raise_environment(store, repo_id, arena, &version, err) < 0)
        return -1;
    for (; variables.count < count; variables.count++)
        if (set_variable(store, request, repo_id, version, &news[variables.count], arena,
                         &variables.all[variables.count], err) < 0)
            return -1;
    if (check_scopes(store, repo_id, arena, err) < 0)
        return -1;
    *ret_variables = variables;
    return kndl_tx_commit(&tx, err);
}

int store_remove_variable(struct store *store, const struct request *request, int64_t repo_id,
                          const char *name, struct kndl_arena *arena, bool *ret_removed,
                          struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_tx_done) struct kndl_tx tx;
    struct kndl_rows rows;
    const struct kndl_done *done;
    bool exists;

    if (kndl_tx_begin(store->db, &tx, err) < 0 ||
        keep_done(store, request, "", arena, &done, err) < 0 ||
        kndl_db_exec(store->db, "find_variable", arena, &rows, err, kndl_db_i64(repo_id),
                     kndl_db_text(name)) < 0)
        return -1;
    exists = rows.count > 0;
    *ret_removed = exists || done != NULL;
    /* No Environment is raised, or made, for nothing. */
    if (exists && done == NULL &&
        (raise_environment(store, repo_id, arena, NULL, err) < 0 ||
         kndl_db_exec(store->db, "remove_variable", NULL, NULL, err, kndl_db_i64(repo_id),
                      kndl_db_text(name)) < 0 ||
         kndl_db_exec(store->db, "forget_hits", NULL, NULL, err,
                      kndl_db_text(kndl_row_text(&rows, 0, 0))) < 0))
        return -1;
    return kndl_tx_commit(&tx, err);
}
