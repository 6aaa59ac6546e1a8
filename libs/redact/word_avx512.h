#pragma once

/* Classifying 64 bytes at once, for processors with AVX-512 and VBMI2. */

#include <immintrin.h>

#include "normalise_loop.h"

#define TARGET                                                                                     \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt,bmi,bmi2")))
#define AVX512 TARGET static inline __attribute__((always_inline))

/* What is asked of a byte, as bits. */
enum {
    CONTROL = 1,
    SIGN = 2,
    ESC = 4,
    BRACKET = 8,
    PARAMETER = 16, /* a percent sign is one, a backslash none */
    FINAL = 32,
    LETTER = 64,
    DIGIT = 128 /* a hexadecimal one */
};

/* Of the ASCII characters, in rows of sixteen. */
static const uint8_t classes[128] __attribute__((aligned(64))) = {
    /* clang-format off */
    1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 5, 1, 1, 1, 1,
    16, 16, 80, 16, 16, 18, 16, 16, 16, 16, 16, 16, 16, 16, 16, 80,
    208, 208, 208, 208, 208, 208, 208, 208, 208, 208, 16, 16, 16, 16, 16, 16,
    32, 224, 224, 224, 224, 224, 224, 32, 32, 32, 32, 32, 32, 32, 32, 32,
    32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 40, 98, 32, 32, 32,
    32, 224, 224, 224, 224, 224, 224, 32, 32, 32, 32, 32, 32, 32, 96, 32,
    32, 32, 96, 32, 96, 96, 32, 32, 32, 32, 32, 32, 32, 32, 32, 1,
    /* clang-format on */
};

AVX512 __m512i load(const uint8_t *raw, uint64_t valid, const uint8_t *copy)
{
    (void)copy;
    return _mm512_maskz_loadu_epi8(valid, raw);
}

AVX512 __m512i classes_of(__m512i bytes)
{
    return _mm512_maskz_permutex2var_epi8(~_mm512_movepi8_mask(bytes), _mm512_load_si512(classes),
                                          bytes, _mm512_load_si512(classes + 64));
}

/* The class's bit, shifted to where it is the byte's highest: that needs no constant. */
AVX512 uint64_t have(__m512i found, unsigned class)
{
    return _mm512_movepi8_mask(_mm512_slli_epi64(found, (unsigned)__builtin_clz(class) - 24));
}

AVX512 struct word_classes classify(__m512i bytes)
{
    __m512i found = classes_of(bytes);

    return (struct word_classes){
        .control = have(found, CONTROL),
        .escape = have(found, ESC),
        .c2 = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8((char)0xc2)),
        .signs = have(found, SIGN),
        .letters = have(found, LETTER),
    };
}

AVX512 struct sequence_classes find_sequences(__m512i bytes)
{
    __m512i found = classes_of(bytes);

    return (struct sequence_classes){
        .bracket = have(found, BRACKET),
        .parameters = have(found, PARAMETER),
        .final = have(found, FINAL),
    };
}

/* The numbers 0 to 63. */
static const uint8_t numbers[64] __attribute__((aligned(64))) = {
    0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
    22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
    44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};

enum { PLACES_SLACK = 16 };

/* The numbers of the bits, from `first` on; PLACES_SLACK may be written over. Returns how many
 * there are. */
AVX512 size_t store_places(uint64_t bits, size_t first, uint16_t *to)
{
    const __m256i base = _mm256_set1_epi16((short)first);
    __m512i places = _mm512_maskz_compress_epi8(bits, _mm512_load_si512(numbers));
    size_t count = (size_t)__builtin_popcountll(bits);

    for (size_t i = 0;; i += 16) {
        __m256i some = _mm256_cvtepu8_epi16(_mm512_castsi512_si128(places));
        _mm256_storeu_si256((__m256i *)(void *)(to + i), _mm256_add_epi16(base, some));
        if (__builtin_expect(count <= i + 16, 1))
            return count;
        places = _mm512_alignr_epi64(places, places, 2);
    }
}
