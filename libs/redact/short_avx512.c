/*
 * A short piece at once, in registers. What is not usual (something masked, a rare sequence, much
 * that is held) is left to bulk.c; until that is sure, nothing is changed. Nothing is branched on
 * that is as good as random: how many bytes are text, or held, where sequences end.
 */

#include <string.h>

#include "filter_avx.h"
#include "glance_avx512.h"
#include "scan.h"
#include "short.h"
#include "stream.h"
#include "word_avx512.h"

enum { HELD_AT_ONCE = 8, WORD_BYTES = 64 };

_Static_assert(sizeof(struct held) == 8 && offsetof(struct held, byte) == 4 &&
                   offsetof(struct held, kind) == 5 && offsetof(struct held, masked) == 6,
               "held bytes are read and written as numbers of 64 bits");
_Static_assert((int)STREAM_INLINE_COUNT >= (int)HELD_AT_ONCE, "so many can be read and written");
_Static_assert((int)HELD_AT_ONCE < (int)LONG_STRIDE, "in them no further piece is asked about");
_Static_assert(HELD_SKIP == 0 && HELD_TEXT == 1, "the lowest bit says that it is text");
_Static_assert((int)STREAM_PAST_BYTES == (int)WORD_BYTES, "what is remembered is one word");

#define KIND_BITS(kind) ((long long)(kind) << 40)
#define MASKED_BITS (0xffLL << 48)

/* What of a piece is text, the first byte of it being number 0. */
struct short_text {
    __m512i raw;
    size_t raw_size;
    uint64_t keep;           /* a bit for each raw byte: it is text */
    uint64_t signs;          /* a bit for each byte of text: a lane may begin there */
    enum escape_state state; /* behind it */
    bool is_rare;            /* escape.h has to read it */
    __m512i bytes;
    size_t size;
};

/* What is held before it. */
struct short_head {
    uint64_t bytes;   /* text or not, the first one lowest */
    size_t text_size; /* bytes of text in them */
    __m512i before;   /* what is remembered and the text of them, up to their end */
    uint64_t signs;   /* a bit for each byte of that text: a sign that the text before ended with */
    bool is_rare;     /* something else than text and what is skipped, or masked */
};

/* What of the text may leave; counted from the piece's first byte of text on. */
struct short_end {
    size_t alive; /* as of a scan */
    size_t hold;
    bool is_rare; /* something is masked, nothing leaves, or no ASCII character is last */
};

/* 64 of the bytes of two words one after the other, from `from` on. */
AVX512 __m512i bytes_from(__m512i first, __m512i second, size_t from)
{
    __m512i places = _mm512_add_epi8(_mm512_load_si512(numbers), _mm512_set1_epi8((char)from));

    return _mm512_permutex2var_epi8(first, places, second);
}

AVX512 struct short_head read_head(const struct kndl_redact_stream *stream)
{
    const __m512i rare = _mm512_set1_epi64(KIND_BITS(0xff & ~HELD_TEXT) | MASKED_BITS);
    __m512i held = _mm512_loadu_si512(stream->held);
    __mmask8 valid = (__mmask8)_bzhi_u32(0xff, stream->count);
    __mmask8 is_text =
        _mm512_mask_test_epi64_mask(valid, held, _mm512_set1_epi64(KIND_BITS(HELD_TEXT)));
    __m128i bytes = _mm512_cvtepi64_epi8(_mm512_srli_epi64(held, 32));
    __m128i text = _mm_maskz_compress_epi8(is_text, bytes);
    __mmask16 signs = _mm_cmpeq_epi8_mask(text, _mm_set1_epi8('\\'));
    size_t text_size = (size_t)__builtin_popcount(is_text);

    signs |= _mm_cmpeq_epi8_mask(text, _mm_set1_epi8('%'));
    return (struct short_head){
        .bytes = (uint64_t)_mm_cvtsi128_si64(bytes),
        .text_size = text_size,
        .before =
            bytes_from(_mm512_loadu_si512(stream->past), _mm512_castsi128_si512(text), text_size),
        .signs = signs,
        .is_rare = _mm512_mask_test_epi64_mask(valid, held, rare) != 0,
    };
}

