/* Lines, found from the end. */

#include "tail_lines.h"

#include <stdint.h>
#include <string.h>

static void turn_round(struct tail_lines *lines)
{
    for (size_t i = 0, j = lines->count; i + 1 < j; i++) {
        struct kndl_slice line = lines->list[i];

        lines->list[i] = lines->list[--j];
        lines->list[j] = line;
    }
}

void tail_lines_find(struct kndl_slice bytes, bool is_whole, struct tail_lines *ret_lines)
{
    ret_lines->count = 0;
    while (bytes.size > 0 && ret_lines->count < TAIL_LINES_MAX) {
        const uint8_t *before = memrchr(bytes.data, '\n', bytes.size);
        size_t at = before == NULL ? 0 : (size_t)(before - bytes.data) + 1;

        if (at < bytes.size && (before != NULL || is_whole))
            ret_lines->list[ret_lines->count++] = kndl_slice(bytes.data + at, bytes.size - at);
        bytes.size = before == NULL ? 0 : at - 1;
    }
    turn_round(ret_lines);
}
