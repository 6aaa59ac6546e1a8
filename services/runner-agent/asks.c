/* What a Session waits for of the Hub. */

#include "asks.h"

#include <stdlib.h>
#include <string.h>

#include "kndl/mem.h"

struct session_ask {
    struct asks *asks;
    struct hub_ask *ask;
    session_answer_fn fn;
    char note[64];
    struct session_ask *next;
};

struct asks {
    struct hub *hub;
    struct session *session;
    struct session_ask *first;
};

struct asks *asks_new(struct hub *hub, struct session *session)
{
    struct asks *asks = kndl_new0(struct asks);

    asks->hub = hub;
    asks->session = session;
    return asks;
}

void asks_free(struct asks *asks)
{
    if (asks == NULL)
        return;
    while (asks->first != NULL) {
        struct session_ask *ask = asks->first;

        asks->first = ask->next;
        hub_drop(ask->ask);
        free(ask);
    }
    free(asks);
}

static void answered(void *data, const struct kndl_error *err, const ProtobufCMessage *response)
{
    struct session_ask ask = *(struct session_ask *)data;
    struct session_ask **at = &ask.asks->first;

    while (*at != data)
        at = &(*at)->next;
    *at = ask.next;
    free(data);
    if (ask.fn != NULL)
        ask.fn(ask.asks->session, ask.note, err, response);
}

void asks_put(struct asks *asks, const struct hub_question *question, session_answer_fn fn,
              const char *note)
{
    struct session_ask *ask = kndl_new0(struct session_ask);

    ask->asks = asks;
    ask->fn = fn;
    memcpy(ask->note, note, strnlen(note, sizeof ask->note - 1));
    ask->next = asks->first;
    asks->first = ask;
    ask->ask = hub_ask(asks->hub, question, answered, ask);
}
