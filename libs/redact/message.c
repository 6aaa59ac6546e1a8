/* Masking a protobuf message by its descriptor. */

#include <string.h>

#include "kndl/clock.h"
#include "kndl/mem.h"
#include "kndl/redact_message.h"
#include "utf8.h"

static bool ends_with(const char *name, const char *end)
{
    size_t size = strlen(name);
    size_t tail = strlen(end);

    return size >= tail && strcmp(name + size - tail, end) == 0;
}

/* Ours or Claude Code's own handles, which hold no text that anyone chose. */
static bool is_handle(const char *name)
{
    return strcmp(name, "id") == 0 || ends_with(name, "_id") || ends_with(name, "_code");
}

static void set_full_bytes(ProtobufCMessage *message, size_t bytes)
{
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field_by_name(message->descriptor, "full_bytes");
    int64_t *value;

    if (field == NULL || field->type != PROTOBUF_C_TYPE_INT64 ||
        field->label == PROTOBUF_C_LABEL_REPEATED)
        return;
    value = (int64_t *)((char *)message + field->offset);
    if (*value == 0)
        *value = (int64_t)bytes;
}

/* Bytes of the text that stay: at most the limit, and no character in two. */
static size_t cut(const char *text, size_t size)
{
    if (size <= KNDL_REDACT_FIELD_BYTES_MAX)
        return size;
    size = KNDL_REDACT_FIELD_BYTES_MAX;
    while (size > 0 && ((uint8_t)text[size] & 0xc0) == 0x80)
        size--;
    return size;
}

/* The message's text was cut before it came here: full_bytes says how long it had been. */
static bool was_cut(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    const ProtobufCFieldDescriptor *full =
        protobuf_c_message_descriptor_get_field_by_name(message->descriptor, "full_bytes");

    if (full == NULL || full->type != PROTOBUF_C_TYPE_INT64 ||
        full->label == PROTOBUF_C_LABEL_REPEATED ||
        (strcmp(field->name, "text") != 0 && strcmp(field->name, "summary") != 0))
        return false;
    return *(const int64_t *)((const char *)message + full->offset) != 0;
}

/* Without its end, as far as that may be the beginning of a value whose rest was cut off. */
static void mask_beginning(struct kndl_redact_set *set, struct kndl_slice text,
                           struct kndl_buf *out)
{
    struct kndl_redact_stream *stream = kndl_redact_stream_new(set, KNDL_REDACT_TEXT);

    kndl_buf_reserve(out, text.size + 1);
    kndl_redact_feed(stream, text, kndl_clock_us(), out);
    kndl_redact_stream_free(stream);
}

static void mask_string(struct kndl_redact_set *set, ProtobufCMessage *message,
                        const ProtobufCFieldDescriptor *field, char **string,
                        struct kndl_arena *arena)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf masked = {0};
    struct kndl_slice text;

    if (*string == NULL || (*string)[0] == '\0')
        return;
    text = kndl_slice_of(*string);
    if (ends_with(field->name, "_json"))
        kndl_redact_json(set, text, &masked);
    else if (was_cut(message, field))
        mask_beginning(set, text, &masked);
    else
        kndl_redact_text(set, text, &masked);
    size_t kept = cut(masked.data, masked.size);
    if (kept < masked.size)
        set_full_bytes(message, masked.size);
    if (kept == text.size && memcmp(masked.data, text.data, kept) == 0)
        return;
    masked.data[kept] = '\0';
    *string = kndl_arena_copy(arena, masked.data);
}

static void mask_field(struct kndl_redact_set *set, ProtobufCMessage *message,
                       const ProtobufCFieldDescriptor *field, void *value, struct kndl_arena *arena)
{
    if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
        ProtobufCMessage *inner = *(ProtobufCMessage **)value;
        if (inner != NULL)
            kndl_redact_message(set, inner, arena);
    } else {
        mask_string(set, message, field, (char **)value, arena);
    }
}

void kndl_redact_message(struct kndl_redact_set *set, ProtobufCMessage *message,
                         struct kndl_arena *arena)
{
    for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        char *member = (char *)message + field->offset;
        const void *quantifier = (char *)message + field->quantifier_offset;
        if (field->type != PROTOBUF_C_TYPE_MESSAGE &&
            (field->type != PROTOBUF_C_TYPE_STRING || is_handle(field->name)))
            continue;
        if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF &&
            *(const uint32_t *)quantifier != field->id)
            continue;
        if (field->label != PROTOBUF_C_LABEL_REPEATED) {
            mask_field(set, message, field, member, arena);
            continue;
        }
        for (size_t n = 0; n < *(const size_t *)quantifier; n++)
            mask_field(set, message, field, *(char **)member + n * sizeof(void *), arena);
    }
}
