/* Probing a filter: one, four or eight pieces at once. */

#include "probe.h"

#include <immintrin.h>

static size_t probe(const struct filter *filter, const uint8_t *text, size_t at, size_t size)
{
    for (; at + 8 <= size; at += 8) {
        if (filter_has(filter, filter_load8(text + at)))
            return at;
    }
    return size;
}

/* Where nothing is optimised, the compiler's gathers are macros that convert their masks. */
#pragma GCC diagnostic ignored "-Wsign-conversion"

/* Of four pieces, a bit for each that may be in the filter. */
__attribute__((target("avx2"))) static inline unsigned probe_four(const struct filter *filter,
                                                                  const uint8_t *at)
{
    const __m256i one = _mm256_set1_epi64x(1);
    const __m256i six_bits = _mm256_set1_epi64x(63);
    __m256i pieces = _mm256_loadu_si256((const __m256i *)(const void *)at);
    __m256i low = _mm256_mul_epu32(pieces, _mm256_set1_epi64x(FILTER_MULTIPLIER_LOW));
    __m256i high =
        _mm256_mul_epu32(_mm256_srli_epi64(pieces, 32), _mm256_set1_epi64x(FILTER_MULTIPLIER_HIGH));
    __m256i hash = _mm256_add_epi64(low, high);

    hash = _mm256_xor_si256(hash, _mm256_srli_epi64(hash, 29));

    __m256i place =
        _mm256_and_si256(_mm256_srli_epi64(hash, 12), _mm256_set1_epi64x((long long)filter->mask));
    __m256i words =
        _mm256_i64gather_epi64((const long long *)(const void *)filter->words, place, 8);
    __m256i first = _mm256_sllv_epi64(one, _mm256_and_si256(hash, six_bits));
    __m256i second = _mm256_sllv_epi64(one, _mm256_and_si256(_mm256_srli_epi64(hash, 6), six_bits));
    __m256i bits = _mm256_or_si256(first, second);
    __m256i found = _mm256_cmpeq_epi64(_mm256_and_si256(words, bits), bits);
    return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(found));
}

__attribute__((target("avx2"))) static size_t
probe_fours(const struct filter *filter, const uint8_t *text, size_t at, size_t size)
{
    const struct filter local = *filter;

    for (; at + 8 <= size; at += 64) {
        unsigned found = probe_four(&local, text + at) | probe_four(&local, text + at + 32) << 4;
        if (__builtin_expect(found != 0, 0)) {
            at += 8 * (size_t)__builtin_ctz(found);
            return at + 8 <= size ? at : size;
        }
    }
    return size;
}

__attribute__((target("avx512f,avx512dq"))) static size_t
probe_eights(const struct filter *filter, const uint8_t *text, size_t at, size_t size)
{
    const __m512i one = _mm512_set1_epi64(1);
    const __m512i low_factor = _mm512_set1_epi64(FILTER_MULTIPLIER_LOW);
    const __m512i high_factor = _mm512_set1_epi64(FILTER_MULTIPLIER_HIGH);
    const __m512i mask = _mm512_set1_epi64((long long)filter->mask);
    const __m512i six_bits = _mm512_set1_epi64(63);
    const void *words = filter->words;

    for (; at + 8 <= size; at += 64) {
        __m512i pieces = _mm512_loadu_si512(text + at);
        __m512i hash =
            _mm512_add_epi64(_mm512_mul_epu32(pieces, low_factor),
                             _mm512_mul_epu32(_mm512_srli_epi64(pieces, 32), high_factor));
        hash = _mm512_xor_si512(hash, _mm512_srli_epi64(hash, 29));
        __m512i place = _mm512_and_si512(_mm512_srli_epi64(hash, 12), mask);
        __m512i found = _mm512_i64gather_epi64(place, words, 8);
        __m512i first = _mm512_sllv_epi64(one, _mm512_and_si512(hash, six_bits));
        __m512i second =
            _mm512_sllv_epi64(one, _mm512_and_si512(_mm512_srli_epi64(hash, 6), six_bits));
        __m512i bits = _mm512_or_si512(first, second);
        unsigned hits = _mm512_cmpeq_epi64_mask(_mm512_and_si512(found, bits), bits);
        if (__builtin_expect(hits != 0, 0)) {
            at += 8 * (size_t)__builtin_ctz(hits);
            return at + 8 <= size ? at : size;
        }
    }
    return size;
}

probe_fn probe_plain(void)
{
    return probe;
}

probe_fn probe_avx2(void)
{
    return __builtin_cpu_supports("avx2") ? probe_fours : NULL;
}

probe_fn probe_avx512(void)
{
    return __builtin_cpu_supports("avx512dq") ? probe_eights : NULL;
}

probe_fn probe_best(void)
{
    probe_fn best = probe_avx512();

    if (best == NULL)
        best = probe_avx2();
    return best != NULL ? best : probe;
}
