#pragma once

/*
 * NATS identities: nkeys (ed25519, base32 with a CRC) and the JWTs of operator, accounts and
 * users, minted with libsodium. Proven against nats-server 2.9.10.
 */

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

/* What a user may do; lists end with NULL. */
struct kndl_user_claims {
    const char *name;
    const char *user_public;    /* whom it is for */
    const char *issuer_account; /* NULL: the signer is the account itself */
    const char *const *publish;
    const char *const *subscribe;
    int responses;         /* 0: may not answer; else at most so many, for 60 s */
    int64_t expires_at_ms; /* 0: never */
};

/* Appends the signed JWT. `claims_json` for operator and account is made by the two below. */
void kndl_jwt_user(const struct kndl_nkey *signer, const struct kndl_user_claims *claims,
                   struct kndl_buf *out);
void kndl_jwt_operator(const struct kndl_nkey *operator_key, const char *name,
                       const char *system_account, struct kndl_buf *out);
void kndl_jwt_account(const struct kndl_nkey *operator_key, const char *account_public,
                      const char *name, const char *const *signing_keys, struct kndl_buf *out);

/* A .creds file's text: the JWT and the seed in NATS's frame. */
void kndl_nkey_creds(const char *jwt, const struct kndl_nkey *user, struct kndl_secret *ret_creds);