/* Of a text, a bit for each sign that an escape's letter follows; two digits, if it is a percent
 * sign. What follows at the text's end isn't known. */
AVX512 uint64_t find_signs(const struct word_classes *word, __m512i raw, uint64_t keep,
                           unsigned size)
{
    __m512i found = classes_of(raw);
    uint64_t signs = _pext_u64(word->signs, keep);
    uint64_t percents = _pext_u64(have(found, PARAMETER), keep);
    uint64_t letters = _pext_u64(word->letters, keep);
    uint64_t digits = _pext_u64(have(found, DIGIT), keep);
    uint64_t behind = ~_bzhi_u64(~UINT64_C(0), size);

    letters = (letters | behind) >> 1 | UINT64_C(1) << 63;
    digits = (digits | behind) >> 1 | UINT64_C(1) << 63;
    digits &= digits >> 1 | UINT64_C(1) << 63;
    return signs & ((letters & ~percents) | (digits & percents));
}

AVX512 struct short_text read_text(struct kndl_slice piece, enum escape_state state)
{
    uint64_t valid = _bzhi_u64(~UINT64_C(0), (unsigned)piece.size);
    uint64_t carried = (state == ESCAPE_CSI) * (uint64_t)CARRIED_PARAMETERS |
                       (state == ESCAPE_ESC) * (uint64_t)CARRIED_BRACKET;
    __m512i raw = _mm512_maskz_loadu_epi8(valid, piece.data);
    struct word_classes word = classify(raw);
    struct short_text text = {
        .raw = raw, .raw_size = piece.size, .keep = valid & ~word.control, .state = ESCAPE_GROUND};

    text.is_rare = word.c2 != 0;
    if ((word.escape | carried) != 0) {
        struct sequence_classes in = find_sequences(raw);
        struct last_word last = read_last_word(&word, &in, valid, carried);
        text.keep = last.keep;
        text.state = last.state;
        text.is_rare = (last.rare | last.broken | word.c2) != 0;
    }
    text.bytes = _mm512_maskz_compress_epi8(text.keep, raw);
    text.size = (size_t)__builtin_popcountll(text.keep);
    text.signs = find_signs(&word, raw, text.keep, (unsigned)text.size);
    return text;
}

/* Four bytes of a text, before the one with this number. */
AVX512 uint32_t four_before(const struct short_text *text, size_t number)
{
    __m128i places = _mm_add_epi8(_mm_cvtsi32_si128((int)0xfffefdfc), _mm_set1_epi8((char)number));

    return (uint32_t)_mm_cvtsi128_si32(_mm512_castsi512_si128(
        _mm512_permutexvar_epi8(_mm512_castsi128_si512(places), text->bytes)));
}

/*
 * May a long form be here, or more than three bytes of one at the end? The filter is asked about
 * each twelfth byte from the last four back, as far as one may begin that ends in this piece, so
 * that one of its first twelve pieces is among them, however much of it is there.
 */
AVX512 bool may_have_form(const struct filters *filters, const struct short_head *head,
                          const struct short_text *text)
{
    static const int8_t ends[32] __attribute__((aligned(32))) = {
        60, 61, 62, 63, 48, 49, 50, 51, 36, 37, 38, 39, 24, 25, 26, 27, 12, 13, 14, 15, 0, 1, 2, 3};
    static const int32_t needed[8]
        __attribute__((aligned(32))) = {4, 16, 28, 40, 52, 64, INT32_MAX, INT32_MAX};
    __m256i size = _mm256_set1_epi32((int)(head->text_size + text->size));
    __m256i places = _mm256_add_epi8(_mm256_load_si256((const __m256i *)(const void *)ends),
                                     _mm256_set1_epi8((char)text->size));
    __m256i pieces = _mm512_castsi512_si256(
        _mm512_permutex2var_epi8(head->before, _mm512_castsi256_si512(places), text->bytes));
    unsigned is_there =
        _mm256_cmpge_epi32_mask(size, _mm256_load_si256((const __m256i *)(const void *)needed));

    return (is_there & filter_have_eight(&filters->long4, pieces)) != 0;
}

