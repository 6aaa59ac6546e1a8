#pragma once

/*
 * What repo-access remembers: people, their credentials, Repos, and who may see them. All its SQL
 * is behind this header.
 *
 * A store is one database connection: one thread at a time. Each function is one transaction;
 * none waits for GitHub. Texts that come out live in the arena. Times are milliseconds of the
 * wall clock. Whatever takes a kndl_asked fails, and changes nothing at a repeat, as
 * kndl_done_keep() says.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kndl/arena.h"
#include "kndl/done.h"
#include "kndl/error.h"
#include "kndl/token.h"

struct store;

struct person {
    const char *id;
    int64_t github_id;
    const char *login;
    const char *name;
    bool is_owner;
    bool is_member; /* false: removed */

    /* When GitHub last said that this is their login; of store_find_person() alone, else 0. */
    int64_t named_at_ms;
};

struct credential {
    const char *id; /* by which its owner ends it */
    uint8_t hash[KNDL_HASH_BYTES];
    const char *kind; /* "web", "cli" or "confirmed" */
    const char *person_id;
    const char *machine;
    int64_t created_at_ms;
    int64_t expires_at_ms; /* unless it is used before */
    int64_t ends_at_ms;    /* however much it is used */
    const char *cli_id;    /* of a confirmation, the CLI's credential; else "" */
    const char *purpose;   /* of a confirmation, else "" */
};

/* What somebody came with, and who they are. */
struct holder {
    struct person person;
    const char *credential_id;
    const char *machine;
    const char *purpose; /* of a confirmation, else "" */
    int64_t ends_at_ms;  /* however much it is used */
};

struct repo {
    int64_t id;
    const char *name; /* owner/name */
    int64_t installation_id;
    const char *default_branch;
    bool is_private;
    const char *description;
    bool is_installed; /* false: the App is no longer on it */
    bool is_suspended; /* it is not, because its installation is suspended */
};

/* The App on one account. */
struct installation {
    int64_t id;
    const char *account; /* its login */
    bool is_suspended;
};

/* All that the App is installed on, as GitHub lists it. */
struct listing {
    struct repo *repos;
    size_t repo_count;
    struct installation *installations;
    size_t installation_count;
};

/* What GitHub last said of a person and a Repo. */
struct access {
    int64_t repo_id;
    bool is_known; /* false: it was never asked; nothing below means anything */
    bool is_allowed;
    int64_t checked_at_ms;
    int64_t tried_at_ms; /* later than checked_at_ms: GitHub could not answer since */
};

int store_migrate(struct kndl_error *err);
int store_open(struct store **ret_store, struct kndl_error *err);
void store_close(struct store *store);

/* Fails with KNDL_NOT_FOUND. One who was removed is found, too. */
int store_find_person(struct store *store, const char *id, struct kndl_arena *arena,
                      struct person *ret_person, struct kndl_error *err);

/* What GitHub calls them now. */
int store_name_person(struct store *store, const char *id, const char *login, int64_t now_ms,
                      struct kndl_error *err);

/* Those of the ids that exist, in no order. Ids are joined by commas. */
int store_find_people(struct store *store, const char *ids, struct kndl_arena *arena,
                      struct person **ret_people, size_t *ret_count, struct kndl_error *err);

/*
 * The person of that GitHub account, made a Member if nobody is; the very first is the Owner.
 * Login and name become as given. One who was removed comes back as such (is_member false).
 */
int store_admit_person(struct store *store, const struct person *who, int64_t now_ms,
                       struct kndl_arena *arena, struct person *ret_person, struct kndl_error *err);

int store_add_credential(struct store *store, const struct credential *credential,
                         struct kndl_error *err);

/*
 * Whose credential this is; the use is noted (once a minute) and moves its end to idle_ms from
 * now. Fails with KNDL_NOT_FOUND, alike for unknown, another kind, expired, revoked, removed; a
 * confirmation also where its CLI's own is any of this.
 */
int store_use_credential(struct store *store, const uint8_t hash[KNDL_HASH_BYTES], const char *kind,
                         int64_t now_ms, int64_t idle_ms, struct kndl_arena *arena,
                         struct holder *ret_holder, struct kndl_error *err);

