/*
 * The budget for foreign protobuf bytes: one pass over the wire form, which allocates nothing and
 * recurses at most KNDL_MESSAGE_DEPTH_MAX deep.
 */

#include "kndl/guard.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Where the pass is. `field` names where it went wrong. */
struct pass {
    unsigned elements_left;
    const char *field;
    const char *wrong;
};

static bool refuse(struct pass *pass, const char *wrong)
{
    if (pass->wrong == NULL)
        pass->wrong = wrong;
    return false;
}

/* Reads a varint of at most ten bytes; 0 if there is none. */
static size_t read_varint(const uint8_t *data, size_t size, uint64_t *ret_value)
{
    uint64_t value = 0;

    for (size_t i = 0; i < size && i < 10; i++) {
        value |= (uint64_t)(data[i] & 127) << (7 * i);
        if ((data[i] & 128) == 0) {
            *ret_value = value;
            return i + 1;
        }
    }
    return 0;
}

/* The bytes of the character here, 0 if it is none (RFC 3629, and no NUL). */
static size_t character_size(const uint8_t *text, size_t size)
{
    uint8_t least = 0x80;
    uint8_t most = 0xbf;
    size_t more;

    if (text[0] < 0x80)
        return text[0] == 0 ? 0 : 1;
    if (text[0] >= 0xc2 && text[0] <= 0xdf) {
        more = 1;
    } else if (text[0] >= 0xe0 && text[0] <= 0xef) {
        more = 2;
        least = text[0] == 0xe0 ? 0xa0 : least;
        most = text[0] == 0xed ? 0x9f : most;
    } else if (text[0] >= 0xf0 && text[0] <= 0xf4) {
        more = 3;
        least = text[0] == 0xf0 ? 0x90 : least;
        most = text[0] == 0xf4 ? 0x8f : most;
    } else {
        return 0;
    }
    if (size < more + 1 || text[1] < least || text[1] > most)
        return 0;
    for (size_t i = 2; i <= more; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    return more + 1;
}

static bool is_text(const uint8_t *text, size_t size)
{
    size_t at = 0;

    while (at < size) {
        uint64_t eight;

        /* Eight characters of ASCII without a NUL among them, the usual case, at once. */
        if (size - at >= sizeof eight) {
            memcpy(&eight, text + at, sizeof eight);
            uint64_t zeroes = (eight - 0x0101010101010101u) & ~eight & 0x8080808080808080u;
            if (zeroes == 0 && (eight & 0x8080808080808080u) == 0) {
                at += sizeof eight;
                continue;
            }
        }
        size_t step = character_size(text + at, size - at);
        if (step == 0)
            return false;
        at += step;
    }
    return true;
}

/* Members of a packed field; what isn't numbers takes none. */
static bool count_packed(struct pass *pass, const ProtobufCFieldDescriptor *field,
                         const uint8_t *data, size_t size)
{
    size_t members = 0;

    switch (field->type) {
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE:
        return true;
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_FLOAT:
        members = size / 4;
        break;
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        members = size / 8;
        break;
    default:
        for (size_t i = 0; i < size; i++)
            members += data[i] < 128;
    }
    if (members > pass->elements_left)
        return refuse(pass, "has too many elements");
    pass->elements_left -= (unsigned)members;
    return true;
}

static bool check_message(struct pass *pass, const ProtobufCMessageDescriptor *type,
                          const uint8_t *data, size_t size, unsigned depth);

static bool check_delimited(struct pass *pass, const ProtobufCFieldDescriptor *field,
                            const uint8_t *data, size_t size, unsigned depth)
{
    if (field == NULL)
        return true;
    pass->field = field->name;
    if (field->type == PROTOBUF_C_TYPE_STRING && !is_text(data, size))
        return refuse(pass, "is not UTF-8 text without a NUL");
    if (field->type == PROTOBUF_C_TYPE_MESSAGE)
        return check_message(pass, field->descriptor, data, size, depth - 1);
    return count_packed(pass, field, data, size);
}

static bool check_message(struct pass *pass, const ProtobufCMessageDescriptor *type,
                          const uint8_t *data, size_t size, unsigned depth)
{
    size_t at = 0;

    if (depth == 0)
        return refuse(pass, "is nested too deep");
    while (at < size) {
        uint64_t tag;
        uint64_t value;
        size_t step = read_varint(data + at, size - at, &tag);

        if (step == 0 || tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
            return refuse(pass, "cannot be read");
        if (pass->elements_left == 0)
            return refuse(pass, "has too many elements");
        pass->elements_left--;
        at += step;

        switch (tag & 7) {
        case 0:
            step = read_varint(data + at, size - at, &value);
            break;
        case 1:
            step = size - at >= 8 ? 8 : 0;
            break;
        case 2:
            step = read_varint(data + at, size - at, &value);
            if (step == 0 || value > size - at - step)
                return refuse(pass, "cannot be read");
            at += step;
            step = (size_t)value;
            if (!check_delimited(
                    pass, protobuf_c_message_descriptor_get_field(type, (unsigned)(tag >> 3)),
                    data + at, step, depth))
                return false;
            at += step;
            continue;
        case 5:
            step = size - at >= 4 ? 4 : 0;
            break;
        default:
            step = 0;
        }
        if (step == 0)
            return refuse(pass, "cannot be read");
        at += step;
    }
    return true;
}

int kndl_guard_check(const ProtobufCMessageDescriptor *type, struct kndl_slice data,
                     struct kndl_error *err)
{
    struct pass pass = {.elements_left = KNDL_MESSAGE_ELEMENTS_MAX, .field = type->short_name};

    if (data.size > KNDL_MESSAGE_BYTES_MAX)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "%s has %zu bytes; the most is %d",
                         type->short_name, data.size, KNDL_MESSAGE_BYTES_MAX);
    if (!check_message(&pass, type, data.data, data.size, KNDL_MESSAGE_DEPTH_MAX))
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "%s %s", pass.field, pass.wrong);
    return 0;
}

int kndl_guard_unpack(const ProtobufCMessageDescriptor *type, struct kndl_slice data,
                      ProtobufCAllocator *allocator, ProtobufCMessage **ret_message,
                      struct kndl_error *err)
{
    if (kndl_guard_check(type, data, err) < 0)
        return -1;
    ProtobufCMessage *message = protobuf_c_message_unpack(type, allocator, data.size, data.data);
    if (message == NULL)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "%s cannot be read", type->short_name);
    *ret_message = message;
    return 0;
}
