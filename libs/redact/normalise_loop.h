#pragma once

/*
 * The loop that all versions of the normaliser share, over words of 64 bytes. Each version says
 * how to classify a word and how to store what is kept of it.
 */

#include <stdint.h>
#include <string.h>

#include "normalise.h"

/* One bit for each of 64 bytes. */
struct word_classes {
    uint64_t control;    /* skipped: C0 except TAB, and DEL; ESC too */
    uint64_t escape;     /* ESC */
    uint64_t bracket;    /* `[` */
    uint64_t parameters; /* 0x20 to 0x3f */
    uint64_t final;      /* 0x40 to 0x7e */
    uint64_t c2;         /* 0xC2 */
    uint64_t signs;      /* backslash and `%`: a lane may begin there */
};

/* What goes on from one word to the next. */
enum carried {
    CARRIED_NOTHING,
    CARRIED_BRACKET,    /* ESC was the last byte, `[` is the next */
    CARRIED_PARAMETERS, /* inside a sequence's parameters */
};

static inline int lowest_bit(uint64_t bits)
{
    return __builtin_ctzll(bits);
}

/* The first 0xC2 that may be a C1 control, as an index in raw; `size` if there is none. */
static inline size_t find_c1(const uint8_t *raw, size_t size, size_t at, uint64_t c2)
{
    for (; c2 != 0; c2 &= c2 - 1) {
        size_t next = at + (size_t)lowest_bit(c2) + 1;
        if (next >= size || (raw[next] & 0xe0) == 0x80)
            return next - 1;
    }
    return size;
}

struct normalising {
    struct block *block;
    const uint8_t *raw;
    size_t size;
    size_t opened; /* where the sequence that is open began */
    enum carried carried;
    enum escape_state state; /* after the last byte */
    size_t cut;              /* before something rare; else `size` */
};

/* Which bytes of a word at `at` are text. `valid` has a bit for each byte that there is. */
static inline __attribute__((always_inline)) uint64_t
keep_of_word(struct normalising *n, size_t at, const struct word_classes *word, uint64_t valid)
{
    uint64_t last = valid & ~(valid >> 1);
    uint64_t begun = 0; /* bit 0: a sequence that began before this word */
    uint64_t starts = 0;

    n->state = ESCAPE_GROUND;
    if (__builtin_expect((word->escape | word->c2) == 0 && n->carried == CARRIED_NOTHING, 1))
        return valid & ~word->control;

    uint64_t escape = word->escape & valid;
    uint64_t sequences = escape & (word->bracket >> 1) & (valid >> 1);
    uint64_t rare = escape & ~sequences & ~last;
    uint64_t parameters_at = sequences << 2;
    if (n->carried != CARRIED_NOTHING) {
        begun = 1;
        starts = n->carried == CARRIED_BRACKET ? 2 : 1;
    }
    n->carried = CARRIED_NOTHING;
    if (escape & last) {
        size_t next = at + 64;
        if (valid != ~UINT64_C(0) || next >= n->size) {
            n->state = ESCAPE_ESC;
            sequences |= last;
        } else if (n->raw[next] == '[') {
            n->carried = CARRIED_BRACKET;
            sequences |= last;
        } else {
            rare |= last;
        }
    }
    if (sequences & (UINT64_C(1) << 62) & (valid >> 1))
        n->carried = CARRIED_PARAMETERS;

    uint64_t sum;
    starts |= parameters_at;
    if (__builtin_add_overflow(starts, word->parameters, &sum))
        n->carried = CARRIED_PARAMETERS;
    uint64_t ends = sum & ~word->parameters;
    uint64_t broken = ends & valid & ~word->final;
    uint64_t dropped = (ends << 1) - (sequences | begun);

    if (ends & ~valid || (n->carried == CARRIED_PARAMETERS && at + 64 >= n->size))
        n->state = ESCAPE_CSI;
    if (broken != 0) {
        uint64_t before = sequences & (((broken & -broken)) - 1);
        size_t began = before != 0 ? at + 63 - (size_t)__builtin_clzll(before) : n->opened;
        if (began < n->cut)
            n->cut = began;
    }
    if (rare != 0 && at + (size_t)lowest_bit(rare) < n->cut)
        n->cut = at + (size_t)lowest_bit(rare);
    if (word->c2 & valid) {
        size_t c1 = find_c1(n->raw, n->size, at, word->c2 & valid);
        if (c1 < n->cut)
            n->cut = c1;
    }
    if (sequences != 0)
        n->opened = at + 63 - (size_t)__builtin_clzll(sequences);
    return valid & ~(word->control | dropped);
}

