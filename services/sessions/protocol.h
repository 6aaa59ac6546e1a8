#pragma once

/* Which Runners this Hub understands. */

#include <stdint.h>

struct kndl_call;

/* What a Runner says of itself. */
struct spoken {
    int32_t protocol;
    const char *version;
    const char *update_note;
};

/* FAILED_PRECONDITION, which says who has to be updated, unless the protocols are one. The reason
 * is kept for the Runners page where the Runner is known. */
int protocol_check(struct kndl_call *call, const char *runner_id, const struct spoken *spoken);
