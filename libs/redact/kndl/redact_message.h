#pragma once

/*
 * Redaction of a protobuf message, as the head of kndl/event/v1/event.proto defines it: every
 * string field, repeated ones and those of inner messages too, is masked as a whole text, but
 * those named `id` or ending in `_id` or `_code`. Fields that end in `_json` are masked string
 * by string inside.
 *
 * A text longer than KNDL_REDACT_FIELD_BYTES_MAX is masked whole, then cut at a character's edge;
 * an int64 field `full_bytes` beside it, if there is one and it is 0, then says how many bytes
 * the masked text had. Where it is not 0, the message's `text` or `summary` was cut before it came
 * here: its end, as far as that may be the beginning of a value, is left out.
 *
 * A Delta's `text` is a piece of a stream: whoever feeds that stream takes the text out of the
 * message first and puts the stream's output in afterwards.
 */

#include <protobuf-c/protobuf-c.h>

#include "kndl/arena.h"
#include "kndl/redact.h"

enum { KNDL_REDACT_FIELD_BYTES_MAX = 64 * 1024 };

/* Masks the message in place. Strings that change are new, in the arena; the old ones stay where
 * they are (so unpack into a KNDL_ARENA_SECRET). */
void kndl_redact_message(struct kndl_redact_set *set, ProtobufCMessage *message,
                         struct kndl_arena *arena);
