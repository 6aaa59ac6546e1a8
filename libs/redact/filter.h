#pragma once

/*
 * Filters: small tables that say "no form is here" for nearly all of a text, a few bytes at a
 * time, so that the automaton runs only where something may be.
 *
 * Long forms (15 bytes or more) have their 8-byte pieces at offsets 0 to 7 in a table: wherever
 * such a form stands in a text, one of the text's bytes 0, 8, 16 … is the beginning of one of
 * these pieces. Middle ones (7 to 14) have 4-byte pieces at offsets 0 to 3, for every 4th byte of
 * the text; short ones (4 to 6) their first 4 bytes, for every byte. A table is hashed, two bits a
 * piece in one word, so it may say "maybe" wrongly but never "no".
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "forms.h"

enum {
    LONG_BYTES = 15, /* of a form, at least */
    LONG_STRIDE = 8,
    MIDDLE_BYTES = 7,
    MIDDLE_STRIDE = 4,
};

#define FILTER_MULTIPLIER_LOW UINT64_C(0x9e3779b1)
#define FILTER_MULTIPLIER_HIGH UINT64_C(0x85ebca77)

struct filter {
    uint64_t *words;
    uint64_t mask; /* number of words less 1: a power of two less 1 */
    size_t pieces; /* 0: no form is of this kind */
};

struct filters {
    struct filter long8; /* see above */
    struct filter middle4;
    struct filter short4;
    struct filter any4;   /* all 4-byte pieces of all forms */
    struct filter early4; /* the 4-byte pieces of all forms at offsets 0 to 2 */
    uint64_t *pairs;      /* a bit for each two bytes: they begin a form */
    uint64_t *any2;       /* the same: they are in a form */
    uint64_t first[4];    /* a bit for each byte: it begins a form */
};

enum { PAIRS_BYTES = 65536 / 8 };

static inline int filters_have_pair(const struct filters *filters, uint8_t first, uint8_t second)
{
    unsigned pair = (unsigned)first << 8 | second;

    return filters->pairs[pair / 64] >> (pair % 64) & 1;
}

size_t filters_bytes(const struct forms *forms);
void filters_make(struct filters *filters, const struct forms *forms, void *memory);

static inline uint64_t filter_load8(const uint8_t *at)
{
    uint64_t piece;

    memcpy(&piece, at, 8);
    return piece;
}

static inline uint32_t filter_load4(const uint8_t *at)
{
    uint32_t piece;

    memcpy(&piece, at, 4);
    return piece;
}

/* Two multiplications of 32 bits, which vectors have too, and a fold. */
static inline uint64_t filter_hash(uint64_t piece)
{
    uint64_t hash = (piece & UINT32_MAX) * FILTER_MULTIPLIER_LOW;

    hash += (piece >> 32) * FILTER_MULTIPLIER_HIGH;
    return hash ^ hash >> 29;
}

/* The two bits of a piece in its word. */
static inline uint64_t filter_bits(uint64_t hash)
{
    return UINT64_C(1) << (hash & 63) | UINT64_C(1) << (hash >> 6 & 63);
}

static inline int filter_has(const struct filter *filter, uint64_t piece)
{
    uint64_t hash = filter_hash(piece);
    uint64_t bits = filter_bits(hash);

    return (filter->words[hash >> 12 & filter->mask] & bits) == bits;
}
