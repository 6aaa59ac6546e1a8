/* A glance at sixteen signs at once, which tells nearly all of them to be without meaning. */

#include <immintrin.h>

#include "filter_avx.h"
#include "sign.h"
#include "sign_table.h"

/* Where nothing is optimised, the compiler's gathers are macros that convert their masks. */
#pragma GCC diagnostic ignored "-Wsign-conversion"

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi")))
#define INLINE static inline __attribute__((always_inline))

/* table[] of the lowest byte of each of sixteen, which is below 128; 0 for others. */
AVX512 INLINE __m512i look_up(const uint8_t *table, __m512i bytes)
{
    __mmask16 ascii = _mm512_cmplt_epu32_mask(bytes, _mm512_set1_epi32(128));

    return _mm512_and_si512(
        _mm512_maskz_mov_epi32(ascii, _mm512_permutex2var_epi8(_mm512_loadu_si512(table), bytes,
                                                               _mm512_loadu_si512(table + 64))),
        _mm512_set1_epi32(0xff));
}

AVX512 INLINE __mmask16 equal(__m512i bytes, int value)
{
    return _mm512_cmpeq_epi32_mask(bytes, _mm512_set1_epi32(value));
}

AVX512 INLINE __mmask16 below(__m512i numbers, unsigned value)
{
    return _mm512_cmplt_epu32_mask(numbers, _mm512_set1_epi32((int)value));
}

AVX512 INLINE __m512i byte_of(__m512i sixteen, unsigned index)
{
    return _mm512_and_si512(_mm512_srli_epi32(sixteen, 8 * index), _mm512_set1_epi32(0xff));
}

AVX512 INLINE __m512i choose(__mmask16 which, __m512i yes, __m512i no)
{
    return _mm512_mask_mov_epi32(no, which, yes);
}

/* The bytes around sixteen signs, and what their escapes stand for, where that is simple. */
struct sixteen {
    __m512i before;       /* two bytes, the sign, the letter */
    __m512i next;         /* what follows the two bytes before: the escape's byte, or behind it */
    __mmask16 is_text;    /* next is the escape's, so that a form may begin with it */
    __mmask16 is_double;  /* two backslashes; next is of the deeper reading */
    __mmask16 is_nothing; /* no escape */
    __mmask16 is_rare;    /* not simple */
};

/* Behind two backslashes, or a break and a backslash, one more letter is read. */
AVX512 INLINE struct sixteen read_jsons(__m512i before, __m512i behind)
{
    __m512i letter = byte_of(before, 3);
    __m512i second = byte_of(behind, 0);
    __m512i third = byte_of(behind, 1);
    __m512i byte = look_up(short_escapes, letter);
    __mmask16 is_break = equal(byte, BREAK);
    __mmask16 is_double = equal(letter, '\\');
    __mmask16 goes_on = is_break & equal(second, '\\');
    __m512i other = look_up(short_escapes, choose(is_double, second, third));
    __mmask16 other_is_break = equal(other, BREAK);
    __mmask16 is_cut = is_break & (equal(second, '%') | equal(second, MAYBE_C1));

    is_cut |= is_double & other_is_break &
              (equal(third, '\\') | equal(third, '%') | equal(third, MAYBE_C1));
    is_cut |= (is_double | goes_on) & equal(other, DEEPER);
    is_cut |= goes_on & below(other, DEEPER);
    return (struct sixteen){
        .before = before,
        .next = choose(is_double, choose(other_is_break, third, other),
                       choose(goes_on, other, choose(is_break, second, byte))),
        .is_text = (__mmask16) ~(is_break | (is_double & other_is_break)),
        .is_double = is_double,
        .is_nothing = equal(byte, 0) | (is_double & equal(other, 0)),
        .is_rare = is_cut | equal(letter, 'u'),
    };
}

AVX512 INLINE void read_urls(struct sixteen *all, __mmask16 is_url, __m512i behind)
{
    __m512i high = look_up(hex_digits, byte_of(all->before, 3));
    __m512i low = look_up(hex_digits, byte_of(behind, 0));
    __m512i byte = _mm512_sub_epi32(_mm512_add_epi32(_mm512_slli_epi32(high, 4), low),
                                    _mm512_set1_epi32(0x11));
    __mmask16 is_rare = below(byte, 0x20) | equal(byte, 0x7f) | equal(byte, '%') |
                        equal(byte, '\\') | equal(byte, MAYBE_C1);

    all->next = choose(is_url, byte_of(byte, 0), all->next);
    all->is_text |= is_url;
    all->is_double &= (__mmask16)~is_url;
    all->is_nothing =
        (__mmask16)((all->is_nothing & ~is_url) | ((equal(high, 0) | equal(low, 0)) & is_url));
    all->is_rare = (__mmask16)((all->is_rare & ~is_url) | (is_rare & is_url));
}

