/* One access after the other, the longest unconfirmed first. */

#include "recheck.h"

#include "access.h"
#include "kndl/clock.h"
#include "kndl/rpc.h"
#include "rpc.h"
#include "store.h"

enum { HERE_MS = 3 * 60 * 1000 }; /* a use is written down once a minute */

static int recheck(struct kndl_call *call)
{
    struct repo_access *repo_access = call->state;
    int64_t ttl_ms = access_ttl_ms();
    int64_t pause_ms = ttl_ms < ACCESS_RETRY_MS ? ttl_ms : ACCESS_RETRY_MS;
    struct recheck next;

    for (;;) {
        int64_t now_ms = kndl_clock_wall_ms();
        struct kndl_error cause = {0};

        if (store_claim_recheck(repo_access->store, now_ms, now_ms - ttl_ms, now_ms - pause_ms,
                                now_ms - HERE_MS, call->arena, &next, &call->err) < 0)
            return -1;
        if (next.repo_id == 0)
            return 0;
        /* A GitHub that cannot answer leaves all as it was; the row is due again after the pause.
         */
        if (access_recheck(repo_access, next.person_id, next.repo_id, call->arena, &cause) < 0 &&
            cause.code != KNDL_UNAVAILABLE && cause.code != KNDL_RESOURCE_EXHAUSTED)
            return kndl_fail(&call->err, cause.code, "%s", cause.message);
    }
}

const struct kndl_task recheck_task = {
    .name = "recheck",
    .period_ms = 250,
    .run = recheck,
};
