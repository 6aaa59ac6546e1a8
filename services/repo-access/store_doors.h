#pragma once

/*
 * How people come in, as rows: the Setup link, Invites, browsers that are at GitHub, machines that
 * wait for a yes. Secrets are looked up by their SHA-256. See store.h for threads and lifetimes.
 */

#include "store.h"

/*
 * Keeps a Setup link. *ret_is_kept is false, and nothing changed, if there is an Owner, or a link
 * that is still good and `anew` is not wanted.
 */
int store_offer_setup_link(struct store *store, const uint8_t hash[KNDL_HASH_BYTES], int64_t now_ms,
                           int64_t ends_at_ms, bool anew, struct kndl_arena *arena,
                           bool *ret_is_kept, struct kndl_error *err);

/* What somebody brings besides their GitHub account. */
struct admission {
    enum { ADMISSION_NONE, ADMISSION_SETUP_LINK, ADMISSION_INVITE } kind;
    uint8_t hash[KNDL_HASH_BYTES];
};

/*
 * Lets a GitHub account in: a Member; who brings the Setup link while there is no Owner (and is the
 * Owner then); who brings an Invite for their login. Uses up what let them in, in the same
 * transaction. Fails with KNDL_NOT_FOUND, alike for everybody else, having changed nothing.
 */
int store_let_in(struct store *store, const struct person *who, const struct admission *admission,
                 int64_t now_ms, struct kndl_arena *arena, struct person *ret_person,
                 struct kndl_error *err);

/* A browser goes to GitHub. KNDL_RESOURCE_EXHAUSTED: too many are there. */
int store_begin_sign_in(struct store *store, const uint8_t browser[KNDL_HASH_BYTES],
                        const char *return_to, int64_t ends_at_ms, struct kndl_arena *arena,
                        struct kndl_error *err);

/* It is back: once. KNDL_NOT_FOUND: it never went, came back before, or took too long. */
int store_take_sign_in(struct store *store, const uint8_t browser[KNDL_HASH_BYTES], int64_t now_ms,
                       struct kndl_arena *arena, const char **ret_return_to,
                       struct kndl_error *err);

/* A machine that waits for a yes. */
struct device {
    const char *machine;
    int64_t begun_at_ms;
    int64_t ends_at_ms;
    const char *cli_id;  /* the credential of a CLI that wants a confirmation; "" for a sign-in */
    const char *purpose; /* of a confirmation, else "" */
};

/* KNDL_RESOURCE_EXHAUSTED: too many wait. KNDL_ALREADY_EXISTS: another one has that code. */
int store_begin_device(struct store *store, const uint8_t device_hash[KNDL_HASH_BYTES],
                       const uint8_t code_hash[KNDL_HASH_BYTES], const struct device *device,
                       struct kndl_arena *arena, struct kndl_error *err);

/*
 * By the code that it shows; cli_id is left out. KNDL_NOT_FOUND: none, over, decided, or the CLI of
 * another person, who alone may decide about it.
 */
int store_find_device(struct store *store, const uint8_t code_hash[KNDL_HASH_BYTES],
                      const char *person_id, int64_t now_ms, struct kndl_arena *arena,
                      struct device *ret_device, struct kndl_error *err);

/* Once; KNDL_NOT_FOUND as above. */
int store_decide_device(struct store *store, const struct kndl_asked *asked,
                        const uint8_t code_hash[KNDL_HASH_BYTES], bool is_approved,
                        struct kndl_arena *arena, struct kndl_error *err);

/* What a decided one is taken as. */
struct decision {
    bool is_made;         /* false: nobody has decided yet, and nothing below means anything */
    struct person person; /* who said yes */
    const char *machine;
    const char *purpose;
};

/*
 * Takes a yes, once: the row is gone then. cli_id is the credential of the CLI that asks, "" for a
 * sign-in. KNDL_NOT_FOUND: refused, over, never there, begun by another, or whoever said yes is no
 * Member.
 */
int store_take_device(struct store *store, const uint8_t device_hash[KNDL_HASH_BYTES],
                      const char *cli_id, int64_t now_ms, struct kndl_arena *arena,
                      struct decision *ret_decision, struct kndl_error *err);

/* Deletes what is over. */
int store_tidy(struct store *store, int64_t now_ms, struct kndl_error *err);