/* A bit for each that begins a form; the first byte is the higher one. */
AVX512 INLINE __mmask16 have_pair(const uint64_t *pairs, __m512i pair)
{
    __m512i words = _mm512_i32gather_epi32(_mm512_srli_epi32(pair, 5), (const void *)pairs, 4);

    return _mm512_test_epi32_mask(
        _mm512_srlv_epi32(words, _mm512_and_si512(pair, _mm512_set1_epi32(31))),
        _mm512_set1_epi32(1));
}

/* A bit for each whose two bytes before the sign and `next` stand in a form, or the last of these
 * and `next` at the beginning of one. */
AVX512 INLINE __mmask16 may_stand(const struct filters *filters, __m512i before, __m512i next)
{
    __m512i two = _mm512_and_si512(before, _mm512_set1_epi32(0xffff));
    __m512i three = _mm512_or_si512(two, _mm512_slli_epi32(next, 16));
    __m512i pair = _mm512_or_si512(_mm512_andnot_si512(_mm512_set1_epi32(0xff), two), next);

    return filter_have_sixteen(&filters->any3, three) | have_pair(filters->pairs, pair);
}

/* A bit for each byte that begins a form. */
AVX512 INLINE __mmask16 may_begin(const struct filters *filters, __m512i bytes)
{
    __m512i words = _mm512_permutexvar_epi32(
        _mm512_srli_epi32(bytes, 5),
        _mm512_castsi256_si512(_mm256_loadu_si256((const void *)filters->first)));

    return _mm512_test_epi32_mask(
        _mm512_srlv_epi32(words, _mm512_and_si512(bytes, _mm512_set1_epi32(31))),
        _mm512_set1_epi32(1));
}

/* Of sixteen signs, a bit for each that is worth a longer look. */
AVX512 INLINE __mmask16 glance(const struct filters *filters, const uint8_t *text, size_t size,
                               __m512i at, __mmask16 valid)
{
    const __m512i lower =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i none = _mm512_setzero_si512();
    __m512i first = _mm512_mask_i32gather_epi64(none, (__mmask8)valid, _mm512_castsi512_si256(at),
                                                (const void *)(text - 2), 1);
    __m512i second =
        _mm512_mask_i32gather_epi64(none, (__mmask8)(valid >> 8), _mm512_extracti64x4_epi64(at, 1),
                                    (const void *)(text - 2), 1);
    __m512i before = _mm512_permutex2var_epi32(first, lower, second);
    __m512i behind =
        _mm512_permutex2var_epi32(first, _mm512_or_si512(lower, _mm512_set1_epi32(1)), second);
    __m512i left = _mm512_sub_epi32(_mm512_set1_epi32((int)size), at);
    __mmask16 is_url = equal(byte_of(before, 2), '%');
    struct sixteen all = read_jsons(before, behind);
    if ((is_url & valid) != 0)
        read_urls(&all, is_url, behind);

    __mmask16 maybe = may_stand(filters, before, all.next);
    maybe |= may_begin(filters, all.next) & all.is_text;
    maybe &= (__mmask16)~all.is_nothing;
    if ((all.is_double & valid) != 0 && filters->has_backslash) {
        const __m512i backslash = _mm512_set1_epi32('\\');
        maybe |=
            (may_stand(filters, before, backslash) | may_begin(filters, backslash)) & all.is_double;
    }
    return (maybe | all.is_rare | below(left, GLANCE_BYTES)) & valid;
}

enum { WORTH_SIXTEEN = 6 };

AVX512 static size_t sift_sixteens(const struct filters *filters, const uint8_t *text, size_t size,
                                   const uint16_t *places, size_t count, uint32_t *kept)
{
    size_t maybe_count = 0;

    if (count < WORTH_SIXTEEN)
        return sift_plain()(filters, text, size, places, count, kept);
    for (size_t i = 0; i < count; i += 16) {
        __mmask16 valid = (__mmask16)(count - i >= 16 ? 0xffff : (1U << (count - i)) - 1);
        __m512i at = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(valid, places + i));
        __mmask16 maybe = glance(filters, text, size, at, valid);
        _mm512_storeu_si512(kept + maybe_count, _mm512_maskz_compress_epi32(maybe, at));
        maybe_count += (size_t)__builtin_popcount(maybe);
    }
    return sign_look(filters, text, size, kept, maybe_count);
}

sift_fn sift_avx512(void)
{
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                   __builtin_cpu_supports("avx512vbmi")
               ? sift_sixteens
               : NULL;
}
