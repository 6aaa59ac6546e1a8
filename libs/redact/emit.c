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

/* Into room that is there. */
static void put(struct kndl_buf *out, uint8_t byte)
{
    out->data[out->size++] = (char)byte;
}

void emit_text_byte(struct kndl_redact_stream *stream, uint8_t byte, bool masked, size_t missing,
                    struct kndl_buf *out)
{
    if (stream->missing > 0 && is_continuation(byte)) {
        stream->missing--;
        if (!stream->missing_stars)
            put(out, byte);
        return;
    }
    stream->missing = (uint8_t)missing;
    stream->missing_stars = masked;
    put(out, masked ? '*' : byte);
}

/* Bytes that must follow held[at] for its character to be whole; 0 if it is not valid. */
static size_t count_missing(const struct kndl_redact_stream *stream, size_t at)
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
    return missing;
}

void emit_held_byte(struct kndl_redact_stream *stream, size_t at, struct kndl_buf *out)
{
    const struct held *held = &stream->held[at];

    if (!is_text(held))
        put(out, held->byte);
    else
        emit_text_byte(stream, held->byte, held->masked,
                       held->byte < 0x80 ? 0 : count_missing(stream, at), out);
}

void emit_held(struct kndl_redact_stream *stream, size_t end, struct kndl_buf *out)
{
    if (end <= stream->sent)
        return;
    (void)kndl_buf_reserve(out, end - stream->sent);
    for (size_t i = stream->sent; i < end; i++)
        emit_held_byte(stream, i, out);
    out->data[out->size] = '\0';
    stream->sent = (uint32_t)end;
}
