/* The row waits; this takes it to sessions. A change that is not heard is due again by itself. */

#include "changes.h"

#include "kndl/clock.h"
#include "kndl/log.h"
#include "kndl/rpc.h"
#include "peers.h"
#include "rpc.h"
#include "store.h"

static int tell(struct kndl_call *call)
{
    struct secrets *secrets = call->state;
    const struct token_change *change;

    for (;;) {
        if (store_claim_change(secrets->store, kndl_clock_wall_ms(), call->arena, &change,
                               &call->err) < 0)
            return -1;
        if (change == NULL)
            return 0;
        if (peers_tell_token_changed(secrets->bus, call, change) < 0) {
            kndl_log(KNDL_WARNING, "sessions has not heard of a setup token that changed",
                     KNDL_STR("person", change->person_id), KNDL_STR("why", call->err.message));
            call->err = (struct kndl_error){0};
            continue;
        }
        if (store_finish_change(secrets->store, change, &call->err) < 0)
            return -1;
    }
}

const struct kndl_task changes_task = {
    .name = "changes",
    .period_ms = 1000,
    .run = tell,
};
