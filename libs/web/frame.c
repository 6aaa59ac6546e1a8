/*
 * RFC 6455 frames of a server that wants binary messages alone, without extensions.
 */

#include "frame.h"

#include <string.h>

/* What the frame's first bytes say. */
struct header {
    bool final;
    enum frame_opcode opcode;
    uint8_t mask[4];
    uint64_t size;
    size_t bytes; /* of the header itself; 0: not whole yet */
};

/* 0, or the status to close with. */
static int parse_header(const uint8_t *data, size_t size, struct header *ret)
{
    size_t at = 2;

    ret->bytes = 0;
    if (size < 2)
        return 0;
    if ((data[0] & 0x70) != 0 || (data[1] & 0x80) == 0)
        return 1002; /* RSV bits without an extension, or not masked */
    ret->final = (data[0] & 0x80) != 0;
    ret->opcode = data[0] & 0x0f;
    ret->size = data[1] & 0x7f;

    bool is_control = (ret->opcode & 8) != 0;
    if (ret->opcode > FRAME_PONG || (ret->opcode > FRAME_BINARY && ret->opcode < FRAME_CLOSE))
        return 1002;
    if (is_control && (!ret->final || ret->size > FRAME_CONTROL_BYTES_MAX))
        return 1002;

    if (ret->size >= 126) {
        size_t count = ret->size == 126 ? 2 : 8;

        if (size < at + count)
            return 0;
        ret->size = 0;
        for (size_t i = 0; i < count; i++)
            ret->size = ret->size << 8 | data[at++];
        if (ret->size >> 63 != 0 || ret->size < (count == 2 ? 126 : 65536))
            return 1002;
    }
    if (size < at + 4)
        return 0;
    memcpy(ret->mask, data + at, 4);
    ret->bytes = at + 4;
    return 0;
}

static void unmask(uint8_t *data, size_t size, const uint8_t mask[4])
{
    uint8_t twice[8];
    uint64_t wide;
    size_t at = 0;

    memcpy(twice, mask, 4);
    memcpy(twice + 4, mask, 4);
    memcpy(&wide, twice, 8);
    for (; at + 8 <= size; at += 8) {
        uint64_t word;

        memcpy(&word, data + at, 8);
        word ^= wide;
        memcpy(data + at, &word, 8);
    }
    for (; at < size; at++)
        data[at] ^= mask[at & 3];
}

/* 0, or the status to close with. */
static int check_order(const struct frame_reader *reader, const struct header *header)
{
    bool is_control = (header->opcode & 8) != 0;

    if (is_control)
        return 0;
    if (header->opcode == FRAME_TEXT)
        return 1003;
    if ((header->opcode == FRAME_CONTINUATION) != (reader->fragments > 0))
        return 1002;
    if (header->size > reader->bytes_max - reader->whole.size ||
        reader->fragments >= FRAME_FRAGMENTS_MAX)
        return 1009;
    return 0;
}

enum frame_result frame_next(struct frame_reader *reader, uint8_t *data, size_t size,
                             size_t *ret_used, struct frame *ret)
{
    struct header header;

    *ret_used = 0;
    if (reader->deliver_whole) {
        kndl_buf_done(&reader->whole);
        reader->deliver_whole = false;
    }
    if ((ret->status = parse_header(data, size, &header)) != 0)
        return FRAME_BROKEN;
    if (header.bytes == 0)
        return FRAME_MORE;
    if ((ret->status = check_order(reader, &header)) != 0)
        return FRAME_BROKEN;
    if (size - header.bytes < header.size)
        return FRAME_MORE;

    uint8_t *payload = data + header.bytes;
    unmask(payload, header.size, header.mask);
    *ret_used = header.bytes + header.size;
    ret->opcode = header.opcode;
    ret->payload = kndl_slice(payload, header.size);
    if (header.opcode & 8)
        return FRAME_CONTROL;
    if (header.final && reader->fragments == 0)
        return FRAME_MESSAGE;

    kndl_buf_append(&reader->whole, payload, header.size);
    reader->fragments++;
    if (!header.final)
        return FRAME_PART;
    ret->payload = kndl_buf_slice(&reader->whole);
    reader->fragments = 0;
    reader->deliver_whole = true;
    return FRAME_MESSAGE;
}

void frame_reader_done(struct frame_reader *reader)
{
    kndl_buf_done(&reader->whole);
}

size_t frame_write_header(uint8_t out[FRAME_HEADER_BYTES_MAX], enum frame_opcode opcode,
                          size_t size)
{
    out[0] = (uint8_t)(0x80 | opcode);
    if (size < 126) {
        out[1] = (uint8_t)size;
        return 2;
    }
    size_t count = size < 65536 ? 2 : 8;
    out[1] = count == 2 ? 126 : 127;
    for (size_t i = 0; i < count; i++)
        out[2 + i] = (uint8_t)(size >> (8 * (count - 1 - i)));
    return 2 + count;
}
