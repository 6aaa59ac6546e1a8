/* Signs: the usual escapes, decoded by table, and the filters asked about what they stand for. */

#include "sign.h"

#include <immintrin.h>
#include <string.h>

enum { BREAK = 1, DEEPER = 2 }; /* letters that stand for no text; that need the lane itself */

/* What `\\` and a letter stand for; 0: nothing. */
static const uint8_t short_escapes[256 + 8] = {
    /* loads of 8 bytes stay inside */
    ['"'] = '"',   ['/'] = '/',   ['t'] = '\t',    ['n'] = BREAK,  ['r'] = BREAK,
    ['b'] = BREAK, ['f'] = BREAK, ['\\'] = DEEPER, ['u'] = DEEPER,
};

/* Hex digits, one more than their value; 0: none. */
static const uint8_t hex_digits[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
    ['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

/* How the text goes on at a sign: the three bytes before, and what follows, decoded. */
struct reading {
    const struct filters *filters;
    const uint8_t *at;
    const uint8_t *end;
    uint8_t sign;
};

/* The `\\u` escape at `at`: bytes of it, and of the colour that it begins if it is ESC; 0 if that
 * is not simple. *ret_byte is the ASCII character, or -1 for what stands for no text. */
static size_t read_unicode(const uint8_t *at, const uint8_t *end, int *ret_byte)
{
    size_t size = 6;
    size_t left = (size_t)(end - at);

    if (left < 8 || at[2] != '0' || at[3] != '0' || !hex_digits[at[4]] || !hex_digits[at[5]])
        return 0;
    *ret_byte = (hex_digits[at[4]] - 1) << 4 | (hex_digits[at[5]] - 1);
    if (*ret_byte >= 0x7f || *ret_byte == '\\')
        return 0;
    if (*ret_byte >= 0x20 || *ret_byte == '\t')
        return size;
    if (*ret_byte == 0x1b) {
        if (at[size++] != '[')
            return 0;
        while (size < left && at[size] >= 0x20 && at[size] <= 0x3f)
            size++;
        if (size == left || at[size] < 0x40 || at[size] >= 0x7f || at[size] == '\\')
            return 0;
        size++;
    }
    *ret_byte = -1;
    return size;
}

/* The same with only the first `known` of the next four, for signs that are too near. */
static int may_go_on_with(const struct reading *reading, const uint8_t *next, size_t known)
{
    const struct filters *filters = reading->filters;
    uint8_t around[8];

    if (known == 0)
        return 1;
    memset(around, 0, sizeof around);
    memcpy(around, reading->at - 3, 3);
    memcpy(around + 3, next, known);
    if (filter_has(&filters->any4, filter_load4(around)))
        return 1;
    if (known >= 2 ? filter_has(&filters->early4, filter_load4(around + 1))
                   : filters_have_pair(filters, around[1], around[2]))
        return 1;
    if (known >= 3 ? filter_has(&filters->early4, filter_load4(around + 2))
                   : filters_have_pair(filters, around[2], around[3]))
        return 1;
    if (known == 4)
        return filter_has(&filters->early4, filter_load4(next));
    return known < 2 || filters_have_pair(filters, next[0], next[1]);
}

/* Reads what follows escape by escape, as far as that is simple; `known` of next[] are there. */
static int read_carefully(const struct reading *reading, const uint8_t *at, uint8_t next[4],
                          size_t known)
{
    while (known < 4 && at + 2 < reading->end) {
        uint8_t byte = at[0] == '\\' ? short_escapes[at[1]] : 0;
        if (at[0] == '%' && reading->sign == '%' && hex_digits[at[1]] && hex_digits[at[2]])
            break;
        if (reading->sign == '%' || byte == 0) {
            next[known++] = *at++;
            continue;
        }
        size_t size = 2;
        int first = byte == BREAK ? -1 : byte;
        if (byte == DEEPER)
            size = at[1] == 'u' ? read_unicode(at, reading->end, &first) : 0;
        if (size == 0)
            break;
        if (first >= 0)
            next[known++] = (uint8_t)first;
        at += size;
    }
    return may_go_on_with(reading, next, known);
}

/* A form has some bytes (its literal ones) before the sign. With three or more, the last three and
 * the next one are a piece of it; with fewer, the next four are, from its offset 0, 1 or 2 on.
 * The escape stands for `first`, or for nothing (-1); what it leaves begins at `behind`. */
static inline int may_go_on(const struct reading *reading, int first, const uint8_t *behind)
{
    const struct filters *filters = reading->filters;
    uint32_t next = filter_load4(behind);
    uint32_t signs;

    if (first >= 0)
        next = next << 8 | (uint32_t)first;
    signs = next ^ reading->sign * UINT32_C(0x01010101);
    if (__builtin_expect((first >= 0 ? (signs - 0x01010100) & ~signs & 0x80808000
                                     : (signs - 0x01010101) & ~signs & 0x80808080) == 0 &&
                             filters->short4.pieces == 0,
                         1)) {
        uint32_t around = (filter_load4(reading->at - 3) & 0xffffff) | next << 24;
        return filter_has(&filters->any4, around) | filter_has(&filters->early4, next);
    }

    uint8_t known[4] = {(uint8_t)first};
    return read_carefully(reading, behind, known, first >= 0);
}

/* Behind `\\u` and four digits: a character, or the first byte of a colour that is skipped. */
static int unicode_may_matter(const struct reading *reading)
{
    int first;
    size_t size = read_unicode(reading->at, reading->end, &first);

    if (size == 0 || reading->at + size + 4 > reading->end)
        return 1;
    return may_go_on(reading, first, reading->at + size);
}

/* Two backslashes: one, and at the next level what it and the letter behind stand for. */
static int deeper_may_matter(const struct reading *reading)
{
    const uint8_t *at = reading->at;
    uint8_t byte = short_escapes[at[2]];

    if (byte == DEEPER || may_go_on(reading, '\\', at + 2))
        return 1;
    if (byte == 0)
        return 0;
    return may_go_on(reading, byte == BREAK ? -1 : byte, at + 3);
}

static int json_may_matter(const struct reading *reading)
{
    const uint8_t *at = reading->at;
    uint8_t byte = short_escapes[at[1]];

    if (byte == 0)
        return 0;
    if (byte == DEEPER)
        return at[1] == 'u' ? unicode_may_matter(reading) : deeper_may_matter(reading);
    return may_go_on(reading, byte == BREAK ? -1 : byte, at + 2);
}

static int url_may_matter(const struct reading *reading)
{
    uint8_t high = hex_digits[reading->at[1]];
    uint8_t low = hex_digits[reading->at[2]];
    uint8_t byte;

    if (high == 0 || low == 0)
        return 0;
    byte = (uint8_t)((high - 1) << 4 | (low - 1));
    if (byte < 0x20 || byte == 0x7f || byte == '%' || byte == 0xc2)
        return 1;
    return may_go_on(reading, byte, reading->at + 3);
}

enum { NEAR_BYTES = 12 }; /* what is looked at behind the sign, at least */

int sign_may_matter(const struct filters *filters, const uint8_t *text, size_t size, size_t at)
{
    const struct reading reading = {filters, text + at, text + size, text[at]};

    if (at < 3 || size - at < NEAR_BYTES)
        return 1;
    return text[at] == '%' ? url_may_matter(&reading) : json_may_matter(&reading);
}

static size_t sift(const struct filters *filters, const uint8_t *text, size_t size,
                   uint32_t *places, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if (sign_may_matter(filters, text, size, places[i]))
            places[kept++] = places[i];
    }
    return kept;
}

/* Where nothing is optimised, the compiler's gathers are macros that convert their masks. */
#pragma GCC diagnostic ignored "-Wsign-conversion"

#define AVX512 __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl")))

/* Of eight 4-byte pieces, a bit for each that may be in the filter. */
AVX512 static inline __mmask8 filter_have_eight(const struct filter *filter, __m512i pieces)
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

/* Of eight signs, a bit for each that is not surely without meaning: may_go_on() at once, for
 * backslashes with a letter that stands for one byte or a line break. */
AVX512 static inline __mmask8 look_at_eight(const struct filters *filters, const uint8_t *text,
                                            __m256i places)
{
    const __m512i byte_mask = _mm512_set1_epi64(0xff);
    __m512i at = _mm512_cvtepu32_epi64(places);
    __m512i around = _mm512_i64gather_epi64(at, (const void *)(text - 3), 1);
    __m512i behind = _mm512_i64gather_epi64(at, (const void *)(text + 2), 1);
    __m512i sign = _mm512_and_si512(_mm512_srli_epi64(around, 24), byte_mask);
    __m512i letter = _mm512_and_si512(_mm512_srli_epi64(around, 32), byte_mask);
    __m512i byte =
        _mm512_and_si512(_mm512_i64gather_epi64(letter, (const void *)short_escapes, 1), byte_mask);
    __mmask8 is_url = _mm512_cmpneq_epi64_mask(sign, _mm512_set1_epi64('\\'));
    __mmask8 is_nothing = _mm512_cmpeq_epi64_mask(byte, _mm512_setzero_si512());
    __mmask8 is_break = _mm512_cmpeq_epi64_mask(byte, _mm512_set1_epi64(BREAK));
    __mmask8 is_deeper = _mm512_cmpeq_epi64_mask(byte, _mm512_set1_epi64(DEEPER));
    __m512i decoded = _mm512_or_si512(_mm512_slli_epi64(behind, 8), byte);
    __m512i next = _mm512_and_si512(_mm512_mask_blend_epi64(is_break, decoded, behind),
                                    _mm512_set1_epi64(UINT32_MAX));
    __m512i pieces = _mm512_or_si512(
        _mm512_and_si512(around, _mm512_set1_epi64(0xffffff)),
        _mm512_and_si512(_mm512_slli_epi64(next, 24), _mm512_set1_epi64(UINT32_C(0xff000000))));
    /* A sign among the next four, the decoded byte not counted. */
    __mmask64 signs =
        _mm512_cmpeq_epi8_mask(next, _mm512_set1_epi8('\\')) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    __mmask8 is_near = _mm512_test_epi64_mask(_mm512_movm_epi8(signs), byte_mask) & is_break;

    is_near |= _mm512_test_epi64_mask(_mm512_movm_epi8(signs), _mm512_set1_epi64(0xffffff00));
    return (__mmask8)(is_url | is_deeper |
                      ((filter_have_eight(&filters->any4, pieces) |
                        filter_have_eight(&filters->early4, next) | is_near) &
                       ~is_nothing));
}

AVX512 static size_t sift_eights(const struct filters *filters, const uint8_t *text, size_t size,
                                 uint32_t *places, size_t count)
{
    size_t kept = 0;
    size_t i = 0;

    if (filters->short4.pieces > 0)
        return sift(filters, text, size, places, count);
    for (; i < count && places[i] < 3; i++)
        places[kept++] = places[i];
    for (; i + 8 <= count && places[i + 7] + NEAR_BYTES <= size; i += 8) {
        __m256i eight = _mm256_loadu_si256((const __m256i *)(const void *)(places + i));
        for (unsigned maybe = look_at_eight(filters, text, eight); maybe != 0; maybe &= maybe - 1) {
            uint32_t place = places[i + (size_t)__builtin_ctz(maybe)];
            if (sign_may_matter(filters, text, size, place))
                places[kept++] = place;
        }
    }
    for (; i < count; i++) {
        if (sign_may_matter(filters, text, size, places[i]))
            places[kept++] = places[i];
    }
    return kept;
}

sift_fn sift_plain(void)
{
    return sift;
}

sift_fn sift_avx512(void)
{
    return __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512vl")
               ? sift_eights
               : NULL;
}

sift_fn sift_best(void)
{
    sift_fn best = sift_avx512();

    return best != NULL ? best : sift;
}
