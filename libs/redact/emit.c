/* What leaves a stream: one star for each masked character, all else as it came. */

#include "stream.h"
#include "utf8.h"

static bool is_text(const struct held *held)
{
    return held->kind != HELD_SKIP;
}

static bool is_continuation(uint8_t byte)
{
    return (byte & 0xc0) == 0x80;
}

/* Bytes that must follow held[at] for its character to be whole; 0 if it is not valid. */
static uint8_t count_missing(const struct kndl_redact_stream *stream, size_t at)
{
    uint8_t first = stream->held[at].byte;
    size_t missing = utf8_length(first) - 1;
    size_t found = 0;

    for (size_t i = at + 1; i < stream->count && found < missing; i++) {
        const struct held *next = &stream->held[i];
        if (!is_text(next))
            continue;
        if (next->kind != stream->held[at].kind ||
            (found == 0 ? !utf8_follows(first, next->byte) : !is_continuation(next->byte)))
            return 0;
        found++;
    }
    return (uint8_t)missing;
}

void emit_held(struct kndl_redact_stream *stream, size_t end, struct kndl_buf *out)
{
    for (size_t i = stream->sent; i < end; i++) {
        const struct held *held = &stream->held[i];
        if (!is_text(held)) {
            kndl_buf_append_char(out, (char)held->byte);
            continue;
        }
        if (stream->missing > 0 && is_continuation(held->byte)) {
            stream->missing--;
            if (!stream->missing_stars)
                kndl_buf_append_char(out, (char)held->byte);
            continue;
        }
        stream->missing = count_missing(stream, i);
        stream->missing_stars = held->masked;
        kndl_buf_append_char(out, held->masked ? '*' : (char)held->byte);
    }
    if (end > stream->sent)
        stream->sent = (uint32_t)end;
}
