#pragma once

/* A glance at up to sixteen signs at once, in registers: what each escape stands for, where that is
 * simple, and whether a form may go on or begin with it. */

#include <stdbool.h>

#include "filter_avx.h"
#include "sign_table.h"

#define GLANCE_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi")))
#define GLANCE GLANCE_TARGET static inline __attribute__((always_inline))

/* Sixteen signs and the bytes around them. */
struct sixteen {
    __m512i before; /* two bytes, the sign, the letter */
    __m512i behind; /* four more */
    __m512i left;   /* bytes from the sign to the text's end */
};

/* table[] of sixteen bytes that are below 128. */
GLANCE __m512i look_up(const uint8_t *table, __m512i bytes)
{
    return _mm512_permutex2var_epi8(_mm512_loadu_si512(table), bytes,
                                    _mm512_loadu_si512(table + 64));
}

GLANCE __mmask16 equal(__mmask16 of, __m512i bytes, int value)
{
    return _mm512_mask_cmpeq_epi32_mask(of, bytes, _mm512_set1_epi32(value));
}

GLANCE __mmask16 below(__mmask16 of, __m512i numbers, unsigned value)
{
    return _mm512_mask_cmplt_epu32_mask(of, numbers, _mm512_set1_epi32((int)value));
}

GLANCE __m512i byte_of(__m512i sixteen, unsigned index)
{
    return _mm512_and_si512(_mm512_srli_epi32(sixteen, 8 * index), _mm512_set1_epi32(0xff));
}

/* A bit for each byte that is in this set of bytes. */
GLANCE __mmask16 are_in(const uint64_t set[4], __m512i bytes)
{
    __m512i words = _mm512_permutexvar_epi32(
        _mm512_srli_epi32(bytes, 5), _mm512_castsi256_si512(_mm256_loadu_si256((const void *)set)));

    return _mm512_test_epi32_mask(
        _mm512_srlv_epi32(words, _mm512_and_si512(bytes, _mm512_set1_epi32(31))),
        _mm512_set1_epi32(1));
}

/* Where nothing is optimised, the compiler's gathers are macros that convert their masks. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"

/* Of sixteen places in a table; of the first eight, if they are all. */
GLANCE __m512i gather(const void *words, __m512i places, bool are_few)
{
    if (are_few)
        return _mm512_castsi256_si512(
            _mm256_i32gather_epi32(words, _mm512_castsi512_si256(places), 4));
    return _mm512_i32gather_epi32(places, words, 4);
}

#pragma GCC diagnostic pop

/* A bit for each pair that begins a form; the first byte is the higher one. */
GLANCE __mmask16 begin_forms(const uint64_t *pairs, __m512i pair, bool are_few)
{
    __m512i words = gather(pairs, _mm512_srli_epi32(pair, 5), are_few);

    return _mm512_test_epi32_mask(
        _mm512_srlv_epi32(words, _mm512_and_si512(pair, _mm512_set1_epi32(31))),
        _mm512_set1_epi32(1));
}

/* A bit for each whose two bytes before the sign and `next` stand in a form, or the last of these
 * and `next` at the beginning of one. */
GLANCE __mmask16 may_stand(const struct filters *filters, __m512i before, __m512i next,
                           bool are_few)
{
    __m512i two = _mm512_and_si512(before, _mm512_set1_epi32(0xffff));
    __m512i three = _mm512_or_si512(two, _mm512_slli_epi32(next, 16));
    __m512i pair = _mm512_or_si512(_mm512_andnot_si512(_mm512_set1_epi32(0xff), two), next);
    __mmask16 in_form =
        (__mmask16)(are_few ? filter_have_eight(&filters->any3, _mm512_castsi512_si256(three))
                            : filter_have_sixteen(&filters->any3, three));

    return in_form | begin_forms(filters->pairs, pair, are_few);
}

/* Of the valid signs, the first eight if they are few, a bit for each that is worth a longer look.
 * No branch but for double backslashes: which escapes there are is as good as random. */
GLANCE __mmask16 glance(const struct filters *filters, const struct sixteen *signs, __mmask16 valid,
                        bool are_few)
{
    const __m512i digits = _mm512_set1_epi32(0x11); /* of two hex digits, too much in the table */
    __m512i letter = _mm512_srli_epi32(signs->before, 24);
    __m512i second = byte_of(signs->behind, 0);
    __m512i third = byte_of(signs->behind, 1);
    __mmask16 is_url = equal(valid, byte_of(signs->before, 2), '%');
    __mmask16 is_json = valid & (__mmask16)~is_url;

    /* A percent sign. */
    __m512i high = look_up(hex_digits, letter);
    __m512i low = look_up(hex_digits, second);
    __m512i byte =
        byte_of(_mm512_sub_epi32(_mm512_add_epi32(_mm512_slli_epi32(high, 4), low), digits), 0);
    __mmask16 is_nothing = equal(is_url, high, 0) | equal(is_url, low, 0);
    __mmask16 is_rare = below(is_url, byte, 0x20) | equal(is_url, byte, 0x7f);

    /* A backslash; behind two of them, or behind a break and one, another letter is read. */
    __m512i escape = look_up(short_escapes, letter);
    __mmask16 is_break = equal(is_json, escape, BREAK);
    __mmask16 is_double = equal(is_json, letter, '\\');
    __mmask16 goes_on = equal(is_break, second, '\\');
    __mmask16 is_deep = is_double | goes_on;
    __m512i which = _mm512_mask_mov_epi32(third, is_double, second);
    __m512i other =
        _mm512_maskz_mov_epi32(below(is_deep, which, 128), look_up(short_escapes, which));
    __mmask16 is_deep_break = equal(is_double, other, BREAK);
    is_nothing |= equal(is_json, escape, 0) | equal(is_double, other, 0);
    is_rare |= equal(is_json & (__mmask16)~is_double, escape, DEEPER) |
               equal(is_deep, other, DEEPER) | below(goes_on, other, DEEPER);

    /* What follows the two bytes before: what the escape stands for, or what is behind it. */
    __mmask16 is_behind = (is_break & (__mmask16)~goes_on) | is_deep_break;
    __m512i next = _mm512_mask_mov_epi32(byte, is_json, escape);
    next = _mm512_mask_mov_epi32(next, is_break, second);
    next = _mm512_mask_mov_epi32(next, is_deep, other);
    next = _mm512_mask_mov_epi32(next, is_deep_break, third);
    __mmask16 is_open = is_behind | is_url;
    is_rare |=
        equal(is_open, next, '\\') | equal(is_open, next, '%') | equal(is_open, next, MAYBE_C1);

    __mmask16 maybe = may_stand(filters, signs->before, next, are_few);
    maybe |= are_in(filters->first, next) & (__mmask16) ~(is_break | is_deep_break);
    maybe &= (__mmask16)~is_nothing;
    is_double &= are_in(filters->before_backslash, byte_of(signs->before, 1));
    if (is_double != 0) {
        const __m512i backslash = _mm512_set1_epi32('\\');
        maybe |= is_double & (may_stand(filters, signs->before, backslash, are_few) |
                              are_in(filters->first, backslash));
    }
    return valid & (maybe | (is_rare & (__mmask16)~is_nothing) | below(valid, signs->left, 2) |
                    below(is_break | is_url, signs->left, 3) | below(is_deep, signs->left, 4));
}
