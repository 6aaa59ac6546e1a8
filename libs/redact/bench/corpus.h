#pragma once

/* Texts and values for the benchmark: always the same, since a seed makes them. */

#include <stddef.h>

#include "kndl/buf.h"
#include "kndl/redact.h"

enum { CORPUS_VALUES_COUNT = 300, CORPUS_VALUE_BYTES = 80 };

/* Values of 16 to 64 bytes; the first 1 and 20 are sets of their own. */
struct corpus_values {
    char text[CORPUS_VALUES_COUNT][CORPUS_VALUE_BYTES];
    struct kndl_redact_value values[CORPUS_VALUES_COUNT]; /* of text */
};

enum corpus_kind {
    CORPUS_LOG,      /* a build log in which no value occurs */
    CORPUS_VALUES,   /* the same, with one of the values each 4 KiB */
    CORPUS_TERMINAL, /* colours every few bytes, titles, links, progress bars */
    CORPUS_JSON,     /* agent events, a line each */
    CORPUS_COUNT
};

enum hostile_kind {
    HOSTILE_PREFIXES, /* beginnings of values, one after the other */
    HOSTILE_REPEAT,   /* one beginning, again and again */
    HOSTILE_OSC,      /* ESC ] ESC ] … */
    HOSTILE_CHARSET,  /* ESC 7 ESC 8 … */
    HOSTILE_STRING,   /* a title that never ends */
    HOSTILE_LINE,     /* one line */
    HOSTILE_SAME,     /* one byte */
    HOSTILE_PERCENT,  /* encoded text without end */
    HOSTILE_SLASHES,  /* backslashes alone */
    HOSTILE_DEEP,     /* encoded text, JSON three times */
    HOSTILE_BREAKS,   /* a beginning, and encoded line breaks without end */
    HOSTILE_CRLF,     /* encoded breaks of two letters that two values begin with */
    HOSTILE_COUNT
};

/* All of it, made in one go. */
struct corpora {
    struct corpus_values values;
    struct kndl_buf texts[CORPUS_COUNT]; /* of CORPUS_VALUES: see corpus_plant() */
};

void corpora_make(struct corpora *corpora, size_t log_bytes, size_t other_bytes);
void corpora_done(struct corpora *corpora);

/* Makes the text of CORPUS_VALUES: the log with one of the first `count` values each 4 KiB. */
void corpus_plant(struct corpora *corpora, size_t count);

/* Appends `size` bytes of a hostile text; returns what it is. */
const char *hostile_make(enum hostile_kind kind, const struct corpus_values *values, size_t size,
                         struct kndl_buf *text);
