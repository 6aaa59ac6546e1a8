#pragma once

/*
 * Finding forms in one normalised text: literally, and in lanes from each escape on.
 *
 * A lane begins at a backslash or percent sign: what stands before it is read as it is, what
 * follows is decoded, so nothing needs to be known about the text further back. The scan says
 * which bytes to mask and what of the text's end is still open.
 */

#include <stddef.h>
#include <stdint.h>

#include "lane.h"
#include "mask.h"
#include "normalise.h"
#include "set.h"

enum { SCAN_SHOWN_CHARACTERS = 7 /* of a form's beginning, at most, if it is not completed */ };

enum { PAUSE_NODES = 8 };

/* What a lane skipped behind a sign before anything was decoded. It is skipped whatever stands
 * before it; what comes behind is read once for each of the automaton's last few nodes there. */
struct pause {
    uint32_t at; /* looked at again up to here ... */
    uint32_t until;
    uint32_t skipped;            /* bytes between, as a reading counts them */
    uint32_t count;              /* of nodes read on with, the last ones are kept */
    uint32_t nodes[PAUSE_NODES]; /* the automaton's, before and in it */
    uint8_t skip;                /* enum escape_state, at `at` ... */
    uint8_t skip_until;          /* ... and at `until` */
    uint8_t met;                 /* what the lane came by later */
};

struct scan {
    struct kndl_redact_set *set;
    const uint8_t *text;
    uint64_t *mask; /* a bit for each byte of the text: it is part of a form; the caller's. Only if
                       `found` */
    size_t size;
    size_t known;  /* matches that end up to here have been counted before */
    size_t hold;   /* from here on the text may be the beginning of a form; else `size` */
    size_t alive;  /* the same, with what is only remembered: an escape cut short that no form
                      is spelled with. At most `hold`. */
    size_t secret; /* from here on it is a beginning of more than SCAN_SHOWN_CHARACTERS;
                      else `size` */
    int found;     /* something is masked; until then mask[] holds nothing */
    size_t run;    /* masked without a gap: from here ... */
    size_t masked; /* ... to here */
    size_t units;  /* that lanes have read: what hostile text must not make more than linear */
    struct pause pauses[LANE_COUNT]; /* of each lane, the last one */
};

/* Scans the whole text; sets mask[], hold, alive and secret. */
void scan_text(struct scan *scan);

/*
 * The same for text of which most is passed over. Its first `held` bytes have been scanned before
 * and may begin something; the signs are behind them, rising, numbered from there on. Eight bytes
 * before the text and BLOCK_SLACK_BYTES behind it may be read.
 */
void scan_block(struct scan *scan, const uint16_t *signs, size_t sign_count, size_t held);

/* Do these bytes, one at least, begin a form? */
int scan_is_beginning(const struct automaton *automaton, const uint8_t *bytes, size_t size);

/* The same, of three bytes, the first one lowest. */
static inline int scan_three_begin(const struct kndl_redact_set *set, uint32_t three)
{
    const struct filters *filters = &set->filters;
    const uint8_t bytes[3] = {(uint8_t)three, (uint8_t)(three >> 8), (uint8_t)(three >> 16)};

    return (filters_have_pair(filters, bytes[0], bytes[1]) & filter_has(&filters->any3, three)) &&
           scan_is_beginning(&set->automaton, bytes, sizeof bytes);
}

/* How many of a text's last bytes, three at most, begin a form. The last four are `last`, the very
 * last one highest; of them the text has `size`, or more. Each form has four bytes at least, so
 * that these have something to come. */
static inline size_t scan_begun(const struct kndl_redact_set *set, uint32_t last, size_t size)
{
    const struct filters *filters = &set->filters;
    uint32_t has_pair =
        (uint32_t)filters_have_pair(filters, (uint8_t)(last >> 16), (uint8_t)(last >> 24));
    size_t begun = (size_t)filters_begin(filters, (uint8_t)(last >> 24));

    if (has_pair & (size >= 2))
        begun = 2;
    if (__builtin_expect(size >= 3 && scan_three_begin(set, last >> 8), 0))
        begun = 3;
    return begun;
}

/* Where in the raw block the first string begins whose text is not to be passed over; raw_size if
 * there is none. */
size_t scan_payloads(struct kndl_redact_set *set, const struct block *block, const uint8_t *raw);

/* As scan_text(), by the filters; 128 bytes behind the text may be read. */
void scan_long_text(struct scan *scan);

/* From the escape at `at` on, with the automaton in this state before it: every lane there is. */
void scan_escape(struct scan *scan, size_t at, struct state state);

/* Masks the form that ends before `end` in this state. Ends never go back. */
void scan_mark(struct scan *scan, size_t end, struct state state);

/* Masks one byte, for a reason from before this scan. */
void scan_mask_byte(struct scan *scan, size_t at);

static inline void scan_begin(struct scan *scan)
{
    scan->hold = scan->size;
    scan->alive = scan->size;
    scan->secret = scan->size;
}

/* What begins at `start` is open; so many of the bytes behind are no characters of it. */
void scan_keep(struct scan *scan, size_t start, size_t skipped);
