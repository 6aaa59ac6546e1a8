/* Blocks at once against byte by byte, on long texts: same output however the text is cut. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kndl/mem.h"
#include "scan.h"
#include "set.h"
#include "stream.h"

enum { TEXT_BYTES = 24 * 1000, VALUES = 40 };

static uint32_t seed = 1;

static uint32_t below(uint32_t limit)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 10) % limit;
}

/* Values that share beginnings, letters and ends; some short, some of two lines, some special. */
static void make_value(struct kndl_buf *value, unsigned index)
{
    static const char letters[] = "abAB01-/=\"\\&%+ \n";

    kndl_buf_append_text(value, index % 3 == 0 ? "sk-lab-" : index % 3 == 1 ? "ab" : "");
    for (uint32_t left = 4 + below(index % 4 == 0 ? 5 : 50); left > 0; left--)
        kndl_buf_append_char(value, letters[below(index % 2 ? 6 : sizeof letters - 1)]);
    kndl_buf_append_text(value, "Zz");
}

static struct kndl_redact_set *make_set(struct kndl_buf values[VALUES])
{
    struct kndl_redact_value list[VALUES];
    struct kndl_redact_set *set = NULL;

    for (unsigned i = 0; i < VALUES; i++) {
        make_value(&values[i], i);
        list[i] = (struct kndl_redact_value){.name = "V", .value = kndl_buf_slice(&values[i])};
    }
    assert_int_equal(kndl_redact_set_new(list, VALUES, &set, NULL), 0);
    return set;
}

/* A piece of a value, whole or cut, plain or with an encoded character, colours and breaks. */
static void add_value(struct kndl_buf *text, const struct kndl_buf *value)
{
    size_t size = below(3) == 0 ? below((uint32_t)value->size) : value->size;

    for (size_t i = 0; i < size; i++) {
        uint8_t byte = (uint8_t)value->data[i];
        switch (below(40)) {
        case 0:
            kndl_buf_append_text(text, "\033[1;32m");
            break;
        case 1:
            kndl_buf_append_text(text, "\r\n");
            break;
        default:
            break;
        }
        if (below(12) == 0 || byte == '\n')
            kndl_buf_printf(text, below(2) ? "%%%02X" : "\\u%04x", byte);
        else
            kndl_buf_append_char(text, (char)byte);
    }
}

static void add_noise(struct kndl_buf *text)
{
    static const char *const words[] = {
        " word ",
        "\033[0m",
        "\033]0;title\007",
        "\033]8;;http://x/%20\033\\",
        "\\n",
        "100% ",
        "sk-lab-",
        "\xe2\x9c\x93",
        "\xc2\xb0",
        "\xc2\x9b",
        "\033(B",
        "\033[38;",
        "5;1m",
        "\r\n",
        "ab",
        "\\\"x\\\"",
        "\033",
        "C:\\\\dir",
        "\t",
        "\033]",
        "12345678",
        "..........................",
        "\0337",
        "\033]\033\\",
        "\033]0;\xe2\x9c\x93 t\007",
        "\033P\tx\030",
        "\xe2\x9c",
        "\x93",
    };

    for (uint32_t left = below(12); left > 0; left--)
        kndl_buf_append_text(text, words[below(sizeof words / sizeof words[0])]);
}

static void make_text(struct kndl_buf *text, const struct kndl_buf values[VALUES])
{
    while (text->size < TEXT_BYTES) {
        add_noise(text);
        add_value(text, &values[below(VALUES)]);
    }
}

/* Moves a cut out of an escape: one that no form is spelled with shows when it is cut in two. */
static size_t find_cut(const struct kndl_buf *text, size_t at)
{
    enum { ESCAPE_BYTES = 12 };

    for (size_t i = at < ESCAPE_BYTES ? 0 : at - ESCAPE_BYTES; i < at && at < text->size; i++) {
        if (text->data[i] == '\\' || text->data[i] == '%')
            at = i + ESCAPE_BYTES > at ? i + ESCAPE_BYTES : at;
    }
    return at < text->size ? at : text->size;
}

