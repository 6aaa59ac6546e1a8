/* Spellings of a value: those that are masked, and two that are known not to be. */

#include "spelling.h"

#include <ctype.h>
#include <string.h>

#include "kndl/json.h"
#include "kndl/mem.h"

#define SPELLING(name) KNDL__REDACTOR__V1__TRIAL__SPELLING__SPELLING_##name

enum { SHOWN_CHARS = 8 };

const Kndl__Redactor__V1__Trial__Spelling spellings[] = {
    SPELLING(PLAIN), SPELLING(COLOURED), SPELLING(WRAPPED),  SPELLING(JSON),
    SPELLING(URL),   SPELLING(BASE64),   SPELLING(INDENTED),
};
const size_t spelling_count = sizeof spellings / sizeof spellings[0];

bool spelling_is_limit(Kndl__Redactor__V1__Trial__Spelling spelling)
{
    return spelling == SPELLING(BASE64) || spelling == SPELLING(INDENTED);
}

/* Without the quotes. */
static void append_json(struct kndl_buf *out, const char *text)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf quoted = {0};

    kndl_json_append_string(&quoted, text);
    kndl_buf_append(out, quoted.data + 1, quoted.size - 2);
}

static void append_url(struct kndl_buf *out, const char *text)
{
    for (const char *c = text; *c != '\0'; c++)
        if (isalnum((unsigned char)*c))
            kndl_buf_append_char(out, *c);
        else
            kndl_buf_printf(out, "%%%02X", (unsigned char)*c);
}

static const char *between(Kndl__Redactor__V1__Trial__Spelling spelling)
{
    switch (spelling) {
    case SPELLING(COLOURED):
        return "\x1b[31m";
    case SPELLING(WRAPPED):
        return "\r\n";
    case SPELLING(INDENTED):
        return "\r\n    ";
    default:
        return "";
    }
}

void spell(Kndl__Redactor__V1__Trial__Spelling spelling, const char *value,
           struct spelled *ret_spelled)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf whole = {0};

    if (spelling == SPELLING(JSON))
        append_json(&whole, value);
    else if (spelling == SPELLING(URL))
        append_url(&whole, value);
    else if (spelling == SPELLING(BASE64))
        kndl_json_append_base64(&whole, kndl_slice_of(value));
    else
        kndl_buf_append_text(&whole, value);
    *ret_spelled = (struct spelled){0};
    kndl_buf_append(&ret_spelled->first, whole.data, whole.size / 2);
    kndl_buf_append(&ret_spelled->second, whole.data + whole.size / 2, whole.size - whole.size / 2);
    kndl_buf_append_text(&ret_spelled->between, between(spelling));
}

void spelled_done(struct spelled *spelled)
{
    kndl_buf_done(&spelled->first);
    kndl_buf_done(&spelled->second);
    kndl_buf_done(&spelled->between);
}

void spelled_put_into_json(struct spelled *spelled)
{
    struct spelled inside = {0};

    append_json(&inside.first, kndl_buf_text(&spelled->first));
    append_json(&inside.second, kndl_buf_text(&spelled->second));
    append_json(&inside.between, kndl_buf_text(&spelled->between));
    spelled_done(spelled);
    *spelled = inside;
}

/* The text without what stands between the two parts. */
static void join(const char *text, const char *between, struct kndl_buf *out)
{
    size_t size = strlen(between);
    const char *at;

    while (size > 0 && (at = strstr(text, between)) != NULL) {
        kndl_buf_append(out, text, (size_t)(at - text));
        text = at + size;
    }
    kndl_buf_append_text(out, text);
}

bool spelled_shows(const struct spelled *spelled, const char *text)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf whole = {0};
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf joined = {0};
    char window[SHOWN_CHARS + 1] = "";

    kndl_buf_append(&whole, spelled->first.data, spelled->first.size);
    kndl_buf_append(&whole, spelled->second.data, spelled->second.size);
    join(text, kndl_buf_text(&spelled->between), &joined);
    for (size_t at = 0; at + SHOWN_CHARS <= whole.size; at++) {
        memcpy(window, whole.data + at, SHOWN_CHARS);
        if (strstr(kndl_buf_text(&joined), window) != NULL)
            return true;
    }
    return false;
}
