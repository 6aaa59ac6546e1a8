#pragma once

/*
 * JSON of foreign formats: reading with limits, writing, and protobuf's JSON form by descriptor.
 * jansson's only door. Never across the bus.
 *
 * A document is parsed once and read-only; values are borrowed from it. One thread at a time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "kndl/arena.h"
#include "kndl/buf.h"
#include "kndl/error.h"
#include "kndl/slice.h"

struct kndl_json;  /* a document */
struct kndl_value; /* one value in it; NULL stands for "not there" in all readers below */

/*
 * Depth at most 64, at most 200,000 values, duplicate keys and NUL in strings refused, size at most
 * `most` bytes. Fails with KNDL_INVALID_ARGUMENT, saying where.
 */
int kndl_json_parse(struct kndl_slice text, size_t most, struct kndl_json **ret_json,
                    struct kndl_error *err);
/* The same with fewer values than the 200,000 of every document: each one costs some 50 times as
 * much to read as a byte of text. */
int kndl_json_parse_some(struct kndl_slice text, size_t most, size_t values_most,
                         struct kndl_json **ret_json, struct kndl_error *err);
void kndl_json_free(struct kndl_json *json);
/* About how many values the document has, and never fewer. */
size_t kndl_json_value_count(const struct kndl_json *json);
const struct kndl_value *kndl_json_root(const struct kndl_json *json);

enum kndl_json_kind {
    KNDL_JSON_ABSENT,
    KNDL_JSON_NULL,
    KNDL_JSON_BOOL,
    KNDL_JSON_INTEGER,
    KNDL_JSON_REAL,
    KNDL_JSON_STRING,
    KNDL_JSON_ARRAY,
    KNDL_JSON_OBJECT,
};
enum kndl_json_kind kndl_json_kind(const struct kndl_value *value);

const struct kndl_value *kndl_json_get(const struct kndl_value *object, const char *key);
size_t kndl_json_count(const struct kndl_value *array_or_object);
const struct kndl_value *kndl_json_at(const struct kndl_value *array, size_t index);
/* Members in the document's order; ret_key may be NULL. */
const struct kndl_value *kndl_json_member(const struct kndl_value *object, size_t index,
                                          const char **ret_key);

/* The value, or the fallback where it is absent or of another kind. */
const char *kndl_json_text(const struct kndl_value *value, const char *fallback);
int64_t kndl_json_i64(const struct kndl_value *value, int64_t fallback);
bool kndl_json_bool(const struct kndl_value *value, bool fallback);

/* Appends the value's text, compact. */
void kndl_json_dump(const struct kndl_value *value, struct kndl_buf *out);

/* Writing: appends a quoted, escaped string. Objects are written by hand around it. */
void kndl_json_append_string(struct kndl_buf *out, const char *text);
/* Bytes as protobuf's JSON has them: base64, padded, without quotes. */
void kndl_json_append_base64(struct kndl_buf *out, struct kndl_slice bytes);

/*
 * protobuf's canonical JSON, by descriptor (field names in lowerCamelCase, 64-bit numbers as
 * strings, bytes in base64, enums by name). Reading takes both spellings of names, refuses unknown
 * fields, and makes the message in the arena. Writing leaves out defaults, appends one line.
 */
int kndl_json_to_message(struct kndl_slice text, const ProtobufCMessageDescriptor *type,
                         struct kndl_arena *arena, ProtobufCMessage **ret_message,
                         struct kndl_error *err);
void kndl_json_from_message(const ProtobufCMessage *message, struct kndl_buf *out);
