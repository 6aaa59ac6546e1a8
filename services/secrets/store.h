#pragma once

/*
 * What secrets keeps: setup tokens, assignments, mask values. All its SQL is behind this header,
 * and all its sealing: values come in and go out plain, and lie in PostgreSQL sealed to the place
 * that they are kept in.
 *
 * A store is one database connection and a key ring: one thread at a time. Each function is one
 * transaction. What comes out lives in the arena, which must be a locked one. Times are
 * milliseconds of the wall clock.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kndl/arena.h"
#include "kndl/error.h"
#include "kndl/slice.h"
#include "kndl/token.h"

struct new_variable;
struct store;

/* How often a value was masked. */
struct masked {
    int64_t count;
    int64_t last_at_ms; /* 0: never */
};

/* A person's setup token, without its value. */
struct setup_token {
    bool exists;
    int64_t version; /* rises with each change, also a removal */
    int64_t set_at_ms;
    int64_t expires_at_ms;
    struct masked masked; /* of store_find_token() alone */
};

/* Who asks for a change, by which request, and a hash of all that it asks for. */
struct request {
    const char *person_id;
    const char *request_id;
    int64_t now_ms;
    uint8_t content[KNDL_HASH_BYTES];
};

/* As PutAssignmentRequest.Phase, in the order they follow each other. */
enum phase {
    PHASE_MADE = 1,
    PHASE_STARTING,
    PHASE_ACTIVE,
    PHASE_ENDED,
    PHASE_SETTLED,
    PHASE_PURGED,
};

struct assignment {
    const char *session_id;
    int64_t run;
    const char *runner_id;
    const char *creator_id;
    int64_t repo_id;
    enum phase phase;
};

/* A run of a Session, as a Runner names it. */
struct run {
    const char *session_id;
    int64_t run;
    const char *runner_id; /* who asks */
};

/* For what hits are counted: a Variable or a setup token in one version. */
struct counted {
    const char *id;
    int64_t version;
    const struct counted *next;
};

struct mask {
    const char *name;
    const char *value;
    const struct counted *counted; /* NULL: for nothing */
};

struct mask_set {
    int64_t version;
    int64_t repo_id;
    struct mask *masks;
    size_t count;
};

/* What a copy of redactor found. */
struct hits {
    const char *counted_id;
    int64_t version;
    int64_t repo_id;
    int64_t count;
    int64_t last_at_ms;
};

struct report {
    const char *reporter_id;
    int64_t n;
    struct hits *hits; /* put in order by store_count_masked() */
    size_t count;
};

/* What sessions has not heard yet. */
struct token_change {
    const char *person_id;
    enum { TOKEN_ADDED, TOKEN_REPLACED, TOKEN_REMOVED } what;
    int64_t version;
};

/* A Variable as it is kept. */
struct variable {
    const char *id;
    int64_t repo_id; /* 0: Shared */
    const char *name;
    const char *value; /* plain; "" where it was not asked for */
    bool is_sensitive;
    bool at_build;
    int64_t version;
    int64_t revision; /* of a Shared one: what a change must name */
    const char *made_by;
    const char *changed_by;
    int64_t changed_at_ms;
    bool is_unreadable;               /* in lists for people: its value cannot be opened */
    struct masked masked;             /* in the Repo that it is listed for */
    const int64_t *links;             /* of a Shared one: the Repos that it is linked to */
    const struct masked *link_masked; /* of those */
    size_t link_count;
};

struct variables {
    struct variable *all;
    size_t count;
};

/* As VariableChange.How. */
enum variable_how { VARIABLE_ADDED = 1, VARIABLE_REPLACED, VARIABLE_REMOVED };

struct variable_changes {
    struct variable_change {
        const char *name;
        enum variable_how how;
    } * all;
    size_t count;
};

int store_migrate(struct kndl_error *err);
int store_open(struct store **ret_store, struct kndl_error *err);
void store_close(struct store *store);

int store_find_token(struct store *store, const char *person_id, struct kndl_arena *arena,
                     struct setup_token *ret_token, struct kndl_error *err);

/* A change that is asked for again, up to a day later, changes nothing: it was done. */

/*
 * Keeps a setup token in the place of an older one, and that sessions must hear of it. A repeat of
 * the request, or the same value, changes nothing and sets *ret_changed to false.
 */
int store_set_token(struct store *store, const struct request *request, struct kndl_slice token,
                    int64_t expires_at_ms, struct kndl_arena *arena, struct setup_token *ret_token,
                    bool *ret_changed, struct kndl_error *err);
int store_remove_token(struct store *store, const struct request *request, struct kndl_arena *arena,
                       bool *ret_changed, struct kndl_error *err);

/* The change that is due; *ret_change is NULL if none is. It is due again after a growing pause. */
int store_claim_change(struct store *store, int64_t now_ms, struct kndl_arena *arena,
                       const struct token_change **ret_change, struct kndl_error *err);
int store_finish_change(struct store *store, const struct token_change *change,
                        struct kndl_error *err);

/* Older runs and phases than the newest known change nothing. Answers the mask set's version. */
int store_put_assignment(struct store *store, const struct assignment *assignment,
                         struct kndl_arena *arena, int64_t *ret_mask_version,
                         struct kndl_error *err);

/*
 * Adds a value to a Session's set; the one of that name that was current stays as the previous.
 * Fails with KNDL_NOT_FOUND if the Session was never assigned, or is purged.
 */
int store_put_mask(struct store *store, const char *session_id, const char *name,
                   struct kndl_slice value, struct kndl_arena *arena, int64_t *ret_mask_version,
                   struct kndl_error *err);

