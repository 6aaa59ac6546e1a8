/* The normaliser for processors with AVX-512 and VBMI2, which compress 64 bytes at once. */

#include <immintrin.h>

#include "normalise_loop.h"

#define AVX512                                                                                     \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt,bmi,bmi2"))) static inline

AVX512 uint64_t within(__m512i bytes, uint8_t least, uint8_t most)
{
    return _mm512_cmple_epu8_mask(_mm512_sub_epi8(bytes, _mm512_set1_epi8((char)least)),
                                  _mm512_set1_epi8((char)(most - least)));
}

AVX512 uint64_t equal(__m512i bytes, uint8_t byte)
{
    return _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8((char)byte));
}

AVX512 struct word_classes classify(const uint8_t *at)
{
    __m512i bytes = _mm512_loadu_si512(at);

    return (struct word_classes){
        .control = (within(bytes, 0, 0x1f) & ~equal(bytes, '\t')) | equal(bytes, 0x7f),
        .escape = equal(bytes, 0x1b),
        .bracket = equal(bytes, '['),
        .parameters = within(bytes, 0x20, 0x3f),
        .final = within(bytes, 0x40, 0x7e),
        .c2 = equal(bytes, 0xc2),
        .signs = equal(bytes, '\\') | equal(bytes, '%'),
    };
}

/* Compressing into a register and storing all of it is faster than compressing into memory. */
AVX512 void store(const uint8_t *bytes, uint64_t keep, uint8_t *to)
{
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi8(keep, _mm512_loadu_si512(bytes)));
}

/* As note_signs(): the bits of the text's own order, compressed out of the numbers 0 to 63. */
AVX512 void note_signs_at_once(struct block *block, uint64_t keep, uint64_t signs, size_t start)
{
    static const uint8_t numbers[64] __attribute__((aligned(64))) = {
        0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
        22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
        44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
    const __m512i first = _mm512_set1_epi16((short)start);
    uint64_t bits = _pext_u64(signs, keep);
    __m512i places = _mm512_maskz_compress_epi8(bits, _mm512_load_si512(numbers));
    uint16_t *to = block->signs + block->sign_count;

    _mm512_storeu_si512(
        to, _mm512_add_epi16(first, _mm512_cvtepu8_epi16(_mm512_castsi512_si256(places))));
    if (__builtin_expect(__builtin_popcountll(bits) > 32, 0))
        _mm512_storeu_si512(
            to + 32,
            _mm512_add_epi16(first, _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(places, 1))));
    block->sign_count += (size_t)__builtin_popcountll(bits);
}

__attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt,bmi,bmi2"))) static void
normalise(struct block *block, const uint8_t *raw, size_t size,
          enum escape_state *state){NORMALISE_LOOP(classify, store, note_signs_at_once)}

normalise_fn normalise_avx512(void)
{
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                   __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("bmi2")
               ? normalise
               : NULL;
}
