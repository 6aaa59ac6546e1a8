#pragma once

/* Asking a filter about many pieces at once, for processors with AVX2 and AVX-512. */

#include <immintrin.h>

#include "filter.h"

#define FILTER_AVX2 __attribute__((target("avx2"), always_inline)) static inline
#define FILTER_AVX512 __attribute__((target("avx512f"), always_inline)) static inline

/* Where nothing is optimised, the compiler's gathers are macros that convert their masks. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"

/* Of eight pieces, a bit for each that may be in the filter. */
FILTER_AVX2 unsigned filter_have_eight(const struct filter *filter, __m256i pieces)
{
    const __m256i one = _mm256_set1_epi32(1);
    const __m256i five_bits = _mm256_set1_epi32(31);
    __m256i hash = _mm256_mullo_epi32(pieces, _mm256_set1_epi32((int)FILTER_MULTIPLIER));

    hash = _mm256_xor_si256(hash, _mm256_srli_epi32(hash, 16));

    __m256i place =
        _mm256_and_si256(_mm256_srli_epi32(hash, 10), _mm256_set1_epi32((int)filter->mask));
    __m256i words = _mm256_i32gather_epi32((const int *)(const void *)filter->words, place, 4);
    __m256i first = _mm256_sllv_epi32(one, _mm256_and_si256(hash, five_bits));
    __m256i second =
        _mm256_sllv_epi32(one, _mm256_and_si256(_mm256_srli_epi32(hash, 5), five_bits));
    __m256i bits = _mm256_or_si256(first, second);
    __m256i found = _mm256_cmpeq_epi32(_mm256_and_si256(words, bits), bits);
    return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(found));
}

/* The same of sixteen. */
FILTER_AVX512 __mmask16 filter_have_sixteen(const struct filter *filter, __m512i pieces)
{
    const __m512i one = _mm512_set1_epi32(1);
    const __m512i five_bits = _mm512_set1_epi32(31);
    __m512i hash = _mm512_mullo_epi32(pieces, _mm512_set1_epi32((int)FILTER_MULTIPLIER));

    hash = _mm512_xor_si512(hash, _mm512_srli_epi32(hash, 16));

    __m512i place =
        _mm512_and_si512(_mm512_srli_epi32(hash, 10), _mm512_set1_epi32((int)filter->mask));
    __m512i words = _mm512_i32gather_epi32(place, (const void *)filter->words, 4);
    __m512i first = _mm512_sllv_epi32(one, _mm512_and_si512(hash, five_bits));
    __m512i second =
        _mm512_sllv_epi32(one, _mm512_and_si512(_mm512_srli_epi32(hash, 5), five_bits));
    __m512i bits = _mm512_or_si512(first, second);
    return _mm512_cmpeq_epi32_mask(_mm512_and_si512(words, bits), bits);
}

#pragma GCC diagnostic pop
