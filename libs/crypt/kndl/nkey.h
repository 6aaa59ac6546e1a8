#pragma once

/*
 * NATS identities: nkeys (ed25519, base32 with a CRC) and the JWTs of operator, accounts and
 * users, minted with libsodium. Proven against nats-server 2.9.10.
 */

#include <stdbool.h>
#include <stdint.h>

#include "kndl/buf.h"
#include "kndl/error.h"
#include "kndl/secret.h"

enum kndl_nkey_kind {
    KNDL_NKEY_OPERATOR, /* SO… / O… */
    KNDL_NKEY_ACCOUNT,  /* SA… / A… */
    KNDL_NKEY_USER,     /* SU… / U… */
};

enum { KNDL_NKEY_PUBLIC_SIZE = 57 }; /* 56 characters and a NUL */

struct kndl_nkey {
    enum kndl_nkey_kind kind;
    struct kndl_secret seed; /* the text form, SU… */
    char public[KNDL_NKEY_PUBLIC_SIZE];
};

void kndl_nkey_new(enum kndl_nkey_kind kind, struct kndl_nkey *ret_key);
int kndl_nkey_from_seed(struct kndl_slice seed, struct kndl_nkey *ret_key, struct kndl_error *err);
void kndl_nkey_done(struct kndl_nkey *key);

/* Is this the public form of a key of that kind, whole and with its checksum? */
bool kndl_nkey_is_public(enum kndl_nkey_kind kind, struct kndl_slice text);

enum { KNDL_NKEY_SIGNATURE_BYTES = 64 };

/* Signs what NATS asks to have signed. From any thread that alone uses the key at the moment. */
void kndl_nkey_sign(const struct kndl_nkey *key, struct kndl_slice bytes,
                    uint8_t ret_signature[KNDL_NKEY_SIGNATURE_BYTES]);

/* What a user may do; lists end with NULL. */
struct kndl_user_claims {
    const char *name;           /* of a Runner: its id, which the scope's template puts in */
    const char *user_public;    /* whom it is for */
    const char *issuer_account; /* NULL: the signer is the account itself */
    const char *const *publish; /* NULL: what the signer's scope says, and nothing of one's own */
    const char *const *subscribe;
    int responses;         /* 0: may not answer; else at most so many, for 60 s */
    int64_t expires_at_ms; /* 0: never */
};

/*
 * A signing key of an account. With lists it is scoped: whatever it signs has exactly these
 * permissions, where {{name()}} stands for the name in the user's claims.
 */
struct kndl_scope {
    const char *signing_key; /* public, A…; NULL ends a list */
    const char *role;
    const char *const *publish; /* NULL: not scoped, it signs whatever it likes */
    const char *const *subscribe;
    int responses;
};

/* Append the signed JWT. Names are ours: letters, digits, - and _; another aborts, since a scoped
 * Runner named `*` would have every Runner's subjects. */
void kndl_jwt_user(const struct kndl_nkey *signer, const struct kndl_user_claims *claims,
                   struct kndl_buf *out);
void kndl_jwt_operator(const struct kndl_nkey *operator_key, const char *name,
                       const char *system_account, struct kndl_buf *out);
/* `scopes` may be NULL: users are signed by the account's own key alone. */
void kndl_jwt_account(const struct kndl_nkey *operator_key, const char *account_public,
                      const char *name, const struct kndl_scope *scopes, struct kndl_buf *out);

/* A .creds file's text: the JWT and the seed in NATS's frame. */
void kndl_nkey_creds(const char *jwt, const struct kndl_nkey *user, struct kndl_secret *ret_creds);
