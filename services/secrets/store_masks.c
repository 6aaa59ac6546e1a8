/* Assignments and mask sets. */

#include <stdio.h>
#include <string.h>

#include "kndl/mem.h"
#include "store_parts.h"

static const char setup_token_name[] = "setup_token";

static int no_such_session(const char *session_id, struct kndl_error *err)
{
    return kndl_fail(err, KNDL_NOT_FOUND, "Session %s does not exist", session_id);
}

/* KNDL_NOT_FOUND: never assigned, or purged. */
static int read_assignment(struct store *store, const char *statement, const char *session_id,
                           struct kndl_arena *arena, struct assignment_row *ret_row,
                           struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, statement, arena, &rows, err, kndl_db_text(session_id)) < 0)
        return -1;
    if (rows.count == 0 || kndl_row_i64(&rows, 0, 4) == PHASE_PURGED)
        return no_such_session(session_id, err);
    *ret_row = (struct assignment_row){
        .run = kndl_row_i64(&rows, 0, 0),
        .runner_id = kndl_row_text(&rows, 0, 1),
        .creator_id = kndl_row_text(&rows, 0, 2),
        .repo_id = kndl_row_i64(&rows, 0, 3),
        .phase = (enum phase)kndl_row_i64(&rows, 0, 4),
        .mask_version = kndl_row_i64(&rows, 0, 5),
    };
    return 0;
}

int store_put_assignment(struct store *store, const struct assignment *assignment,
                         struct kndl_arena *arena, int64_t *ret_mask_version,
                         struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_tx_done) struct kndl_tx tx;
    struct kndl_rows rows;

    if (kndl_tx_begin(store->db, &tx, err) < 0 ||
        kndl_db_exec(store->db, "put_assignment", arena, &rows, err,
                     kndl_db_text(assignment->session_id), kndl_db_i64(assignment->run),
                     kndl_db_text(assignment->runner_id), kndl_db_text(assignment->creator_id),
                     kndl_db_i64(assignment->repo_id), kndl_db_i64(assignment->phase)) < 0)
        return -1;

    int64_t phase = kndl_row_i64(&rows, 0, 1);
    int64_t settled_run = phase == PHASE_PURGED                ? INT64_MAX
                          : phase == PHASE_SETTLED             ? kndl_row_i64(&rows, 0, 2)
                          : assignment->phase == PHASE_SETTLED ? assignment->run
                                                               : -1;
    if (settled_run >= 0 &&
        kndl_db_exec(store->db, "remove_masks", NULL, NULL, err,
                     kndl_db_text(assignment->session_id), kndl_db_i64(settled_run)) < 0)
        return -1;
    if (phase == PHASE_PURGED && kndl_db_exec(store->db, "forget_given", NULL, NULL, err,
                                              kndl_db_text(assignment->session_id)) < 0)
        return -1;
    *ret_mask_version = kndl_row_i64(&rows, 0, 0);
    return kndl_tx_commit(&tx, err);
}

struct kndl_place mask_place(const char *session_id, const char *name, int64_t version,
                             char owner[OWNER_SIZE])
{
    snprintf(owner, OWNER_SIZE, "session/%s", session_id);
    return (struct kndl_place){
        .table = "mask", .column = "sealed", .owner = owner, .name = name, .version = version};
}

static int open_mask(struct store *store, const char *session_id, const char *name, int64_t version,
                     struct kndl_slice sealed, struct kndl_arena *arena, const char **ret_value,
                     struct kndl_error *err)
{
    char owner[OWNER_SIZE];
    struct kndl_place place = mask_place(session_id, name, version, owner);

    return open_value(store, &place, sealed, arena, ret_value, err);
}

/* Is this the value of that name that is current already? */
static int is_current(struct store *store, const char *session_id, const char *name,
                      struct kndl_slice value, struct kndl_arena *arena, bool *ret_yes,
                      struct kndl_error *err)
{
    struct kndl_rows rows;
    const char *kept;

    if (kndl_db_exec(store->db, "find_mask", arena, &rows, err, kndl_db_text(session_id),
                     kndl_db_text(name)) < 0)
        return -1;
    *ret_yes = rows.count > 0 &&
               open_mask(store, session_id, name, kndl_row_i64(&rows, 0, 0),
                         kndl_row_bytes(&rows, 0, 1), arena, &kept, NULL) == 0 &&
               kndl_slice_equal(kndl_slice_of(kept), value);
    return 0;
}

