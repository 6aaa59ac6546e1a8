#pragma once

/*
 * Filters: small tables that say "no form is here" for nearly all of a text, a few bytes at a
 * time, so that the automaton runs only where something may be.
 *
 * Long forms (15 bytes or more) have their 4-byte pieces at offsets 0 to 11 in a table: wherever
 * such a form stands in a text, one of the text's bytes 0, 12, 24 … is the beginning of one of
 * these pieces. Middle ones (7 to 14) have those at offsets 0 to 3, for every 4th byte of the
 * text; short ones (4 to 6) their first 4 bytes, for every byte. A table is hashed, two bits a
 * piece in one word, so it may say "maybe" wrongly but never "no".
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "forms.h"

enum {
    PIECE_BYTES = 4,
    LONG_BYTES = 15, /* of a form, at least */
    LONG_STRIDE = LONG_BYTES - PIECE_BYTES + 1,
    MIDDLE_BYTES = 7,
    MIDDLE_STRIDE = MIDDLE_BYTES - PIECE_BYTES + 1,
};

#define FILTER_MULTIPLIER UINT32_C(0x9e3779b1)

struct filter {
    uint32_t *words;
    uint32_t mask; /* number of words less 1: a power of two less 1 */
    size_t pieces; /* 0: no form is of this kind */
};

struct filters {
    struct filter long4; /* see above */
    struct filter middle4;
    struct filter short4;
    struct filter any4;    /* all 4-byte pieces of all forms */
    struct filter early4;  /* the 4-byte pieces of all forms at offsets 0 to 2 */
    struct filter any3;    /* the three bytes wherever they stand in a form */
    const uint64_t *pairs; /* the automaton's: a bit for each two bytes, they begin a form */
    bool run_is_dead;      /* nothing goes on in a long run of backslashes: no form begins with one,
                              or has more than RUN_BYTES of them in a row */
    uint64_t first[4];     /* a bit for each byte: it begins a form */
    uint64_t before_backslash[4]; /* the same: a backslash follows it in a form, or begins one */
};

enum { RUN_BYTES = 8 };

static inline int filters_begin(const struct filters *filters, uint8_t byte)
{
    return filters->first[byte / 64] >> (byte % 64) & 1;
}

/* May a backslash behind this byte be one of a form? */
static inline int filters_backslash_follows(const struct filters *filters, uint8_t byte)
{
    return filters->before_backslash[byte / 64] >> (byte % 64) & 1;
}

static inline int filters_have_pair(const struct filters *filters, uint8_t first, uint8_t second)
{
    unsigned pair = (unsigned)first << 8 | second;

    return filters->pairs[pair / 64] >> (pair % 64) & 1;
}

size_t filters_bytes(const struct forms *forms);
void filters_make(struct filters *filters, const struct forms *forms, const uint64_t *pairs,
                  void *memory);

static inline uint32_t filter_load4(const uint8_t *at)
{
    uint32_t piece;

    memcpy(&piece, at, 4);
    return piece;
}

/* Three bytes, the first one lowest. */
static inline uint32_t filter_load3(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16;
}

static inline uint32_t filter_hash(uint32_t piece)
{
    uint32_t hash = piece * FILTER_MULTIPLIER;

    return hash ^ hash >> 16;
}

/* The two bits of a piece in its word. */
static inline uint32_t filter_bits(uint32_t hash)
{
    return UINT32_C(1) << (hash & 31) | UINT32_C(1) << (hash >> 5 & 31);
}

static inline int filter_has(const struct filter *filter, uint32_t piece)
{
    uint32_t hash = filter_hash(piece);
    uint32_t bits = filter_bits(hash);

    return (filter->words[hash >> 10 & filter->mask] & bits) == bits;
}
