/* Questions to secrets, masked batches to sessions, deltas to viewers. */

#include "peers.h"

#include <stdlib.h>

#include "hits.h"
#include "kndl/bus.h"
#include "kndl/clock.h"
#include "kndl/gateway/v1/frame.pb-c.h"
#include "kndl/guard.h"
#include "kndl/log.h"
#include "kndl/redact.h"
#include "kndl/redactor/v1/redactor_service.pb-c.h"
#include "kndl/rpc.h"
#include "kndl/secrets/v1/secrets_service.pb-c.h"
#include "kndl/service.h"
#include "kndl/sessions/v1/sessions_internal_service.pb-c.h"
#include "masks.h"
#include "rpc.h"

#define SECRETS(name) Kndl__Secrets__V1__##name

enum { STORED_WITHIN_MS = 10000 };

static int make_masks(struct redactor *redactor, struct kndl_call *call, const char *canary,
                      const SECRETS(GetMaskSetResponse) * resp, struct masks **ret_masks)
{
    struct kndl_redact_value *values =
        kndl_arena_alloc(call->arena, (resp->n_values + 1) * sizeof *values);
    struct kndl_redact_set *set;
    struct kndl_error err = {0};
    size_t count = resp->n_values;

    for (size_t i = 0; i < resp->n_values; i++)
        values[i] = (struct kndl_redact_value){
            .name = resp->values[i]->name,
            .value = kndl_slice_of(resp->values[i]->value),
        };
    if (canary != NULL)
        values[count++] = (struct kndl_redact_value){"canary", kndl_slice_of(canary), false};
    if (kndl_redact_set_new(values, count, &set, &err) < 0) {
        kndl_log(KNDL_ERROR, "values cannot be masked, so nothing of them passes",
                 KNDL_STR("why", err.message));
        return kndl_fail(&call->err, KNDL_UNAVAILABLE, "the values to mask cannot be used");
    }
    *ret_masks = masks_new(set, resp->version, redactor->hits);
    for (size_t i = 0; canary == NULL && i < resp->n_values; i++)
        for (size_t j = 0; j < resp->values[i]->n_counted; j++) {
            const SECRETS(Counted) *counted = resp->values[i]->counted[j];
            const struct counted for_whom = {counted->id, counted->version, resp->repo_id};

            masks_count_for(*ret_masks, i, &for_whom);
        }
    return 0;
}

int peers_get_masks(struct redactor *redactor, struct kndl_call *call, const struct whose *whose,
                    int64_t at_least, struct masks **ret_masks)
{
    SECRETS(GetMaskSetRequest) req = KNDL__SECRETS__V1__GET_MASK_SET_REQUEST__INIT;
    SECRETS(GetMaskSetResponse) * resp;

    req.session_id = (char *)(whose->session_id == NULL ? "" : whose->session_id);
    req.run = whose->run;
    req.runner_id = (char *)(whose->runner_id == NULL ? "" : whose->runner_id);
    req.at_least = at_least;
    req.creator_id = (char *)(whose->creator_id == NULL ? "" : whose->creator_id);
    req.repo_id = whose->repo_id;
    req.known_version = whose->known == NULL ? 0 : masks_version(whose->known);
    if (KNDL_CALL(SECRETS, GetMaskSet, kndl__secrets__v1__secrets_internal_service__descriptor,
                  redactor->bus, call, &req, &resp) < 0) {
        if (call->err.code == KNDL_NOT_FOUND)
            return -1;
        kndl_log(KNDL_WARNING, "values to mask cannot be learnt",
                 KNDL_STR("session", whose->session_id), KNDL_STR("why", call->err.message));
        if (call->err.code == KNDL_FAILED_PRECONDITION) /* no waiting helps */
            return kndl_fail(&call->err, KNDL_FAILED_PRECONDITION,
                             "a value to mask cannot be read any more: set the setup token, or the "
                             "Variable, again");
        return kndl_fail(&call->err, KNDL_UNAVAILABLE,
                         "the values to mask cannot be learnt now; try again");
    }
    if (resp->version < at_least)
        return kndl_fail(&call->err, KNDL_UNAVAILABLE,
                         "the newest values to mask are not there yet; try again");
    if (whose->known != NULL && resp->version == req.known_version) {
        *ret_masks = masks_ref(whose->known);
        return 0;
    }
    return make_masks(redactor, call, whose->canary, resp, ret_masks);
}

static void fill_hits(SECRETS(CountMaskedRequest__Hits) * hits, SECRETS(Counted) * counted,
                      const struct found *found)
{
    *counted = (SECRETS(Counted))KNDL__SECRETS__V1__COUNTED__INIT;
    counted->id = found->counted.id;
    counted->version = found->counted.version;
    *hits = (SECRETS(CountMaskedRequest__Hits))KNDL__SECRETS__V1__COUNT_MASKED_REQUEST__HITS__INIT;
    hits->counted = counted;
    hits->repo_id = found->counted.repo_id;
    hits->count = found->count;
    hits->last_at_ms = found->last_at_ms;
}

