/* The protocol's number, raised when Hub and Runner would no longer understand each other. */

#include "protocol.h"

#include "kndl/log.h"
#include "kndl/rpc.h"
#include "kndl/version.h"
#include "rpc.h"
#include "store.h"

int protocol_check(struct kndl_call *call, const char *runner_id, const struct spoken *spoken)
{
    struct sessions *sessions = call->state;
    struct kndl_error ignored;

    if (spoken->protocol == KNDL_RUNNER_PROTOCOL)
        return 0;
    kndl_fail(&call->err, KNDL_FAILED_PRECONDITION,
              "this Runner speaks protocol %d and the Hub %d: update the %s", (int)spoken->protocol,
              KNDL_RUNNER_PROTOCOL,
              spoken->protocol < KNDL_RUNNER_PROTOCOL
                  ? "Runner, unless it does so itself; its Sessions wait for it"
                  : "Hub");
    (void)store_set_runner_problem(sessions->store, call->arena, runner_id, call->err.message,
                                   spoken->version, spoken->update_note, &ignored);
    kndl_log(KNDL_WARNING, "a Runner was turned away", KNDL_STR("runner", runner_id),
             KNDL_STR("version", spoken->version), KNDL_STR("why", call->err.message));
    return -1;
}
