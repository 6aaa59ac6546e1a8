/*
 * protobuf's JSON as a message, by its descriptor. Stricter than it need be: unknown fields, a
 * field given twice (in both spellings) and two members of a oneof are refused.
 */

#include <float.h>
#include <math.h>
#include <string.h>

#include "kndl/mem.h"
#include "value.h"

/* A small JSON can ask for large messages: 3 bytes of it for some 200 of ours. */
enum { MESSAGES_MAX = 20000 };

struct reader {
    struct kndl_arena *arena;
    size_t messages;
    struct kndl_error *err;
};

static int read_message(struct reader *reader, const struct kndl_value *value,
                        const ProtobufCMessageDescriptor *type, const char *name,
                        ProtobufCMessage **ret_message);

static int refuse(struct reader *reader, const char *name, const char *what)
{
    return kndl_fail(reader->err, KNDL_INVALID_ARGUMENT, "%.60s is not %s", name, what);
}

static int read_whole(struct reader *reader, const struct kndl_value *value, const char *name,
                      int64_t least, uint64_t most, struct number *ret_number)
{
    if (!number_of(value, ret_number) || !ret_number->is_whole ||
        (ret_number->is_negative ? ret_number->negative < least : ret_number->positive > most))
        return refuse(reader, name, "a whole number of its type");
    return 0;
}

static int read_real(struct reader *reader, const struct kndl_value *value, const char *name,
                     double most, double *ret_real)
{
    static const struct {
        const char *word;
        double real;
    } words[] = {{"NaN", NAN}, {"Infinity", INFINITY}, {"-Infinity", -INFINITY}};
    const char *text = kndl_json_text(value, "");
    struct number number;

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(text, words[i].word) == 0) {
            *ret_real = words[i].real;
            return 0;
        }
    if (!number_of(value, &number) || !isfinite(number.real) || fabs(number.real) > most)
        return refuse(reader, name, "a number of its type");
    *ret_real = number.real;
    return 0;
}

static int read_enum(struct reader *reader, const struct kndl_value *value,
                     const ProtobufCFieldDescriptor *field, int *ret_number)
{
    const ProtobufCEnumValue *known;
    struct number number;

    if (value->kind == KNDL_JSON_STRING) {
        known = protobuf_c_enum_descriptor_get_value_by_name(field->descriptor,
                                                             kndl_json_text(value, ""));
        if (known == NULL)
            return refuse(reader, field->name, "one of its values");
        *ret_number = known->value;
        return 0;
    }
    if (read_whole(reader, value, field->name, INT32_MIN, INT32_MAX, &number) < 0)
        return -1;
    *ret_number = number.is_negative ? (int)number.negative : (int)number.positive;
    return 0;
}

static int read_bytes(struct reader *reader, const struct kndl_value *value, const char *name,
                      ProtobufCBinaryData *ret_bytes)
{
    const char *text = kndl_json_text(value, NULL);

    if (text == NULL)
        return refuse(reader, name, "base64");
    ret_bytes->data = kndl_arena_alloc(reader->arena, strlen(text) + 1);
    if (!base64_decode(text, ret_bytes->data, &ret_bytes->len))
        return refuse(reader, name, "base64");
    return 0;
}

static int read_value(struct reader *reader, const struct kndl_value *value,
                      const ProtobufCFieldDescriptor *field, void *out)
{
    const char *name = field->name;
    const char *text;
    struct number number = {0};
    double real = 0;

    switch (field->type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
        if (read_whole(reader, value, name, INT32_MIN, INT32_MAX, &number) < 0)
            return -1;
        *(int32_t *)out = number.is_negative ? (int32_t)number.negative : (int32_t)number.positive;
        return 0;
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
        if (read_whole(reader, value, name, 0, UINT32_MAX, &number) < 0)
            return -1;
        *(uint32_t *)out = (uint32_t)number.positive;
        return 0;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
        if (read_whole(reader, value, name, INT64_MIN, INT64_MAX, &number) < 0)
            return -1;
        *(int64_t *)out = number.is_negative ? number.negative : (int64_t)number.positive;
        return 0;
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        if (read_whole(reader, value, name, 0, UINT64_MAX, &number) < 0)
            return -1;
        *(uint64_t *)out = number.positive;
        return 0;
    case PROTOBUF_C_TYPE_FLOAT:
        if (read_real(reader, value, name, (double)FLT_MAX, &real) < 0)
            return -1;
        *(float *)out = (float)real;
        return 0;
    case PROTOBUF_C_TYPE_DOUBLE:
        return read_real(reader, value, name, DBL_MAX, out);
    case PROTOBUF_C_TYPE_BOOL:
        if (value->kind != KNDL_JSON_BOOL)
            return refuse(reader, name, "true or false");
        *(protobuf_c_boolean *)out = kndl_json_bool(value, false);
        return 0;
    case PROTOBUF_C_TYPE_ENUM:
        return read_enum(reader, value, field, out);
    case PROTOBUF_C_TYPE_STRING:
        text = kndl_json_text(value, NULL);
        if (text == NULL)
            return refuse(reader, name, "a text");
        *(char **)out = kndl_arena_copy(reader->arena, text);
        return 0;
    case PROTOBUF_C_TYPE_BYTES:
        return read_bytes(reader, value, name, out);
    case PROTOBUF_C_TYPE_MESSAGE:
        return read_message(reader, value, field->descriptor, name, out);
    }
    return refuse(reader, name, "of a known type");
}

