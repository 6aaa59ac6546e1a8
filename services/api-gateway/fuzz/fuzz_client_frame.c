/* Any bytes as a frame of a client's socket. */

#include <stdlib.h>

#include "kndl/arena.h"
#include "kndl/gateway/v1/frame.pb-c.h"
#include "kndl/guard.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct kndl_arena *arena;
    ProtobufCMessage *message;

    if (arena == NULL)
        arena = kndl_arena_new(KNDL_ARENA_PLAIN);
    kndl_arena_reset(arena);
    ProtobufCAllocator allocator = kndl_arena_allocator(arena);
    if (kndl_guard_unpack(&kndl__gateway__v1__client_frame__descriptor, kndl_slice(data, size),
                          &allocator, &message, NULL) < 0)
        return 0;
    const Kndl__Gateway__V1__ClientFrame *frame = (const void *)message;
    /* What socket_frame() relies on: a kind that is set has its message, and texts are there. */
    if (frame->kind_case == KNDL__GATEWAY__V1__CLIENT_FRAME__KIND_OPEN &&
        (frame->open == NULL || frame->open->session_id == NULL))
        abort();
    if (frame->kind_case == KNDL__GATEWAY__V1__CLIENT_FRAME__KIND_PING && frame->ping == NULL)
        abort();
    return 0;
}