static struct kndl_buf run(struct kndl_redact_set *set, normalise_fn normalise,
                           const struct kndl_buf *text, uint32_t piece_most)
{
    struct kndl_redact_stream *stream = kndl_redact_stream_new(set, KNDL_REDACT_BYTES);
    struct kndl_buf out = {0};

    set->normalise = normalise;
    set->take_short = normalise == normalise_avx512() ? take_short_avx512() : NULL;
    for (size_t at = 0; at < text->size;) {
        size_t size = piece_most == 1 ? 1 : 1 + below(piece_most);
        size_t end = find_cut(text, at + size);
        kndl_redact_feed(stream, kndl_slice(text->data + at, end - at), 0, &out);
        at = end;
    }
    kndl_redact_flush(stream, &out);
    kndl_redact_stream_free(stream);
    return out;
}

static void expect_same(const struct kndl_buf *expected, struct kndl_buf got)
{
    assert_int_equal(got.size, expected->size);
    assert_memory_equal(got.data, expected->data, got.size);
    kndl_buf_done(&got);
}

static void blocks_give_what_single_bytes_give_however_a_text_is_cut(void **unused)
{
    const normalise_fn versions[] = {normalise_plain(), normalise_avx2(), normalise_avx512()};
    const probe_fn probes[] = {probe_plain(), probe_avx2(), probe_avx512()};
    const sift_fn sifts[] = {sift_plain(), sift_plain(), sift_avx512()};
    struct kndl_buf values[VALUES] = {0};
    struct kndl_redact_set *set = make_set(values);
    struct kndl_buf text = {0};

    (void)unused;
    make_text(&text, values);
    struct kndl_buf expected = run(set, NULL, &text, 300);
    for (size_t i = 0; i < 3; i++) {
        if (versions[i] == NULL || probes[i] == NULL || sifts[i] == NULL)
            continue;
        set->probe = probes[i];
        set->sift = sifts[i];
        expect_same(&expected, run(set, versions[i], &text, 100));
        expect_same(&expected, run(set, versions[i], &text, 5000));
        expect_same(&expected, run(set, versions[i], &text, 100000));
    }
    kndl_redact_set_unref(set);
    for (size_t i = 0; i < VALUES; i++)
        kndl_buf_done(&values[i]);
    kndl_buf_done(&expected);
    kndl_buf_done(&text);
}

/* The plainest way to find what is masked: every value at every place of an ASCII text. */
static void mask_naively(const struct kndl_buf values[], size_t count, const struct kndl_buf *text,
                         struct kndl_buf *out)
{
    uint8_t *mask = kndl_alloc(text->size, 1);

    for (size_t at = 0; at < text->size; at++) {
        for (size_t i = 0; i < count; i++) {
            if (at + values[i].size <= text->size &&
                memcmp(text->data + at, values[i].data, values[i].size) == 0)
                memset(mask + at, 1, values[i].size);
        }
    }
    for (size_t at = 0; at < text->size; at++)
        kndl_buf_append_char(out, mask[at] ? '*' : text->data[at]);
    free(mask);
}

static void plain_values_are_masked_as_the_plainest_search_does(void **unused)
{
    enum { COUNT = 12 };
    struct kndl_buf values[COUNT] = {0};
    struct kndl_redact_value list[COUNT];

    (void)unused;
    for (unsigned round = 0; round < 8; round++) {
        struct kndl_redact_set *set = NULL;
        struct kndl_buf text = {0};
        struct kndl_buf expected = {0};
        for (unsigned i = 0; i < COUNT; i++) {
            kndl_buf_clear(&values[i]);
            for (uint32_t left = 4 + below(round % 2 ? 25 : 6); left > 0; left--)
                kndl_buf_append_char(&values[i], (char)('a' + below(2 + round % 3)));
            list[i] = (struct kndl_redact_value){.name = "V", .value = kndl_buf_slice(&values[i])};
        }
        for (uint32_t left = 3000; left > 0; left--) {
            if (below(30) == 0)
                kndl_buf_append_text(&text, values[below(COUNT)].data);
            kndl_buf_append_char(&text, (char)('a' + below(2 + round % 3)));
        }
        kndl_buf_append_text(&text, " the end.");
        assert_int_equal(kndl_redact_set_new(list, COUNT, &set, NULL), 0);
        mask_naively(values, COUNT, &text, &expected);
        expect_same(&expected, run(set, normalise_best(), &text, 400));
        expect_same(&expected, run(set, NULL, &text, 1));
        kndl_redact_set_unref(set);
        kndl_buf_done(&expected);
        kndl_buf_done(&text);
    }
    for (size_t i = 0; i < COUNT; i++)
        kndl_buf_done(&values[i]);
}

