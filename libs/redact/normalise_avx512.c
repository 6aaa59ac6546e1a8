/* The normaliser for processors with AVX-512 and VBMI2, which compress 64 bytes at once. */

#include <immintrin.h>

#include "normalise_loop.h"

#define AVX512                                                                                     \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt,bmi"))) static inline

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

__attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt,bmi"))) static void
normalise(struct block *block, const uint8_t *raw, size_t size,
          enum escape_state *state){NORMALISE_LOOP(classify, store)}

normalise_fn normalise_avx512(void)
{
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                   __builtin_cpu_supports("avx512vbmi2")
               ? normalise
               : NULL;
}
