/* Any fact of repo-access: forget who is who, and look again who may see what. */

#include "facts.h"

#include <stdlib.h>

#include "kndl/log.h"
#include "kndl/mem.h"
#include "people.h"
#include "socket.h"

/* On the loop. */
static void take_fact(void *data)
{
    people_forget(data);
    sockets_check(data);
}

static void on_fact(const char *subject, struct kndl_slice data, void *user_data)
{
    struct gateway *gateway = user_data;

    (void)subject;
    (void)data;
    kndl_loop_post(gateway->loop, take_fact, gateway);
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