/* A value long enough that none of its forms is short, with what escapes are made of. */
static void make_long_value(struct kndl_buf *value)
{
    static const char *const letters[] = {"a", "b", "n", "u", "0",  "\"", "/",        "\\",
                                          "%", "t", "1", "5", "\t", "[",  "\xc2\xb0", "\n"};
    uint32_t most = below(2) ? 16 : 6;

    kndl_buf_append_text(value, below(2) ? "abc" : "x");
    for (uint32_t left = 9 + below(8); left > 0; left--)
        kndl_buf_append_text(value, letters[below(most)]);
    kndl_buf_append_text(value, "zq");
}

/* One byte in one of its spellings, some of them at two levels, with breaks and colours. */
static void add_spelled(struct kndl_buf *text, uint8_t byte)
{
    static const char *const between[] = {"\\n", "\\u001b[1m", "\\\\n", "\\r", "%0a", "\\\\r"};

    if (below(12) == 0)
        kndl_buf_append_text(text, between[below(sizeof between / sizeof between[0])]);
    switch (below(10)) {
    case 0:
        kndl_buf_printf(text, "\\u%04x", byte);
        return;
    case 1:
        kndl_buf_printf(text, "%%%02X", byte);
        return;
    case 2:
        kndl_buf_printf(text, "%%25%02x", byte);
        return;
    case 3:
        kndl_buf_printf(text, "\\\\u%04X", byte);
        return;
    case 4:
    case 5:
        for (uint32_t level = below(3); strchr("\"\\/", byte) != NULL && level > 0; level--)
            kndl_buf_append_text(text, "\\");
        break;
    default:
        break;
    }
    if (byte == '\n' || byte == '\t')
        kndl_buf_append_text(text, byte == '\n' ? "\\n" : below(2) ? "\\t" : "\\\\t");
    else
        kndl_buf_append_char(text, (char)byte);
}

/* What is not kept has no match, and nothing of it is open at the text's end. */
static void expect_no_meaning(struct kndl_redact_set *set, const uint8_t *text, size_t size,
                              const uint32_t *kept, size_t count)
{
    uint64_t *mask = kndl_alloc(MASK_WORDS(size), sizeof *mask);
    struct state state = {0};

    for (size_t at = 0; at < size; at++) {
        bool is_sign = text[at] == '\\' || text[at] == '%';
        struct scan scan = {
            .set = set, .text = text, .mask = mask, .size = size, .hold = size, .alive = size};
        if (is_sign && count > 0 && *kept == at) {
            kept++;
            count--;
        } else if (is_sign) {
            scan_escape(&scan, at, state);
            assert_int_equal(scan.found, 0);
            assert_int_equal(scan.hold, size);
            assert_int_equal(scan.alive, size);
        }
        state = automaton_step(&set->automaton, state, text[at]);
    }
    assert_int_equal(count, 0);
    free(mask);
}