/* Memory for a text, with a word before it whose end is held text; secret. */
struct spilled {
    uint8_t bytes[2 * WORD_BYTES + BLOCK_SLACK_BYTES];
};

/* Returns where the text is. */
AVX512 const uint8_t *spill(struct spilled *spilled, __m512i before, size_t held, __m512i text)
{
    uint64_t is_held = ~(~UINT64_C(0) >> held);

    _mm512_storeu_si512(spilled->bytes, _mm512_maskz_mov_epi8(is_held, before));
    _mm512_storeu_si512(spilled->bytes + WORD_BYTES, text);
    return spilled->bytes + WORD_BYTES;
}

AVX512 void wipe(struct spilled *spilled)
{
    _mm512_storeu_si512(spilled->bytes, _mm512_setzero_si512());
    _mm512_storeu_si512(spilled->bytes + WORD_BYTES, _mm512_setzero_si512());
    __asm__ volatile("" : : "r"(spilled) : "memory");
}

/* Is there a sign among these, in the held text and in the text, that may matter? */
TARGET static __attribute__((noinline)) bool
signs_in_memory_matter(const struct kndl_redact_set *set, __m512i before, size_t held,
                       uint64_t held_signs, __m512i text, size_t size, uint64_t signs)
{
    struct spilled spilled __attribute__((uninitialized));
    uint16_t places[HELD_AT_ONCE + WORD_BYTES + PLACES_SLACK] __attribute__((uninitialized));
    uint32_t kept[HELD_AT_ONCE + WORD_BYTES + SIFT_SLACK] __attribute__((uninitialized));
    size_t count = store_places(held_signs, 0, places);
    const uint8_t *own = spill(&spilled, before, held, text);

    count += store_places(signs, held, places + count);
    bool matter = set->sift(&set->filters, own - held, held + size, places, count, kept) > 0;
    wipe(&spilled);
    return matter;
}

/* Of the signs of a text, eight at most, those that are worth a longer look. */
AVX512 uint64_t glance_at_few(const struct filters *filters, __m512i before,
                              const struct short_text *text, uint64_t signs)
{
    const __m512i each = _mm512_set4_epi32(0x0c0c0c0c, 0x08080808, 0x04040404, 0);
    const __m512i around = _mm512_set1_epi32(0x0100fffe); /* from two before to one behind */
    __m512i numbered = _mm512_maskz_compress_epi8(signs, _mm512_load_si512(numbers));
    __m512i at = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(numbered));
    __m512i places = _mm512_add_epi8(_mm512_shuffle_epi8(at, each), around);
    __m512i behind = _mm512_add_epi8(places, _mm512_set1_epi8(4));
    __mmask16 valid = (__mmask16)_bzhi_u32(0xff, (unsigned)__builtin_popcountll(signs));
    const __m512i second = _mm512_set1_epi8(WORD_BYTES);
    struct sixteen around_them = {
        .before = _mm512_permutex2var_epi8(before, _mm512_add_epi8(places, second), text->bytes),
        .behind = _mm512_permutex2var_epi8(before, _mm512_add_epi8(behind, second), text->bytes),
        .left = _mm512_sub_epi32(_mm512_set1_epi32((int)text->size), at),
    };

    return _pdep_u64(glance(filters, &around_them, valid, true), signs);
}

