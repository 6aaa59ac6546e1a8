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
    uint64_t control; /* skipped: C0 except TAB, and DEL; ESC too */
    uint64_t escape;  /* ESC */
    uint64_t c2;      /* 0xC2 */
    uint64_t signs;   /* backslash and `%`: a lane may begin there ... */
    uint64_t letters; /* ... if one of these follows */
};

/* The same, of what sequences are made of. */
struct sequence_classes {
    uint64_t bracket;    /* `[` */
    uint64_t parameters; /* 0x20 to 0x3f */
    uint64_t final;      /* 0x40 to 0x7e */
};

/* What goes on from one word to the next. */
enum carried {
    CARRIED_NOTHING = 0,
    CARRIED_PARAMETERS = 1, /* inside a sequence's parameters, which go on at bit 0 */
    CARRIED_BRACKET = 2,    /* ESC was the last byte, `[` is the next: they begin at bit 1 */
    CARRIED_STRING = 4,     /* inside a string, whose payload is the text */
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
    uint64_t carried;        /* enum carried */
    enum escape_state state; /* after the last byte */
    size_t cut;              /* before something that is not taken; else `size` */
    size_t behind;           /* the last sequence that sequence.c took, which is no text */
};

/* sequence.c: of the sequences that are no CSI and begin at these bits of the word at `at`, takes
 * those that it can and cuts before the others. Returns what of the text is not theirs. */
uint64_t skip_sequences(struct normalising *n, size_t at, uint64_t begins, uint64_t text);

/* sequence.c: the same where its ESC was the last byte before; false if it can't be taken. */
bool skip_first_sequence(struct normalising *n);

/* Cuts before the sequence that is broken at the lowest of these bits. */
static inline void cut_broken(struct normalising *n, size_t at, uint64_t broken)
{
    size_t began = at + (size_t)lowest_bit(broken);

    while (began > 0 && n->raw[began - 1] != 0x1b)
        began--;
    began -= began > 0;
    if (began < n->cut)
        n->cut = began;
}

static inline void cut_word(struct normalising *n, size_t at, uint64_t broken, uint64_t c2)
{
    if (broken != 0)
        cut_broken(n, at, broken);
    if (c2 != 0) {
        size_t c1 = find_c1(n->raw, n->size, at, c2);
        if (c1 < n->cut)
            n->cut = c1;
    }
}

/* What is odd in a word: cuts before it or passes over it. Returns what is text still. */
static __attribute__((noinline, cold)) uint64_t read_odd_word(struct normalising *n, size_t at,
                                                              uint64_t text, uint64_t rare,
                                                              uint64_t broken, uint64_t c2)
{
    cut_word(n, at, broken, c2);
    return skip_sequences(n, at, rare, text);
}

/* Of the text of a word, what is in no rare sequence. A copy of all that the loop knows is lent, so
 * that the loop's own stays in registers. */
static inline __attribute__((always_inline)) uint64_t text_apart(struct normalising *n, size_t at,
                                                                 uint64_t text, uint64_t rare,
                                                                 uint64_t broken, uint64_t c2)
{
    if (__builtin_expect(n->behind > at, 0))
        text &= n->behind - at < 64 ? ~UINT64_C(0) << (n->behind - at) : 0;
    if (__builtin_expect((rare | broken | c2) != 0, 0)) {
        struct normalising lent = *n;
        text = read_odd_word(&lent, at, text, rare, broken, c2);
        n->cut = lent.cut;
        n->behind = lent.behind;
    }
    return text;
}

/* Which bytes of a word are text that has another word behind it. No branch but for what is rare:
 * where sequences end is as good as random. */
static inline __attribute__((always_inline)) uint64_t
keep_of_inner_word(struct normalising *n, size_t at, const struct word_classes *word,
                   const struct sequence_classes *in)
{
    uint64_t next = (uint64_t)(n->raw[at + 64] == '[') << 63;
    uint64_t sequences = word->escape & (in->bracket >> 1 | next);
    uint64_t rare = word->escape & ~sequences;
    uint64_t begun = n->carried != 0; /* a sequence that began before this word is open */
    uint64_t sum;
    uint64_t over = __builtin_add_overflow(sequences << 2 | n->carried, in->parameters, &sum);
    uint64_t ends = sum & ~in->parameters;
    uint64_t broken = ends & ~in->final;

    n->carried = over | (sequences >> 62 & 1) | (sequences >> 63) << 1;
    return text_apart(n, at, ~(word->control | ((ends << 1) - (sequences | begun))), rare, broken,
                      word->c2);
}