static void a_sign_that_is_passed_over_begins_nothing(void **unused)
{
    enum { COUNT = 8, HEAD_BYTES = 8, PLACES = 4096 };
    const sift_fn sifts[] = {sift_plain(), sift_avx512()};
    static uint16_t places[PLACES];
    static uint32_t kept[PLACES + SIFT_SLACK];

    (void)unused;
    for (unsigned round = 0; round < 200; round++) {
        struct kndl_buf values[COUNT] = {0};
        struct kndl_redact_value list[COUNT];
        struct kndl_redact_set *set = NULL;
        struct kndl_buf text = {0};
        size_t count = 0;
        kndl_buf_append(&text, "\0\0\0\0\0\0\0", HEAD_BYTES);
        for (unsigned i = 0; i < COUNT; i++) {
            make_long_value(&values[i]);
            list[i] = (struct kndl_redact_value){.name = "V", .value = kndl_buf_slice(&values[i])};
        }
        for (unsigned i = 0; i < 12; i++) {
            const struct kndl_buf *value = &values[below(COUNT)];
            for (size_t at = below(5); at < value->size && below(20) != 0; at++)
                add_spelled(&text, (uint8_t)value->data[at]);
            add_spelled(&text, (uint8_t) "n\"/\\u%a "[below(8)]);
        }
        size_t size = text.size - HEAD_BYTES - below(30);
        memset(kndl_buf_reserve(&text, BLOCK_SLACK_BYTES), 'a', BLOCK_SLACK_BYTES);
        const uint8_t *bytes = (const uint8_t *)text.data + HEAD_BYTES;
        for (size_t at = 0; at < size && count < PLACES; at++) {
            if (bytes[at] == '\\' || bytes[at] == '%')
                places[count++] = (uint16_t)at;
        }
        assert_int_equal(kndl_redact_set_new(list, COUNT, &set, NULL), 0);
        assert_int_equal(set->filters.short4.pieces, 0);
        for (size_t i = 0; i < 2; i++) {
            if (sifts[i] == NULL)
                continue;
            size_t kept_count = sifts[i](&set->filters, bytes, size, places, count, kept);
            expect_no_meaning(set, bytes, size, kept, kept_count);
        }
        kndl_redact_set_unref(set);
        for (size_t i = 0; i < COUNT; i++)
            kndl_buf_done(&values[i]);
        kndl_buf_done(&text);
    }
}

/* Runs of this many, between which a value stands in several spellings. */
static void add_runs(struct kndl_buf *text, size_t count)
{
    static const char *const spellings[] = {"ab\\cd-efghi-\"klmn", "ab\\\\cd-efghi-\\\"klmn",
                                            "ab\\u005ccd-efghi-\\u0022klmn"};

    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++) {
        for (size_t left = count; left > 0; left--)
            kndl_buf_append_char(text, '\\');
        kndl_buf_append_text(text, spellings[i]);
    }
}

static void a_value_behind_any_run_of_backslashes_is_masked_as_byte_by_byte(void **unused)
{
    static const char *const values[] = {"ab\\cd-efghi-\"klmn", "\\\\cd-efghi-\"klmn",
                                         "no-backslash-in-this"};

    (void)unused;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        const struct kndl_redact_value value = {.name = "V", .value = kndl_slice_of(values[i])};
        struct kndl_redact_set *set = NULL;
        assert_int_equal(kndl_redact_set_new(&value, 1, &set, NULL), 0);
        assert_int_equal(set->filters.run_is_dead, i != 1);
        for (size_t count = 1; count < 600; count += count < 40 ? 1 : 7) {
            struct kndl_buf text = {0};
            add_runs(&text, count);
            struct kndl_buf expected = run(set, NULL, &text, 100000);
            expect_same(&expected, run(set, normalise_best(), &text, 100000));
            expect_same(&expected, run(set, normalise_plain(), &text, 100000));
            kndl_buf_done(&expected);
            kndl_buf_done(&text);
        }
        kndl_redact_set_unref(set);
    }
}

