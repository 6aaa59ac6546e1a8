/* A glance at sixteen signs at once, which tells nearly all of them to be without meaning, and a
 * second one at those it left, which drops encoded colours. */

#include "glance_avx512.h"
#include "sign.h"

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512cd,avx512vl,avx512vbmi")))
#define INLINE static inline __attribute__((always_inline))

/* Where nothing is optimised, the compiler's gathers are macros that convert their masks. */
#pragma GCC diagnostic ignored "-Wsign-conversion"

/* The signs at these places. */
AVX512 INLINE struct sixteen load_signs(const uint8_t *text, size_t size, __m512i at,
                                        __mmask16 valid)
{
    const __m512i lower =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i none = _mm512_setzero_si512();
    __m512i first = _mm512_mask_i32gather_epi64(none, (__mmask8)valid, _mm512_castsi512_si256(at),
                                                (const void *)(text - 2), 1);
    __m512i second =
        _mm512_mask_i32gather_epi64(none, (__mmask8)(valid >> 8), _mm512_extracti64x4_epi64(at, 1),
                                    (const void *)(text - 2), 1);

    return (struct sixteen){
        .before = _mm512_permutex2var_epi32(first, lower, second),
        .behind =
            _mm512_permutex2var_epi32(first, _mm512_or_si512(lower, _mm512_set1_epi32(1)), second),
        .left = _mm512_sub_epi32(_mm512_set1_epi32((int)size), at),
    };
}

/* Eight bytes each at these places. */
AVX512 INLINE __m512i load_eights(const uint8_t *text, __m256i at)
{
    return _mm512_i32gather_epi64(at, (const void *)text, 1);
}

AVX512 INLINE __m512i repeat(uint8_t byte)
{
    return _mm512_set1_epi8((char)byte);
}

/* Bits before the first byte that is no parameter of a colour, or is a percent sign: another
 * lane's. */
AVX512 INLINE __m512i measure_parameters(__m512i eights)
{
    __m512i ends = _mm512_and_si512(_mm512_xor_si512(eights, repeat(0x20)), repeat(0xe0));
    __m512i percents = _mm512_xor_si512(eights, repeat('%')); /* a byte of it is 0 */
    __m512i lower = _mm512_andnot_si512(percents, _mm512_sub_epi64(percents, repeat(1)));

    ends = _mm512_or_si512(ends, _mm512_and_si512(lower, repeat(0x80)));
    ends = _mm512_and_si512(ends, _mm512_sub_epi64(_mm512_setzero_si512(), ends));
    return _mm512_and_si512(_mm512_sub_epi64(_mm512_set1_epi64(63), _mm512_lzcnt_epi64(ends)),
                            _mm512_set1_epi64(~7));
}

enum { COLOUR_BYTES = 17 /* read from a break on: with `\u001b[` nine, and eight behind */ };

/* Of eight signs, a bit for each that is an encoded colour, or a break before one, with a byte
 * behind that stands for itself. */
AVX512 INLINE __mmask8 are_colours(const uint8_t *text, __m512i around, __m256i at,
                                   __m256i *ret_next)
{
    const __m512i byte = _mm512_set1_epi64(0xff);
    const __m512i wanted = _mm512_set1_epi64(INT64_C(0x5b62313030755c00)); /* ESC and `[` */
    __m512i letter = _mm512_and_si512(_mm512_srli_epi64(around, 24), byte);
    __mmask8 is_break =
        _mm512_cmpeq_epi64_mask(look_up(short_escapes, letter), _mm512_set1_epi64(BREAK));
    __mmask8 is_colour = is_break | _mm512_cmpeq_epi64_mask(letter, _mm512_set1_epi64('u'));
    __m256i begin = _mm256_mask_add_epi32(at, is_break, at, _mm256_set1_epi32(2));
    __m512i head = _mm512_or_si512(_mm512_slli_epi64(load_eights(text, begin), 8),
                                   _mm512_set1_epi64(INT64_C(0x20) << 48)); /* a small `b` */
    __m512i parameters = load_eights(text + 7, begin);
    __m512i bits = measure_parameters(parameters);
    __m512i last = _mm512_and_si512(_mm512_srlv_epi64(parameters, bits), byte);
    __m512i behind = _mm512_srlv_epi64(parameters, _mm512_add_epi64(bits, _mm512_set1_epi64(8)));

    *ret_next = _mm512_cvtepi64_epi32(_mm512_and_si512(behind, byte));
    return is_colour &
           _mm512_cmpeq_epi64_mask(_mm512_and_si512(around, _mm512_set1_epi64(0xff0000)),
                                   _mm512_set1_epi64('\\' << 16)) &
           _mm512_cmpeq_epi64_mask(head, wanted) &
           _mm512_cmplt_epu64_mask(bits, _mm512_set1_epi64(56)) &
           _mm512_cmplt_epu64_mask(_mm512_sub_epi64(last, _mm512_set1_epi64(0x40)),
                                   _mm512_set1_epi64(0x3f)) &
           _mm512_cmpneq_epi64_mask(last, _mm512_set1_epi64('\\')) &
           _mm256_cmpneq_epi32_mask(*ret_next, _mm256_set1_epi32('\\')) &
           _mm256_cmpneq_epi32_mask(*ret_next, _mm256_set1_epi32('%')) &
           _mm256_cmpneq_epi32_mask(*ret_next, _mm256_set1_epi32(MAYBE_C1));
}

