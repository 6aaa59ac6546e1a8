#include "fakes.h"

#include <string.h>

#include "hits.h"
#include "kndl/access.h"
#include "kndl/redact.h"
#include "kndl/redactor/v1/redactor_service.pb-c.h"
#include "kndl/rpc.h"
#include "masks.h"
#include "peers.h"
#include "rpc.h"

int peers_get_masks(struct redactor *redactor, struct kndl_call *call, const struct whose *whose,
                    int64_t at_least, struct masks **ret_masks)
{
    struct kndl_bus *bus = redactor->bus;
    struct kndl_redact_value values[5];
    struct kndl_redact_set *set;
    size_t count = 0, real;

    bus->asked++;
    if (bus->secrets_code != KNDL_OK)
        return kndl_fail(&call->err, bus->secrets_code, "no values");
    if (whose->runner_id != NULL && strcmp(whose->runner_id, "r1") != 0)
        return kndl_fail(&call->err, KNDL_NOT_FOUND, "not this Runner's");
    if (bus->version < at_least)
        return kndl_fail(&call->err, KNDL_UNAVAILABLE, "not there yet");
    if (whose->known != NULL && masks_version(whose->known) == bus->version) {
        *ret_masks = masks_ref(whose->known);
        return 0;
    }
    while (count < 4 && bus->values[count] != NULL) {
        values[count] = (struct kndl_redact_value){
            .name = "value",
            .value = kndl_slice_of(bus->values[count]),
        };
        count++;
    }
    real = count;
    if (whose->canary != NULL && !bus->forgets_canary)
        values[count++] = (struct kndl_redact_value){"canary", kndl_slice_of(whose->canary), false};
    if (kndl_redact_set_new(values, count, &set, &call->err) < 0)
        return -1;
    bus->sets++;
    *ret_masks = masks_new(set, bus->version, redactor->hits);
    for (size_t i = 0; whose->canary == NULL && i < real; i++) {
        const struct counted counted = {(char *)(i == 0 ? "first" : "other"), 1, 7};

        masks_count_for(*ret_masks, i, &counted);
    }
    return 0;
}

int kndl_access_resolve_repo(struct kndl_bus *bus, struct kndl_call *call, int64_t repo_id,
                             const char *name, int64_t *ret_id, const char **ret_name)
{
    (void)bus;
    if (repo_id != 7 && strcmp(name, "demo/hello") != 0)
        return kndl_fail(&call->err, KNDL_NOT_FOUND, "this Repo does not exist");
    *ret_id = 7;
    *ret_name = "demo/hello";
    return 0;
}

int peers_report_hits(struct kndl_bus *bus, struct kndl_call *call, const struct report *report)
{
    bus->reports++;
    if (bus->secrets_code != KNDL_OK)
        return kndl_fail(&call->err, bus->secrets_code, "secrets does not answer");
    for (size_t i = 0; report->n > bus->reported && i < report->count; i++)
        bus->counts[strcmp(report->found[i].counted.id, "first") != 0] += report->found[i].count;
    bus->reported = report->n;
    if (bus->loses_answer)
        return kndl_fail(&call->err, KNDL_UNAVAILABLE, "the answer was lost");
    return 0;
}

void peers_append_events(struct kndl_bus *bus, struct kndl_call *call,
                         const struct masked_batch *batch, struct kndl_promise *promise)
{
    Kndl__Redactor__V1__PutResponse response = KNDL__REDACTOR__V1__PUT_RESPONSE__INIT;
    struct kndl_error err = {0};

    (void)call;
    bus->batches++;
    if (bus->sessions_code != KNDL_OK) {
        kndl_fail(&err, bus->sessions_code, "sessions does not answer");
        kndl_promise_keep(promise, NULL, &err);
        return;
    }
    memcpy(bus->mod_token_hash, batch->mod_token_hash.data, sizeof bus->mod_token_hash);
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->events[i]->kind_case == KNDL__EVENT__V1__EVENT__KIND_TEXT)
            kndl_buf_append_text(&bus->stored, batch->events[i]->text->text);
        kndl_buf_append_char(&bus->stored, '\n');
    }
    response.expected_n = batch->first_n + (int64_t)batch->count;
    kndl_promise_keep(promise, &response.base, NULL);
}

void peers_show_deltas(struct kndl_bus *bus, const char *session_id,
                       Kndl__Event__V1__Delta **deltas, size_t count)
{
    (void)session_id;
    for (size_t i = 0; i < count; i++) {
        bus->deltas++;
        bus->is_out_of_order |= deltas[i]->offset != bus->next_offset;
        bus->next_offset = deltas[i]->offset + (int64_t)strlen(deltas[i]->text);
        kndl_buf_append_text(&bus->shown, deltas[i]->text);
    }
}
