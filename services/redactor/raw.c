/*
 * Raw batches of Runners. Events are masked, sent on to be stored, and answered when that answer
 * comes; deltas are masked and shown. Nothing leaves before the values are known that the Runner
 * knows of (mask_version): then the batch stays with the Runner.
 */

#include <string.h>

#include "blocks.h"
#include "kndl/clock.h"
#include "kndl/log.h"
#include "kndl/mem.h"
#include "kndl/redactor/v1/redactor_service.pb-c.h"
#include "kndl/rpc.h"
#include "kndl/token.h"
#include "masking.h"
#include "masks.h"
#include "peers.h"
#include "rpc.h"
#include "sets.h"

#define V1(name) Kndl__Redactor__V1__##name
#define KIND(name) KNDL__EVENT__V1__EVENT__KIND_##name

enum { EVENTS_MAX = 1000 };

/* Asks secrets again; what is known is not sent again. */
static int learn_anew(struct kndl_call *call, const V1(PutRequest) *req, struct masks **masks)
{
    struct redactor *redactor = call->state;
    const struct whose whose = {
        .session_id = call->session_id,
        .run = req->run,
        .runner_id = call->runner_id,
        .known = *masks,
    };
    int64_t asked_us = kndl_clock_us();
    struct masks *newer;

    if (peers_get_masks(redactor, call, &whose, req->mask_version, &newer) < 0)
        return -1;
    masks_unref(*masks);
    *masks = newer;
    sets_grant(redactor->sets, call->session_id, req->run, call->runner_id, newer, asked_us);
    return 0;
}

/* The masks for this batch, new enough. The caller's reference, also if it fails. */
static int find_masks(struct kndl_call *call, const V1(PutRequest) *req, struct masks **ret_masks)
{
    struct redactor *redactor = call->state;
    bool is_fresh;

    *ret_masks = sets_find(redactor->sets, call->session_id, req->run, call->runner_id, &is_fresh);
    if (*ret_masks == NULL)
        return kndl_fail(&call->err, KNDL_FAILED_PRECONDITION,
                         "no stream of run %lld is open here: open it again", (long long)req->run);
    if (is_fresh && masks_version(*ret_masks) >= req->mask_version)
        return 0;
    return learn_anew(call, req, ret_masks);
}

/* A block whose Event comes has streamed its last. */
static void end_block(struct redactor *redactor, const char *session_id,
                      const Kndl__Event__V1__Event *event)
{
    const char *block_id = event->kind_case == KIND(TEXT)       ? event->text->block_id
                           : event->kind_case == KIND(THINKING) ? event->thinking->block_id
                                                                : "";

    if (block_id[0] != '\0')
        blocks_forget(redactor->blocks, session_id, block_id);
    if (event->kind_case == KIND(TOOL_CALL) && event->tool_call->tool_use_id[0] != '\0')
        blocks_forget_tool(redactor->blocks, session_id, event->tool_call->tool_use_id);
}

static void put_events(struct kndl_call *call, const V1(PutRequest) *req, struct masks *masks)
{
    struct redactor *redactor = call->state;
    uint8_t hash[KNDL_HASH_BYTES];
    int64_t began_us = kndl_clock_us();

    for (size_t i = 0; i < req->n_events; i++)
        end_block(redactor, call->session_id, req->events[i]);
    masking_events(masks, req->events, req->n_events, call->arena);
    kndl_hash(kndl_slice(req->mod_token.data, req->mod_token.len), hash);
    const struct masked_batch batch = {
        .runner_id = call->runner_id,
        .session_id = call->session_id,
        .run = req->run,
        .first_n = req->first_n,
        .events = req->events,
        .count = req->n_events,
        .mod_token_hash = kndl_slice(hash, sizeof hash),
        .gap = req->gap,
        .relay_at_us = req->relay_at_us,
    };
    kndl_log(KNDL_INFO, "events masked", KNDL_STR("session", call->session_id),
             KNDL_I64("run", req->run), KNDL_I64("first_n", req->first_n),
             KNDL_U64("count", req->n_events), KNDL_I64("relay_at_us", req->relay_at_us),
             KNDL_I64("began_us", began_us), KNDL_I64("took_us", kndl_clock_us() - began_us));
    peers_append_events(redactor->bus, call, &batch, kndl_call_defer(call));
}

static void show(const char *session_id, Kndl__Event__V1__Delta **deltas, size_t count, void *data)
{
    const struct redactor *redactor = data;

    peers_show_deltas(redactor->bus, session_id, deltas, count);
}

static void put_deltas(struct kndl_call *call, const V1(PutRequest) *req, struct masks *masks)
{
    struct redactor *redactor = call->state;

    masking_deltas(redactor->blocks, call->session_id, masks, req->deltas, req->n_deltas,
                   call->arena, show, redactor);
    if (blocks_are_due_sooner(redactor->blocks, call->session_id))
        call->wake = &expire_task;
}

static int put(struct kndl_call *call, const V1(PutRequest) *req, V1(PutResponse) *resp)
{
    struct redactor *redactor = call->state;
    KNDL_CLEANUP(masks_drop) struct masks *masks = NULL;

    (void)resp;
    if (req->n_events > EVENTS_MAX)
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT, "%zu Events; the most is %d",
                         req->n_events, EVENTS_MAX);
    if (find_masks(call, req, &masks) < 0)
        return -1;
    if (req->n_deltas > 0)
        put_deltas(call, req, masks);
    if (req->ended_turn_id[0] != '\0')
        blocks_forget_main(redactor->blocks, call->session_id);
    if (req->n_events > 0)
        put_events(call, req, masks);
    return 0;
}

KNDL_RPC(V1, RedactorRawService, Put, put)

static V1(RedactorRawService_Service) service =
    KNDL__REDACTOR__V1__REDACTOR_RAW_SERVICE__INIT(rpc_);
ProtobufCService *const redactor_raw_service = &service.base;
