#pragma once

/* Just enough JSON to walk its tokens: no tree, no recursion, nothing allocated but a string's
 * decoded text. */

#include <stdbool.h>
#include <stddef.h>

#include "kndl/buf.h"
#include "kndl/slice.h"
#include "spell.h"

enum json_token {
    JSON_END,
    JSON_BAD,    /* no token begins here, or it doesn't end */
    JSON_MARK,   /* one of {}[]:, */
    JSON_STRING, /* with its quotes */
    JSON_WORD,   /* a number, true, false, null */
};

/* The token at *at behind any blanks; moves *at behind it. */
enum json_token json_next(struct kndl_slice json, size_t *at, struct kndl_slice *ret_token);

/* The text of a JSON_STRING; false if an escape or a character is not valid JSON. */
bool json_decode(struct kndl_slice token, struct spell *ret_text);

/* Appends the text as a JSON string with its quotes. */
void json_encode(struct kndl_slice text, struct kndl_buf *out);
