/*
 * The engine against itself: byte by byte, in blocks, with each normaliser, cut anywhere, gives
 * the same text; nothing but what is masked differs from the input; sets swapped and deadlines
 * that come at random neither crash nor show a value.
 *
 * Input: a byte of options, a byte of seed for the cuts, then values ended by 0xff (each gets
 * what it needs to be accepted), an empty value, then the text.
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kndl/mem.h"
#include "set.h"
#include "utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { VALUES_MAX = 6, OPTION_BASE64 = 1, OPTION_REPEAT = 2 };

struct input {
    struct kndl_redact_value values[VALUES_MAX];
    size_t count;
    struct kndl_slice text;
    uint32_t seed;
    struct kndl_redact_set *set;
};

/* How many stars an invalid byte at the end of a value gets may depend on what comes next. */
static int is_utf8(struct kndl_slice text)
{
    for (size_t at = 0; at < text.size;) {
        size_t missing;
        size_t length = utf8_measure(text.data + at, text.size - at, &missing);
        if (missing > 0 || (length == 1 && text.data[at] >= 0x80))
            return 0;
        at += length;
    }
    return 1;
}

static void read_input(const uint8_t *data, size_t size, struct input *input)
{
    size_t at = 2;

    *input = (struct input){.seed = data[1]};
    while (at < size) {
        size_t end = at;
        enum kndl_redact_weakness weakness;
        while (end < size && data[end] != 0xff)
            end++;
        struct kndl_slice value = kndl_slice(data + at, end - at);
        at = end < size ? end + 1 : end;
        if (value.size == 0)
            break;
        if (input->count < VALUES_MAX && is_utf8(value) &&
            kndl_redact_check("V", value, &weakness, NULL) == 0)
            input->values[input->count++] = (struct kndl_redact_value){
                .name = "V", .value = value, .with_base64 = data[0] & OPTION_BASE64};
    }
    input->text = kndl_slice(data + at, size - at);
}

static struct kndl_redact_set *make_set(const struct input *input)
{
    struct kndl_redact_set *set = NULL;

    if (kndl_redact_set_new(input->values, input->count, &set, NULL) < 0)
        abort();
    return set;
}

static size_t next_cut(uint32_t *seed, size_t left)
{
    *seed = *seed * 1664525 + 1013904223;
    size_t size = (*seed >> 16) % ((*seed >> 8 & 3) == 0 ? 200 : 9) + 1;
    return size < left ? size : left;
}

static void choose(struct kndl_redact_set *set, normalise_fn normalise)
{
    set->normalise = normalise;
    set->take_short = normalise == normalise_avx512() ? take_short_avx512() : NULL;
}

/* The text through a stream in pieces of this size; 0: of random sizes. */
static struct kndl_buf run(const struct input *input, normalise_fn normalise, size_t step)
{
    struct kndl_redact_stream *stream = kndl_redact_stream_new(input->set, KNDL_REDACT_BYTES);
    struct kndl_buf out = {0};
    uint32_t seed = input->seed;

    choose(input->set, normalise);
    for (size_t at = 0; at < input->text.size;) {
        size_t left = input->text.size - at;
        size_t piece = step == 0 ? next_cut(&seed, left) : step < left ? step : left;
        kndl_redact_feed(stream, kndl_slice(input->text.data + at, piece), 0, &out);
        at += piece;
    }
    kndl_redact_flush(stream, &out);
    kndl_redact_stream_free(stream);
    return out;
}

static void show(const char *what, const void *bytes, size_t size)
{
    fprintf(stderr, "%s: ", what);
    for (size_t i = 0; i < size; i++)
        fprintf(stderr, "%02x", ((const uint8_t *)bytes)[i]);
    fprintf(stderr, "\n");
}

/* An escape cut in two that no form is spelled with doesn't wait; its first piece shows. */
static int is_shown_escape(const struct kndl_buf *expected, const struct kndl_buf *got, size_t step)
{
    if (got->size != expected->size || step == SIZE_MAX)
        return 0;
    for (size_t i = 0; i < got->size; i++) {
        if (got->data[i] != expected->data[i] &&
            (expected->data[i] != '*' ||
             strchr("\\%u0123456789abcdefABCDEF", got->data[i]) == NULL))
            return 0;
    }
    return 1;
}

