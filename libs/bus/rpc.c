/* What a handler calls while it runs. */

#include "kndl/rpc.h"

#include <stdlib.h>

#include "kndl/publics.h"
#include "promise.h"

void kndl_call_begin(struct kndl_call *call, ProtobufCMessage *response)
{
    const struct kndl_public *row = kndl_public_find(call->method);

    if (row != NULL && row->clients != 0 && !call->is_permitted)
        abort();
    protobuf_c_message_init(call->method->output, response);
}

struct kndl_promise *kndl_call_defer(struct kndl_call *call)
{
    struct kndl_deferral *deferral = call->reply;

    if (deferral == NULL || call->deferred)
        abort();
    call->deferred = true;
    return deferral->defer(call);
}

void kndl_promise_keep(struct kndl_promise *promise, const ProtobufCMessage *response,
                       const struct kndl_error *err)
{
    promise->keep(promise, response, err);
}
