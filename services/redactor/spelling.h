#pragma once

/* A value as texts may hold it. Pure. */

#include <stdbool.h>

#include "kndl/buf.h"
#include "kndl/redactor/v1/trial.pb-c.h"

/* In two parts, so that whatever holds it can be cut or broken between them. */
struct spelled {
    struct kndl_buf first, second;
    struct kndl_buf between; /* no character of the value: a colour code, a line break */
};

/* Every spelling that is tried. */
extern const Kndl__Redactor__V1__Trial__Spelling spellings[];
extern const size_t spelling_count;

/* Is it known that values in this spelling are not found? */
bool spelling_is_limit(Kndl__Redactor__V1__Trial__Spelling spelling);

/* Freed by spelled_done(). */
void spell(Kndl__Redactor__V1__Trial__Spelling spelling, const char *value,
           struct spelled *ret_spelled);
void spelled_done(struct spelled *spelled);

/* The same as it stands inside a JSON string. */
void spelled_put_into_json(struct spelled *spelled);

/* Do 8 characters of it in a row, or more, stand in this text? (Fewer may show after a pause.) */
bool spelled_shows(const struct spelled *spelled, const char *text);
