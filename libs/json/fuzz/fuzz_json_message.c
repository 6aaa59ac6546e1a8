/* Any JSON as a message: what is taken is written, and read again alike. */

#include <stdlib.h>

#include "kndl/json.h"
#include "kndl/sessions/v1/sessions_service.pb-c.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const ProtobufCMessageDescriptor *type = &kndl__sessions__v1__list_events_response__descriptor;
    struct kndl_arena *arena = kndl_arena_new(KNDL_ARENA_PLAIN);
    struct kndl_buf first = {0}, second = {0};
    struct kndl_error err = {0};
    ProtobufCMessage *message, *again;

    if (size <= 1 << 16 &&
        kndl_json_to_message(kndl_slice(data, size), type, arena, &message, &err) == 0) {
        kndl_json_from_message(message, &first);
        if (kndl_json_to_message(kndl_buf_slice(&first), type, arena, &again, &err) < 0)
            abort();
        kndl_json_from_message(again, &second);
        if (!kndl_slice_equal(kndl_buf_slice(&first), kndl_buf_slice(&second)))
            abort();
    }
    kndl_buf_done(&first);
    kndl_buf_done(&second);
    kndl_arena_free(arena);
    return 0;
}
