#pragma once

/*
 * Redaction: each character of a Sensitive value becomes `*`, in every spelling that a value is
 * known to take (trimmed, by line, JSON, URL), across pieces, colour codes and line breaks.
 *
 * A *set* holds the values of a Session with all their forms. It never changes once made, is
 * counted by reference and may be used by any number of threads. A *stream* is one text that
 * arrives in pieces (a terminal, a log, the deltas of one block); it belongs to one thread at a
 * time and may change its set at any moment. Both are secrets: left out of core dumps, wiped when
 * freed, never logged, and no error names a value (only its name).
 *
 * The mask is the union of all matches, so neither the order of values nor where pieces are cut
 * changes the output. The end of a piece that could begin a value is *held*; whoever owns the
 * stream asks for the deadline and calls kndl_redact_expire() then. Held bytes leave at most
 * 100 ms after the oldest of them came: as they are when fewer than 8 characters of a value are
 * there, masked from 8 on; of one that is spelled with escapes, the escapes' characters count. So
 * up to 7 characters of a value's beginning may show after a pause.
 *
 * Not found: a value that was transformed in another way (base64 unless asked for, hashed,
 * reversed, one character a line with text between). Never a defence against a program that
 * hides a value on purpose.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kndl/buf.h"
#include "kndl/error.h"
#include "kndl/slice.h"

enum {
    KNDL_REDACT_CHARACTERS_MIN = 4,          /* of a value, after trimming */
    KNDL_REDACT_VALUE_BYTES_MAX = 64 * 1024, /* of one value */
    KNDL_REDACT_VALUES_MAX = 2048,           /* of one set */
    KNDL_REDACT_SET_BYTES_MAX = 1024 * 1024, /* of all values of one set */
};

/* One value to mask; all borrowed for the call. */
struct kndl_redact_value {
    const char *name; /* of the Variable, for messages and counts; never secret */
    struct kndl_slice value;
    bool with_base64; /* also mask its base64 forms (three shifts, both alphabets) */
};

/* Why a value is accepted but should be warned about. */
enum kndl_redact_weakness {
    KNDL_REDACT_STRONG,
    KNDL_REDACT_SHORT,    /* under 8 characters: masks much that is no secret */
    KNDL_REDACT_REPEATED, /* one character, repeated */
    KNDL_REDACT_WORD,     /* a common word or number, such as true, admin, 5432 */
};

/*
 * Can this value be masked? Fails with KNDL_INVALID_ARGUMENT, naming the Variable, for fewer than
 * 4 characters (blanks at the ends, line breaks and control characters don't count), for nothing
 * but stars and for more than KNDL_REDACT_VALUE_BYTES_MAX. `ret_weakness` may be NULL.
 */
int kndl_redact_check(const char *name, struct kndl_slice value,
                      enum kndl_redact_weakness *ret_weakness, struct kndl_error *err);

struct kndl_redact_set;
struct kndl_redact_stream;

/*
 * A set of `count` values (0 is fine: it masks nothing); the caller holds the one reference.
 * Fails with KNDL_INVALID_ARGUMENT as kndl_redact_check() does, and with KNDL_RESOURCE_EXHAUSTED
 * over the limits above. About 1 ms for 300 values.
 */
int kndl_redact_set_new(const struct kndl_redact_value *values, size_t count,
                        struct kndl_redact_set **ret_set, struct kndl_error *err);

/* One more reference; returns the set. From any thread. */
struct kndl_redact_set *kndl_redact_set_ref(struct kndl_redact_set *set);

/* One reference less; the last one wipes and frees. NULL is fine. From any thread. */
void kndl_redact_set_unref(struct kndl_redact_set *set);

/*
 * How often the value at this index (in the order of kndl_redact_set_new()) was found through
 * this set so far, in any of its forms. Where several matches end at the same character, the
 * longest counts; of equal values, the first. From any thread.
 */
uint64_t kndl_redact_set_hits(const struct kndl_redact_set *set, size_t index);

/* Number of values, and bytes of memory that the set takes. */
size_t kndl_redact_set_count(const struct kndl_redact_set *set);
size_t kndl_redact_set_bytes(const struct kndl_redact_set *set);

enum kndl_redact_kind {
    KNDL_REDACT_BYTES, /* a terminal or a log: nothing waits but what may begin a value */
    KNDL_REDACT_TEXT,  /* each output ends at a character's edge, as a protobuf string must */
};

/* A new stream on this set, of which it takes a reference of its own. Under 256 bytes. */
struct kndl_redact_stream *kndl_redact_stream_new(struct kndl_redact_set *set,
                                                  enum kndl_redact_kind kind);

/* What this stream finds is not counted: the same text comes again, whole. Before it is fed. */
void kndl_redact_stream_uncount(struct kndl_redact_stream *stream);

/* Wipes and frees; what is held is lost (flush first). NULL is fine. */
void kndl_redact_stream_free(struct kndl_redact_stream *stream);

/*
 * From here on this set; the stream takes its own reference. A new value is found in all that has
 * not left yet, and where its beginning has left already (the last 64 bytes of text are remembered,
 * but none of a title or link), its rest is masked.
 */
void kndl_redact_stream_swap(struct kndl_redact_stream *stream, struct kndl_redact_set *set);

/*
 * Takes a piece of any size and appends what may leave, masked, to `out`. `now_us` is
 * kndl_clock_us(): when the piece arrived.
 */
void kndl_redact_feed(struct kndl_redact_stream *stream, struct kndl_slice piece, int64_t now_us,
                      struct kndl_buf *out);

/* When the held bytes must leave, by kndl_clock_us(); INT64_MAX when nothing waits. Later pieces
 * never put it off by restarting it. */
int64_t kndl_redact_deadline(const struct kndl_redact_stream *stream);

/* Lets the held bytes go if their deadline has come; else does nothing. The stream goes on, and
 * if the value then completes, its rest is masked: within 8 KiB and eight longest forms, which are
 * remembered of what has left. A value over 8 KiB, all of it as `\\\\u00XX`, is longer. */
void kndl_redact_expire(struct kndl_redact_stream *stream, int64_t now_us, struct kndl_buf *out);

/* The end of the text: all that is held leaves. The stream is then as new. */
void kndl_redact_flush(struct kndl_redact_stream *stream, struct kndl_buf *out);

/* A whole text at once: appends it, masked, to `out`. */
void kndl_redact_text(struct kndl_redact_set *set, struct kndl_slice text, struct kndl_buf *out);

/*
 * The same for a terminal's screen, on which a value may have been cut before it was whole: what
 * ends a line (but for blanks) and begins a value, there or on the lines above, is masked as at a
 * text's end, from eight characters on.
 */
void kndl_redact_screen(struct kndl_redact_set *set, struct kndl_slice text, struct kndl_buf *out);

/*
 * The same for JSON text: masks each decoded string (keys too) as a text of its own, and a number
 * or word that holds a value becomes a string of stars. What nothing was found in stays byte for
 * byte. Text that is not JSON, or where a value goes over several strings or members, is masked as
 * kndl_redact_text() would, and need not be JSON any more.
 */
void kndl_redact_json(struct kndl_redact_set *set, struct kndl_slice json, struct kndl_buf *out);