/* Begins; false if nothing can be taken. */
static inline int begin_normalising(struct normalising *n, struct block *block, const uint8_t *raw,
                                    size_t size, enum escape_state state)
{
    size = size < BLOCK_BYTES ? size : BLOCK_BYTES;
    *n = (struct normalising){.block = block, .raw = raw, .size = size, .cut = size};
    block->text = block->space + BLOCK_HEAD_BYTES;
    block->raw_size = 0;
    block->text_size = 0;
    if (size == 0 || (state == ESCAPE_ESC && raw[0] != '['))
        return 0;
    if (state == ESCAPE_ESC)
        n->carried = CARRIED_BRACKET;
    if (state == ESCAPE_CSI)
        n->carried = CARRIED_PARAMETERS;
    return 1;
}

/* Notes one word's text; returns what of it is kept, up to the cut. */
static inline uint64_t note_word(struct normalising *n, size_t at, uint64_t keep, uint64_t signs)
{
    if (__builtin_expect(n->cut < at + 64 && n->cut < n->size, 0))
        keep &= n->cut <= at ? 0 : ~UINT64_C(0) >> (64 - (n->cut - at));
    n->block->keep[at / 64] = keep;
    n->block->signs[at / 64] = keep & signs;
    n->block->starts[at / 64] = (uint32_t)n->block->text_size;
    return keep;
}

/* Of a word that is not whole, a copy that is. */
static inline const uint8_t *whole_word(const struct normalising *n, size_t at, uint8_t *copy,
                                        uint64_t *ret_valid)
{
    size_t left = n->size - at;

    *ret_valid = ~UINT64_C(0);
    if (left >= 64)
        return n->raw + at;
    *ret_valid = (UINT64_C(1) << left) - 1;
    memset(copy, 'a', 64);
    memcpy(copy, n->raw + at, left);
    return copy;
}

static inline void end_normalising(struct normalising *n, enum escape_state *state)
{
    n->block->raw_size = n->cut;
    if (n->cut == n->size)
        *state = n->state;
    else if (n->cut > 0)
        *state = ESCAPE_GROUND;
}

/* CLASSIFY(bytes) makes struct word_classes; STORE(bytes, keep, to) writes the kept bytes. */
#define NORMALISE_LOOP(CLASSIFY, STORE)                                                            \
    struct normalising n;                                                                          \
    uint8_t copy[64] __attribute__((uninitialized, aligned(64)));                                  \
                                                                                                   \
    if (!begin_normalising(&n, block, raw, size, *state))                                          \
        return;                                                                                    \
    for (size_t at = 0; at < n.size && n.cut == n.size; at += 64) {                                \
        uint64_t valid;                                                                            \
        const uint8_t *bytes = whole_word(&n, at, copy, &valid);                                   \
        struct word_classes word = CLASSIFY(bytes);                                                \
        uint64_t keep = note_word(&n, at, keep_of_word(&n, at, &word, valid), word.signs);         \
        STORE(bytes, keep, block->text + block->text_size);                                        \
        block->text_size += (size_t)__builtin_popcountll(keep);                                    \
    }                                                                                              \
    end_normalising(&n, state);
