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

#include "mask.h"
#include "normalise.h"
#include "set.h"

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
    int found;     /* something is masked; until then mask[] holds nothing */
    size_t run;    /* masked without a gap: from here ... */
    size_t masked; /* ... to here */
};

/* Scans the whole text; sets mask[], hold and alive. */
void scan_text(struct scan *scan);

/*
 * The same for a block of raw bytes, of which most are passed over. The text is block->text with
 * `held` bytes before it, which have been scanned before and may begin something.
 */
void scan_block(struct scan *scan, const struct block *block, size_t held);

/* As scan_text(), by the filters; 128 bytes behind the text may be read. */
void scan_long_text(struct scan *scan);

/* From the escape at `at` on, with the automaton in this state before it: every lane there is. */
void scan_escape(struct scan *scan, size_t at, struct state state);

/* Masks the form that ends before `end` in this state. Ends never go back. */
void scan_mark(struct scan *scan, size_t end, struct state state);

/* Masks one byte, for a reason from before this scan. */
void scan_mask_byte(struct scan *scan, size_t at);

static inline void scan_keep(struct scan *scan, size_t start)
{
    if (start < scan->hold)
        scan->hold = start;
    if (start < scan->alive)
        scan->alive = start;
}
