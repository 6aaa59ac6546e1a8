#pragma once

/*
 * How programs spell a text inside JSON, a URL and base64. Each appends to a scratch, which holds
 * secrets and is wiped by spell_done().
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kndl/slice.h"

struct spell {
    uint8_t *bytes;
    size_t size;
    size_t capacity;
};

enum {
    SPELL_JSON_SLASH = 1, /* `\/` */
    SPELL_JSON_HTML = 2,  /* Go's \u003c \u003e \u0026 \u2028 \u2029 */
    SPELL_JSON_ASCII = 4, /* all but ASCII as \uXXXX */
    SPELL_UPPER = 8,      /* hex digits, of URLs too */
    SPELL_JSON_COUNT = 16
};

enum spell_url {
    SPELL_URL_COMPONENT, /* encodeURIComponent */
    SPELL_URL_RFC3986,
    SPELL_URL_PATH,      /* Python's quote: `/` stays */
    SPELL_URL_FORM,      /* a blank is `+`, as browsers send forms */
    SPELL_URL_FORM_PLUS, /* the same, as Python's quote_plus does */
    SPELL_URL_COUNT
};

void spell_byte(struct spell *spell, uint8_t byte);
void spell_bytes(struct spell *spell, struct kndl_slice bytes);
/* Does all that writes JSON leave this text as it is? */
bool spell_json_keeps(struct kndl_slice text);
void spell_json(struct spell *spell, struct kndl_slice text, unsigned flags);
void spell_url(struct spell *spell, struct kndl_slice text, enum spell_url kind, unsigned flags);

/* What base64 makes of the text where it stands `shift` (0, 1, 2) bytes into a group: only the
 * characters that depend on nothing else. */
void spell_base64(struct spell *spell, struct kndl_slice text, unsigned shift, bool for_url);

void spell_clear(struct spell *spell);
void spell_done(struct spell *spell);

static inline struct kndl_slice spell_slice(const struct spell *spell)
{
    return kndl_slice(spell->bytes, spell->size);
}
