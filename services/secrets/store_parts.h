#pragma once

/* The inside of a store, for store.c (tokens) and store_masks.c. */

#include "kndl/db.h"
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
    const char *request_id;
};

/* Reads a row; all zero if there is none. */
int read_token_row(struct store *store, const char *statement, const char *person_id,
                   struct kndl_arena *arena, struct token_row *ret_row, struct kndl_error *err);

/* The plain value of a row that has one, in the arena. */
int open_token(struct store *store, const char *person_id, const struct token_row *row,
               struct kndl_arena *arena, const char **ret_token, struct kndl_error *err);

/* Opens a sealed column into the arena. */
int open_value(struct store *store, const struct kndl_place *place, struct kndl_slice sealed,
               struct kndl_arena *arena, const char **ret_value, struct kndl_error *err);
