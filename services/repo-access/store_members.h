#pragma once

/*
 * Members, Invites and departures, as rows. What the Owner alone may do takes the actor and fails
 * with KNDL_PERMISSION_DENIED, decided in the same transaction. See store.h for repeats, threads
 * and lifetimes.
 */

#include "store.h"

struct member {
    struct person person;
    int64_t since_ms;
};

struct invite {
    const char *id;
    const char *login;
    int64_t created_at_ms;
    int64_t ends_at_ms;
};

/* Was this request of that person's done already? */
int store_was_done(struct store *store, const char *person_id, const char *request_id,
                   struct kndl_arena *arena, bool *ret_was_done, struct kndl_error *err);

/* By login, 5,000 at most. */
int store_list_members(struct store *store, struct kndl_arena *arena, struct member **ret_members,
                       size_t *ret_count, struct kndl_error *err);

/* The Owner's: those that may still be used. */
int store_list_invites(struct store *store, const char *actor_id, int64_t now_ms,
                       struct kndl_arena *arena, struct invite **ret_invites, size_t *ret_count,
                       struct kndl_error *err);

/*
 * An Invite for a login, in the place of an older one. A repeat keeps the Invite and gives it this
 * hash. KNDL_ALREADY_EXISTS: a Member has that login. KNDL_ABORTED: a repeat of one that was used
 * or revoked meanwhile.
 */
int store_invite(struct store *store, const struct kndl_asked *asked, const char *new_id,
                 const char *login, const uint8_t hash[KNDL_HASH_BYTES], int64_t ends_at_ms,
                 struct kndl_arena *arena, struct invite *ret_invite, struct kndl_error *err);

/* One that is over changes nothing. */
int store_revoke_invite(struct store *store, const struct kndl_asked *asked, const char *invite_id,
                        struct kndl_arena *arena, struct kndl_error *err);

/*
 * The Member is none any more: credentials and Invites end, sessions and secrets must hear of it.
 * KNDL_NOT_FOUND: no such person; KNDL_ABORTED: the Owner.
 */
int store_remove_member(struct store *store, const struct kndl_asked *asked, const char *person_id,
                        const char *removal_id, struct kndl_arena *arena, struct kndl_error *err);

/* KNDL_NOT_FOUND: no such Member. */
int store_hand_over(struct store *store, const struct kndl_asked *asked, const char *person_id,
                    struct kndl_arena *arena, struct kndl_error *err);

/* What a service has to hear. */
struct departure {
    const char *person_id;
    const char *service; /* "sessions" or "secrets" */
    const char *removal_id;
    bool is_second;
};

/* The one that is due; *ret_departure is NULL if none is. It is due again after a growing pause. */
int store_claim_departure(struct store *store, int64_t now_ms, struct kndl_arena *arena,
                          const struct departure **ret_departure, struct kndl_error *err);

/* It was heard: the first time it is said again at `again_at_ms`, the second time it is over. */
int store_finish_departure(struct store *store, const struct departure *departure,
                           int64_t again_at_ms, struct kndl_error *err);