static int read_repeated(struct reader *reader, const struct kndl_value *value,
                         const ProtobufCFieldDescriptor *field, ProtobufCMessage *message)
{
    uint8_t *base = (uint8_t *)message;
    size_t size = element_size(field->type), count = kndl_json_count(value);

    if (value->kind != KNDL_JSON_ARRAY)
        return refuse(reader, field->name, "a list");
    uint8_t *items = kndl_arena_alloc(reader->arena, count * size + 1);
    for (size_t i = 0; i < count; i++)
        if (read_value(reader, kndl_json_at(value, i), field, items + i * size) < 0)
            return -1;
    *(uint8_t **)(base + field->offset) = count > 0 ? items : NULL;
    *(size_t *)(base + field->quantifier_offset) = count;
    return 0;
}

static int read_field(struct reader *reader, const struct kndl_value *value,
                      const ProtobufCFieldDescriptor *field, ProtobufCMessage *message)
{
    uint8_t *base = (uint8_t *)message;

    if (field->label == PROTOBUF_C_LABEL_REPEATED)
        return read_repeated(reader, value, field, message);
    if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) {
        uint32_t *which = (uint32_t *)(base + field->quantifier_offset);

        if (*which != 0)
            return kndl_fail(reader->err, KNDL_INVALID_ARGUMENT,
                             "%.60s is given beside another of its kind", field->name);
        *which = field->id;
    }
    return read_value(reader, value, field, base + field->offset);
}

/* Both spellings, as protobuf wants it. ret_index tells which one it is. */
static const ProtobufCFieldDescriptor *find_field(const ProtobufCMessageDescriptor *type,
                                                  const char *key, unsigned *ret_index)
{
    char camel[128];

    for (unsigned i = 0; i < type->n_fields; i++) {
        camel_case(type->fields[i].name, camel);
        if (strcmp(key, camel) == 0 || strcmp(key, type->fields[i].name) == 0) {
            *ret_index = i;
            return &type->fields[i];
        }
    }
    return NULL;
}

static int read_message(struct reader *reader, const struct kndl_value *value,
                        const ProtobufCMessageDescriptor *type, const char *name,
                        ProtobufCMessage **ret_message)
{
    if (value->kind != KNDL_JSON_OBJECT)
        return refuse(reader, name, "an object");
    if (++reader->messages > MESSAGES_MAX)
        return kndl_fail(reader->err, KNDL_INVALID_ARGUMENT, "more than %d objects", MESSAGES_MAX);

    ProtobufCMessage *message = kndl_arena_alloc(reader->arena, type->sizeof_message);
    bool *seen = kndl_arena_alloc(reader->arena, type->n_fields + 1);
    type->message_init(message);
    for (size_t i = 0; i < kndl_json_count(value); i++) {
        const char *key;
        const struct kndl_value *member = kndl_json_member(value, i, &key);
        unsigned index;
        const ProtobufCFieldDescriptor *field = find_field(type, key, &index);

        if (field == NULL)
            return kndl_fail(reader->err, KNDL_INVALID_ARGUMENT, "there is no field %.60s", key);
        if (seen[index])
            return kndl_fail(reader->err, KNDL_INVALID_ARGUMENT, "%.60s is given twice", key);
        seen[index] = true;
        if (member->kind == KNDL_JSON_NULL)
            continue;
        if (read_field(reader, member, field, message) < 0)
            return -1;
    }
    *ret_message = message;
    return 0;
}

int kndl_json_to_message(struct kndl_slice text, const ProtobufCMessageDescriptor *type,
                         struct kndl_arena *arena, ProtobufCMessage **ret_message,
                         struct kndl_error *err)
{
    struct reader reader = {.arena = arena, .err = err};
    struct kndl_json *json;

    if (kndl_json_parse(text, text.size, &json, err) < 0)
        return -1;
    int result = read_message(&reader, kndl_json_root(json), type, "the request", ret_message);
    kndl_json_free(json);
    return result;
}
