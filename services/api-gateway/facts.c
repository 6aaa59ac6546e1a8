/* A fact of repo-access: forget who is who, and look again what the person it is about may see. */

#include "facts.h"

#include <stdlib.h>

#include "kndl/guard.h"
#include "kndl/log.h"
#include "kndl/mem.h"
#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "people.h"
#include "socket.h"

/* A fact on its way from the bus to the loop. */
struct fact {
    struct gateway *gateway;
    struct kndl_buf data; /* kndl.repo_access.v1.Changed */
};

/* Whom it is about; "" if it does not say, so that it is about everybody. */
static const char *person_of(struct fact *fact)
{
    ProtobufCMessage *message;

    kndl_arena_reset(fact->gateway->arena);
    ProtobufCAllocator allocator = kndl_arena_allocator(fact->gateway->arena);
    if (kndl_guard_unpack(&kndl__repo_access__v1__changed__descriptor, kndl_buf_slice(&fact->data),
                          &allocator, &message, NULL) < 0)
        return "";
    return ((const Kndl__RepoAccess__V1__Changed *)(const void *)message)->person_id;
}

/* On the loop. What is kept is forgotten of all: it is asked for again as it is needed. */
static void take_fact(void *data)
{
    struct fact *fact = data;

    people_forget(fact->gateway);
    sockets_check(fact->gateway, person_of(fact));
    kndl_buf_done(&fact->data);
    free(fact);
}

static void on_fact(const char *subject, struct kndl_slice data, void *user_data)
{
    struct gateway *gateway = user_data;
    struct fact *fact = kndl_new0(struct fact);

    (void)subject;
    fact->gateway = gateway;
    kndl_buf_append(&fact->data, data.data, data.size);
    kndl_loop_post(gateway->loop, take_fact, fact);
}

void facts_open(struct gateway *gateway)
{
    struct kndl_error err;

    if (kndl_bus_subscribe_fact(gateway->bus, "repo_access", "*", on_fact, gateway, &gateway->facts,
                                &err) < 0)
        kndl_log(KNDL_WARNING, "facts cannot be subscribed to", KNDL_STR("why", err.message));
}

void facts_close(struct gateway *gateway)
{
    kndl_bus_unsubscribe(gateway->facts);
    gateway->facts = NULL;
}
