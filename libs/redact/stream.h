#pragma once

/*
 * A stream from the inside: the bytes that it still needs, and where in an escape sequence, a
 * string or a character it stands.
 *
 * `held` has the bytes from the first that something may still begin at, in their order. The
 * first `sent` of them have left already and are only remembered, so that the rest of a value is
 * masked when it completes; what follows waits.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "escape.h"
#include "kndl/redact.h"

enum {
    STREAM_HELD_BYTES = 16 * 1024, /* and four longest forms wait at most; then they leave as if
                                      expired */
    STREAM_INLINE_COUNT = 14,      /* four at least */
    STREAM_PAST_BYTES = 64         /* remembered for a set that comes later */
};

enum held_kind {
    HELD_SKIP,    /* no text: control characters, escape sequences */
    HELD_TEXT,    /* of the main text */
    HELD_PAYLOAD, /* of the string that is open */
    HELD_PAST,    /* of a string that has ended: its masks are final */
    HELD_UNKNOWN  /* 0xC2 at the end: a control or a character */
};

struct held {
    uint32_t at_us; /* when it came: the low bits of the clock */
    uint8_t byte;
    uint8_t kind; /* enum held_kind */
    uint8_t masked;
};

struct kndl_redact_stream {
    struct kndl_redact_set *set; /* one reference of ours */
    struct held *held;           /* inline_held or on the heap */
    uint32_t count;
    uint32_t capacity;
    uint32_t sent;       /* of them; have left */
    uint32_t payload;    /* where the open string begins in held */
    uint32_t text_known; /* bytes of the main text in held that the last scan has seen */
    uint32_t payload_known;
    int64_t now_us;        /* of the last piece */
    uint8_t kind;          /* enum kndl_redact_kind */
    uint8_t escape;        /* enum escape_state */
    uint8_t missing;       /* bytes of the last character that has left, yet to come */
    uint8_t missing_stars; /* that character left as a star */
    uint8_t waits;         /* something is held for what may follow, so there is a deadline */
    uint8_t is_uncounted;  /* what it finds is counted elsewhere */
    uint8_t past_size;
    uint8_t past[STREAM_PAST_BYTES]; /* the end of the main text that left and is not in held; at
                                        its own end */
    struct held inline_held[STREAM_INLINE_COUNT];
};

_Static_assert(sizeof(struct kndl_redact_stream) < 256, "an idle stream costs under 256 bytes");

/* emit.c: appends held[sent..end) to out, masked where it must be, and moves `sent` there. */
void emit_held(struct kndl_redact_stream *stream, size_t end, struct kndl_buf *out);

/* emit.c: one held byte, into room that is there and without a NUL; so does the next. */
void emit_held_byte(struct kndl_redact_stream *stream, size_t at, struct kndl_buf *out);

/* emit.c: one byte of text; `missing` are the bytes that its character still needs, if it begins
 * one. */
void emit_text_byte(struct kndl_redact_stream *stream, uint8_t byte, bool masked, size_t missing,
                    struct kndl_buf *out);

/* stream.c: makes room in held for so many more. */
void stream_reserve(struct kndl_redact_stream *stream, size_t more);

/* stream.c: gives a heap buffer back if what is held fits without. */
void stream_shrink(struct kndl_redact_stream *stream);

/* stream.c: of what has left, keeps only what is still open: text from held[text] on, payload
 * from held[payload] on. */
void stream_forget(struct kndl_redact_stream *stream, size_t text, size_t payload);

/* stream.c: bytes of main text that left, for a set that comes later. */
void stream_remember(struct kndl_redact_stream *stream, const uint8_t *text, size_t size);

/*
 * bulk.c: takes as much of a piece as is common (see normalise.h) at once, with
 * the same outcome as byte by byte. Returns the bytes taken; 0 where something rare comes first.
 */
size_t bulk_take(struct kndl_redact_stream *stream, struct kndl_slice piece, struct kndl_buf *out);
