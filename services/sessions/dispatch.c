/*
 * The dispatcher: takes to the Runners (and to secrets) what the store says is due. The row is
 * claimed before it is sent, so that two copies of this service never send the same one at once.
 * What a copy that died had claimed is due again when the claim ends; commands may be repeated.
 */

#include "dispatch.h"

#include "kndl/clock.h"
#include "kndl/log.h"
#include "kndl/rpc.h"
#include "live.h"
#include "peers.h"
#include "rpc.h"
#include "runners.h"
#include "store.h"

enum { DELIVERIES_PER_RUN = 256, ASSIGN_STARTING = 2 };

static const char *const names[] = {
    [DELIVER_START] = "StartRun",           [DELIVER_STOP_RUN] = "StopRun",
    [DELIVER_STOP_TURN] = "StopTurn",       [DELIVER_ANSWER] = "GiveAnswer",
    [DELIVER_RENEW_GIT] = "RenewGitToken",  [DELIVER_PROMPT] = "HandPrompt",
    [DELIVER_ASSIGNMENT] = "PutAssignment",
};

static int put_assignment(struct kndl_call *call, const struct delivery *due, int64_t phase)
{
    struct sessions *sessions = call->state;
    const struct assignment assignment = {
        .session_id = due->session_id,
        .run = due->run,
        .runner_id = due->runner_id,
        .creator_id = due->creator_id,
        .repo_id = due->repo_id,
        .phase = (int)phase,
    };

    return peers_put_assignment(sessions->bus, call, &assignment);
}

/* secrets hears of a start before the Runner does: it hands out values by that alone. */
static int deliver(struct kndl_call *call, const struct delivery *due, bool *ret_unsure)
{
    struct sessions *sessions = call->state;

    *ret_unsure = false;
    if (due->kind == DELIVER_ASSIGNMENT)
        return put_assignment(call, due, due->assignment);
    if (due->kind == DELIVER_START && put_assignment(call, due, ASSIGN_STARTING) < 0)
        return -1;
    if (runners_command(sessions->bus, call, due) == 0)
        return 0;
    *ret_unsure = call->err.code == KNDL_DEADLINE_EXCEEDED;
    return -1;
}

static void log_delivery(const struct delivery *due, int64_t began_us, const char *error)
{
    kndl_log(error == NULL ? KNDL_INFO : KNDL_WARNING,
             error == NULL ? "delivered" : "not delivered, will be tried again",
             KNDL_STR("what", names[due->kind]), KNDL_STR("session", due->session_id),
             KNDL_I64("run", due->run), KNDL_STR("id", due->id), KNDL_STR("runner", due->runner_id),
             KNDL_I64("began_us", began_us), KNDL_I64("took_us", kndl_clock_us() - began_us),
             KNDL_STR("error", error));
}

static int dispatch(struct kndl_call *call)
{
    struct sessions *sessions = call->state;
    const struct delivery *due;

    for (int i = 0; i < DELIVERIES_PER_RUN; i++) {
        struct changes changes = {0};
        int64_t began_us;
        bool is_unsure;

        if (store_claim_delivery(sessions->store, call->arena, &due, &changes, &call->err) < 0)
            return -1;
        live_publish(sessions->bus, call->arena, &changes, 0);
        if (due == NULL)
            return 0;

        began_us = kndl_clock_us();
        if (deliver(call, due, &is_unsure) == 0) {
            log_delivery(due, began_us, NULL);
            if (store_settle_delivery(sessions->store, call->arena, due, &call->err) < 0)
                return -1;
            continue;
        }

        /* Starts the Runner's pause, so that one that does not answer delays others once. */
        log_delivery(due, began_us, call->err.message);
        changes = (struct changes){0};
        call->err = (struct kndl_error){0};
        if (store_release_delivery(sessions->store, call->arena, due, is_unsure, &changes,
                                   &call->err) < 0)
            return -1;
        live_publish(sessions->bus, call->arena, &changes, 0);
    }
    call->wake = &dispatch_task;
    return 0;
}

const struct kndl_task dispatch_task = {
    .name = "dispatch",
    .period_ms = 1000,
    .run = dispatch,
};