/* The same for a Runner's run that starts or is Active; else KNDL_NOT_FOUND. */
int store_put_run_mask(struct store *store, const struct run *run, const char *name,
                       struct kndl_slice value, struct kndl_arena *arena, int64_t *ret_mask_version,
                       struct kndl_error *err);

/*
 * The Creator's setup token for a run that is starting on that Runner, else KNDL_NOT_FOUND. It is
 * in the mask set, at *ret_mask_version, before it is given. KNDL_ABORTED: there is none.
 */
int store_fetch_token(struct store *store, const struct run *run, struct kndl_arena *arena,
                      const char **ret_token, int64_t *ret_mask_version, struct kndl_error *err);

/*
 * All that is to be masked in a Session; nothing but the version if that is known_version. With
 * run->runner_id: KNDL_NOT_FOUND unless that is its assignment and not settled. NULL: whoever asks.
 */
int store_list_masks(struct store *store, const struct run *run, int64_t known_version,
                     struct kndl_arena *arena, struct mask_set *ret_set, struct kndl_error *err);

/* What is to be masked for a person and a Repo (0: none) before there is a Session. */
int store_list_person_masks(struct store *store, const char *person_id, int64_t repo_id,
                            struct kndl_arena *arena, struct mask_set *ret_set,
                            struct kndl_error *err);

/* --- How often values were masked: store_hits.c. */

/* Counts what a copy of redactor found; a report that was counted already changes nothing. */
int store_count_masked(struct store *store, const struct report *report, int64_t now_ms,
                       struct kndl_arena *arena, struct kndl_error *err);

/* The git tokens of a Repo's Sessions, together. */
int store_find_git_hits(struct store *store, int64_t repo_id, struct kndl_arena *arena,
                        struct masked *ret_masked, struct kndl_error *err);

/* --- Variables: store_variables.c, store_shared.c, store_given.c. Values that are Sensitive come
 * out only where it is said. */

/* A Repo's own and those linked to it, each by name, without Sensitive values. */
int store_list_variables(struct store *store, int64_t repo_id, struct kndl_arena *arena,
                         struct variables *ret_variables, struct kndl_error *err);

/*
 * Sets `count` of a Repo's Variables or none. The Repo's Sessions mask new Sensitive values from
 * here on. What comes back is how those that still exist are then. Fails as variable_check_scope()
 * does.
 */
int store_set_variables(struct store *store, const struct request *request, int64_t repo_id,
                        const struct new_variable *news, size_t count, struct kndl_arena *arena,
                        struct variables *ret_variables, struct kndl_error *err);
int store_remove_variable(struct store *store, const struct request *request, int64_t repo_id,
                          const char *name, struct kndl_arena *arena, bool *ret_removed,
                          struct kndl_error *err);

/* Every Shared variable, with its links, by name; without Sensitive values. */
int store_list_shared(struct store *store, struct kndl_arena *arena,
                      struct variables *ret_variables, struct kndl_error *err);
/* KNDL_NOT_FOUND: none. */
int store_find_shared(struct store *store, const char *id, struct kndl_arena *arena,
                      struct variable *ret_variable, struct kndl_error *err);

/*
 * Changes of a Shared variable as it was found: KNDL_ABORTED if it is another revision now.
 * `found` is NULL for a new one. What comes back is how it is then.
 */
int store_set_shared(struct store *store, const struct request *request,
                     const struct variable *found, const struct new_variable *new,
                     struct kndl_arena *arena, struct variable *ret_variable,
                     struct kndl_error *err);
int store_remove_shared(struct store *store, const struct request *request,
                        const struct variable *found, struct kndl_arena *arena,
                        struct kndl_error *err);
int store_link_shared(struct store *store, const struct request *request,
                      const struct variable *found, int64_t repo_id, bool linked,
                      struct kndl_arena *arena, struct variable *ret_variable,
                      struct kndl_error *err);

/* A Session's Repo, and whether a run of it has Variables that it was given. KNDL_NOT_FOUND: never
 * assigned, or purged. */
int store_find_session_repo(struct store *store, const char *session_id, struct kndl_arena *arena,
                            int64_t *ret_repo_id, bool *ret_has_variables, struct kndl_error *err);

/* From what the Session's newest run was given to what the next one gets. */
int store_list_variable_changes(struct store *store, const char *session_id, int64_t repo_id,
                                struct kndl_arena *arena, struct variable_changes *ret_changes,
                                struct kndl_error *err);

/*
 * What a Runner's run that starts or is Active gets, values included, each name once; else
 * KNDL_NOT_FOUND. The Sensitive ones are in the mask set, at *ret_mask_version, before.
 */
int store_fetch_variables(struct store *store, const struct run *run, struct kndl_arena *arena,
                          struct variables *ret_variables, int64_t *ret_mask_version,
                          struct kndl_error *err);

/* --- Keys: store_keys.c. */

/* KNDL_FAILED_PRECONDITION if a kept value needs a key that the ring lacks, or if the ring's
 * current key is another one of that id, which opens none of them. */
int store_check_keys(struct store *store, struct kndl_error *err);

struct rotation {
    int64_t sealed_anew;
    int64_t unreadable; /* left as they are */
    int64_t in_use;     /* left, since others held them whenever it came by */
};

/*
 * Seals what is not under the current key anew, a hundred rows a transaction. Rows that somebody
 * holds are passed over and tried again, for some seconds in all. Killed at any moment it has lost
 * nothing, and goes on where it was when it is called again.
 */
int store_rotate(struct store *store, struct rotation *ret_rotation, struct kndl_error *err);