AVX512 INLINE __m512i join(__m256i first, __m256i second)
{
    return _mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1);
}

/* Drops the colours among these signs behind which no form goes on; returns how many are left. */
AVX512 INLINE size_t drop_colours(const struct filters *filters, const uint8_t *text, size_t size,
                                  uint32_t *places, size_t count)
{
    size_t kept = 0;
    size_t i = 0;

    do {
        __mmask16 valid = (__mmask16)(count - i >= 16 ? 0xffff : (1U << (count - i)) - 1);
        __m512i at = _mm512_maskz_loadu_epi32(valid, places + i);
        __m256i low = _mm512_castsi512_si256(at);
        __m256i high = _mm512_extracti64x4_epi64(at, 1);
        __m512i around_low = load_eights(text - 2, low);
        __m512i around_high = load_eights(text - 2, high);
        __m256i next_low;
        __m256i next_high;
        __mmask16 is_colour = (__mmask16)(are_colours(text, around_low, low, &next_low) |
                                          are_colours(text, around_high, high, &next_high) << 8);
        __m512i left = _mm512_sub_epi32(_mm512_set1_epi32((int)size), at);
        __m512i before =
            join(_mm512_cvtepi64_epi32(around_low), _mm512_cvtepi64_epi32(around_high));
        __mmask16 stays = (__mmask16)~is_colour | below(0xffff, left, COLOUR_BYTES) |
                          may_stand(filters, before, join(next_low, next_high), false);
        stays &= valid;
        _mm512_storeu_si512(places + kept, _mm512_maskz_compress_epi32(stays, at));
        kept += (size_t)__builtin_popcount(stays);
        i += 16;
    } while (i < count);
    return kept;
}

enum { WORTH_SIXTEEN = 6 };

AVX512 static size_t sift_sixteens(const struct filters *filters, const uint8_t *text, size_t size,
                                   const uint16_t *places, size_t count, uint32_t *kept)
{
    size_t maybe_count = 0;
    size_t kept_count = 0;

    if (count < WORTH_SIXTEEN)
        return sift_plain()(filters, text, size, places, count, kept);
    for (size_t i = 0; i < count; i += 16) {
        __mmask16 valid = (__mmask16)(count - i >= 16 ? 0xffff : (1U << (count - i)) - 1);
        __m512i at = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(valid, places + i));
        struct sixteen signs = load_signs(text, size, at, valid);
        __mmask16 maybe = glance(filters, &signs, valid, false);
        _mm512_storeu_si512(kept + maybe_count, _mm512_maskz_compress_epi32(maybe, at));
        maybe_count += (size_t)__builtin_popcount(maybe);
    }
    maybe_count = drop_colours(filters, text, size, kept, maybe_count);
    for (size_t i = 0; i < maybe_count; i++) {
        if (sign_may_matter(filters, text, size, kept[i]))
            kept[kept_count++] = kept[i];
    }
    return kept_count;
}

sift_fn sift_avx512(void)
{
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
                   __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi")
               ? sift_sixteens
               : NULL;
}
