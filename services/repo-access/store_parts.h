#pragma once

/* What the parts of the store share. */

#include "kndl/db.h"
#include "kndl/token.h"
#include "store.h"

struct store {
    struct kndl_db *db;
};

/* id, GitHub id, login, name, is the Owner, is a Member: the first columns of a row. */
struct person store_person_of(const struct kndl_rows *rows, size_t row);

static inline struct kndl_param store_hash(const uint8_t hash[KNDL_HASH_BYTES])
{
    return kndl_db_bytes(kndl_slice(hash, KNDL_HASH_BYTES));
}

/* Is this the row that was meant? Looked up by its hash, and compared once more. */
static inline bool store_is_hash(const struct kndl_rows *rows, unsigned column,
                                 const uint8_t hash[KNDL_HASH_BYTES])
{
    struct kndl_slice kept = kndl_row_bytes(rows, 0, column);

    return kept.size == KNDL_HASH_BYTES && kndl_hash_equal(kept.data, hash);
}
