/* Signs, eight at once: what can be told of them without reading on from each. */

#include <immintrin.h>

#include "sign.h"
#include "sign_table.h"

/* Where nothing is optimised, the compiler's gathers are macros that convert their masks. */
#pragma GCC diagnostic ignored "-Wsign-conversion"

#define AVX512 __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx512vbmi")))
#define INLINE static inline __attribute__((always_inline))

/* Of eight 4-byte pieces, a bit for each that may be in the filter. */
AVX512 INLINE __mmask8 filter_have_eight(const struct filter *filter, __m512i pieces)
{
    const __m512i one = _mm512_set1_epi64(1);
    const __m512i six_bits = _mm512_set1_epi64(63);
    __m512i hash = _mm512_mul_epu32(pieces, _mm512_set1_epi64(FILTER_MULTIPLIER_LOW));

    hash = _mm512_xor_si512(hash, _mm512_srli_epi64(hash, 29));

    __m512i place =
        _mm512_and_si512(_mm512_srli_epi64(hash, 12), _mm512_set1_epi64((long long)filter->mask));
    __m512i words = _mm512_i64gather_epi64(place, (const void *)filter->words, 8);
    __m512i first = _mm512_sllv_epi64(one, _mm512_and_si512(hash, six_bits));
    __m512i second = _mm512_sllv_epi64(one, _mm512_and_si512(_mm512_srli_epi64(hash, 6), six_bits));
    __m512i bits = _mm512_or_si512(first, second);
    return _mm512_cmpeq_epi64_mask(_mm512_and_si512(words, bits), bits);
}

/* table[] of the lowest byte of each of eight, which is below 128; 0 for others. */
AVX512 INLINE __m512i look_up(const uint8_t *table, __m512i eight)
{
    __mmask8 ascii = _mm512_cmplt_epu64_mask(eight, _mm512_set1_epi64(128));

    return _mm512_maskz_mov_epi64(ascii, _mm512_permutex2var_epi8(_mm512_loadu_si512(table), eight,
                                                                  _mm512_loadu_si512(table + 64)));
}

AVX512 INLINE __mmask8 equal(__m512i eight, long long value)
{
    return _mm512_cmpeq_epi64_mask(eight, _mm512_set1_epi64(value));
}

AVX512 INLINE __mmask8 below(__m512i eight, unsigned long long value)
{
    return _mm512_cmplt_epu64_mask(eight, _mm512_set1_epi64((long long)value));
}

AVX512 INLINE __m512i byte_of(__m512i eight, unsigned index)
{
    return _mm512_and_si512(_mm512_srli_epi64(eight, 8 * index), _mm512_set1_epi64(0xff));
}

AVX512 INLINE __m512i choose(__mmask8 which, __m512i yes, __m512i no)
{
    return _mm512_mask_mov_epi64(no, which, yes);
}

/* One reading of the text at each of eight signs, decoded where that is simple. */
struct eight {
    __m512i before;      /* three bytes */
    __m512i next;        /* four bytes, the first of which is the escape's unless it is a break */
    __mmask8 is_break;   /* stands for no text */
    __mmask8 is_rare;    /* not simple, or not all here */
    __mmask8 is_near;    /* of next, the first byte alone is sure: more signs or the end follow */
    __mmask8 is_nearer;  /* and not even the second is as it stands */
    __mmask8 is_nothing; /* no escape */
};

/* Eight places with the bytes that are there. */
struct places {
    __m512i around; /* from three bytes before the sign on */
    __m512i behind; /* from two bytes behind it on */
    __m512i left;   /* bytes to the end, the sign's own first */
    __mmask8 is_url;
};

AVX512 INLINE struct places load_eight(const uint8_t *text, size_t size, __m512i at, __mmask8 valid)
{
    const __m512i none = _mm512_setzero_si512();
    struct places places = {
        .around = _mm512_mask_i64gather_epi64(none, valid, at, (const void *)(text - 3), 1),
        .behind = _mm512_mask_i64gather_epi64(none, valid, at, (const void *)(text + 2), 1),
        .left = _mm512_sub_epi64(_mm512_set1_epi64((long long)size), at),
    };

    places.is_url = (__mmask8)~equal(byte_of(places.around, 3), '\\');
    return places;
}

/* Looks for more signs in the next bytes, but for the first, and for the end; `over` bytes of the
 * escape are not counted. */
