/* One JSON object per line, written with one write(2). */

#include "kndl/log.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "kndl/buf.h"
#include "kndl/clock.h"
#include "kndl/mem.h"

enum { VALUE_BYTES_MAX = 4096 };

static const char *service_name = "kndl";
static enum kndl_level least_level = KNDL_INFO;
static _Thread_local const char *current_trace;
static _Thread_local const char *current_actor;

void kndl_log_open(const char *service, enum kndl_level least)
{
    service_name = service;
    least_level = least;
}

void kndl_log_context(const char *trace, const char *actor)
{
    current_trace = trace;
    current_actor = actor;
}

/* Bytes of the UTF-8 character at `text`, or 0 if there is none. U+2028/9 end lines for some. */
static size_t character_size(const unsigned char *text, size_t left)
{
    size_t size = text[0] < 0x80 ? 1 : text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2;

    if (text[0] >= 0x80 && (text[0] < 0xc2 || text[0] > 0xf4))
        return 0;
    if (size > left)
        return 0;
    for (size_t i = 1; i < size; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f) ||
        (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f))
        return 0;
    return size;
}

static void append_string(struct kndl_buf *line, const char *value)
{
    const unsigned char *text = (const unsigned char *)value;
    size_t left = strnlen(value, VALUE_BYTES_MAX + 1);
    bool cut = left > VALUE_BYTES_MAX;

    if (cut)
        left = VALUE_BYTES_MAX;
    kndl_buf_append_char(line, '"');
    while (left > 0) {
        size_t size = character_size(text, left);
        bool separator = size == 3 && text[0] == 0xe2 && text[1] == 0x80 && (text[2] | 1) == 0xa9;

        if (size == 0 || separator) {
            kndl_buf_append_text(line, "\\ufffd");
            size = size == 0 ? 1 : size;
        } else if (text[0] == '"' || text[0] == '\\') {
            kndl_buf_printf(line, "\\%c", text[0]);
        } else if (text[0] < 0x20 || text[0] == 0x7f || (text[0] == 0xc2 && text[1] < 0xa0)) {
            kndl_buf_printf(line, "\\u%04x", size == 1 ? text[0] : text[1]);
        } else {
            kndl_buf_append(line, text, size);
        }
        text += size;
        left -= size;
    }
    kndl_buf_append_text(line, cut ? "…\"" : "\"");
}

static void append_member(struct kndl_buf *line, const char *name, const char *value)
{
    kndl_buf_printf(line, ",\"%s\":", name);
    if (value == NULL)
        kndl_buf_append_text(line, "null");
    else
        append_string(line, value);
}

static void append_field(struct kndl_buf *line, const struct kndl_field *field)
{
    switch (field->kind) {
    case KNDL_FIELD_STR:
        append_member(line, field->name, field->str);
        break;
    case KNDL_FIELD_I64:
        kndl_buf_printf(line, ",\"%s\":%" PRId64, field->name, field->i64);
        break;
    case KNDL_FIELD_U64:
        kndl_buf_printf(line, ",\"%s\":%" PRIu64, field->name, field->u64);
        break;
    }
}

static bool has_field(const struct kndl_field *fields, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(fields[i].name, name) == 0)
            return true;
    return false;
}

void kndl_log_fields(enum kndl_level level, const char *message, const struct kndl_field *fields,
                     size_t count)
{
    static const char *const names[] = {"debug", "info", "warning", "error"};
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf line = {0};

    if (level < least_level)
        return;
    kndl_buf_printf(&line, "{\"at\":%" PRId64 ",\"level\":\"%s\"", kndl_clock_wall_ms(),
                    names[level]);
    append_member(&line, "service", service_name);
    append_member(&line, "message", message);
    for (size_t i = 0; i < count; i++)
        append_field(&line, &fields[i]);
    if (current_trace != NULL && !has_field(fields, count, "trace"))
        append_member(&line, "trace", current_trace);
    if (current_actor != NULL && !has_field(fields, count, "actor"))
        append_member(&line, "actor", current_actor);
    kndl_buf_append_text(&line, "}\n");

    ssize_t written = write(STDERR_FILENO, line.data, line.size);
    (void)written; /* a log that nobody takes must not stop the work */
}