int add_mask(struct store *store, const char *session_id, struct assignment_row *row,
             const char *name, struct kndl_slice value, struct kndl_arena *arena,
             struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf sealed = {0};
    char owner[OWNER_SIZE];
    int64_t version = row->mask_version + 1;
    bool is_there;

    if (is_current(store, session_id, name, value, arena, &is_there, err) < 0)
        return -1;
    if (is_there)
        return kndl_db_exec(store->db, "keep_mask", NULL, NULL, err, kndl_db_text(session_id),
                            kndl_db_text(name), kndl_db_i64(row->run));
    struct kndl_place place = mask_place(session_id, name, version, owner);
    kndl_column_seal(store->ring, &place, value, &sealed);
    if (kndl_db_exec(store->db, "remove_previous_mask", NULL, NULL, err, kndl_db_text(session_id),
                     kndl_db_text(name)) < 0 ||
        kndl_db_exec(store->db, "retire_mask", NULL, NULL, err, kndl_db_text(session_id),
                     kndl_db_text(name)) < 0 ||
        kndl_db_exec(store->db, "add_mask", NULL, NULL, err, kndl_db_text(session_id),
                     kndl_db_text(name), kndl_db_i64(version), kndl_db_i64(row->run),
                     kndl_db_bytes(kndl_buf_slice(&sealed))) < 0 ||
        kndl_db_exec(store->db, "raise_mask_version", NULL, NULL, err, kndl_db_text(session_id),
                     kndl_db_i64(version)) < 0)
        return -1;
    row->mask_version = version;
    return 0;
}

int store_put_mask(struct store *store, const char *session_id, const char *name,
                   struct kndl_slice value, struct kndl_arena *arena, int64_t *ret_mask_version,
                   struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_tx_done) struct kndl_tx tx;
    struct assignment_row row;

    if (kndl_tx_begin(store->db, &tx, err) < 0 ||
        read_assignment(store, "lock_assignment", session_id, arena, &row, err) < 0 ||
        add_mask(store, session_id, &row, name, value, arena, err) < 0 ||
        kndl_tx_commit(&tx, err) < 0)
        return -1;
    *ret_mask_version = row.mask_version;
    return 0;
}

int lock_run(struct store *store, const struct run *run, enum phase first, enum phase last,
             struct kndl_arena *arena, struct assignment_row *ret_row, struct kndl_error *err)
{
    if (read_assignment(store, "lock_assignment", run->session_id, arena, ret_row, err) < 0)
        return -1;
    if (strcmp(ret_row->runner_id, run->runner_id) != 0 || ret_row->run != run->run ||
        ret_row->phase < first || ret_row->phase > last)
        return no_such_session(run->session_id, err);
    return 0;
}

int store_put_run_mask(struct store *store, const struct run *run, const char *name,
                       struct kndl_slice value, struct kndl_arena *arena, int64_t *ret_mask_version,
                       struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_tx_done) struct kndl_tx tx;
    struct assignment_row row;

    if (kndl_tx_begin(store->db, &tx, err) < 0 ||
        lock_run(store, run, PHASE_STARTING, PHASE_ACTIVE, arena, &row, err) < 0 ||
        add_mask(store, run->session_id, &row, name, value, arena, err) < 0 ||
        kndl_tx_commit(&tx, err) < 0)
        return -1;
    *ret_mask_version = row.mask_version;
    return 0;
}

int store_fetch_token(struct store *store, const struct run *run, struct kndl_arena *arena,
                      const char **ret_token, int64_t *ret_mask_version, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_tx_done) struct kndl_tx tx;
    struct assignment_row row;
    struct token_row token;

    if (kndl_tx_begin(store->db, &tx, err) < 0 ||
        lock_run(store, run, PHASE_STARTING, PHASE_STARTING, arena, &row, err) < 0 ||
        read_token_row(store, "find_token", row.creator_id, arena, &token, err) < 0)
        return -1;
    if (token.sealed.size == 0)
        return kndl_fail(err, KNDL_ABORTED,
                         "the Creator has no Claude setup token; add one (claude setup-token makes "
                         "it), then try again");
    if (open_token(store, row.creator_id, &token, arena, ret_token, err) < 0 ||
        add_mask(store, run->session_id, &row, setup_token_name, kndl_slice_of(*ret_token), arena,
                 err) < 0 ||
        kndl_tx_commit(&tx, err) < 0)
        return -1;
    *ret_mask_version = row.mask_version;
    return 0;
}

