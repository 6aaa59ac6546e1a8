/* The benchmark's texts. */

#include "corpus.h"

#include <stdio.h>
#include <string.h>

static uint64_t seed = UINT64_C(0x9e3779b97f4a7c15);

static uint64_t next_random(void)
{
    seed ^= seed << 7;
    seed ^= seed >> 9;
    return seed * UINT64_C(0x2545f4914f6cdd1d);
}

static unsigned below(unsigned limit)
{
    return (unsigned)((next_random() >> 33) % limit);
}

static void make_value(struct corpus_values *values, size_t index)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    static const char special[] = "+/=!@#$%&\"'\\?: ";
    static const char *const heads[] = {
        "sk-lab-", "ghx_", "xkeyb-", "AKLAB", "pw:", "", "", "glx-", "tok_", ""};
    unsigned wanted = 16 + below(49);
    char *value = values->text[index];
    size_t size = (size_t)snprintf(value, CORPUS_VALUE_BYTES, "%s", heads[below(10)]);
    unsigned kind = below(10);

    while (size < wanted) {
        if (kind < 2 && below(6) == 0 && size > 0 && size + 1 < wanted)
            value[size++] = special[below(sizeof special - 1)];
        else if (kind == 2)
            value[size++] = "0123456789abcdef"[below(16)];
        else
            value[size++] = letters[below(62)];
    }
    value[size] = '\0';
    values->values[index] =
        (struct kndl_redact_value){.name = "V", .value = kndl_slice(value, size)};
}

static void add_word(struct kndl_buf *text)
{
    static const char *const words[] = {
        "compiling",
        "src/main",
        "lib",
        "warning:",
        "unused",
        "variable",
        "error",
        "note:",
        "linking",
        "target/debug",
        "cache",
        "npm",
        "install",
        "node_modules",
        "fetch",
        "resolved",
        "in",
        "the",
        "of",
        "with",
        "test",
        "passed",
        "failed",
        "ok",
        "running",
        "docker",
        "layer",
        "sha256",
        "pull",
        "push",
        "build",
        "step",
        "ARG",
        "COPY",
        "RUN",
        "module",
        "function",
        "return",
        "static",
        "const",
        "struct",
        "kernel",
        "token",
        "secret",
        "password",
        "key",
        "http://localhost:8080/api/v1",
        "--release",
        "-O2",
        "-Wall",
        "0.1.2",
        "12.7s",
        "[INFO]",
        "[DEBUG]",
        "2026-11-29T16:08:50Z",
        "=>",
        "|",
        "...",
        "100%",
    };
    unsigned kind = below(12);

    if (kind == 0) {
        /* The order in which a call's arguments are made is the compiler's. */
        unsigned low = (unsigned)next_random();
        unsigned high = (unsigned)next_random();
        kndl_buf_printf(text, "%08x%08x", high, low);
    } else if (kind == 1) {
        unsigned part = below(100);
        unsigned whole = below(1000);
        kndl_buf_printf(text, "%u.%u", whole, part);
    } else if (kind == 2) {
        for (unsigned left = 3 + below(9); left > 0; left--)
            kndl_buf_append_char(text, (char)('a' + below(26)));
    } else if (kind == 3 && below(4) == 0) {
        kndl_buf_append_text(text, "\xe2\x9c\x93");
    } else {
        kndl_buf_append_text(text, words[below(sizeof words / sizeof words[0])]);
    }
}

static void add_line(struct kndl_buf *text, const char *end)
{
    unsigned words = 4 + below(14);

    for (unsigned i = 0; i < words; i++) {
        if (i > 0)
            kndl_buf_append_char(text, ' ');
        add_word(text);
    }
    kndl_buf_append_text(text, end);
}

static void add_progress(struct kndl_buf *text)
{
    static const char bar[] = "########################################";
    unsigned steps = below(40);

    for (unsigned i = 0; i < steps; i++)
        kndl_buf_printf(text, "\r\033[K\033[32m[%.*s%*s]\033[0m %3u%%", (int)i, bar, (int)(40 - i),
                        "", i * 100 / 40);
    kndl_buf_append_text(text, "\r\n");
}

static void add_colour(struct kndl_buf *text)
{
    unsigned kind = below(3);

    if (kind == 0) {
        kndl_buf_printf(text, "\033[%um", 30 + below(8));
    } else if (kind == 1) {
        kndl_buf_printf(text, "\033[1;38;5;%um", below(256));
    } else {
        unsigned blue = below(256);
        unsigned green = below(256);
        unsigned red = below(256);
        kndl_buf_printf(text, "\033[38;2;%u;%u;%um", red, green, blue);
    }
}

static void add_terminal(struct kndl_buf *text)
{
    unsigned kind = below(20);

    if (kind == 0) {
        kndl_buf_printf(text, "\033]0;~/work/repo: step %u\007", below(999));
    } else if (kind == 1) {
        kndl_buf_printf(text, "\033]8;;https://example.test/p/%u\033\\link\033]8;;\033\\",
                        below(99999));
    } else if (kind == 2) {
        add_progress(text);
    } else if (kind == 3) {
        unsigned column = below(120);
        unsigned row = below(50);
        kndl_buf_printf(text, "\033[%u;%uH\033[?25l", 1 + row, 1 + column);
    }
    for (unsigned words = 4 + below(14); words > 0; words--) {
        add_colour(text);
        add_word(text);
        kndl_buf_append_text(text, "\033[0m ");
    }
    kndl_buf_append_text(text, "\r\n");
}

