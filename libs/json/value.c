/* Reading values. NULL stands for what is not there. */

#include "value.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum kndl_json_kind kndl_json_kind(const struct kndl_value *value)
{
    return value == NULL ? KNDL_JSON_ABSENT : value->kind;
}

const struct kndl_value *kndl_json_get(const struct kndl_value *object, const char *key)
{
    if (kndl_json_kind(object) != KNDL_JSON_OBJECT)
        return NULL;
    for (size_t i = 0; i < object->count; i++)
        if (strcmp(object->keys[i], key) == 0)
            return &object->items[i];
    return NULL;
}

size_t kndl_json_count(const struct kndl_value *array_or_object)
{
    return array_or_object == NULL ? 0 : array_or_object->count;
}

const struct kndl_value *kndl_json_at(const struct kndl_value *array, size_t index)
{
    if (kndl_json_kind(array) != KNDL_JSON_ARRAY || index >= array->count)
        return NULL;
    return &array->items[index];
}

const struct kndl_value *kndl_json_member(const struct kndl_value *object, size_t index,
                                          const char **ret_key)
{
    if (kndl_json_kind(object) != KNDL_JSON_OBJECT || index >= object->count)
        return NULL;
    if (ret_key != NULL)
        *ret_key = object->keys[index];
    return &object->items[index];
}

const char *kndl_json_text(const struct kndl_value *value, const char *fallback)
{
    return kndl_json_kind(value) == KNDL_JSON_STRING ? json_string_value(value->json) : fallback;
}

int64_t kndl_json_i64(const struct kndl_value *value, int64_t fallback)
{
    return kndl_json_kind(value) == KNDL_JSON_INTEGER ? json_integer_value(value->json) : fallback;
}

bool kndl_json_bool(const struct kndl_value *value, bool fallback)
{
    return kndl_json_kind(value) == KNDL_JSON_BOOL ? json_is_true(value->json) : fallback;
}

static int dump_piece(const char *piece, size_t size, void *out)
{
    kndl_buf_append(out, piece, size);
    return 0;
}

void kndl_json_dump(const struct kndl_value *value, struct kndl_buf *out)
{
    if (value == NULL ||
        json_dump_callback(value->json, dump_piece, out, JSON_COMPACT | JSON_ENCODE_ANY) < 0)
        kndl_buf_append_text(out, "null");
}

static bool whole_from_text(const char *text, struct number *number)
{
    char *end;

    errno = 0;
    number->is_negative = text[0] == '-';
    if (number->is_negative) {
        number->negative = strtoll(text, &end, 10);
        number->real = (double)number->negative;
    } else {
        number->positive = strtoull(text, &end, 10);
        number->real = (double)number->positive;
    }
    number->is_whole = *end == '\0' && errno == 0;
    return number->is_whole;
}

static bool number_from_text(const char *text, struct number *number)
{
    size_t size = strlen(text);
    char *end;

    /* strtod takes blanks, hexadecimal and words; JSON does not. */
    if (size == 0 || text[0] == '+' || text[0] == '.' || text[size - 1] == '.' ||
        strspn(text, "-+0123456789.eE") != size)
        return false;
    if (whole_from_text(text, number))
        return true;
    number->real = strtod(text, &end);
    return *end == '\0';
}

/* 1e3 and 3.0 are whole numbers too. */
static void whole_from_real(struct number *number)
{
    double real = number->real;

    if (!(real >= -9223372036854775808.0 && real < 18446744073709551616.0))
        return;
    number->is_negative = real < 0;
    if (number->is_negative)
        number->negative = (int64_t)real;
    else
        number->positive = (uint64_t)real;
    number->is_whole =
        real == (number->is_negative ? (double)number->negative : (double)number->positive);
}

bool number_of(const struct kndl_value *value, struct number *ret_number)
{
    struct number number = {0};

    switch (value->kind) {
    case KNDL_JSON_INTEGER: {
        json_int_t whole = json_integer_value(value->json);
        number = (struct number){.real = (double)whole,
                                 .is_whole = true,
                                 .is_negative = whole < 0,
                                 .negative = whole < 0 ? whole : 0,
                                 .positive = whole < 0 ? 0 : (uint64_t)whole};
        break;
    }
    case KNDL_JSON_REAL:
        number.real = json_real_value(value->json);
        whole_from_real(&number);
        break;
    case KNDL_JSON_STRING:
        if (!number_from_text(json_string_value(value->json), &number))
            return false;
        if (!number.is_whole)
            whole_from_real(&number);
        break;
    case KNDL_JSON_ABSENT:
    case KNDL_JSON_NULL:
    case KNDL_JSON_BOOL:
    case KNDL_JSON_ARRAY:
    case KNDL_JSON_OBJECT:
        return false;
    }
    *ret_number = number;
    return true;
}
