#pragma once

/*
 * ListEvents with wait_ms: the owner answers at once with what is there, and the waiting is done
 * here: ask, and ask again at each live message, every 5 s and at the end, 25 s at most.
 */

#include "call.h"

/* Makes call->wait if the request wants to wait. Fails with KNDL_INVALID_ARGUMENT. */
int wait_begin(struct call *call, struct kndl_slice packed, struct kndl_error *err);

/* An answer of the owner's came. True: it is kept back, and the call goes on waiting. */
bool wait_holds(struct call *call, const struct kndl_reply *reply);

/* Every wait asks once more, and is answered with what there is: the gateway stops. */
void wait_end_all(struct gateway *gateway);

/* No wait any more; what the Hub has is answered at the next answer. */
void wait_end(struct call *call);
