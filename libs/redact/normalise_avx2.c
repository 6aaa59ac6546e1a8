/* The normaliser for processors with AVX2. */

#include <immintrin.h>

#include "normalise_loop.h"
#include "shuffle_table.h"

#define AVX2 __attribute__((target("avx2,popcnt,bmi"))) static inline

AVX2 uint64_t mask_of(__m256i low, __m256i high)
{
    return (uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high)
                                                     << 32;
}

AVX2 __m256i within(__m256i bytes, uint8_t least, uint8_t most)
{
    __m256i above = _mm256_sub_epi8(bytes, _mm256_set1_epi8((char)least));

    return _mm256_cmpeq_epi8(_mm256_min_epu8(above, _mm256_set1_epi8((char)(most - least))), above);
}

AVX2 __m256i equal(__m256i bytes, uint8_t byte)
{
    return _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8((char)byte));
}

AVX2 __m256i is_control(__m256i bytes)
{
    __m256i low = _mm256_andnot_si256(equal(bytes, '\t'), within(bytes, 0, 0x1f));

    return _mm256_or_si256(low, equal(bytes, 0x7f));
}

AVX2 __m256i is_sign(__m256i bytes)
{
    return _mm256_or_si256(equal(bytes, '\\'), equal(bytes, '%'));
}

AVX2 struct word_classes classify(const uint8_t *bytes)
{
    __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)bytes);
    __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(bytes + 32));

    return (struct word_classes){
        .control = mask_of(is_control(low), is_control(high)),
        .escape = mask_of(equal(low, 0x1b), equal(high, 0x1b)),
        .c2 = mask_of(equal(low, 0xc2), equal(high, 0xc2)),
        .signs = mask_of(is_sign(low), is_sign(high)),
        .letters = ~UINT64_C(0),
    };
}

AVX2 struct sequence_classes find_sequences(const uint8_t *bytes)
{
    __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)bytes);
    __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(bytes + 32));

    return (struct sequence_classes){
        .bracket = mask_of(equal(low, '['), equal(high, '[')),
        .parameters = mask_of(within(low, 0x20, 0x3f), within(high, 0x20, 0x3f)),
        .final = mask_of(within(low, 0x40, 0x7e), within(high, 0x40, 0x7e)),
    };
}

AVX2 void store(const uint8_t *bytes, uint64_t keep, uint8_t *to)
{
    if (keep == ~UINT64_C(0)) {
        memcpy(to, bytes, 64);
        return;
    }
    for (int i = 0; i < 8; i++) {
        unsigned group = keep >> (i * 8) & 0xff;
        __m128i eight = _mm_loadl_epi64((const __m128i *)(const void *)(bytes + i * 8));
        __m128i order = _mm_loadl_epi64((const __m128i *)(const void *)&shuffle_table[group]);
        _mm_storel_epi64((__m128i *)(void *)to, _mm_shuffle_epi8(eight, order));
        to += __builtin_popcount(group);
    }
}

__attribute__((target("avx2,popcnt,bmi"))) static void
normalise(struct block *block, const uint8_t *raw, size_t size,
          enum escape_state *state){NORMALISE_LOOP(const uint8_t *, whole_word, classify,
                                                   find_sequences, store, copy_word, note_signs)}

normalise_fn normalise_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt") &&
                   __builtin_cpu_supports("bmi")
               ? normalise
               : NULL;
}
