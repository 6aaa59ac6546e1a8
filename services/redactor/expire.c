/* The task that lets go what blocks have held too long (100 ms at most). */

#include "blocks.h"
#include "kndl/clock.h"
#include "kndl/rpc.h"
#include "peers.h"
#include "rpc.h"
#include "sets.h"

static void show(const char *session_id, Kndl__Event__V1__Delta **deltas, size_t count, void *data)
{
    const struct redactor *redactor = data;

    peers_show_deltas(redactor->bus, session_id, deltas, count);
}

static int expire(struct kndl_call *call)
{
    struct redactor *redactor = call->state;
    int64_t now_us = kndl_clock_us();
    int64_t next_us = blocks_expire(redactor->blocks, now_us, show, redactor);

    sets_expire(redactor->sets, now_us);
    if (next_us != INT64_MAX)
        call->again_ms = next_us <= now_us ? 1 : (uint32_t)((next_us - now_us + 999) / 1000);
    return 0;
}

const struct kndl_task expire_task = {
    .name = "expire",
    .period_ms = 60000,
    .run = expire,
};
