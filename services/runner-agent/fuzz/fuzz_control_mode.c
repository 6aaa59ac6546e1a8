/* Control mode: any bytes, in pieces of any size, give the same blocks and never crash. */

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "control_mode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void count_block(void *data, bool ok, struct kndl_slice text)
{
    uint64_t *sum = data;

    *sum = *sum * 31 + text.size + ok;
}

static void count_notice(void *data, struct kndl_slice line)
{
    uint64_t *sum = data;

    *sum = *sum * 37 + line.size;
}

static uint64_t feed(const uint8_t *data, size_t size, size_t piece)
{
    uint64_t sum = 0;
    struct control_mode control = {
        .on_block = count_block, .on_notice = count_notice, .data = &sum};

    for (size_t at = 0; at < size; at += piece)
        control_mode_feed(&control, kndl_slice(data + at, size - at < piece ? size - at : piece));
    control_mode_done(&control);
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (feed(data, size, size + 1) != feed(data, size, 1 + size % 7))
        abort();
    return 0;
}
