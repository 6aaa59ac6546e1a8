#pragma once

/*
 * The forms of a value: the literal patterns that stand for it in a text, already normalised
 * (without what escape.h skips). Which they are is in docs/adr/0017-redaction-engine.md.
 */

#include <stddef.h>
#include <stdint.h>

#include "kndl/redact.h"

enum {
    FORM_BYTES_MAX = 65535,      /* of one form; what is longer is two, found one by one */
    FORM_LINE_CHARACTERS_MIN = 8 /* a line of a value that counts by itself */
};

/*
 * Texts of up to so many bytes have encoded forms, of which a byte may make a hundred, and fewer if
 * all of a set's forms are more than FORMS_BYTES_MAX; longer ones are left to the lanes.
 */
enum { FORM_ENCODED_BASE_BYTES = 4096, FORMS_BYTES_MAX = 512 * 1024 };

struct form {
    uint64_t head;   /* its first bytes, the first one highest */
    uint32_t at;     /* in bytes[] */
    uint32_t size;   /* bytes */
    uint32_t value;  /* index of the value that it is a form of */
    uint32_t shared; /* once sorted: how many bytes begin the form before, too */
};

/* Secret: wiped by forms_done(). `= {0}` is an empty one. */
struct forms {
    size_t base_bytes; /* longer texts have no encoded forms here */
    uint8_t *bytes;
    size_t size;
    size_t capacity;
    struct form *list;
    size_t count;
    size_t list_capacity;
    size_t text_first; /* of the forms of the text that is being spelled */
};

/*
 * All forms of values that kndl_redact_check() accepts, sorted bytewise, without repeats; of equal
 * ones the lowest value stays. Which texts have encoded forms does not depend on the values' order.
 */
void forms_make(struct forms *forms, const struct kndl_redact_value *values, size_t count);

void forms_done(struct forms *forms);

static inline const uint8_t *form_bytes(const struct forms *forms, const struct form *form)
{
    return forms->bytes + form->at;
}
