#pragma once

/*
 * Credentials for a person who has proven to be one: sign-ins, and confirmations, which a CLI gets
 * for one purpose. How they proved it is not here.
 */

#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "kndl/arena.h"
#include "kndl/error.h"
#include "kndl/secret.h"
#include "store.h"

enum signin_kind { SIGNIN_WEB, SIGNIN_CLI, SIGNIN_CONFIRMED };

/* "web", "cli" or "confirmed", as the store says it. */
const char *signin_kind_name(enum signin_kind kind);

/*
 * A new credential for a person. Only its hash is kept; the caller owns *ret_token. `machine` is
 * what a CLI calls its host, "" for a browser.
 */
int signin_issue(struct store *store, const char *person_id, enum signin_kind kind,
                 const char *machine, struct kndl_secret *ret_token, int64_t *ret_expires_at_ms,
                 struct kndl_error *err);

/*
 * A confirmation for a CLI: ten minutes however much it is used, and no longer than the CLI's own.
 * Only its hash is kept; the caller owns *ret_token.
 */
int signin_confirm(struct store *store, const struct holder *cli, const char *purpose,
                   struct kndl_secret *ret_token, int64_t *ret_ends_at_ms, struct kndl_error *err);

/*
 * Whose credential this is, by its hash. Fails with KNDL_UNAUTHENTICATED, alike for all that is
 * none.
 */
int signin_find(struct store *store, const ProtobufCBinaryData *hash, enum signin_kind kind,
                struct kndl_arena *arena, struct holder *ret_holder, struct kndl_error *err);
