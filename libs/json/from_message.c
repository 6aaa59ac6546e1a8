/* A message as protobuf's JSON, by its descriptor. Known gap: maps and google.protobuf's own. */

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "value.h"

void camel_case(const char *name, char ret_camel[128])
{
    size_t size = 0;
    bool upper = false;

    for (; *name != '\0' && size < 127; name++) {
        if (*name == '_') {
            upper = true;
            continue;
        }
        ret_camel[size++] = upper && *name >= 'a' && *name <= 'z' ? (char)(*name - 32) : *name;
        upper = false;
    }
    ret_camel[size] = '\0';
}

size_t element_size(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_ENUM:
        return 4;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return 8;
    case PROTOBUF_C_TYPE_BOOL:
        return sizeof(protobuf_c_boolean);
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE:
        return sizeof(void *);
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    }
    abort();
}

static const void *field_of(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    return (const uint8_t *)message + field->offset;
}

static const void *quantifier_of(const ProtobufCMessage *message,
                                 const ProtobufCFieldDescriptor *field)
{
    return (const uint8_t *)message + field->quantifier_offset;
}

/* The shortest digits that read back as the same number. */
static void append_real(struct kndl_buf *out, double value, bool is_float)
{
    char text[40];

    if (isnan(value) || isinf(value)) {
        kndl_buf_append_text(out, isnan(value) ? "\"NaN\""
                                  : value > 0  ? "\"Infinity\""
                                               : "\"-Infinity\"");
        return;
    }
    for (int digits = is_float ? 6 : 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (is_float ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value)
            break;
    }
    kndl_buf_append_text(out, text);
}

static void append_enum(struct kndl_buf *out, const ProtobufCEnumDescriptor *type, int number)
{
    const ProtobufCEnumValue *value = protobuf_c_enum_descriptor_get_value(type, number);

    if (value == NULL)
        kndl_buf_printf(out, "%d", number);
    else
        kndl_buf_printf(out, "\"%s\"", value->name);
}

static void append_value(struct kndl_buf *out, const ProtobufCFieldDescriptor *field,
                         const void *value)
{
    const ProtobufCBinaryData *bytes = value;
    const char *text;

    switch (field->type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
        kndl_buf_printf(out, "%" PRId32, *(const int32_t *)value);
        return;
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
        kndl_buf_printf(out, "%" PRIu32, *(const uint32_t *)value);
        return;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
        kndl_buf_printf(out, "\"%" PRId64 "\"", *(const int64_t *)value);
        return;
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        kndl_buf_printf(out, "\"%" PRIu64 "\"", *(const uint64_t *)value);
        return;
    case PROTOBUF_C_TYPE_FLOAT:
        append_real(out, (double)*(const float *)value, true);
        return;
    case PROTOBUF_C_TYPE_DOUBLE:
        append_real(out, *(const double *)value, false);
        return;
    case PROTOBUF_C_TYPE_BOOL:
        kndl_buf_append_text(out, *(const protobuf_c_boolean *)value ? "true" : "false");
        return;
    case PROTOBUF_C_TYPE_ENUM:
        append_enum(out, field->descriptor, *(const int *)value);
        return;
    case PROTOBUF_C_TYPE_STRING:
        text = *(const char *const *)value;
        kndl_json_append_string(out, text == NULL ? "" : text);
        return;
    case PROTOBUF_C_TYPE_BYTES:
        kndl_buf_append_char(out, '"');
        kndl_json_append_base64(out, kndl_slice(bytes->data, bytes->len));
        kndl_buf_append_char(out, '"');
        return;
    case PROTOBUF_C_TYPE_MESSAGE:
        kndl_json_from_message(*(const ProtobufCMessage *const *)value, out);
        return;
    }
}

/* Is the field worth writing: set, and not proto3's default? */
static bool is_present(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    static const uint8_t zero[sizeof(ProtobufCBinaryData)];
    const void *value = field_of(message, field);
    const char *text;

    if (field->label == PROTOBUF_C_LABEL_REPEATED)
        return *(const size_t *)quantifier_of(message, field) > 0;
    if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
        return *(const uint32_t *)quantifier_of(message, field) == field->id;
    switch (field->type) {
    case PROTOBUF_C_TYPE_MESSAGE:
        return *(const ProtobufCMessage *const *)value != NULL;
    case PROTOBUF_C_TYPE_STRING:
        text = *(const char *const *)value;
        return text != NULL && text[0] != '\0';
    case PROTOBUF_C_TYPE_BYTES:
        return ((const ProtobufCBinaryData *)value)->len > 0;
    default:
        return memcmp(value, zero, element_size(field->type)) != 0;
    }
}

static void append_field(struct kndl_buf *out, const ProtobufCMessage *message,
                         const ProtobufCFieldDescriptor *field)
{
    const uint8_t *value = field_of(message, field);
    size_t size = element_size(field->type);

    if (field->label != PROTOBUF_C_LABEL_REPEATED) {
        append_value(out, field, value);
        return;
    }
    size_t count = *(const size_t *)quantifier_of(message, field);
    const uint8_t *items = *(const uint8_t *const *)value;
    kndl_buf_append_char(out, '[');
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            kndl_buf_append_char(out, ',');
        append_value(out, field, items + i * size);
    }
    kndl_buf_append_char(out, ']');
}

void kndl_json_from_message(const ProtobufCMessage *message, struct kndl_buf *out)
{
    const ProtobufCMessageDescriptor *type = message->descriptor;
    const char *separator = "";
    char name[128];

    kndl_buf_append_char(out, '{');
    for (unsigned i = 0; i < type->n_fields; i++) {
        if (!is_present(message, &type->fields[i]))
            continue;
        camel_case(type->fields[i].name, name);
        kndl_buf_printf(out, "%s\"%s\":", separator, name);
        append_field(out, message, &type->fields[i]);
        separator = ",";
    }
    kndl_buf_append_char(out, '}');
}