AVX512 INLINE void note_near(struct eight *eight, __mmask8 is_url, __m512i left,
                             unsigned long long over)
{
    __m512i sign = choose(is_url, _mm512_set1_epi8('%'), _mm512_set1_epi8('\\'));
    __m512i is_sign =
        _mm512_movm_epi8(_mm512_cmpeq_epi8_mask(eight->next, sign) |
                         _mm512_cmpeq_epi8_mask(eight->next, _mm512_set1_epi8((char)MAYBE_C1)));

    eight->is_near = (__mmask8)(_mm512_test_epi64_mask(is_sign, _mm512_set1_epi64(0xffffff00)) |
                                below(left, 8 + over));
    eight->is_nearer = (__mmask8)(_mm512_test_epi64_mask(is_sign, _mm512_set1_epi64(0xff00)) |
                                  below(left, 5 + over));
}

/* Of a percent sign and two digits. */
AVX512 INLINE struct eight read_urls(const struct places *places)
{
    __m512i high = look_up(hex_digits, byte_of(places->around, 4));
    __m512i low = look_up(hex_digits, byte_of(places->behind, 0));
    __m512i byte = _mm512_sub_epi64(_mm512_add_epi64(_mm512_slli_epi64(high, 4), low),
                                    _mm512_set1_epi64(0x11));

    return (struct eight){
        .next = _mm512_or_si512(_mm512_andnot_si512(_mm512_set1_epi64(0xff), places->behind), byte),
        .is_rare = (__mmask8)(below(byte, 0x20) | equal(byte, 0x7f) | equal(byte, '%') |
                              equal(byte, MAYBE_C1) | below(places->left, 3)),
        .is_nothing = (__mmask8)(equal(high, 0) | equal(low, 0)),
    };
}

/* Of a backslash and what `letter` stands for, with the bytes from `behind` on. A break is read on
 * through one more backslash. Two backslashes are read as one. */
AVX512 INLINE struct eight read_jsons(__m512i letter, __m512i behind, __m512i left)
{
    __m512i byte = look_up(short_escapes, letter);
    __m512i second = byte_of(behind, 0);
    __m512i other = look_up(short_escapes, byte_of(behind, 1));
    __mmask8 is_break = equal(byte, BREAK);
    __mmask8 is_deeper = equal(byte, DEEPER);
    __mmask8 has_sign = equal(second, '\\');
    __mmask8 other_is_text = (__mmask8)~below(other, DEEPER + 1) & has_sign;
    __mmask8 other_is_nothing = equal(other, 0);
    __m512i other_next =
        _mm512_or_si512(_mm512_slli_epi64(_mm512_srli_epi64(behind, 16), 8), other);

    byte = choose(is_deeper, _mm512_set1_epi64('\\'), byte);
    return (struct eight){
        .next = choose(is_break, choose(other_is_text, other_next, behind),
                       _mm512_or_si512(_mm512_slli_epi64(behind, 8), byte)),
        .is_break = is_break,
        .is_rare =
            (__mmask8)((is_break & has_sign &
                        ((__mmask8) ~(other_is_text | other_is_nothing) | below(left, 4))) |
                       (is_break & equal(second, MAYBE_C1)) | (is_deeper & equal(letter, 'u')) |
                       (is_deeper & equal(look_up(short_escapes, second), DEEPER)) |
                       below(left, 2) | (below(left, 3) & (is_break | is_deeper))),
        .is_nothing = equal(byte, 0),
    };
}

/* A bit for each whose numbers are in a table of bits. */
AVX512 INLINE __mmask8 test_bits(__m512i words, __m512i numbers)
{
    const __m512i six_bits = _mm512_set1_epi64(63);

    return _mm512_test_epi64_mask(_mm512_srlv_epi64(words, _mm512_and_si512(numbers, six_bits)),
                                  _mm512_set1_epi64(1));
}

/* A bit for each whose two bytes, the second one lower, are in a form. */
AVX512 INLINE __mmask8 have_pair(const struct filters *filters, __m512i pair)
{
    return test_bits(
        _mm512_i64gather_epi64(_mm512_srli_epi64(pair, 6), (const void *)filters->any2, 8), pair);
}

/* A bit for each reading that is not surely without meaning. What may_go_on() asks, and before:
 * is the byte before the sign followed by the next in a form, or does one begin with that? (A
 * break begins none.) If not all four are sure: a form that goes on has three bytes before, or
 * two behind. */
