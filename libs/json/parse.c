/* Parsing: limits first, then jansson, then a tree of our own that is quick to walk. */

#include <stdlib.h>
#include <string.h>

#include "kndl/mem.h"
#include "value.h"

struct kndl_json {
    json_t *root;
    size_t value_count;        /* at most so many values */
    struct kndl_value *values; /* all of the document's, the root first */
    const char **keys;         /* all of its keys */
};

/* What jansson would have to hold, counted before it holds any. */
static int check_limits(struct kndl_slice text, size_t values_most, size_t *ret_values,
                        struct kndl_error *err)
{
    size_t depth = 0, values = 1;
    bool quoted = false;

    for (size_t i = 0; i < text.size; i++) {
        uint8_t c = text.data[i];

        if (quoted) {
            if (c == '\\')
                i++;
            quoted = c != '"';
            continue;
        }
        switch (c) {
        case '"':
            quoted = true;
            break;
        case '[':
        case '{':
            if (++depth > DEPTH_MAX)
                return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                                 "JSON is nested deeper than %d at byte %zu", DEPTH_MAX, i);
            values++;
            break;
        case ']':
        case '}':
            depth -= depth > 0;
            break;
        case ',':
            values++;
            break;
        default:
            break;
        }
    }
    if (values > values_most)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "JSON has %zu values; the most is %zu", values,
                         values_most);
    *ret_values = values;
    return 0;
}

static enum kndl_json_kind kind_of(const json_t *json)
{
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        return KNDL_JSON_OBJECT;
    case JSON_ARRAY:
        return KNDL_JSON_ARRAY;
    case JSON_STRING:
        return KNDL_JSON_STRING;
    case JSON_INTEGER:
        return KNDL_JSON_INTEGER;
    case JSON_REAL:
        return KNDL_JSON_REAL;
    case JSON_TRUE:
    case JSON_FALSE:
        return KNDL_JSON_BOOL;
    case JSON_NULL:
        return KNDL_JSON_NULL;
    }
    abort();
}

/* The places of one document that are still free. */
struct space {
    struct kndl_value *values;
    const char **keys;
};

static void fill(struct kndl_value *value, json_t *json, struct space *space)
{
    json_t *item;
    const char *key;
    size_t i;

    *value = (struct kndl_value){.json = json, .kind = kind_of(json)};
    if (value->kind != KNDL_JSON_ARRAY && value->kind != KNDL_JSON_OBJECT)
        return;
    value->count = value->kind == KNDL_JSON_ARRAY ? json_array_size(json) : json_object_size(json);

    struct kndl_value *items = space->values;
    value->items = items;
    space->values += value->count;
    if (value->kind == KNDL_JSON_ARRAY) {
        json_array_foreach(json, i, item) fill(&items[i], item, space);
        return;
    }
    const char **keys = space->keys;
    value->keys = keys;
    space->keys += value->count;
    i = 0;
    json_object_foreach(json, key, item)
    {
        keys[i] = key;
        fill(&items[i++], item, space);
    }
}

int kndl_json_parse_some(struct kndl_slice text, size_t most, size_t values_most,
                         struct kndl_json **ret_json, struct kndl_error *err)
{
    json_error_t why;
    size_t values = 0;

    if (text.size > most)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "JSON has %zu bytes; the most is %zu",
                         text.size, most);
    if (check_limits(text, values_most, &values, err) < 0)
        return -1;

    json_t *root = json_loadb(text.size > 0 ? (const char *)text.data : "", text.size,
                              JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why);
    if (root == NULL) {
        /* jansson's sentence quotes what stands there, which may be a secret. */
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "JSON is not valid at line %d, column %d",
                         why.line, why.column);
    }

    struct kndl_json *json = kndl_new0(struct kndl_json);
    json->root = root;
    json->value_count = values;
    json->values = kndl_new_array(struct kndl_value, values);
    json->keys = kndl_new_array(const char *, values);
    struct space space = {json->values + 1, json->keys};
    fill(&json->values[0], root, &space);
    *ret_json = json;
    return 0;
}

int kndl_json_parse(struct kndl_slice text, size_t most, struct kndl_json **ret_json,
                    struct kndl_error *err)
{
    return kndl_json_parse_some(text, most, VALUES_MAX, ret_json, err);
}

size_t kndl_json_value_count(const struct kndl_json *json)
{
    return json->value_count;
}

/* Foreign answers hold tokens: no copy of a text stays behind. */
static void wipe(json_t *json)
{
    json_t *item;
    const char *key;
    size_t i;

    if (json_is_string(json))
        explicit_bzero((char *)json_string_value(json), json_string_length(json));
    else if (json_is_array(json))
        json_array_foreach(json, i, item) wipe(item);
    else if (json_is_object(json))
        json_object_foreach(json, key, item) wipe(item);
}

void kndl_json_free(struct kndl_json *json)
{
    if (json == NULL)
        return;
    wipe(json->root);
    json_decref(json->root);
    free(json->values);
    free(json->keys);
    free(json);
}

const struct kndl_value *kndl_json_root(const struct kndl_json *json)
{
    return &json->values[0];
}
