/*
 * A line of a transcript, made short before it is parsed. It may be as long as the file that Claude
 * Code read into the conversation, or its picture; what is shown of it is not. One pass that knows
 * JSON's strings and brackets and believes nothing else: what is no JSON stays none.
 */

#include "claude.h"
#include "claude_rows.h"

#include <string.h>
#include <time.h>

#include "kndl/mem.h"

enum {
    LONG_BYTES = 2048,       /* a shorter string stays */
    ROOM_BYTES = 400 * 1024, /* of the long ones together, as the mod has for a row */
    DEPTH_MAX = 64,
    UNICODE_ESCAPE_BYTES = 6, /* backslash, u and four digits */
};

struct shortening {
    const uint8_t *at, *end;
    struct kndl_buf *out;
    struct kndl_slice key; /* of the member that is next; empty: an element, or the root */
    size_t room;
    size_t depth;
    bool has_full[DEPTH_MAX + 1]; /* the object at that depth says how long its text was */
    size_t input_depth;           /* of a tool's input; 0: not in one */
    const uint8_t *input_at;
    bool input_is_short;
};

static bool is_key(const struct shortening *s, const char *name)
{
    return s->key.size == strlen(name) && memcmp(s->key.data, name, s->key.size) == 0;
}

static unsigned hex_digits(const uint8_t *at)
{
    unsigned value = 0;

    for (int i = 0; i < 4; i++) {
        uint8_t c = at[i];
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A' + 10)
                                                : 0;
        value = value << 4 | digit;
    }
    return value;
}

/* A character that is written with a backslash. */
struct escape {
    size_t size;    /* as it is written */
    size_t bytes;   /* of its UTF-8 */
    bool is_broken; /* NUL, or half of a surrogate pair: nothing that text may hold */
};

static bool is_unicode_escape(const uint8_t *at, const uint8_t *end)
{
    return end - at >= UNICODE_ESCAPE_BYTES && at[0] == '\\' && at[1] == 'u';
}

static struct escape read_escape(const uint8_t *at, const uint8_t *end)
{
    const uint8_t *next = at + UNICODE_ESCAPE_BYTES;
    unsigned code, low;

    if (!is_unicode_escape(at, end))
        return (struct escape){end - at < 2 ? 1 : 2, 1, false};
    code = hex_digits(at + 2);
    low = is_unicode_escape(next, end) ? hex_digits(next + 2) : 0;
    if (code >= 0xd800 && code < 0xdc00 && low >= 0xdc00 && low < 0xe000)
        return (struct escape){2 * UNICODE_ESCAPE_BYTES, 4, false};
    if (code == 0 || (code >= 0xd800 && code < 0xe000))
        return (struct escape){UNICODE_ESCAPE_BYTES, 3, true};
    return (struct escape){UNICODE_ESCAPE_BYTES, code < 0x80 ? 1 : code < 0x800 ? 2 : 3, false};
}

/* Copies the inside of a string as far as there is room, and answers how much of it that was. */
static size_t copy_inside(struct kndl_slice inside, size_t room, struct kndl_buf *out)
{
    const uint8_t *at = inside.data, *end = inside.data + inside.size;

    while (at < end) {
        const uint8_t *slash = memchr(at, '\\', (size_t)(end - at));
        size_t plain = (size_t)((slash == NULL ? end : slash) - at);
        size_t kept = plain < room ? plain : room;
        struct escape escape;

        while (kept > 0 && kept < plain && (at[kept] & 0xc0) == 0x80)
            kept--;
        kndl_buf_append(out, at, kept);
        room -= kept;
        at += kept;
        if (kept < plain || at == end)
            break;
        escape = read_escape(at, end);
        if (escape.size > room)
            break;
        if (escape.is_broken)
            kndl_buf_append_text(out, "\\ufffd");
        else
            kndl_buf_append(out, at, escape.size);
        room -= escape.size;
        at += escape.size;
    }
    return (size_t)(at - inside.data);
}

/* How many bytes the inside of a string has as UTF-8. */
static size_t count_bytes(struct kndl_slice inside)
{
    const uint8_t *at = inside.data, *end = inside.data + inside.size;
    size_t bytes = 0;

    while (at < end) {
        struct escape escape = {1, 1, false};

        if (*at == '\\')
            escape = read_escape(at, end);
        at += escape.size;
        bytes += escape.bytes;
    }
    return bytes;
}

static bool is_escaped(const uint8_t *begin, const uint8_t *at)
{
    size_t slashes = 0;

    while (at > begin && *--at == '\\')
        slashes++;
    return slashes % 2 == 1;
}

/* Where a string's inside ends: most have no quote in them, and are found at once. */
static const uint8_t *find_end(const uint8_t *at, const uint8_t *end)
{
    const uint8_t *quote = at == end ? NULL : memchr(at, '"', (size_t)(end - at));

    if (quote == NULL || !is_escaped(at, quote))
        return quote == NULL ? end : quote;
    for (at = quote + 1; at < end && *at != '"'; at++)
        if (*at == '\\' && end - at > 1)
            at++;
    return at;
}

/* At a string's first quote: what is between the two, and past the second. */
static struct kndl_slice take_string(struct shortening *s)
{
    const uint8_t *begin = s->at + 1, *end = find_end(begin, s->end);

