/*
 * redact-cases FILE…: runs redaction cases, a JSON object a line (case_file.h), through the engine.
 *
 * With --one-byte each chunk is fed a byte at a time, too (the end of a long one less often), and
 * the whole text cut in two at each place. Prints each failing id with expected and got, and each
 * line that is no case; exit 1 if there was any or no case at all, 2 if a file cannot be read.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case_file.h"
#include "kndl/buf.h"
#include "kndl/mem.h"
#include "kndl/redact.h"

enum {
    CUT_BYTES_MAX = 256,  /* of a text that is cut at each place */
    SINGLE_BYTES = 512,   /* of a chunk, that come one by one; each may scan all that is held */
    BETWEEN_SINGLES = 61, /* bytes that come at once behind them */
};

struct run {
    struct kndl_arena *arena; /* of one case */
    bool one_byte;
    size_t count;
    size_t failed;
};

static int make_set(const struct redact_case *one, struct kndl_redact_set **ret_set,
                    struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_free)
    struct kndl_redact_value *values = kndl_alloc(one->values.count + 1, sizeof *values);
    bool with_base64 = strcmp(case_text(&one->with_base64), "true") == 0;
    enum kndl_redact_weakness weakness;
    size_t count = 0;

    for (size_t i = 0; i < one->values.count; i++) {
        struct kndl_slice value = one->values.list[i];
        if (kndl_redact_check("value", value, &weakness, err) == 0)
            values[count++] = (struct kndl_redact_value){
                .name = "value", .value = value, .with_base64 = with_base64};
    }
    return kndl_redact_set_new(values, count, ret_set, err);
}

static void show(const char *what, struct kndl_slice bytes)
{
    printf("  %s \"", what);
    for (size_t i = 0; i < bytes.size; i++) {
        uint8_t byte = bytes.data[i];
        if (byte < 0x20 || byte == 0x7f || byte == '\\' || byte == '"')
            printf("\\x%02x", byte);
        else
            putchar(byte);
    }
    printf("\"\n");
}

static bool fail(const struct redact_case *one, const char *why, struct kndl_slice expected,
                 struct kndl_slice got)
{
    printf("FAIL %s: %s\n", case_text(&one->id), why);
    show("expected", expected);
    show("got     ", got);
    return false;
}

/* Whole or byte by byte; behind the first bytes of a long chunk, single ones are apart. */
static void feed(struct kndl_redact_stream *stream, struct kndl_slice chunk, bool one_byte,
                 int64_t now_us, struct kndl_buf *out)
{
    size_t size = one_byte ? 1 : chunk.size;

    for (size_t at = 0; at < chunk.size; at += size) {
        if (at > SINGLE_BYTES)
            size = size == 1 ? BETWEEN_SINGLES : 1;
        if (size > chunk.size - at)
            size = chunk.size - at;
        kndl_redact_feed(stream, kndl_slice(chunk.data + at, size), now_us, out);
    }
}

/* Feeds each chunk, whole or in pieces; returns whether each put out what it must. */
static bool feed_chunks(const struct redact_case *one, struct kndl_redact_stream *stream,
                        bool one_byte, struct kndl_buf *out)
{
    int64_t now_us = 0;
    bool holds = true;

    for (size_t i = 0; i < one->chunks.count; i++) {
        size_t before = out->size;
        feed(stream, one->chunks.list[i], one_byte, now_us, out);
        if (i < one->pauses_ms.count) {
            now_us += 1000 * strtoll((const char *)one->pauses_ms.list[i].data, NULL, 10);
            kndl_redact_expire(stream, now_us, out);
        }
        struct kndl_slice piece = kndl_slice(kndl_buf_text(out) + before, out->size - before);
        if (i < one->after_each.count && !kndl_slice_equal(piece, one->after_each.list[i]))
            holds = fail(one, "after a chunk", one->after_each.list[i], piece);
    }
    kndl_redact_flush(stream, out);
    return holds;
}

static bool check_whole(const struct redact_case *one, const char *what, struct kndl_slice got)
{
    bool holds = true;

    if (one->expect.is_given && !kndl_slice_equal(got, one->expect.list[0]))
        holds = fail(one, what, one->expect.list[0], got);
    for (size_t i = 0; i < one->must_not_contain.count; i++) {
        struct kndl_slice banned = one->must_not_contain.list[i];
        if (memmem(got.data, got.size, banned.data, banned.size) != NULL)
            holds = fail(one, "the output contains what it must not", banned, got);
    }
    return holds;
}

