/*
 * redact-cases FILE…: runs redaction cases, a JSON object a line, through the engine.
 *
 *   id                what to print when it fails
 *   values            strings; those that the engine refuses are left out
 *   chunks            base64, fed in this order, then the end of the text
 *   expect            base64 of all the output together
 *   must_not_contain  strings that the output has none of
 *   after_each        the output of each chunk, before the end of the text
 *
 * With --one-byte each chunk is fed a byte at a time, too. Prints each failing id with expected
 * and got; exit 1 if any failed, 2 if a file cannot be read.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "kndl/mem.h"
#include "kndl/redact.h"

enum { STRINGS_MAX = 4096, LINE_BYTES_MAX = 64 * 1024 * 1024 };

struct strings {
    struct kndl_buf list[STRINGS_MAX];
    size_t count;
    bool is_given;
};

struct one_case {
    struct strings id, values, chunks, expect, must_not_contain, after_each;
};

static void clear(struct strings *strings)
{
    for (size_t i = 0; i < strings->count; i++)
        kndl_buf_done(&strings->list[i]);
    strings->count = 0;
    strings->is_given = false;
}

static int base64_value(uint8_t c)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *found = c == '\0' ? NULL : strchr(letters, c);

    return found == NULL ? -1 : (int)(found - letters);
}

static void decode_base64(struct kndl_buf *text)
{
    struct kndl_buf bytes = {0};
    unsigned bits = 0;
    unsigned held = 0;

    for (size_t i = 0; i < text->size; i++) {
        int value = base64_value((uint8_t)text->data[i]);
        if (value < 0)
            continue;
        held = held << 6 | (unsigned)value;
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            kndl_buf_append_char(&bytes, (char)(held >> bits & 0xff));
        }
    }
    kndl_buf_done(text);
    *text = bytes;
}

static struct strings *find_list(struct one_case *one, const char *key)
{
    static const char *const names[] = {"id",     "values",           "chunks",
                                        "expect", "must_not_contain", "after_each"};
    struct strings *lists[] = {&one->id,     &one->values,           &one->chunks,
                               &one->expect, &one->must_not_contain, &one->after_each};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(key, names[i]) == 0)
            return lists[i];
    }
    return NULL;
}

/* Reads an object of strings and lists of strings; members of other names are passed over. */
static int read_case(struct kndl_slice line, struct one_case *one)
{
    struct strings *list = NULL;
    struct kndl_slice token;
    enum json_token kind;
    size_t at = 0;
    unsigned depth = 0;
    bool is_key = true;

    while ((kind = json_next(line, &at, &token)) != JSON_END) {
        char mark = kind == JSON_MARK ? (char)token.data[0] : '\0';
        if (kind == JSON_BAD)
            return -1;
        if (mark == '{' || mark == '[')
            depth++;
        else if (mark == '}' || mark == ']')
            depth--;
        if (mark == ':')
            is_key = false;
        else if (mark == ',' && depth == 1)
            is_key = true;
        if (kind != JSON_STRING)
            continue;

        KNDL_CLEANUP(spell_done) struct spell text = {0};
        if (!json_decode(token, &text))
            return -1;
        if (is_key && depth == 1) {
            spell_byte(&text, '\0');
            list = find_list(one, (const char *)text.bytes);
            if (list != NULL)
                list->is_given = true;
        } else if (list != NULL && list->count < STRINGS_MAX) {
            kndl_buf_append(&list->list[list->count++], text.bytes, text.size);
        }
    }
    for (size_t i = 0; i < one->chunks.count; i++)
        decode_base64(&one->chunks.list[i]);
    for (size_t i = 0; i < one->expect.count; i++)
        decode_base64(&one->expect.list[i]);
    return 0;
}

static struct kndl_redact_set *make_set(const struct one_case *one)
{
    static struct kndl_redact_value values[STRINGS_MAX];
    struct kndl_redact_set *set = NULL;
    enum kndl_redact_weakness weakness;
    struct kndl_error err;
    size_t count = 0;

