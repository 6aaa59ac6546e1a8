#pragma once

/* Sign-ins: a credential for a person who has proven to be one. How they proved it is not here. */

#include <stdint.h>

#include "kndl/arena.h"
#include "kndl/error.h"
#include "kndl/secret.h"
#include "store.h"

enum signin_kind { SIGNIN_WEB, SIGNIN_CLI };

/* "web" or "cli", as the store says it. */
const char *signin_kind_name(enum signin_kind kind);

/*
 * A new credential for a person. Only its hash is kept; the caller owns *ret_token. `machine` is
 * what a CLI calls its host, "" for a browser.
 */
int signin_issue(struct store *store, const char *person_id, enum signin_kind kind,
                 const char *machine, struct kndl_secret *ret_token, int64_t *ret_expires_at_ms,
                 struct kndl_error *err);

/* Whose credential this is. Fails with KNDL_UNAUTHENTICATED, alike for all that is none. */
int signin_find(struct store *store, struct kndl_slice hash, enum signin_kind kind,
                struct kndl_arena *arena, struct person *ret_person, struct kndl_error *err);
