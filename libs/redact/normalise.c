/* The plain version of the normaliser, and which version runs. */

#include "normalise.h"

#include "normalise_loop.h"

static struct word_classes classify(const uint8_t *bytes)
{
    struct word_classes word = {.letters = ~UINT64_C(0)};

    for (int i = 0; i < 64; i++) {
        uint8_t byte = bytes[i];
        word.control |= (uint64_t)((byte < 0x20 && byte != '\t') || byte == 0x7f) << i;
        word.escape |= (uint64_t)(byte == 0x1b) << i;
        word.c2 |= (uint64_t)(byte == 0xc2) << i;
        word.signs |= (uint64_t)(byte == '\\' || byte == '%') << i;
    }
    return word;
}

static struct sequence_classes find_sequences(const uint8_t *bytes)
{
    struct sequence_classes in = {0};

    for (int i = 0; i < 64; i++) {
        uint8_t byte = bytes[i];
        in.bracket |= (uint64_t)(byte == '[') << i;
        in.parameters |= (uint64_t)(byte >= 0x20 && byte <= 0x3f) << i;
        in.final |= (uint64_t)(byte >= 0x40 && byte <= 0x7e) << i;
    }
    return in;
}

static void store(const uint8_t *bytes, uint64_t keep, uint8_t *to)
{
    for (; keep != 0; keep &= keep - 1)
        *to++ = bytes[lowest_bit(keep)];
}

static void normalise(struct block *block, const uint8_t *raw, size_t size,
                      enum escape_state *state){NORMALISE_LOOP(const uint8_t *, whole_word,
                                                               classify, find_sequences, store,
                                                               copy_word, note_signs)}

normalise_fn normalise_plain(void)
{
    return normalise;
}

normalise_fn normalise_best(void)
{
    normalise_fn best = normalise_avx512();

    if (best == NULL)
        best = normalise_avx2();
    return best != NULL ? best : normalise;
}

/* The word of 64 raw bytes that this byte of text is in. */
static size_t find_word(const struct block *block, size_t text_at)
{
    size_t low = 0;
    size_t high = (block->raw_size + 63) / 64;

    if (block->starts[high - 1] <= text_at)
        return high - 1;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (block->starts[middle] <= text_at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

size_t block_raw_at(const struct block *block, size_t text_at)
{
    size_t behind = block->text_size - text_at;

    if (text_at >= block->text_size)
        return block->raw_size;

    /* Near the end, nothing but text is most often behind. */
    size_t last = block->raw_size - 1;
    if (behind <= last % 64 + 1 &&
        ~(block->keep[last / 64] << (63 - last % 64)) >> (64 - behind) == 0)
        return block->raw_size - behind;

    size_t word = find_word(block, text_at);
    size_t end = (word + 1) * 64 < block->raw_size ? block->starts[word + 1] : block->text_size;
    uint64_t keep = block->keep[word];
    size_t before = text_at - block->starts[word];

    behind = end - 1 - text_at;
    if (keep == ~UINT64_C(0))
        return word * 64 + before;
    if (before <= behind) {
        for (; before > 0; before--)
            keep &= keep - 1;
        return word * 64 + (size_t)lowest_bit(keep);
    }
    for (; behind > 0; behind--)
        keep ^= UINT64_C(1) << (63 - __builtin_clzll(keep));
    return word * 64 + 63 - (size_t)__builtin_clzll(keep);
}
