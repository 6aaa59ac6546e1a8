#pragma once

/*
 * A budget for foreign protobuf bytes, checked before they are unpacked: protobuf-c recurses
 * without limit (46 KB crash a process), does not check UTF-8, cuts strings at a NUL, and makes
 * 43 MB of 1 MB. Pure; any thread.
 */

#include <stddef.h>

#include <protobuf-c/protobuf-c.h>

#include "kndl/error.h"
#include "kndl/slice.h"

enum {
    KNDL_MESSAGE_BYTES_MAX = 900 * 1024,
    KNDL_MESSAGE_DEPTH_MAX = 32,
    KNDL_MESSAGE_ELEMENTS_MAX = 100000, /* fields and repeated members together */
};

/* Fails with KNDL_INVALID_ARGUMENT, naming what is wrong and where (the field's name). */
int kndl_guard_check(const ProtobufCMessageDescriptor *type, struct kndl_slice data,
                     struct kndl_error *err);

/* Checks and unpacks with that allocator. */
int kndl_guard_unpack(const ProtobufCMessageDescriptor *type, struct kndl_slice data,
                      ProtobufCAllocator *allocator, ProtobufCMessage **ret_message,
                      struct kndl_error *err);