/* The last word of a block: where its text ends, a sequence may be cut. */
struct last_word {
    uint64_t keep;           /* bytes of text */
    uint64_t rare;           /* sequences of another kind begin, ... */
    uint64_t broken;         /* ... or are broken here */
    enum escape_state state; /* behind it, if nothing is broken */
};

_Static_assert(ESCAPE_GROUND == 0, "the state behind is told without a branch");

static inline __attribute__((always_inline)) struct last_word
read_last_word(const struct word_classes *word, const struct sequence_classes *in, uint64_t valid,
               uint64_t carried)
{
    uint64_t last = valid & ~(valid >> 1);
    uint64_t escape = word->escape & valid;
    uint64_t sequences = escape & (in->bracket >> 1) & (valid >> 1);
    uint64_t begun = carried != 0;
    uint64_t sum;
    uint64_t over = __builtin_add_overflow(sequences << 2 | carried, in->parameters, &sum);
    uint64_t ends = sum & ~in->parameters;
    uint64_t is_cut = over | (ends & ~valid) | (sequences >> 62 & 1);
    uint64_t cut_begins = escape & last;

    return (struct last_word){
        .keep = valid & ~(word->control | ((ends << 1) - (sequences | cut_begins | begun))),
        .rare = escape & ~sequences & ~last,
        .broken = ends & valid & ~in->final,
        .state = (enum escape_state)((is_cut != 0) * ESCAPE_CSI | (cut_begins != 0) * ESCAPE_ESC),
    };
}

static inline __attribute__((always_inline)) uint64_t
keep_of_last_word(struct normalising *n, size_t at, const struct word_classes *word,
                  const struct sequence_classes *in, uint64_t valid)
{
    struct last_word last = read_last_word(word, in, valid, n->carried);
    uint64_t c2 = word->c2 & valid;

    n->state = last.state;
    return text_apart(n, at, last.keep, last.rare, last.broken, c2);
}

/* Where the text of a string that is open ends, in a word with these controls. */
static inline size_t find_string_end(const uint8_t *raw, size_t at, uint64_t controls, size_t none)
{
    for (; controls != 0; controls &= controls - 1) {
        size_t place = at + (size_t)lowest_bit(controls);
        if (escape_ends_string(raw[place]))
            return place;
    }
    return none;
}

/* Inside a string: cuts before it ends. */
static inline __attribute__((always_inline)) uint64_t
keep_of_payload(struct normalising *n, size_t at, const struct word_classes *word, uint64_t valid)
{
    n->cut = find_string_end(n->raw, at, word->control & valid, n->cut);
    return text_apart(n, at, valid & ~word->control, 0, 0, word->c2 & valid);
}

static inline __attribute__((always_inline)) uint64_t
keep_of_word(struct normalising *n, size_t at, const struct word_classes *word,
             const struct sequence_classes *in, uint64_t valid)
{
    if (__builtin_expect(n->carried == CARRIED_STRING, 0))
        return keep_of_payload(n, at, word, valid);
    return at + 64 < n->size ? keep_of_inner_word(n, at, word, in)
                             : keep_of_last_word(n, at, word, in, valid);
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
    block->sign_count = 0;
    block->payload_count = 0;
    block->copied = 0;
    memset(block->text - 8, 0, 8);
    if (size == 0)
        return 0;
    if (state == ESCAPE_ESC || state == ESCAPE_STRING_ESC) {
        n->carried = raw[0] == '[' ? CARRIED_BRACKET : CARRIED_NOTHING;
        if (raw[0] != '[') {
            struct normalising lent = *n;
            if (!skip_first_sequence(&lent))
                return 0;
            n->behind = lent.behind;
        }
        return 1;
    }
    if (state == ESCAPE_CSI)
        n->carried = CARRIED_PARAMETERS;
    if (state == ESCAPE_STRING)
        n->carried = CARRIED_STRING;
    return 1;
}

/* Notes one word's text, which begins at text[start]; returns what of it is kept, up to the cut. */
static inline uint64_t note_word(struct normalising *n, size_t at, uint64_t keep, size_t start)
{
    if (__builtin_expect(n->cut < at + 64 && n->cut < n->size, 0))
        keep &= n->cut <= at ? 0 : ~UINT64_C(0) >> (64 - (n->cut - at));
    n->block->keep[at / 64] = keep;
    n->block->starts[at / 64] = (uint32_t)start;
    return keep;
}

