/*
 * The deadlines: a Runner that is silent is away, what ran on one that was removed is over, and a
 * state that lasts too long comes to an end. All are asked of the store every second; any copy of
 * the service may act on them.
 */

#include "dispatch.h"
#include "kndl/clock.h"
#include "kndl/log.h"
#include "kndl/rpc.h"
#include "live.h"
#include "rpc.h"
#include "store.h"

/* Runners speak every 5 s and are away after 20; what was not heard while this service was down
 * is not their silence. */
enum { LISTEN_FIRST_MS = 25 * 1000, CHANGES_PER_RUN = 500 };

typedef int (*next_fn)(struct store *store, struct kndl_arena *arena, bool *ret_found,
                       struct changes *changes, struct kndl_error *err);

static int drain(struct kndl_call *call, next_fn next)
{
    struct sessions *sessions = call->state;

    for (int i = 0; i < CHANGES_PER_RUN; i++) {
        struct changes changes = {0};
        bool found;

        if (next(sessions->store, call->arena, &found, &changes, &call->err) < 0)
            return -1;
        if (!found)
            return 0;
        live_publish(sessions->bus, call->arena, &changes, 0);
        call->wake = &dispatch_task;
    }
    return 0;
}

static int watch_runners(struct kndl_call *call)
{
    struct sessions *sessions = call->state;
    size_t count;

    if (kndl_clock_ms() - sessions->opened_at_ms < LISTEN_FIRST_MS)
        return 0;
    if (store_mark_silent(sessions->store, call->arena, &count, &call->err) < 0)
        return -1;
    if (count > 0)
        kndl_log(KNDL_WARNING, "runners are away", KNDL_U64("count", count));
    return drain(call, store_freeze_next);
}

static int watch(struct kndl_call *call)
{
    if (drain(call, store_end_removed_next) < 0 || watch_runners(call) < 0)
        return -1;
    return drain(call, store_overdue_next);
}

const struct kndl_task deadlines_task = {
    .name = "deadlines",
    .period_ms = 1000,
    .run = watch,
};