/* Is there a sign among these that may matter? */
AVX512 bool signs_matter(const struct kndl_redact_set *set, const struct short_head *head,
                         const struct short_text *text, uint64_t signs)
{
    enum { FEW_SIGNS = 8 };

    if (__builtin_expect((head->signs == 0) & (__builtin_popcountll(signs) <= FEW_SIGNS), 1))
        signs = glance_at_few(&set->filters, head->before, text, signs);
    return (head->signs | signs) != 0 &&
           signs_in_memory_matter(set, head->before, head->text_size, head->signs, text->bytes,
                                  text->size, signs);
}

/* Of these signs, passes over the last one if it is the text's last byte, or a break that is its
 * end, and nothing is open before it. One that is cut is remembered. Returns the others. */
AVX512 uint64_t pass_last_sign(const struct kndl_redact_set *set, const struct short_text *text,
                               uint64_t signs, struct short_end *end)
{
    size_t at = 63 - (size_t)__builtin_clzll(signs);
    uint32_t last = four_before(text, text->size);
    bool is_cut = at + 1 == text->size;
    bool is_break = (uint8_t)(last >> 16) == '\\' && short_escapes[(uint8_t)(last >> 24)] == BREAK;

    if (at < PIECE_BYTES || !(is_cut || (at + 2 == text->size && is_break)))
        return signs;

    uint32_t before = four_before(text, at);
    if (scan_begun(set, before, sizeof before) != 0 || filter_has(&set->filters.any4, before))
        return signs;
    if (is_cut && at < end->alive)
        end->alive = at;
    return signs & ~(UINT64_C(1) << at);
}

/* Scans the text in memory, as that of a longer piece. */
TARGET static __attribute__((noinline)) struct short_end scan_in_memory(struct kndl_redact_set *set,
                                                                        __m512i before, size_t held,
                                                                        __m512i text, size_t size,
                                                                        uint64_t signs)
{
    struct spilled spilled __attribute__((uninitialized));
    uint64_t mask[MASK_WORDS(2 * WORD_BYTES)] __attribute__((uninitialized));
    uint16_t places[WORD_BYTES] __attribute__((uninitialized));
    struct scan scan = {.set = set,
                        .text = spill(&spilled, before, held, text) - held,
                        .mask = mask,
                        .size = held + size,
                        .known = SIZE_MAX};

    scan_block(&scan, places, store_places(signs, 0, places), held);
    bool is_rare = scan.found || scan.alive <= held || scan.text[scan.hold - 1] >= 0x80;
    wipe(&spilled);
    return (struct short_end){
        .alive = scan.alive - held, .hold = scan.hold - held, .is_rare = is_rare};
}

/* Finds what may still begin something. The text has four bytes at least. Forms that are not long
 * have filters of their own, asked in memory. */
AVX512 struct short_end scan_short(struct kndl_redact_set *set, const struct short_head *head,
                                   const struct short_text *text)
{
    uint32_t last = four_before(text, text->size);
    size_t begun = scan_begun(set, last, sizeof last);
    bool is_shorter = (set->filters.middle4.pieces | set->filters.short4.pieces) != 0;
    bool all = may_have_form(&set->filters, head, text) | is_shorter;
    struct short_end end = {.alive = text->size - begun,
                            .hold = text->size - begun,
                            .is_rare = (last << 8 * begun & UINT32_C(1) << 31) != 0};

    if ((head->signs | text->signs) != 0 && !all) {
        uint64_t signs = text->signs;
        if (signs >> (text->size - 2) != 0)
            signs = pass_last_sign(set, text, signs, &end);
        all = signs_matter(set, head, text, signs);
    }
    if (__builtin_expect(all, 0))
        return scan_in_memory(set, head->before, head->text_size, text->bytes, text->size,
                              text->signs);
    return end;
}

/* Where in the piece this byte of its text is; its end, if there is none. */
AVX512 size_t place_of(const struct short_text *text, size_t number)
{
    uint64_t before = _pdep_u64(_bzhi_u64(~UINT64_C(0), (unsigned)number), text->keep);
    size_t place = _tzcnt_u64(text->keep & ~before);

    return place < text->raw_size ? place : text->raw_size;
}