/* Which bytes of the word at `at` are there. */
static inline uint64_t valid_of_word(const struct normalising *n, size_t at)
{
    size_t left = n->size - at;

    return left >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << left) - 1;
}

/* Of a word that is not whole, a copy that is. */
static inline const uint8_t *whole_word(const uint8_t *raw, uint64_t valid, uint8_t *copy)
{
    if (valid == ~UINT64_C(0))
        return raw;
    memset(copy, 'a', 64);
    memcpy(copy, raw, (size_t)__builtin_popcountll(valid));
    return copy;
}

static inline __attribute__((unused)) void copy_word(const uint8_t *bytes, uint8_t *to)
{
    memcpy(to, bytes, 64);
}

static inline void end_normalising(struct normalising *n, size_t text_size,
                                   enum escape_state *state)
{
    n->block->text_size = text_size;
    n->block->raw_size = n->cut;
    if (*state == ESCAPE_STRING)
        return;
    if (n->cut == n->size)
        *state = n->state;
    else if (n->cut > 0)
        *state = ESCAPE_GROUND;
}

/* Output arrives from other memory than the cache's; asking early never faults. */
enum { PREFETCH_BYTES = 4096 };

/* The signs that are text and that an escape's letter may follow: behind the word, and behind what
 * is no text, that isn't known. */
static inline uint64_t signs_of_word(const struct word_classes *word, uint64_t keep)
{
    return word->signs & keep & ((word->letters | ~keep) >> 1 | UINT64_C(1) << 63);
}

/* The places in the text of the signs of one word, of which `keep` is text from `start` on.
 * Returns how many they are. */
static inline size_t note_signs(uint16_t *places, uint64_t keep, uint64_t signs, size_t start)
{
    size_t count = 0;

    for (; signs != 0; signs &= signs - 1) {
        uint64_t before = keep & ((signs & -signs) - 1);
        places[count++] = (uint16_t)(start + (size_t)__builtin_popcountll(before));
    }
    return count;
}

/*
 * A word is a BYTES: LOAD(raw, valid, copy) makes it, with anything for what is not valid.
 * CLASSIFY(bytes) and FIND_SEQUENCES(bytes) say what is in it; STORE(bytes, keep, to) writes the
 * kept bytes, COPY(bytes, to) all of them; NOTE_SIGNS is note_signs() or does the same. No branch
 * but for what is rare.
 */
#define NORMALISE_LOOP(BYTES, LOAD, CLASSIFY, FIND_SEQUENCES, STORE, COPY, NOTE_SIGNS)             \
    struct normalising n;                                                                          \
    uint8_t copy[64] __attribute__((uninitialized, aligned(64)));                                  \
    size_t text_size = 0; /* in a register, for all else depends on it */                          \
    size_t sign_count = 0;                                                                         \
                                                                                                   \
    if (!begin_normalising(&n, block, raw, size, *state))                                          \
        return;                                                                                    \
    uint8_t *const text = block->text;                                                             \
    uint8_t *const out = block->out;                                                               \
    size_t at = 0;                                                                                 \
    for (; at < n.size && n.cut == n.size; at += 64) {                                             \
        uint64_t valid = valid_of_word(&n, at);                                                    \
        __builtin_prefetch(raw + at + PREFETCH_BYTES);                                             \
        BYTES bytes = LOAD(raw + at, valid, copy);                                                 \
        struct word_classes word = CLASSIFY(bytes);                                                \
        uint64_t keep = valid & ~word.control;                                                     \
        if (__builtin_expect((word.escape | word.c2 | n.carried) != 0 || n.behind > at, 0)) {      \
            struct sequence_classes in = FIND_SEQUENCES(bytes);                                    \
            keep = keep_of_word(&n, at, &word, &in, valid);                                        \
        }                                                                                          \
        keep = note_word(&n, at, keep, text_size);                                                 \
        uint64_t signs = signs_of_word(&word, keep);                                               \
        if (signs != 0 || at + 64 < n.size) /* of many words, no branch is foreseen */             \
            sign_count += NOTE_SIGNS(block->signs + sign_count, keep, signs, text_size);           \
        STORE(bytes, keep, text + text_size);                                                      \
        COPY(bytes, out + at);                                                                     \
        text_size += (size_t)__builtin_popcountll(keep);                                           \
    }                                                                                              \
    block->copied = at;                                                                            \
    block->sign_count = sign_count;                                                                \
    end_normalising(&n, text_size, state);                                                         \
    (void)copy;
