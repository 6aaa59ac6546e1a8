/* The task that lets go what blocks have held too long (100 ms at most). */

#include <time.h>

#include "blocks.h"
#include "kndl/clock.h"
#include "kndl/rpc.h"
#include "peers.h"
#include "rpc.h"
#include "sets.h"

/* While something is held it looks every so often, since a shorter hold may begin meanwhile. */
enum { STEP_US = 5000, STEPS = 40 };

static void show(const char *session_id, Kndl__Event__V1__Delta **deltas, size_t count, void *data)
{
    const struct redactor *redactor = data;

    peers_show_deltas(redactor->bus, session_id, deltas, count);
}

static void wait_us(int64_t us)
{
    const struct timespec time = {.tv_nsec = us * 1000};

    nanosleep(&time, NULL);
}

static int expire(struct kndl_call *call)
{
    struct redactor *redactor = call->state;

    sets_expire(redactor->sets, kndl_clock_us());
    for (int i = 0; i < STEPS; i++) {
        int64_t now_us = kndl_clock_us();
        int64_t next_us = blocks_expire(redactor->blocks, now_us, show, redactor);

        if (next_us == INT64_MAX)
            return 0;
        wait_us(next_us - now_us < STEP_US && next_us > now_us ? next_us - now_us : STEP_US);
    }
    call->wake = &expire_task;
    return 0;
}

const struct kndl_task expire_task = {
    .name = "expire",
    .period_ms = 60000,
    .run = expire,
};