/* Appends what is held and has not left, and the piece up to `leave`; what does not leave may be
 * secret, and isn't written. */
AVX512 void emit(const struct kndl_redact_stream *stream, const struct short_head *head,
                 const struct short_text *text, size_t leave, struct kndl_buf *out)
{
    uint64_t held = head->bytes >> (8 * stream->sent % 64);
    char *to = out->data + out->size;

    memcpy(to, &held, sizeof held);
    to += stream->count - stream->sent;
    _mm512_storeu_si512(to,
                        _mm512_maskz_mov_epi8(_bzhi_u64(~UINT64_C(0), (unsigned)leave), text->raw));
    to += leave;
    *to = '\0';
    out->size = (size_t)(to - out->data);
}

/* Holds `count` bytes of the piece from `from` on instead of what was held. */
AVX512 void hold(struct kndl_redact_stream *stream, const struct short_text *text, size_t from,
                 size_t count)
{
    __mmask8 valid = (__mmask8)_bzhi_u32(0xff, (unsigned)count);
    __mmask8 is_text = (__mmask8)(text->keep >> from % WORD_BYTES);
    __m128i bytes = _mm512_castsi512_si128(bytes_from(text->raw, text->raw, from));
    __m512i held = _mm512_slli_epi64(_mm512_cvtepu8_epi64(bytes), 32);

    held = _mm512_or_si512(held, _mm512_set1_epi64((uint32_t)stream->now_us));
    held = _mm512_mask_or_epi64(held, is_text, held, _mm512_set1_epi64(KIND_BITS(HELD_TEXT)));
    _mm512_storeu_si512(stream->held, _mm512_maskz_mov_epi64(valid, held));
}

AVX512 void remember(struct kndl_redact_stream *stream, const struct short_head *head,
                     const struct short_text *text, size_t alive)
{
    size_t known = stream->past_size + head->text_size + alive;

    _mm512_storeu_si512(stream->past, bytes_from(head->before, text->bytes, alive));
    stream->past_size = (uint8_t)(known < STREAM_PAST_BYTES ? known : STREAM_PAST_BYTES);
}

static bool can_take(const struct kndl_redact_stream *stream, struct kndl_slice piece)
{
    unsigned state = stream->escape;
    bool is_known = (1U << ESCAPE_GROUND | 1U << ESCAPE_ESC | 1U << ESCAPE_CSI) >> state & 1;

    return is_known & !((state == ESCAPE_ESC) & (piece.data[0] != '[')) &&
           stream->count <= HELD_AT_ONCE && stream->held == stream->inline_held &&
           stream->missing == 0;
}

TARGET static size_t take_short(struct kndl_redact_stream *stream, struct kndl_slice piece,
                                struct kndl_buf *out)
{
    enum { ROOM = HELD_AT_ONCE + WORD_BYTES };

    if (!can_take(stream, piece))
        return 0;

    struct short_text text = read_text(piece, stream->escape);
    struct short_head head = read_head(stream);
    if (text.is_rare | head.is_rare | (text.size < PIECE_BYTES))
        return 0;

    struct short_end end = scan_short(stream->set, &head, &text);
    size_t from = place_of(&text, end.alive);
    size_t leave = place_of(&text, end.hold);
    size_t count = piece.size - from;
    if (end.is_rare | (count > HELD_AT_ONCE))
        return 0;

    if (out->capacity - out->size <= ROOM)
        (void)kndl_buf_reserve(out, ROOM);
    emit(stream, &head, &text, leave, out);
    remember(stream, &head, &text, end.alive);
    hold(stream, &text, from, count);
    stream->count = (uint32_t)count;
    stream->sent = (uint32_t)(leave - from);
    stream->payload = 0;
    stream->text_known = (uint32_t)(text.size - end.alive);
    stream->waits = end.hold < text.size;
    stream->escape = (uint8_t)text.state;
    return piece.size;
}

take_short_fn take_short_avx512(void)
{
    return normalise_avx512() != NULL ? take_short : NULL;
}