AVX512 INLINE __mmask8 ask_filters(const struct filters *filters, const struct eight *eight)
{
    __m512i next = _mm512_and_si512(eight->next, _mm512_set1_epi64(UINT32_MAX));
    __m512i first = byte_of(next, 0);
    __m512i pair = _mm512_or_si512(_mm512_slli_epi64(byte_of(eight->before, 2), 8), first);
    __m512i begins = _mm512_permutexvar_epi64(
        _mm512_srli_epi64(first, 6),
        _mm512_broadcast_i64x4(_mm256_loadu_si256((const void *)filters->first)));
    __m512i around = _mm512_or_si512(
        _mm512_and_si512(eight->before, _mm512_set1_epi64(0xffffff)),
        _mm512_and_si512(_mm512_slli_epi64(next, 24), _mm512_set1_epi64(0xff000000)));
    __mmask8 may_go_on =
        filter_have_eight(&filters->any4, around) | filter_have_eight(&filters->early4, next);
    __mmask8 maybe =
        have_pair(filters, pair) | (test_bits(begins, first) & (__mmask8)~eight->is_break);

    if ((maybe & eight->is_near) != 0) {
        __m512i behind = _mm512_or_si512(_mm512_slli_epi64(first, 8), byte_of(next, 1));
        may_go_on |= eight->is_near & (eight->is_nearer | have_pair(filters, behind));
    }
    return (__mmask8)((maybe & may_go_on & ~eight->is_nothing) | eight->is_rare);
}

/* Of eight signs, a bit for each that is not surely without meaning. */
AVX512 INLINE __mmask8 look_at_eight(const struct filters *filters, const uint8_t *text,
                                     size_t size, __m512i at, __mmask8 valid)
{
    struct places places = load_eight(text, size, at, valid);
    __m512i second = byte_of(places.behind, 0);
    struct eight url = read_urls(&places);
    struct eight json = read_jsons(byte_of(places.around, 4), places.behind, places.left);
    struct eight eight = {
        .before = places.around,
        .next = choose(places.is_url, url.next, json.next),
        .is_break = json.is_break & (__mmask8)~places.is_url,
        .is_rare = (__mmask8)((json.is_rare & ~places.is_url) | (url.is_rare & places.is_url)),
        .is_nothing =
            (__mmask8)((json.is_nothing & ~places.is_url) | (url.is_nothing & places.is_url)),
    };
    note_near(&eight, places.is_url, places.left, 0);
    if ((~(eight.is_rare | eight.is_nothing) & valid) == 0)
        return eight.is_rare & valid;
    __mmask8 maybe = ask_filters(filters, &eight);

    /* Two backslashes: at the next level, a backslash with the letter behind them. */
    __mmask8 is_deeper = equal(byte_of(places.around, 4), '\\') & (__mmask8)~places.is_url & valid;
    is_deeper &= (__mmask8) ~(below(look_up(short_escapes, second), 1) | eight.is_rare);
    if (is_deeper != 0) {
        const __m512i one = _mm512_set1_epi64(1);
        struct eight deeper = read_jsons(second, _mm512_srli_epi64(places.behind, 8),
                                         _mm512_sub_epi64(places.left, one));
        deeper.before = places.around;
        note_near(&deeper, 0, places.left, 1);
        maybe |= ask_filters(filters, &deeper) & is_deeper;
    }
    return maybe & valid;
}

AVX512 static size_t sift_eights(const struct filters *filters, const uint8_t *text, size_t size,
                                 const uint16_t *places, size_t count, uint32_t *kept)
{
    size_t maybe_count = 0;
    size_t kept_count = 0;

    if (filters->short4.pieces > 0)
        return sift_plain()(filters, text, size, places, count, kept);
    for (size_t i = 0; i < count; i += 8) {
        __mmask8 valid = (__mmask8)(count - i >= 8 ? 0xff : (1U << (count - i)) - 1);
        __m128i eight = _mm_maskz_loadu_epi16(valid, places + i);
        __mmask8 maybe = look_at_eight(filters, text, size, _mm512_cvtepu16_epi64(eight), valid);
        _mm256_storeu_si256((void *)(kept + maybe_count),
                            _mm256_maskz_compress_epi32(maybe, _mm256_cvtepu16_epi32(eight)));
        maybe_count += (size_t)__builtin_popcount(maybe);
    }
    for (size_t i = 0; i < maybe_count; i++) {
        if (sign_may_matter(filters, text, size, kept[i]))
            kept[kept_count++] = kept[i];
    }
    return kept_count;
}

sift_fn sift_avx512(void)
{
    return __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi")
               ? sift_eights
               : NULL;
}
