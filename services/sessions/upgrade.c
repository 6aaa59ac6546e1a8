/*
 * What an older release may have left: awake Sessions whose Creator has no setup token, and prompts
 * that somebody else queued. Each process looks once, as it starts, and again until secrets and the
 * database answered; a look that finds nothing changes nothing, so that copies may look side by
 * side.
 */

#include "dispatch.h"
#include "kndl/log.h"
#include "kndl/rpc.h"
#include "live.h"
#include "peers.h"
#include "rpc.h"
#include "store.h"

static int cancel_others(struct kndl_call *call)
{
    struct sessions *sessions = call->state;
    bool found;

    do {
        struct changes changes = {0};

        if (store_cancel_others_next(sessions->store, call->arena, &found, &changes, &call->err) <
            0)
            return -1;
        live_publish(sessions->bus, call->arena, &changes, 0);
    } while (found);
    return 0;
}

static int check_creator(struct kndl_call *call, const char *person_id)
{
    struct sessions *sessions = call->state;
    struct changes changes = {0};
    bool has_token;

    if (peers_check_setup_token(sessions->bus, call, person_id, &has_token) < 0)
        return -1;
    if (has_token)
        return 0;
    kndl_log(KNDL_WARNING, "the Sessions of a Creator without a setup token go to sleep",
             KNDL_STR("person", person_id));
    int stored =
        store_put_tokenless_to_sleep(sessions->store, call->arena, person_id, &changes, &call->err);

    /* Those that were changed before it failed are changed all the same. */
    live_publish(sessions->bus, call->arena, &changes, 0);
    call->wake = &dispatch_task;
    return stored;
}

static int upgrade(struct kndl_call *call)
{
    struct sessions *sessions = call->state;
    const char *const *creators;
    size_t count;

    if (sessions->is_upgraded)
        return 0;
    if (cancel_others(call) < 0 ||
        store_list_awake_creators(sessions->store, call->arena, &creators, &count, &call->err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (check_creator(call, creators[i]) < 0)
            return -1;
    sessions->is_upgraded = true;
    return 0;
}

const struct kndl_task upgrade_task = {
    .name = "upgrade",
    .period_ms = 5000,
    .run = upgrade,
};
