/* Answers of the bus come on its threads, are copied once and posted to the loop. */

#include "ask.h"

#include <stdlib.h>
#include <string.h>

#include "kndl/buf.h"
#include "kndl/mem.h"

struct ask {
    struct gateway *gateway;
    ask_fn fn; /* loop's; NULL: cancelled */
    void *data;
    struct kndl_error err; /* the three below: the bus's thread, until it is posted */
    struct kndl_buf answer;
    char trace[80];
};

static void deliver(void *data)
{
    struct ask *ask = data;
    struct kndl_reply reply = {
        .err = ask->err,
        .data = kndl_buf_slice(&ask->answer),
        .trace = ask->trace,
    };

    ask->gateway->asks--;
    if (ask->fn != NULL)
        ask->fn(&reply, ask->data);
    if (ask->answer.data != NULL) /* it may have held a token */
        explicit_bzero(ask->answer.data, ask->answer.size);
    kndl_buf_done(&ask->answer);
    free(ask);
}

static void on_reply(const struct kndl_reply *reply, void *data)
{
    struct ask *ask = data;

    ask->err = reply->err;
    if (reply->trace != NULL)
        strncpy(ask->trace, reply->trace, sizeof ask->trace - 1);
    /* Reserved in one piece, so that no copy is left behind. */
    kndl_buf_append(&ask->answer, reply->data.data, reply->data.size);
    kndl_loop_post(ask->gateway->loop, deliver, ask);
}

struct ask *ask_send(struct gateway *gateway, const struct kndl_request *request, ask_fn fn,
                     void *data)
{
    struct ask *ask = kndl_new0(struct ask);

    ask->gateway = gateway;
    ask->fn = fn;
    ask->data = data;
    gateway->asks++;
    if (kndl_bus_send(gateway->bus, request, on_reply, ask, &ask->err) < 0)
        kndl_loop_post(gateway->loop, deliver, ask);
    return ask;
}

void ask_cancel(struct ask *ask)
{
    if (ask != NULL)
        ask->fn = NULL;
}