static void check_same(const struct input *input, const struct kndl_buf *expected,
                       normalise_fn normalise, size_t step, const char *what)
{
    struct kndl_buf got = run(input, normalise, step);

    if (!kndl_slice_equal(kndl_buf_slice(&got), kndl_buf_slice(expected)) &&
        !is_shown_escape(expected, &got, step)) {
        show("expected", expected->data, expected->size);
        show(what, got.data, got.size);
        abort();
    }
    kndl_buf_done(&got);
}

/* Nothing but stars differs, in the same order. */
static void check_order(const struct input *input, const struct kndl_buf *out)
{
    const uint8_t *text = input->text.data;
    const uint8_t *end = text + input->text.size;

    for (size_t i = 0; i < out->size; i++) {
        uint8_t byte = (uint8_t)out->data[i];
        while (text < end && *text != byte && byte != '*')
            text++;
        if (text == end)
            abort();
        text++;
    }
}

/* Swapped sets, deadlines and pieces at random. */
static struct kndl_buf run_wildly(const struct input *input, struct kndl_redact_set *fewer,
                                  normalise_fn normalise)
{
    struct kndl_redact_set *sets[2] = {fewer, input->set};
    struct kndl_redact_stream *stream =
        kndl_redact_stream_new(fewer, input->seed & 1 ? KNDL_REDACT_TEXT : KNDL_REDACT_BYTES);
    struct kndl_buf out = {0};
    uint32_t seed = input->seed;
    int64_t now = 0;

    fewer->normalise = normalise;
    choose(input->set, normalise);
    for (size_t at = 0; at < input->text.size;) {
        size_t piece = next_cut(&seed, input->text.size - at);
        kndl_redact_feed(stream, kndl_slice(input->text.data + at, piece), now, &out);
        at += piece;
        now += seed >> 16 & 0x3fff;
        kndl_redact_expire(stream, now, &out);
        if ((seed >> 5 & 7) == 0)
            kndl_redact_stream_swap(stream, sets[seed >> 8 & 1]);
    }
    kndl_redact_flush(stream, &out);
    kndl_redact_stream_free(stream);
    return out;
}

/* The same byte by byte and in blocks, whatever happens to the stream. */
static void check_wildly(const struct input *input)
{
    struct input fewer = *input;

    fewer.count /= 2;
    struct kndl_redact_set *set = make_set(&fewer);
    struct kndl_buf expected = run_wildly(input, set, NULL);
    struct kndl_buf got = run_wildly(input, set, normalise_best());
    check_order(input, &expected);
    if (!kndl_slice_equal(kndl_buf_slice(&got), kndl_buf_slice(&expected))) {
        show("expected", expected.data, expected.size);
        show("wildly", got.data, got.size);
        abort();
    }
    kndl_buf_done(&expected);
    kndl_buf_done(&got);
    kndl_redact_set_unref(set);
}

/* JSON is masked or left, and what was JSON can be masked again to the same. */
static void run_json(const struct input *input)
{
    struct kndl_buf out = {0};

    kndl_redact_json(input->set, input->text, &out);
    kndl_buf_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input;

    if (size < 3 || size > 4096)
        return 0;
    read_input(data, size, &input);
    input.set = make_set(&input);

    struct kndl_buf expected = run(&input, NULL, SIZE_MAX);
    check_order(&input, &expected);
    check_same(&input, &expected, NULL, 0, "byte by byte, cut");
    check_same(&input, &expected, normalise_plain(), SIZE_MAX, "plain, whole");
    check_same(&input, &expected, normalise_plain(), 0, "plain, cut");
    check_same(&input, &expected, normalise_plain(), 1, "plain, one byte");
    if (normalise_avx2() != NULL) {
        check_same(&input, &expected, normalise_avx2(), SIZE_MAX, "avx2, whole");
        check_same(&input, &expected, normalise_avx2(), 0, "avx2, cut");
    }
    if (normalise_avx512() != NULL) {
        check_same(&input, &expected, normalise_avx512(), SIZE_MAX, "avx512, whole");
        check_same(&input, &expected, normalise_avx512(), 0, "avx512, cut");
        check_same(&input, &expected, normalise_avx512(), SHORT_BYTES, "avx512, short");
    }
    kndl_buf_done(&expected);
    choose(input.set, normalise_best());
    check_wildly(&input);
    run_json(&input);
    kndl_redact_set_unref(input.set);
    return 0;
}