static bool run_chunks(const struct redact_case *one, struct kndl_redact_set *set, bool one_byte)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf out = {0};
    struct kndl_redact_stream *stream = kndl_redact_stream_new(set, KNDL_REDACT_BYTES);
    bool holds = feed_chunks(one, stream, one_byte, &out);

    kndl_redact_stream_free(stream);
    return check_whole(one, one_byte ? "the whole output, byte by byte" : "the whole output",
                       kndl_slice(kndl_buf_text(&out), out.size)) &&
           holds;
}

/* The text as two pieces, cut at each place. */
static bool run_cuts(const struct redact_case *one, struct kndl_redact_set *set)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf text = {0};
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf out = {0};
    struct kndl_redact_stream *stream = kndl_redact_stream_new(set, KNDL_REDACT_BYTES);
    bool holds = true;

    for (size_t i = 0; i < one->chunks.count; i++)
        kndl_buf_append(&text, one->chunks.list[i].data, one->chunks.list[i].size);
    for (size_t at = 0; holds && text.size <= CUT_BYTES_MAX && at <= text.size; at++) {
        struct kndl_slice whole = kndl_slice(kndl_buf_text(&text), text.size);
        kndl_buf_clear(&out);
        kndl_redact_feed(stream, kndl_slice(whole.data, at), 0, &out);
        kndl_redact_feed(stream, kndl_slice(whole.data + at, whole.size - at), 0, &out);
        kndl_redact_flush(stream, &out);
        holds = check_whole(one, "the whole output, cut in two",
                            kndl_slice(kndl_buf_text(&out), out.size));
    }
    kndl_redact_stream_free(stream);
    return holds;
}

static bool run_case(const struct run *run, const struct redact_case *one)
{
    struct kndl_redact_set *set = NULL;
    struct kndl_error err;

    if (make_set(one, &set, &err) < 0) {
        printf("FAIL %s: %s\n", case_text(&one->id), err.message);
        return false;
    }
    bool holds = run_chunks(one, set, false);
    if (holds && run->one_byte)
        holds = run_chunks(one, set, true);
    if (holds && run->one_byte && one->pauses_ms.count == 0)
        holds = run_cuts(one, set);
    kndl_redact_set_unref(set);
    return holds;
}

static void run_line(struct run *run, const char *path, size_t number, struct kndl_slice line)
{
    struct redact_case one;
    struct kndl_error err;
    int result = case_read(line, run->arena, &one, &err);

    if (result > 0)
        return;
    if (result < 0)
        printf("FAIL %s:%zu: not a case: %s\n", path, number, err.message);
    for (size_t i = 0; i < one.unknown.count; i++)
        fprintf(stderr, "%s:%zu: passed over, not known: %s\n", path, number,
                (const char *)one.unknown.list[i].data);
    run->count++;
    run->failed += result < 0 || !run_case(run, &one);
    kndl_arena_reset(run->arena);
}

/* Returns -1 if the file cannot be read. */
static int run_file(struct run *run, const char *path)
{
    static const char byte_order_mark[] = {'\xef', '\xbb', '\xbf'};
    KNDL_CLEANUP(kndl_free) char *line = NULL;
    FILE *file = fopen(path, "r");
    size_t capacity = 0;
    ssize_t size;
    int error = errno;

    for (size_t number = 1; file != NULL && (size = getline(&line, &capacity, file)) > 0;
         number++) {
        struct kndl_slice text = kndl_slice(line, (size_t)size);
        if (number == 1 && text.size >= 3 && memcmp(text.data, byte_order_mark, 3) == 0)
            text = kndl_slice(text.data + 3, text.size - 3);
        run_line(run, path, number, text);
    }
    bool is_read = file != NULL && !ferror(file);
    if (file != NULL) {
        error = errno;
        fclose(file);
    }
    if (!is_read)
        fprintf(stderr, "redact-cases: %s cannot be read: %s\n", path, strerror(error));
    return is_read ? 0 : -1;
}

int main(int argc, char **argv)
{
    struct run run = {.one_byte = argc > 1 && strcmp(argv[1], "--one-byte") == 0};
    bool are_read = true;

    if (argc < 2 + run.one_byte) {
        fprintf(stderr, "usage: redact-cases [--one-byte] FILE...\n");
        return 2;
    }
    run.arena = kndl_arena_new(KNDL_ARENA_PLAIN);
    for (int i = 1 + run.one_byte; i < argc; i++)
        are_read &= run_file(&run, argv[i]) == 0;
    kndl_arena_free(run.arena);
    printf("%zu of %zu cases hold\n", run.count - run.failed, run.count);
    return !are_read ? 2 : run.failed > 0 || run.count == 0 ? 1 : 0;
}
