/* Probing a filter: one, eight or sixteen pieces at once. */

#include "probe.h"

#include <immintrin.h>

#include "filter_avx.h"

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

AVX2 static size_t probe_eights(const struct filter *filter, const uint8_t *text, size_t at,
                                size_t size)
{
    const struct filter local = *filter;

    for (; at + PIECE_BYTES <= size; at += 8 * LONG_STRIDE) {
        unsigned found = filter_have_eight(&local, load_eight(text + at));
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

AVX512 static size_t probe_sixteens(const struct filter *filter, const uint8_t *text, size_t at,
                                    size_t size)
{
    const struct filter local = *filter;

    for (; at + 8 * LONG_STRIDE < size; at += 16 * LONG_STRIDE) {
        unsigned found = filter_have_sixteen(&local, load_sixteen(text + at));
        if (__builtin_expect(found != 0, 0))
            return place_of(found, at, size);
    }
    if (at + PIECE_BYTES <= size) {
        unsigned found = filter_have_eight(&local, load_eight(text + at));
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