    s->at = end == s->end ? end : end + 1;
    return kndl_slice(begin, (size_t)(end - begin));
}

static uint8_t next_mark(const struct shortening *s)
{
    const uint8_t *at = s->at;

    while (at < s->end && (*at == ' ' || *at == '\t'))
        at++;
    return at < s->end ? *at : '\0';
}

/* Once in an object, or it would be no JSON any more. */
static void say_full(struct shortening *s, size_t bytes)
{
    if (s->has_full[s->depth])
        return;
    s->has_full[s->depth] = true;
    kndl_buf_printf(s->out, ",\"fullBytes\":%zu", bytes);
}

/* A long string within a tool's input is not cut, for that could go through a value to be masked.
 */
static bool is_left_out(const struct shortening *s, size_t size)
{
    return s->input_depth > 0 && size > LONG_BYTES;
}

static void put_string(struct shortening *s, struct kndl_slice inside)
{
    bool is_long = inside.size > LONG_BYTES;
    bool is_text =
        is_key(s, "text") || is_key(s, "thinking") || is_key(s, "content") || is_key(s, "prompt");
    /* Bytes of a picture or a document are nothing to show, and would take the room of what is. */
    size_t room = !is_long ? LONG_BYTES : is_key(s, "data") ? 0 : s->room;
    size_t kept;

    if (is_left_out(s, inside.size)) {
        kndl_buf_printf(s->out, "\"(%zu bytes)\"", inside.size);
        s->input_is_short = true;
        return;
    }
    kndl_buf_append_char(s->out, '"');
    kept = copy_inside(inside, room, s->out);
    kndl_buf_append_char(s->out, '"');
    if (is_long && room > 0)
        s->room = kept < inside.size ? 0 : room - kept;
    if (kept < inside.size && is_text)
        say_full(s, count_bytes(inside));
}

/* Past a value, which is left out. */
static void skip_value(struct shortening *s)
{
    size_t depth = 0;

    while (s->at < s->end) {
        uint8_t c = *s->at;

        if (c == '"') {
            (void)take_string(s);
            continue;
        }
        if (depth == 0 && (c == ',' || c == '}' || c == ']'))
            break;
        depth += c == '{' || c == '[';
        depth -= depth > 0 && (c == '}' || c == ']');
        s->at++;
    }
    kndl_buf_append_text(s->out, "null");
}

/* False: nothing has a key of that length. */
static bool take_key(struct shortening *s, struct kndl_slice key)
{
    if (key.size > ROOM_BYTES)
        return false;
    kndl_buf_append_char(s->out, '"');
    kndl_buf_append(s->out, key.data, key.size);
    kndl_buf_append_text(s->out, "\":");
    while (*s->at != ':')
        s->at++;
    s->at++;
    s->key = key;
    /* What the result's row says once more, in a form of each tool's own. */
    if (s->depth == 1 && is_key(s, "toolUseResult"))
        skip_value(s);
    return true;
}

static bool open_bracket(struct shortening *s)
{
    if (s->depth == DEPTH_MAX)
        return false;
    s->has_full[++s->depth] = false;
    if (s->input_depth == 0 && is_key(s, "input")) {
        s->input_depth = s->depth;
        s->input_at = s->at;
        s->input_is_short = false;
    }
    kndl_buf_append_char(s->out, (char)*s->at++);
    return true;
}

static bool close_bracket(struct shortening *s)
{
    bool is_input = s->depth == s->input_depth;

    if (s->depth == 0)
        return false;
    kndl_buf_append_char(s->out, (char)*s->at++);
    s->depth--;
    if (is_input) {
        s->input_depth = 0;
        if (s->input_is_short)
            say_full(s, (size_t)(s->at - s->input_at));
    }
    return true;
}

void claude_shorten_line(struct kndl_slice line, struct kndl_buf *out)
{
    struct shortening s = {line.data, line.data + line.size, out, .room = ROOM_BYTES};

    while (s.at < s.end && out->size <= CLAUDE_LINE_BYTES_MAX) {
        struct kndl_slice inside;

        switch (*s.at) {
        case '"':
            inside = take_string(&s);
            if (next_mark(&s) == ':') {
                if (!take_key(&s, inside))
                    return;
                continue;
            }
            put_string(&s, inside);
            break;
        case '{':
        case '[':
            if (!open_bracket(&s))
                return;
            break;
        case '}':
        case ']':
            if (!close_bracket(&s))
                return;
            break;
        default:
            kndl_buf_append_char(out, (char)*s.at);
            if (*s.at++ != ',')
                continue;
        }
        s.key = (struct kndl_slice){0};
    }
}

int claude_parse_line(struct kndl_slice line, struct kndl_json **ret_json)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf shortened = {0};

    claude_shorten_line(line, &shortened);
    return kndl_json_parse_some(kndl_buf_slice(&shortened), CLAUDE_LINE_BYTES_MAX,
                                CLAUDE_LINE_VALUES_MAX, ret_json, NULL);
}

int64_t claude_line_at_ms(const struct kndl_json *line)
{
    const char *text = kndl_json_text(kndl_json_get(kndl_json_root(line), "timestamp"), "");
    struct tm at = {0};

    /* Whole seconds: it is compared with a margin of more. */
    return strptime(text, "%Y-%m-%dT%H:%M:%S", &at) == NULL ? 0 : (int64_t)timegm(&at) * 1000;
}
