#pragma once

/* A bit for each byte of a text, in words of 64: what is masked of it, or what is kept. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MASK_WORD_BITS = 64 };

#define MASK_WORDS(size) (((size) + MASK_WORD_BITS - 1) / MASK_WORD_BITS)

static inline bool mask_has(const uint64_t *mask, size_t at)
{
    return mask[at / MASK_WORD_BITS] >> (at % MASK_WORD_BITS) & 1;
}

/* Sets the bits from `from` up to before `to`. */
static inline void mask_set(uint64_t *mask, size_t from, size_t to)
{
    size_t word = from / MASK_WORD_BITS;
    size_t last = to / MASK_WORD_BITS;
    uint64_t bits = ~UINT64_C(0) << (from % MASK_WORD_BITS);

    for (; word < last; word++, bits = ~UINT64_C(0))
        mask[word] |= bits;
    if (to % MASK_WORD_BITS != 0 && from < to)
        mask[word] |= bits & ~(~UINT64_C(0) << (to % MASK_WORD_BITS));
}

/* The first bit from `at` on that is `set`; `end` if there is none before. */
static inline size_t mask_find(const uint64_t *mask, bool set, size_t at, size_t end)
{
    uint64_t flip = set ? 0 : ~UINT64_C(0);
    uint64_t bits;

    if (at >= end)
        return end;
    bits = (mask[at / MASK_WORD_BITS] ^ flip) >> (at % MASK_WORD_BITS) << (at % MASK_WORD_BITS);
    for (size_t word = at / MASK_WORD_BITS;;) {
        if (bits != 0) {
            size_t found = word * MASK_WORD_BITS + (size_t)__builtin_ctzll(bits);
            return found < end ? found : end;
        }
        if (++word >= MASK_WORDS(end))
            return end;
        bits = mask[word] ^ flip;
    }
}
