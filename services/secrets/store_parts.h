#pragma once

/* The inside of a store, for store.c (tokens) and the other store_*.c. */

#include "kndl/db.h"
#include "kndl/done.h"
#include "kndl/seal.h"
#include "store.h"

struct store {
    struct kndl_db *db;
    struct kndl_keyring *ring;
};

/* A row of setup_token. */
struct token_row {
    int64_t version;
    struct kndl_slice sealed; /* empty: there is none */
    int64_t set_at_ms;
    int64_t expires_at_ms;
};

/* As kndl_done_keep(); what was asked for lies sealed. */
int keep_done(struct store *store, const struct request *request, const char *made_id,
              struct kndl_arena *arena, const struct kndl_done **ret_done, struct kndl_error *err);

/* Reads a row; all zero if there is none. */
int read_token_row(struct store *store, const char *statement, const char *person_id,
                   struct kndl_arena *arena, struct token_row *ret_row, struct kndl_error *err);

/* The plain value of a row that has one, in the arena. */
int open_token(struct store *store, const char *person_id, const struct token_row *row,
               struct kndl_arena *arena, const char **ret_token, struct kndl_error *err);

/* Where a value is kept. `owner` holds a text that the place refers to. */
enum { OWNER_SIZE = 128 };
struct kndl_place token_place(const char *person_id, int64_t version, char owner[OWNER_SIZE]);
struct kndl_place mask_place(const char *session_id, const char *name, int64_t version,
                             char owner[OWNER_SIZE]);
struct kndl_place variable_place(const struct variable *variable, char owner[OWNER_SIZE]);

/* store_hits.c: in one Repo, or (0) in all. */
int find_hits(struct store *store, const char *counted_id, int64_t repo_id, int64_t version,
              struct kndl_arena *arena, struct masked *ret_masked, struct kndl_error *err);

/* What the hits of all git tokens of a Repo's Sessions are counted for. */
extern const char counted_git_tokens[];

/* A row of assignment. */
struct assignment_row {
    int64_t run;
    const char *runner_id;
    const char *creator_id;
    int64_t repo_id;
    enum phase phase;
    int64_t mask_version;
};

/* The assignment, locked, if it is that Runner's run in one of the phases from first to last;
 * else KNDL_NOT_FOUND. In a transaction. */
int lock_run(struct store *store, const struct run *run, enum phase first, enum phase last,
             struct kndl_arena *arena, struct assignment_row *ret_row, struct kndl_error *err);

/* Adds a value to the set of an assignment that is locked, and raises row->mask_version. */
int add_mask(struct store *store, const char *session_id, struct assignment_row *row,
             const char *name, struct kndl_slice value, struct kndl_arena *arena,
             struct kndl_error *err);

/* A row of variable. */
struct variable_row {
    struct variable variable;
    struct kndl_slice sealed;
};

/* As list_variables and its like select it, without its value. */
struct variable_row variable_row_of(const struct kndl_rows *rows, size_t row);

/* For people: its value unless it is Sensitive, and whether it can be opened at all, so that they
 * can set it again. */
void show_variable(struct store *store, struct variable_row *row, struct kndl_arena *arena);

/* Seals and writes it; `variable` says where. */
int put_variable(struct store *store, const struct request *request,
                 const struct variable *variable, struct kndl_error *err);

/* Locks a Repo's Environment and raises its version (ret_version may be NULL) and its Sessions'
 * mask versions. */
int raise_environment(struct store *store, int64_t repo_id, struct kndl_arena *arena,
                      int64_t *ret_version, struct kndl_error *err);

/* Do a Repo's own and its linked Variables still fit? As variable_check_scope(). */
int check_scopes(struct store *store, int64_t repo_id, struct kndl_arena *arena,
                 struct kndl_error *err);

/* What a Repo's Sessions may get: for them, with the values of Sensitive ones, each of which must
 * open (KNDL_FAILED_PRECONDITION names one that does not); or for people, as show_variable(). */
int read_variables(struct store *store, int64_t repo_id, bool with_sensitive,
                   struct kndl_arena *arena, struct variables *ret_variables,
                   struct kndl_error *err);

/* Opens a sealed column into the arena. */
int open_value(struct store *store, const struct kndl_place *place, struct kndl_slice sealed,
               struct kndl_arena *arena, const char **ret_value, struct kndl_error *err);
