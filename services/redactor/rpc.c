/* What other services and Runners ask: texts masked at once, and streams opened. */

#include "rpc.h"

#include <string.h>

#include "blocks.h"
#include "kndl/clock.h"
#include "kndl/mem.h"
#include "kndl/redactor/v1/redactor_service.pb-c.h"
#include "kndl/rpc.h"
#include "masking.h"
#include "masks.h"
#include "peers.h"
#include "sets.h"

#define V1(name) Kndl__Redactor__V1__##name

static int mask(struct kndl_call *call, const V1(MaskRequest) *req, V1(MaskResponse) *resp)
{
    struct redactor *redactor = call->state;
    KNDL_CLEANUP(masks_drop) struct masks *masks = NULL;
    const struct whose whose = {
        .session_id = req->session_id[0] == '\0' ? NULL : req->session_id,
        .creator_id = req->creator_id,
        .repo_id = req->repo_id,
    };

    if (whose.session_id == NULL && req->creator_id[0] == '\0')
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT, "whose texts they are is missing");
    if (peers_get_masks(redactor, call, &whose, 0, &masks) < 0)
        return -1;
    resp->texts = kndl_arena_alloc(call->arena, (req->n_texts + 1) * sizeof(*resp->texts));
    resp->n_texts = req->n_texts;
    masking_texts(masks, req->texts, req->n_texts, req->are_screens, call->arena, resp->texts);
    return 0;
}

static int open_stream(struct kndl_call *call, const V1(OpenRequest) *req, V1(OpenResponse) *resp)
{
    struct redactor *redactor = call->state;
    KNDL_CLEANUP(masks_drop) struct masks *masks = NULL;
    const struct whose whose = {
        .session_id = req->session_id,
        .run = req->run,
        .runner_id = call->runner_id,
    };
    int64_t asked_us = kndl_clock_us();

    if (req->session_id[0] == '\0' || req->run <= 0)
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT, "the run of a Session is missing");
    if (peers_get_masks(redactor, call, &whose, req->mask_version, &masks) < 0)
        return -1;

    /* What was streaming goes on from its beginning or is seen by its Event. */
    blocks_forget_all(redactor->blocks, req->session_id);
    sets_grant(redactor->sets, req->session_id, req->run, call->runner_id, masks, asked_us);
    resp->instance_id = (char *)kndl_service_instance();
    return 0;
}

KNDL_RPC(V1, RedactorInternalService, Mask, mask)
KNDL_RPC(V1, RedactorRunnerService, Open, open_stream)

static V1(RedactorInternalService_Service) internal =
    KNDL__REDACTOR__V1__REDACTOR_INTERNAL_SERVICE__INIT(rpc_);
ProtobufCService *const redactor_internal_service = &internal.base;

/* The method is named open, which libc took. */
#define rpc_open rpc_open_stream
static V1(RedactorRunnerService_Service) runner =
    KNDL__REDACTOR__V1__REDACTOR_RUNNER_SERVICE__INIT(rpc_);
ProtobufCService *const redactor_runner_service = &runner.base;