    for (size_t i = 0; i < one->values.count; i++) {
        struct kndl_slice value = kndl_buf_slice(&one->values.list[i]);
        if (kndl_redact_check("value", value, &weakness, &err) == 0)
            values[count++] = (struct kndl_redact_value){.name = "value", .value = value};
    }
    if (kndl_redact_set_new(values, count, &set, &err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        exit(2);
    }
    return set;
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

static void fail(const struct one_case *one, const char *why, struct kndl_slice expected,
                 struct kndl_slice got)
{
    printf("FAIL %s: %s\n", kndl_buf_text(&one->id.list[0]), why);
    show("expected", expected);
    show("got     ", got);
}

static void feed(struct kndl_redact_stream *stream, struct kndl_slice chunk, size_t step,
                 struct kndl_buf *out)
{
    for (size_t at = 0; at < chunk.size; at += step) {
        size_t size = chunk.size - at < step ? chunk.size - at : step;
        kndl_redact_feed(stream, kndl_slice(chunk.data + at, size), 0, out);
    }
}

/* Runs a case with pieces of at most `step` bytes; returns whether it holds. */
static bool run_case(const struct one_case *one, size_t step)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf out = {0};
    struct kndl_redact_set *set = make_set(one);
    struct kndl_redact_stream *stream = kndl_redact_stream_new(set, KNDL_REDACT_BYTES);
    bool holds = true;

    for (size_t i = 0; i < one->chunks.count; i++) {
        size_t before = out.size;
        feed(stream, kndl_buf_slice(&one->chunks.list[i]), step, &out);
        struct kndl_slice piece = kndl_slice(kndl_buf_text(&out) + before, out.size - before);
        if (i >= one->after_each.count)
            continue;
        struct kndl_slice expected = kndl_buf_slice(&one->after_each.list[i]);
        if (!kndl_slice_equal(piece, expected)) {
            fail(one, "after a chunk", expected, piece);
            holds = false;
        }
    }
    kndl_redact_flush(stream, &out);
    kndl_redact_stream_free(stream);
    kndl_redact_set_unref(set);

    struct kndl_slice got = kndl_buf_slice(&out);
    if (one->expect.count > 0 || one->expect.is_given) {
        struct kndl_slice expected = kndl_buf_slice(&one->expect.list[0]);
        if (!kndl_slice_equal(got, expected)) {
            fail(one, "the whole output", expected, got);
            holds = false;
        }
    }
    for (size_t i = 0; i < one->must_not_contain.count; i++) {
        struct kndl_slice banned = kndl_buf_slice(&one->must_not_contain.list[i]);
        if (got.size > 0 && memmem(got.data, got.size, banned.data, banned.size) != NULL) {
            fail(one, "the output contains what it must not", banned, got);
            holds = false;
        }
    }
    return holds;
}

static int run_file(const char *path, bool one_byte, size_t *count, size_t *failed)
{
    static struct one_case one;
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t capacity = 0;
    ssize_t size;

    if (file == NULL) {
        perror(path);
        return -1;
    }
    while ((size = getline(&line, &capacity, file)) > 0) {
        struct kndl_slice text = kndl_slice(line, (size_t)size);
        struct kndl_slice token;
        size_t at = 0;
        if (json_next(text, &at, &token) == JSON_END)
            continue;
        if (size > LINE_BYTES_MAX || read_case(text, &one) < 0 || one.id.count == 0) {
            fprintf(stderr, "%s: line is not a case: %.60s\n", path, line);
            free(line);
            fclose(file);
            return -1;
        }
        bool holds = run_case(&one, SIZE_MAX);
        if (holds && one_byte)
            holds = run_case(&one, 1);
        ++*count;
        *failed += !holds;
        struct strings *lists[] = {&one.id,     &one.values,           &one.chunks,
                                   &one.expect, &one.must_not_contain, &one.after_each};
        for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
            clear(lists[i]);
    }
    free(line);
    fclose(file);
    return 0;
}

int main(int argc, char **argv)
{
    size_t count = 0;
    size_t failed = 0;
    bool one_byte = argc > 1 && strcmp(argv[1], "--one-byte") == 0;

    if (argc < 2 + one_byte) {
        fprintf(stderr, "usage: redact-cases [--one-byte] FILE...\n");
        return 2;
    }
    for (int i = 1 + one_byte; i < argc; i++) {
        if (run_file(argv[i], one_byte, &count, &failed) < 0)
            return 2;
    }
    printf("%zu of %zu cases hold\n", count - failed, count);
    return failed > 0 || count == 0 ? 1 : 0;
}
