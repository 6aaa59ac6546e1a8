/* Short pieces in registers against the way of longer ones: the same output after each piece,
 * whatever comes between them. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "set.h"
#include "stream.h"

enum { VALUES = 12, ROUNDS = 40, PIECES = 600, HELD_IN_REGISTERS = 8 };

static uint32_t seed = 1;

static uint32_t below(uint32_t limit)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 10) % limit;
}

static size_t taken;

static size_t take_and_count(struct kndl_redact_stream *stream, struct kndl_slice piece,
                             struct kndl_buf *out)
{
    size_t size = take_short_avx512()(stream, piece, out);

    taken += size > 0;
    return size;
}

/* Values of few letters; `least` bytes and more. Those that may be short have lines, too. */
static void make_values(struct kndl_buf values[VALUES], uint32_t least)
{
    static const char letters[] = "ab1-\"\\%/\n";
    uint32_t most = least < LONG_BYTES ? sizeof letters - 1 : sizeof letters - 2;

    for (unsigned i = 0; i < VALUES; i++) {
        kndl_buf_clear(&values[i]);
        kndl_buf_append_text(&values[i], i % 3 == 0 ? "\xc3\xa9" : i % 3 == 1 ? "sk-" : "b");
        for (uint32_t left = least + below(30); left > 0; left--)
            kndl_buf_append_char(&values[i], letters[below(i % 2 ? 4 : most)]);
        kndl_buf_append_text(&values[i], "Zz");
    }
}

static struct kndl_redact_set *make_set(const struct kndl_buf values[VALUES], size_t count)
{
    struct kndl_redact_value list[VALUES];
    struct kndl_redact_set *set = NULL;

    for (size_t i = 0; i < count; i++)
        list[i] = (struct kndl_redact_value){.name = "V", .value = kndl_buf_slice(&values[i])};
    assert_int_equal(kndl_redact_set_new(list, count, &set, NULL), 0);
    return set;
}

/* These bytes of a value, some of them as escapes. */
static void add_spelled(struct kndl_buf *piece, const char *bytes, size_t size)
{
    uint32_t apart = 1 + below(20);

    for (size_t i = 0; i < size; i++) {
        if (below(apart) == 0 && (uint8_t)bytes[i] < 0x80)
            kndl_buf_printf(piece, below(2) ? "\\u%04x" : "%%%02x", bytes[i]);
        else
            kndl_buf_append_char(piece, bytes[i]);
    }
}

/* What a piece may have: words, colours, breaks, signs, rare things, values whole or in part. */
static void add_some(struct kndl_buf *piece, const struct kndl_buf values[VALUES])
{
    static const char *const words[] = {
        "word ",
        "\033[0m",
        "\033[38;5;1m",
        "\r\n",
        "\\n",
        "100%",
        "\xe2\x9c\x93",
        "sk-",
        "a",
        "b",
        "bb",
        "\033[1;3",
        "\033",
        "[",
        "\\u00e9",
        "%2",
        "F",
        "ing ",
        "\t",
        "\\",
        "%",
        "4m",
        "\033]0;t\007",
        "\xc2\xb0",
        "\\\"",
        "\\t",
        "\\\\",
        "\\\\n",
        "\\/",
        "\\n\\\"",
        "%2F",
        "%61b",
        "%25",
        "\\u001b[1m",
        "\\n\\u001b[31m",
    };
    const struct kndl_buf *value = &values[below(VALUES)];
    size_t from = below(2) ? 0 : below((uint32_t)value->size);
    size_t size = below(2) ? value->size - from : below((uint32_t)(value->size - from) + 1);

    if (below(6) == 0)
        add_spelled(piece, value->data + from, size);
    else
        kndl_buf_append_text(piece, words[below(sizeof words / sizeof words[0])]);
}

/* A stream and its text so far, in registers or not. */
struct side {
    struct kndl_redact_stream *stream;
    struct kndl_redact_set *sets[2];
    struct kndl_buf out;
};

static void begin_side(struct side *side, const struct kndl_buf values[VALUES], bool is_fast,
                       enum kndl_redact_kind kind)
{
    *side = (struct side){.sets = {make_set(values, VALUES), make_set(values, VALUES / 2)}};
    for (int i = 0; i < 2; i++) {
        side->sets[i]->normalise = is_fast ? normalise_avx512() : normalise_plain();
        side->sets[i]->take_short = is_fast ? take_and_count : NULL;
    }
    side->stream = kndl_redact_stream_new(side->sets[0], kind);
}

static void end_side(struct side *side)
{
    kndl_redact_stream_free(side->stream);
    kndl_redact_set_unref(side->sets[0]);
    kndl_redact_set_unref(side->sets[1]);
    kndl_buf_done(&side->out);
}

static void expect_same(const struct side *fast, const struct side *slow)
{
    assert_int_equal(fast->out.size, slow->out.size);
    assert_memory_equal(fast->out.data, slow->out.data, slow->out.size);
    assert_int_equal(kndl_redact_deadline(fast->stream), kndl_redact_deadline(slow->stream));
    for (size_t i = 0; i < VALUES; i++)
        assert_int_equal(kndl_redact_set_hits(fast->sets[0], i),
                         kndl_redact_set_hits(slow->sets[0], i));
}