int peers_report_hits(struct kndl_bus *bus, struct kndl_call *call, const struct report *report)
{
    SECRETS(CountMaskedRequest) req = KNDL__SECRETS__V1__COUNT_MASKED_REQUEST__INIT;
    SECRETS(CountMaskedResponse) * resp;
    SECRETS(CountMaskedRequest__Hits) *hits =
        kndl_arena_alloc(call->arena, report->count * sizeof *hits);
    SECRETS(Counted) *counted = kndl_arena_alloc(call->arena, report->count * sizeof *counted);

    req.reporter_id = (char *)kndl_service_instance();
    req.n = report->n;
    req.hits = kndl_arena_alloc(call->arena, report->count * sizeof *req.hits);
    for (; req.n_hits < report->count; req.n_hits++) {
        fill_hits(&hits[req.n_hits], &counted[req.n_hits], &report->found[req.n_hits]);
        req.hits[req.n_hits] = &hits[req.n_hits];
    }
    if (KNDL_CALL(SECRETS, CountMasked, kndl__secrets__v1__secrets_internal_service__descriptor,
                  bus, call, &req, &resp) == 0)
        return 0;
    kndl_log(KNDL_WARNING, "how often values were masked is not counted yet",
             KNDL_I64("n", report->n), KNDL_STR("why", call->err.message));
    return -1;
}

/* On a thread of the bus. */
static void on_appended(const struct kndl_reply *reply, void *data)
{
    Kndl__Redactor__V1__PutResponse response = KNDL__REDACTOR__V1__PUT_RESPONSE__INIT;
    struct kndl_promise *promise = data;
    struct kndl_error err = reply->err;
    ProtobufCMessage *message;

    if (err.code == KNDL_OK &&
        kndl_guard_unpack(&kndl__sessions__v1__append_events_response__descriptor, reply->data,
                          NULL, &message, &err) == 0) {
        response.expected_n = ((Kndl__Sessions__V1__AppendEventsResponse *)message)->expected_n;
        protobuf_c_message_free_unpacked(message, NULL);
        kndl_promise_keep(promise, &response.base, NULL);
        return;
    }
    kndl_promise_keep(promise, NULL, &err);
}

void peers_append_events(struct kndl_bus *bus, struct kndl_call *call,
                         const struct masked_batch *batch, struct kndl_promise *promise)
{
    Kndl__Sessions__V1__AppendEventsRequest req = KNDL__SESSIONS__V1__APPEND_EVENTS_REQUEST__INIT;
    struct kndl_error err = {0};

    req.runner_id = (char *)batch->runner_id;
    req.session_id = (char *)batch->session_id;
    req.run = batch->run;
    req.first_n = batch->first_n;
    req.events = batch->events;
    req.n_events = batch->count;
    req.mod_token_hash.data = (uint8_t *)batch->mod_token_hash.data;
    req.mod_token_hash.len = batch->mod_token_hash.size;
    req.gap = batch->gap;
    req.relay_at_us = batch->relay_at_us;

    size_t size = kndl__sessions__v1__append_events_request__get_packed_size(&req);
    uint8_t *data = kndl_arena_alloc(call->arena, size);
    kndl__sessions__v1__append_events_request__pack(&req, data);
    const struct kndl_request request = {
        .service = &kndl__sessions__v1__sessions_internal_service__descriptor,
        .method = "AppendEvents",
        .actor = {.kind = KNDL_SERVICE, .id = "redactor"},
        .trace = call->trace,
        .timeout_ms = STORED_WITHIN_MS,
        .data = kndl_slice(data, size),
    };
    if (kndl_bus_send(bus, &request, on_appended, promise, &err) < 0)
        kndl_promise_keep(promise, NULL, &err);
}

void peers_show_deltas(struct kndl_bus *bus, const char *session_id,
                       Kndl__Event__V1__Delta **deltas, size_t count)
{
    Kndl__Gateway__V1__LiveDeltas live = KNDL__GATEWAY__V1__LIVE_DELTAS__INIT;
    struct kndl_error err = {0};

    if (count == 0)
        return;
    live.deltas = deltas;
    live.n_deltas = count;
    if (kndl_bus_publish_live(bus, session_id, KNDL_LIVE_DELTA, &live.base, &err) < 0)
        kndl_log(KNDL_DEBUG, "deltas were lost", KNDL_STR("session", session_id),
                 KNDL_STR("why", err.message));
}