static void add_event(struct kndl_buf *text, unsigned number)
{
    unsigned low = (unsigned)next_random();
    unsigned high = (unsigned)next_random();

    kndl_buf_printf(text,
                    "{\"type\":\"tool_result\",\"id\":\"toolu_%08x%08x\",\"seq\":%u,"
                    "\"content\":\"",
                    high, low, number);
    for (unsigned lines = 1 + below(60); lines > 0; lines--) {
        unsigned kind = below(10);
        if (kind == 0)
            kndl_buf_append_text(text, "\\\"name\\\": \\\"x\\\", ");
        else if (kind == 1)
            kndl_buf_append_text(text, "C:\\\\dir\\\\f \\t");
        else if (kind == 2)
            kndl_buf_append_text(text, "\\u001b[31m");
        else if (kind == 3)
            kndl_buf_append_text(text, "https://h.test/?q=a%20b%2Fc&t=1 ");
        add_line(text, "\\n");
    }
    kndl_buf_append_text(text, "\",\"is_error\":false}\n");
}

void corpora_make(struct corpora *corpora, size_t log_bytes, size_t other_bytes)
{
    struct kndl_buf *log = &corpora->texts[CORPUS_LOG];
    struct kndl_buf *terminal = &corpora->texts[CORPUS_TERMINAL];
    struct kndl_buf *json = &corpora->texts[CORPUS_JSON];

    for (size_t i = 0; i < CORPUS_VALUES_COUNT; i++)
        make_value(&corpora->values, i);
    while (log->size < log_bytes)
        add_line(log, "\n");
    log->size = log_bytes;
    while (terminal->size < other_bytes)
        add_terminal(terminal);
    terminal->size = other_bytes;
    for (unsigned number = 0; json->size < other_bytes; number++)
        add_event(json, number);
    json->size = other_bytes;
}

void corpora_done(struct corpora *corpora)
{
    for (size_t i = 0; i < CORPUS_COUNT; i++)
        kndl_buf_done(&corpora->texts[i]);
}

void corpus_plant(struct corpora *corpora, size_t count)
{
    const struct kndl_buf *log = &corpora->texts[CORPUS_LOG];
    struct kndl_buf *text = &corpora->texts[CORPUS_VALUES];
    size_t planted = 0;

    kndl_buf_clear(text);
    kndl_buf_append(text, log->data, log->size);
    for (size_t at = 4096 - 100; at + 100 < text->size; at += 4096, planted++) {
        struct kndl_slice value = corpora->values.values[planted * 7 % count].value;
        text->data[at] = '=';
        memcpy(text->data + at + 1, value.data, value.size);
        text->data[at + 1 + value.size] = '\n';
    }
}

/* Beginnings of values, each cut before its last byte. */
static void add_beginning(struct kndl_buf *text, struct kndl_slice value)
{
    kndl_buf_append(text, value.data, value.size - 1);
}

const char *hostile_make(enum hostile_kind kind, const struct corpus_values *values, size_t size,
                         struct kndl_buf *text)
{
    static const char *const names[HOSTILE_COUNT] = {
        "beginnings of all values", "one beginning, again and again",    "ESC ] without end",
        "ESC 7 ESC 8 without end",  "a title that never ends",           "one line of 1 MiB",
        "one byte, repeated",       "percent signs, encoded text",       "backslashes",
        "JSON in JSON in JSON",     "a beginning, then \\n without end", "\\r\\n without end",
    };

    for (unsigned turn = 0; text->size < size; turn++) {
        switch (kind) {
        case HOSTILE_PREFIXES:
            add_beginning(text, values->values[turn % CORPUS_VALUES_COUNT].value);
            break;
        case HOSTILE_REPEAT:
            add_beginning(text, values->values[7].value);
            break;
        case HOSTILE_OSC:
            kndl_buf_append_text(text, "\033]");
            break;
        case HOSTILE_CHARSET:
            kndl_buf_append_text(text, turn % 2 ? "\0337" : "\0338");
            break;
        case HOSTILE_STRING:
            if (turn == 0)
                kndl_buf_append_text(text, "\033]0;");
            add_word(text);
            break;
        case HOSTILE_LINE:
            if (turn > 0 && text->size % (1 << 20) < 8)
                kndl_buf_append_char(text, '\n');
            add_word(text);
            break;
        case HOSTILE_SAME:
            kndl_buf_append_char(text, values->text[0][0]);
            break;
        case HOSTILE_PERCENT:
            kndl_buf_printf(text, "%%%02x", (uint8_t)values->text[7][turn % 12]);
            break;
        case HOSTILE_SLASHES:
            kndl_buf_append_char(text, '\\');
            break;
        case HOSTILE_DEEP:
            kndl_buf_printf(text, "\\\\\\\\u%04x", (uint8_t)values->text[7][turn % 12]);
            break;
        case HOSTILE_BREAKS:
            if (turn == 0)
                kndl_buf_append(text, values->text[7], 12);
            kndl_buf_append_text(text, "\\n");
            break;
        case HOSTILE_CRLF:
            kndl_buf_append_text(text, "\\r\\n");
            break;
        case HOSTILE_COUNT:
            break;
        }
    }
    return names[kind];
}