/* One piece, and now and then a deadline or another set. */
static void step(struct side *side, struct kndl_slice piece, int64_t now, uint32_t chance)
{
    kndl_redact_feed(side->stream, piece, now, &side->out);
    if (chance < 4)
        kndl_redact_expire(side->stream, now + 100 * 1000, &side->out);
    if (chance == 5 || chance == 6)
        kndl_redact_stream_swap(side->stream, side->sets[chance - 5]);
}

static void compare(uint32_t least, enum kndl_redact_kind kind)
{
    struct kndl_buf values[VALUES] = {0};
    struct kndl_buf piece = {0};
    struct side fast;
    struct side slow;
    int64_t now = 0;

    make_values(values, least);
    begin_side(&fast, values, true, kind);
    begin_side(&slow, values, false, kind);
    for (int i = 0; i < PIECES; i++) {
        uint32_t size = below(3) == 0 ? SHORT_BYTES : 1 + below(SHORT_BYTES);
        while (piece.size < size)
            add_some(&piece, values);
        now += below(1000);
        uint32_t chance = below(40);
        step(&fast, kndl_slice(piece.data, size), now, chance);
        step(&slow, kndl_slice(piece.data, size), now, chance);
        expect_same(&fast, &slow);
        kndl_buf_consume(&piece, size);
    }
    kndl_redact_flush(fast.stream, &fast.out);
    kndl_redact_flush(slow.stream, &slow.out);
    expect_same(&fast, &slow);
    end_side(&fast);
    end_side(&slow);
    kndl_buf_done(&piece);
    for (unsigned i = 0; i < VALUES; i++)
        kndl_buf_done(&values[i]);
}

static void short_pieces_give_what_longer_ones_give(void **unused)
{
    (void)unused;
    if (take_short_avx512() == NULL)
        skip();
    for (uint32_t round = 0; round < ROUNDS; round++)
        compare(round % 4 == 0 ? 4 : LONG_BYTES, round % 2 ? KNDL_REDACT_TEXT : KNDL_REDACT_BYTES);
    assert_true(taken > ROUNDS * PIECES / 8); /* not all went another way */
}

/* A set of one value that takes short pieces in registers. */
static struct kndl_redact_set *make_one(const char *value)
{
    struct kndl_redact_value one = {.name = "V", .value = kndl_slice(value, strlen(value))};
    struct kndl_redact_set *set = NULL;

    assert_int_equal(kndl_redact_set_new(&one, 1, &set, NULL), 0);
    set->take_short = take_and_count;
    return set;
}

/* Feeds a piece; is it taken in registers, and is this what leaves? */
static void expect_out(struct kndl_redact_stream *stream, struct kndl_slice piece, bool at_once,
                       const char *expected)
{
    struct kndl_buf out = {0};

    taken = 0;
    kndl_redact_feed(stream, piece, 0, &out);
    assert_int_equal(taken, at_once);
    assert_string_equal(kndl_buf_text(&out), expected);
    kndl_buf_done(&out);
}

static void a_beginning_of_any_length_waits(void **unused)
{
    static const char value[] = "sk-4Kq7-Zw9xTj2LmP";
    static const char before[] = "some words ";
    char stars[sizeof value] = {0};

    (void)unused;
    if (take_short_avx512() == NULL)
        skip();
    memset(stars, '*', strlen(value));
    for (size_t size = 1; size < strlen(value); size++) {
        struct kndl_redact_set *set = make_one(value);
        struct kndl_redact_stream *stream = kndl_redact_stream_new(set, KNDL_REDACT_BYTES);
        struct kndl_buf text = {0};
        kndl_buf_append_text(&text, before);
        kndl_buf_append(&text, value, size);
        expect_out(stream, kndl_buf_slice(&text), size <= HELD_IN_REGISTERS, before);
        expect_out(stream, kndl_slice(value + size, strlen(value) - size), false, stars);
        kndl_redact_stream_free(stream);
        kndl_redact_set_unref(set);
        kndl_buf_done(&text);
    }
}

/* The value of the other set begins with the first byte behind the flush. */
static void what_was_held_is_remembered_for_another_set(void **unused)
{
    (void)unused;
    if (take_short_avx512() == NULL)
        skip();

    struct kndl_redact_set *before = make_one("k9-Wm3xTq7Zv2LpRd");
    struct kndl_redact_set *after = make_one("words k-Secret-value");
    struct kndl_redact_stream *stream = kndl_redact_stream_new(before, KNDL_REDACT_BYTES);
    struct kndl_buf out = {0};

    expect_out(stream, kndl_slice_of("longer than what is remembered, so nothing is left of it: k"),
               true, "longer than what is remembered, so nothing is left of it: ");
    kndl_redact_flush(stream, &out);
    assert_string_equal(kndl_buf_text(&out), "k");
    expect_out(stream, kndl_slice_of("words k"), true, "words ");
    expect_out(stream, kndl_slice_of("-Secret"), true, "k-Secret");
    kndl_redact_stream_swap(stream, after);
    expect_out(stream, kndl_slice_of("-value."), false, "******.");
    kndl_redact_stream_free(stream);
    kndl_redact_set_unref(before);
    kndl_redact_set_unref(after);
    kndl_buf_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_pieces_give_what_longer_ones_give),
        cmocka_unit_test(a_beginning_of_any_length_waits),
        cmocka_unit_test(what_was_held_is_remembered_for_another_set),
    };
    return cmocka_run_group_tests_name("redact short", tests, NULL, NULL);
}
