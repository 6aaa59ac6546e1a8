/* The row waits; this takes it to its service. */

#include "departures.h"

#include "kndl/clock.h"
#include "kndl/log.h"
#include "kndl/rpc.h"
#include "peers.h"
#include "rpc.h"
#include "store_members.h"

enum { AGAIN_MS = 10 * 1000 };

static int tell(struct kndl_call *call)
{
    struct repo_access *repo_access = call->state;
    const struct departure *departure;

    for (;;) {
        if (store_claim_departure(repo_access->store, kndl_clock_wall_ms(), call->arena, &departure,
                                  &call->err) < 0)
            return -1;
        if (departure == NULL)
            return 0;
        if (peers_tell_departure(repo_access->bus, call, departure) < 0) {
            kndl_log(KNDL_WARNING, "a service has not heard of a Member who was removed",
                     KNDL_STR("service", departure->service),
                     KNDL_STR("person", departure->person_id), KNDL_STR("why", call->err.message));
            call->err = (struct kndl_error){0};
            continue;
        }
        if (store_finish_departure(repo_access->store, departure, kndl_clock_wall_ms() + AGAIN_MS,
                                   &call->err) < 0)
            return -1;
    }
}

const struct kndl_task departures_task = {
    .name = "departures",
    .period_ms = 1000,
    .run = tell,
};
