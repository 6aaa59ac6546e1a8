#pragma once

/*
 * The text of a block of a terminal's output, many bytes at a time: what escape.h says byte by
 * byte, for all that is common: text, control characters, whole sequences. A block is cut before
 * anything else (C1 controls, broken sequences, strings that are cut, or odd), which escape.h then
 * takes. Inside a string, its payload is the text, and the block is cut before the string's end.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "escape.h"

enum {
    BLOCK_BYTES = 8 * 1024,
    BLOCK_WORDS = BLOCK_BYTES / 64,
    BLOCK_PAYLOADS = 256,
    BLOCK_HEAD_BYTES = 2048, /* room before the text for what is held */
    BLOCK_SLACK_BYTES = 128  /* stores may run over by so much */
};

/* What is inside a whole string: raw[from..to), a text of its own. */
struct payload {
    uint16_t from;
    uint16_t to;
};

struct block {
    bool is_whole;                /* the caller's: what is before it ends no character half */
    size_t raw_size;              /* bytes taken */
    size_t text_size;             /* bytes of text in them */
    size_t copied;                /* bytes copied to out: those taken, and more */
    uint64_t keep[BLOCK_WORDS];   /* a bit for each byte: it is text */
    uint32_t starts[BLOCK_WORDS]; /* bytes of text before each 64 */
    size_t sign_count;            /* of backslashes and percent signs in the text */
    uint16_t signs[BLOCK_BYTES + BLOCK_SLACK_BYTES]; /* where in the text they are, rising */
    size_t payload_count;
    struct payload payloads[BLOCK_PAYLOADS]; /* rising; none is empty, or ends a character half */
    uint8_t *out;  /* the caller's: what is taken is copied there, in whole words of 64 bytes */
    uint8_t *text; /* behind the head; the eight bytes before it are 0 */
    uint8_t space[BLOCK_HEAD_BYTES + BLOCK_BYTES + BLOCK_SLACK_BYTES];
};

/*
 * Takes up to BLOCK_BYTES from `raw`. *state is ESCAPE_GROUND, ESCAPE_ESC, ESCAPE_CSI,
 * ESCAPE_STRING or ESCAPE_STRING_ESC before, and one of the first four after. raw_size is 0 when
 * the block begins with something rare.
 */
typedef void (*normalise_fn)(struct block *block, const uint8_t *raw, size_t size,
                             enum escape_state *state);

/* The fastest that this processor runs; and each of them by itself, for tests (NULL where the
 * processor lacks it). */
normalise_fn normalise_best(void);
normalise_fn normalise_plain(void);
normalise_fn normalise_avx2(void);
normalise_fn normalise_avx512(void);

/* Where in the raw block the byte of text with this number is; raw_size for text_size. */
size_t block_raw_at(const struct block *block, size_t text_at);
