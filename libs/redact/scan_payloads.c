/* The strings (titles, links) inside a block, which are nearly always nothing to mask. */

#include "scan.h"

/* Is there nothing to mask in this text, and no beginning that would be masked at its end? */
static bool is_harmless(struct kndl_redact_set *set, const uint8_t *text, size_t size)
{
    uint64_t mask[MASK_WORDS(BLOCK_BYTES)] __attribute__((uninitialized));
    struct scan scan = {.set = set, .text = text, .mask = mask, .size = size, .known = SIZE_MAX};

    scan_text(&scan);
    return !scan.found && scan.secret == size;
}

size_t scan_payloads(struct kndl_redact_set *set, const struct block *block, const uint8_t *raw)
{
    enum { FRAME_BYTES = 2 }; /* ESC, which may be in the block before, and what follows it */

    for (size_t i = 0; i < block->payload_count; i++) {
        const struct payload *payload = &block->payloads[i];
        if (payload->from < block->raw_size &&
            !is_harmless(set, raw + payload->from, payload->to - (size_t)payload->from))
            return payload->from < FRAME_BYTES ? 0 : payload->from - (size_t)FRAME_BYTES;
    }
    return block->raw_size;
}
