/* Probing a filter: one, eight or sixteen pieces at once. */

#include "probe.h"

#include <immintrin.h>

static size_t probe(const struct filter *filter, const uint8_t *text, size_t at, size_t size)
{
    for (; at + PIECE_BYTES <= size; at += LONG_STRIDE) {
        if (filter_has(filter, filter_load4(text + at)))
            return at;
    }
    return size;
}

/* Where the lowest of these bits says; `size` if the text ends before. */
static inline size_t place_of(unsigned found, size_t at, size_t size)
{
    at += LONG_STRIDE * (size_t)__builtin_ctz(found);
    return at + PIECE_BYTES <= size ? at : size;
}

/* Where nothing is optimised, the compiler's gathers are macros that convert their masks. */
#pragma GCC diagnostic ignored "-Wsign-conversion"

#define AVX2 __attribute__((target("avx2")))
#define AVX512 __attribute__((target("avx512f,avx512dq,avx512vl")))

_Static_assert(LONG_STRIDE == 3 * PIECE_BYTES, "every third piece is probed");

/* Every third 4-byte piece of 96 bytes. */
AVX2 static inline __m256i load_eight(const uint8_t *at)
{
    const __m256i *from = (const __m256i *)(const void *)at;
    const __m256i order = _mm256_setr_epi32(0, 3, 6, 1, 4, 7, 2, 5);
    __m256i low = _mm256_blend_epi32(_mm256_loadu_si256(from), _mm256_loadu_si256(from + 1), 0x92);
    __m256i all = _mm256_blend_epi32(low, _mm256_loadu_si256(from + 2), 0x24);

    return _mm256_permutevar8x32_epi32(all, order);
}

/* Of eight pieces, a bit for each that may be in the filter. */
AVX2 static inline unsigned probe_eight(const struct filter *filter, __m256i pieces)
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

AVX2 static size_t probe_eights(const struct filter *filter, const uint8_t *text, size_t at,
                                size_t size)
{
    const struct filter local = *filter;

    for (; at + PIECE_BYTES <= size; at += 8 * LONG_STRIDE) {
        unsigned found = probe_eight(&local, load_eight(text + at));
        if (__builtin_expect(found != 0, 0))
            return place_of(found, at, size);
    }
    return size;
}

/* Every third 4-byte piece of 192 bytes. */
AVX512 static inline __m512i load_sixteen(const uint8_t *at)
{
    const __m512i order = _mm512_setr_epi32(0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 0, 0, 0, 0, 0);
    const __m512i rest = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 4, 7, 10, 13);
    __m512i pieces =
        _mm512_permutex2var_epi32(_mm512_loadu_si512(at), order, _mm512_loadu_si512(at + 64));

    return _mm512_mask_permutexvar_epi32(pieces, 0xf800, rest, _mm512_loadu_si512(at + 128));
}

/* Of sixteen pieces, a bit for each that may be in the filter. */
AVX512 static inline unsigned probe_sixteen(const struct filter *filter, __m512i pieces)
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

AVX512 static size_t probe_sixteens(const struct filter *filter, const uint8_t *text, size_t at,
                                    size_t size)
{
    const struct filter local = *filter;

    for (; at + 8 * LONG_STRIDE < size; at += 16 * LONG_STRIDE) {
        unsigned found = probe_sixteen(&local, load_sixteen(text + at));
        if (__builtin_expect(found != 0, 0))
            return place_of(found, at, size);
    }
    if (at + PIECE_BYTES <= size) {
        unsigned found = probe_eight(&local, load_eight(text + at));
        if (__builtin_expect(found != 0, 0))
            return place_of(found, at, size);
    }
    return size;
}

probe_fn probe_plain(void)
{
    return probe;
}

probe_fn probe_avx2(void)
{
    return __builtin_cpu_supports("avx2") ? probe_eights : NULL;
}

probe_fn probe_avx512(void)
{
    return __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") ? probe_sixteens
                                                                                    : NULL;
}

probe_fn probe_best(void)
{
    probe_fn best = probe_avx512();

    if (best == NULL)
        best = probe_avx2();
    return best != NULL ? best : probe;
}
