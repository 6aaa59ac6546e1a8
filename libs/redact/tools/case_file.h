#pragma once

/*
 * A redaction case: one JSON object on a line.
 *
 *   id                string: what to print when it fails
 *   values            strings: what to mask; those that the engine refuses are left out
 *   chunks            strings in base64: the pieces, in order, then the end of the text
 *   expect            string in base64: all the output together
 *   must_not_contain  strings: what the output has nowhere
 *   after_each        strings: the output of each chunk, before the end of the text
 *   pauses_ms         numbers: time that passes after each chunk, so that deadlines come
 *   with_base64       true: mask the base64 forms, too
 *   source, note      strings: where it comes from, what it shows
 *
 * id, values, chunks and at least one of expect, must_not_contain and after_each are there. Other
 * members are passed over, for whoever reads may not know what they ask: `unknown` has their names.
 */

#include <stdbool.h>
#include <stddef.h>

#include "kndl/arena.h"
#include "kndl/error.h"
#include "kndl/slice.h"

/* In the arena. */
struct texts {
    struct kndl_slice *list;
    size_t count;
    size_t capacity;
    bool is_given;
};

struct redact_case {
    struct texts id, values, chunks, expect, must_not_contain, after_each, pauses_ms, with_base64;
    struct texts source, note;
    struct texts unknown;
};

/*
 * Reads a line; what *ret_case has is valid until the arena is reset. Fails, saying why, if the
 * line is no case. Returns 1 for a line with nothing on it.
 */
int case_read(struct kndl_slice line, struct kndl_arena *arena, struct redact_case *ret_case,
              struct kndl_error *err);

/* The text of a member of one string; "" if it is not given. NUL-terminated. */
const char *case_text(const struct texts *texts);
