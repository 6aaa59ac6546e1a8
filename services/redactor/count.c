/* The task that reports to secrets how often values were masked. */

#include "hits.h"
#include "kndl/rpc.h"
#include "peers.h"
#include "rpc.h"
#include "sets.h"

static int count(struct kndl_call *call)
{
    struct redactor *redactor = call->state;
    const struct report *report;

    sets_count(redactor->sets);
    while ((report = hits_report(redactor->hits)) != NULL) {
        if (peers_report_hits(redactor->bus, call, report) < 0) {
            call->err = (struct kndl_error){0}; /* it stays, and goes again */
            return 0;
        }
        hits_reported(redactor->hits);
    }
    return 0;
}

const struct kndl_task count_task = {
    .name = "count",
    .period_ms = 5000,
    .run = count,
};
