/* Any bytes as what a WebSocket's client sends. */

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct frame_reader reader = {.bytes_max = 4096};
    uint8_t *copy = malloc(size + 1);
    size_t at = 0;
    size_t used;
    struct frame frame;
    enum frame_result result;

    assert(copy != NULL);
    memcpy(copy, data, size);
    do {
        result = frame_next(&reader, copy + at, size - at, &used, &frame);
        at += used;
        assert(at <= size && reader.whole.size <= reader.bytes_max);
        assert((used > 0) == (result != FRAME_MORE && result != FRAME_BROKEN));
        if (result == FRAME_MESSAGE)
            assert(frame.payload.size <= reader.bytes_max);
        if (result == FRAME_CONTROL)
            assert(frame.payload.size <= FRAME_CONTROL_BYTES_MAX);
    } while (result != FRAME_MORE && result != FRAME_BROKEN);
    frame_reader_done(&reader);
    free(copy);
    return 0;
}