/* Each value once, for whatever its hits are counted (id NULL: for nothing). */
static void join(struct mask_set *set, const char *name, const char *value, const char *id,
                 int64_t version, struct kndl_arena *arena)
{
    size_t at = 0;

    while (at < set->count && strcmp(set->masks[at].value, value) != 0)
        at++;
    if (at == set->count)
        set->masks[set->count++] = (struct mask){.name = name, .value = value};
    if (id == NULL)
        return;

    struct counted *counted = kndl_arena_alloc(arena, sizeof *counted);
    *counted = (struct counted){id, version, set->masks[at].counted};
    set->masks[at].counted = counted;
}

static int join_token(struct store *store, const char *person_id, struct kndl_arena *arena,
                      struct mask_set *set, int64_t *ret_version, struct kndl_error *err)
{
    struct token_row row;
    const char *value;

    if (read_token_row(store, "find_token", person_id, arena, &row, err) < 0)
        return -1;
    *ret_version = row.version;
    if (row.sealed.size == 0)
        return 0;
    if (open_token(store, person_id, &row, arena, &value, err) < 0)
        return -1;
    join(set, setup_token_name, value, person_id, row.version, arena);
    return 0;
}

/* Those that a linked one is overridden by, too: a person may know both. */
static void join_variables(struct mask_set *set, const struct variables *variables,
                           struct kndl_arena *arena)
{
    for (size_t i = 0; i < variables->count; i++) {
        const struct variable *variable = &variables->all[i];

        if (variable->is_sensitive)
            join(set, variable->name, variable->value, variable->id, variable->version, arena);
    }
}

static bool is_git_token(const char *name)
{
    return strcmp(name, "git_token") == 0 || strcmp(name, "clone_token") == 0;
}

/* What runs were given. Of what is not the current value any more no hits are counted. */
static int join_masks(struct store *store, const char *session_id, const struct kndl_rows *rows,
                      struct kndl_arena *arena, struct mask_set *set, struct kndl_error *err)
{
    for (size_t i = 0; i < rows->count; i++) {
        const char *name = kndl_row_text(rows, i, 0);
        const char *value;

        if (open_mask(store, session_id, name, kndl_row_i64(rows, i, 1), kndl_row_bytes(rows, i, 2),
                      arena, &value, err) < 0)
            return -1;
        join(set, name, value, is_git_token(name) ? counted_git_tokens : NULL, 0, arena);
    }
    return 0;
}

int store_list_masks(struct store *store, const struct run *run, int64_t known_version,
                     struct kndl_arena *arena, struct mask_set *ret_set, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_tx_done) struct kndl_tx tx;
    struct mask_set set = {0};
    struct assignment_row row;
    struct variables variables;
    struct kndl_rows rows;
    int64_t token_version;

    /* Locked, so that version and values belong together. */
    if (kndl_tx_begin(store->db, &tx, err) < 0)
        return -1;
    if (run->runner_id == NULL
            ? read_assignment(store, "lock_assignment", run->session_id, arena, &row, err) < 0
            : lock_run(store, run, PHASE_STARTING, PHASE_ENDED, arena, &row, err) < 0)
        return -1;
    set.version = row.mask_version;
    set.repo_id = row.repo_id;
    if (known_version == row.mask_version) {
        *ret_set = set;
        return 0;
    }
    if (kndl_db_exec(store->db, "list_masks", arena, &rows, err, kndl_db_text(run->session_id)) <
            0 ||
        read_variables(store, row.repo_id, true, arena, &variables, err) < 0)
        return -1;
    set.masks = kndl_arena_alloc(arena, (rows.count + variables.count + 1) * sizeof *set.masks);
    if (join_masks(store, run->session_id, &rows, arena, &set, err) < 0)
        return -1;
    join_variables(&set, &variables, arena);
    if (join_token(store, row.creator_id, arena, &set, &token_version, err) < 0 ||
        kndl_tx_commit(&tx, err) < 0)
        return -1;
    *ret_set = set;
    return 0;
}

int store_list_person_masks(struct store *store, const char *person_id, int64_t repo_id,
                            struct kndl_arena *arena, struct mask_set *ret_set,
                            struct kndl_error *err)
{
    struct variables variables = {0};
    struct mask_set set = {.repo_id = repo_id};

    if (repo_id != 0 && read_variables(store, repo_id, true, arena, &variables, err) < 0)
        return -1;
    set.masks = kndl_arena_alloc(arena, (variables.count + 1) * sizeof *set.masks);
    join_variables(&set, &variables, arena);
    if (join_token(store, person_id, arena, &set, &set.version, err) < 0)
        return -1;
    *ret_set = set;
    return 0;
}