static void after_a_new_set_each_value_that_begins_later_is_masked(void **unused)
{
    const struct kndl_redact_value values[] = {
        {.name = "A", .value = kndl_slice_of("first-secret-value")},
        {.name = "B", .value = kndl_slice_of("sec0nd/value with blanks")},
    };
    static const char text[] = ".. first-secret-value sec0nd/value with blanks "
                               "sec0nd%2fvalue%20with%20blanks first-secret-value ..";

    (void)unused;
    for (size_t when = 0; when < sizeof text - 1; when++) {
        struct kndl_redact_set *sets[2] = {NULL, NULL};
        struct kndl_buf out = {0};
        assert_int_equal(kndl_redact_set_new(values, 1, &sets[0], NULL), 0);
        assert_int_equal(kndl_redact_set_new(values, 2, &sets[1], NULL), 0);
        struct kndl_redact_stream *stream = kndl_redact_stream_new(sets[0], KNDL_REDACT_BYTES);
        kndl_redact_feed(stream, kndl_slice(text, when), 0, &out);
        kndl_redact_stream_swap(stream, sets[1]);
        kndl_redact_feed(stream, kndl_slice(text + when, sizeof text - 1 - when), 0, &out);
        kndl_redact_flush(stream, &out);

        /* What had left stays; no value of the new set is whole behind it. */
        assert_int_equal(out.size, sizeof text - 1);
        assert_null(strstr(out.data, "first-secret-value"));
        for (size_t i = when; i < sizeof text - 1; i++) {
            bool is_between = text[i] == '.' || (text[i] == ' ' && out.data[i] == ' ');
            assert_true(is_between || out.data[i] == '*');
        }
        kndl_buf_done(&out);
        kndl_redact_stream_free(stream);
        kndl_redact_set_unref(sets[0]);
        kndl_redact_set_unref(sets[1]);
    }
}

static void an_idle_stream_has_no_memory_but_its_own(void **unused)
{
    const struct kndl_redact_value value = {.name = "V",
                                            .value = kndl_slice_of("lab-Tok3n-9Qx7Zv2Lm4")};
    struct kndl_redact_set *set = NULL;
    struct kndl_buf out = {0};

    (void)unused;
    assert_int_equal(kndl_redact_set_new(&value, 1, &set, NULL), 0);
    struct kndl_redact_stream *stream = kndl_redact_stream_new(set, KNDL_REDACT_BYTES);
    kndl_redact_feed(stream, kndl_slice_of("lab-Tok3n-9Qx7Zv2"), 0, &out);
    assert_ptr_not_equal(stream->held, stream->inline_held);
    kndl_redact_feed(stream, kndl_slice_of("Lm4 and more\r\n"), 0, &out);
    assert_ptr_equal(stream->held, stream->inline_held);
    assert_true(sizeof *stream < 256);
    kndl_redact_stream_free(stream);
    kndl_redact_set_unref(set);
    kndl_buf_done(&out);
}

/* A value's beginning, then `between` for ever; then the rest of it, which is masked only if what
 * is between is no text. */
static void expect_bounded(const char *between, size_t total, bool is_masked)
{
    const struct kndl_redact_value value = {.name = "V",
                                            .value = kndl_slice_of("lab-Tok3n-9Qx7Zv2Lm4")};
    struct kndl_redact_set *set = NULL;
    struct kndl_buf piece = {0};
    struct kndl_buf out = {0};

    while (piece.size < 64 * 1024)
        kndl_buf_append_text(&piece, between);
    assert_int_equal(kndl_redact_set_new(&value, 1, &set, NULL), 0);
    struct kndl_redact_stream *stream = kndl_redact_stream_new(set, KNDL_REDACT_BYTES);
    kndl_redact_feed(stream, kndl_slice_of("lab-Tok"), 0, &out);
    for (size_t fed = 0; fed < total; fed += piece.size) {
        kndl_redact_feed(stream, kndl_buf_slice(&piece), 0, &out);
        assert_true(stream->count <= 8 * 1024 + 8 * set->automaton.longest + 2 * BLOCK_BYTES);
    }
    kndl_redact_feed(stream, kndl_slice_of("3n-9Qx7Zv2Lm4 lab-Tok3n-9Qx7Zv2Lm4"), 0, &out);
    kndl_redact_flush(stream, &out);
    assert_int_equal(strstr(out.data, "3n-9Qx") == NULL, is_masked);
    assert_null(strstr(out.data, "lab-Tok3n"));
    kndl_redact_stream_free(stream);
    kndl_redact_set_unref(set);
    kndl_buf_done(&piece);
    kndl_buf_done(&out);
}

