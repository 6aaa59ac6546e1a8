#pragma once

/* The inside of a value, for the files of libs/json. */

#include <jansson.h>

#include "kndl/json.h"

enum { DEPTH_MAX = 64, VALUES_MAX = 200000 };

struct kndl_value {
    json_t *json; /* jansson's own: text, numbers, dump */
    enum kndl_json_kind kind;
    size_t count;                   /* of an array or object */
    const struct kndl_value *items; /* as they stand in the document */
    const char **keys;              /* of an object, one for each item */
};

/* A number, exact where it can be. Accepts JSON's numbers and strings that hold one. */
struct number {
    double real;
    bool is_whole;    /* then one of the two below is exact */
    bool is_negative; /* negative is, else positive */
    int64_t negative;
    uint64_t positive;
};
bool number_of(const struct kndl_value *value, struct number *ret_number);

/* Standard or URL alphabet, padded or not; false if it is neither. `ret_data` has room for
 * strlen(text) bytes. */
bool base64_decode(const char *text, uint8_t *ret_data, size_t *ret_size);

/* snake_case to lowerCamelCase, as protobuf makes JSON names; cut at 127 characters. */
void camel_case(const char *name, char ret_camel[128]);

/* The size of one element of a repeated field. */
size_t element_size(ProtobufCType type);