/* A sign-in of a person's own, as it is shown to them; a confirmation is none. */
struct sign_in {
    const char *id;
    const char *kind;
    const char *machine;
    int64_t created_at_ms;
    int64_t last_used_at_ms;
    int64_t expires_at_ms;
    uint8_t hash[KNDL_HASH_BYTES];
};

/* The person's sign-ins that are good, the last used first. */
int store_list_credentials(struct store *store, const char *person_id, int64_t now_ms,
                           struct kndl_arena *arena, struct sign_in **ret_sign_ins,
                           size_t *ret_count, struct kndl_error *err);

/* Ends one of the asking person's by its id, or (NULL) all of them; those of others stay. */
int store_end_credentials(struct store *store, const struct kndl_asked *asked, const char *id,
                          struct kndl_arena *arena, struct kndl_error *err);

/*
 * Ends the credential that a browser had before it got another one, whoever's it was: *ret_person
 * says, "" if it was none.
 */
int store_replace_credential(struct store *store, const uint8_t *hash, int64_t now_ms,
                             struct kndl_arena *arena, const char **ret_person,
                             struct kndl_error *err);

/* Ends a credential of that person. A repeat, or one that is not theirs, changes nothing. */
int store_revoke_credential(struct store *store, const uint8_t *hash, const char *person_id,
                            int64_t now_ms, struct kndl_error *err);

/* When the Repos were last listed; 0: never. */
int store_find_listing(struct store *store, struct kndl_arena *arena, int64_t *ret_at_ms,
                       struct kndl_error *err);

/* Puts a whole new listing in the place of the old one. */
int store_keep_listing(struct store *store, const struct listing *listing, int64_t now_ms,
                       struct kndl_error *err);

/* The accounts whose installation is suspended, by login. */
int store_list_suspended(struct store *store, struct kndl_arena *arena, const char ***ret_accounts,
                         size_t *ret_count, struct kndl_error *err);

/* Fail with KNDL_NOT_FOUND if it was never seen. One that is gone is found, not installed. */
int store_find_repo(struct store *store, int64_t id, struct kndl_arena *arena,
                    struct repo *ret_repo, struct kndl_error *err);
int store_find_repo_by_name(struct store *store, const char *name, struct kndl_arena *arena,
                            struct repo *ret_repo, struct kndl_error *err);

/* Those of the Repos that were ever seen, in no order, installed or not. */
int store_find_repos(struct store *store, const int64_t *ids, size_t count,
                     struct kndl_arena *arena, struct repo **ret_repos, size_t *ret_count,
                     struct kndl_error *err);

/* The installed ones by name, 5,000 at most. */
int store_list_repos(struct store *store, struct kndl_arena *arena, struct repo **ret_repos,
                     size_t *ret_count, struct kndl_error *err);
int store_rename_repo(struct store *store, int64_t id, const char *name, struct kndl_error *err);

/* ret_access has one element for each of repo_ids, in their order. */
int store_find_access(struct store *store, const char *person_id, const int64_t *repo_ids,
                      size_t count, struct kndl_arena *arena, struct access *ret_access,
                      struct kndl_error *err);
/* *ret_changed: GitHub said the contrary before. */
int store_keep_access(struct store *store, const char *person_id, int64_t repo_id, bool is_allowed,
                      int64_t now_ms, struct kndl_arena *arena, bool *ret_changed,
                      struct kndl_error *err);
int store_keep_try(struct store *store, const char *person_id, int64_t repo_id, int64_t now_ms,
                   struct kndl_error *err);

/* What of a person's access is to be asked again; a Repo of 0: nothing is. */
struct recheck {
    const char *person_id;
    int64_t repo_id;
};

/*
 * The access that was last confirmed before one time, last asked for before another, and whose
 * person was here since a third. It counts as asked for now.
 */
int store_claim_recheck(struct store *store, int64_t now_ms, int64_t checked_before_ms,
                        int64_t tried_before_ms, int64_t used_since_ms, struct kndl_arena *arena,
                        struct recheck *ret_recheck, struct kndl_error *err);