static void what_waits_without_end_is_bounded(void **unused)
{
    (void)unused;
    expect_bounded("\n", 2 << 20, true);
    expect_bounded("\\n", 256 << 10, false);
    expect_bounded("%0a", 256 << 10, false);
    expect_bounded("\\u001b[1m", 256 << 10, false);
}

/* What lanes read in one scan of so many bytes. */
static size_t scan_units(struct kndl_redact_set *set, const char *repeated, size_t size)
{
    uint64_t *mask = kndl_new_array(uint64_t, MASK_WORDS(size));
    struct kndl_buf text = {0};

    while (text.size < size)
        kndl_buf_append_text(&text, repeated);
    struct scan scan = {.set = set, .text = (const uint8_t *)text.data, .mask = mask, .size = size};
    scan_text(&scan);
    kndl_buf_done(&text);
    free(mask);
    return scan.units;
}

/* Of a text sixteen times as long 256 times as much if each sign read to its end. */
static void encoded_breaks_are_read_once_whatever_values_begin_with(void **unused)
{
    static const char *const texts[] = {
        "\\n",
        "\\r\\n",
        "%0A%0D",
        "\\u001b[0m\\n",
        "\\n%0A",
        "\\\\r\\\\n",
        "%250A%250D",
        "\\u001b",
        "\\u001b[0",
        "%C2%9B0m\\n",
        "\\u000a\\u000D",
        "%5Cr%5Cn",
        "\\u001b[A\\r\\n",
    };
    const struct kndl_redact_value values[] = {
        {.name = "A", .value = kndl_slice_of("npm_9Qx7Zv2Lm4Tok3")},
        {.name = "B", .value = kndl_slice_of("redis://9Qx7Zv2Lm4Tok3")},
        {.name = "C", .value = kndl_slice_of("A9Qx7Zv2Lm4Tok3")},
        {.name = "D", .value = kndl_slice_of("D9Qx7Zv2Lm4Tok3")},
        {.name = "E", .value = kndl_slice_of("m9Qx7Zv2Lm4Tok3")},
        {.name = "F", .value = kndl_slice_of("b9Qx7Zv2Lm4Tok3")},
        {.name = "G", .value = kndl_slice_of("0a9Qx7Zv2Lm4Tok3")},
        {.name = "H", .value = kndl_slice_of("\\9Qx7Zv2Lm4Tok3")},
    };
    struct kndl_redact_set *set = NULL;

    (void)unused;
    assert_int_equal(kndl_redact_set_new(values, sizeof values / sizeof *values, &set, NULL), 0);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        size_t some = scan_units(set, texts[i], 2 * 1024);
        size_t more = scan_units(set, texts[i], 32 * 1024);
        if (more > 32 * some)
            fail_msg("%s: %zu units, of sixteen times as much %zu", texts[i], some, more);
    }
    kndl_redact_set_unref(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_give_what_single_bytes_give_however_a_text_is_cut),
        cmocka_unit_test(plain_values_are_masked_as_the_plainest_search_does),
        cmocka_unit_test(a_sign_that_is_passed_over_begins_nothing),
        cmocka_unit_test(a_value_behind_any_run_of_backslashes_is_masked_as_byte_by_byte),
        cmocka_unit_test(after_a_new_set_each_value_that_begins_later_is_masked),
        cmocka_unit_test(an_idle_stream_has_no_memory_but_its_own),
        cmocka_unit_test(what_waits_without_end_is_bounded),
        cmocka_unit_test(encoded_breaks_are_read_once_whatever_values_begin_with),
    };
    return cmocka_run_group_tests_name("redact fast", tests, NULL, NULL);
}
