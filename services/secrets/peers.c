/* Calls to sessions and repo-access, and a fact for redactor. */

#include "peers.h"

#include <stdlib.h>

#include "kndl/bus.h"
#include "kndl/log.h"
#include "kndl/rpc.h"
#include "kndl/secrets/v1/secrets_service.pb-c.h"
#include "kndl/sessions/v1/sessions_internal_service.pb-c.h"
#include "store.h"

#define V1(name) Kndl__Sessions__V1__##name

static V1(SetupTokenChangedRequest__Change) change_of(const struct token_change *change)
{
    switch (change->what) {
    case TOKEN_ADDED:
        return KNDL__SESSIONS__V1__SETUP_TOKEN_CHANGED_REQUEST__CHANGE__CHANGE_ADDED;
    case TOKEN_REPLACED:
        return KNDL__SESSIONS__V1__SETUP_TOKEN_CHANGED_REQUEST__CHANGE__CHANGE_REPLACED;
    case TOKEN_REMOVED:
        return KNDL__SESSIONS__V1__SETUP_TOKEN_CHANGED_REQUEST__CHANGE__CHANGE_REMOVED;
    }
    abort();
}

int peers_tell_token_changed(struct kndl_bus *bus, struct kndl_call *call,
                             const struct token_change *change)
{
    V1(SetupTokenChangedRequest) request = KNDL__SESSIONS__V1__SETUP_TOKEN_CHANGED_REQUEST__INIT;
    V1(SetupTokenChangedResponse) *response;

    request.person_id = (char *)change->person_id;
    request.change = change_of(change);
    request.version = change->version;
    return KNDL_CALL(V1, SetupTokenChanged,
                     kndl__sessions__v1__sessions_internal_service__descriptor, bus, call, &request,
                     &response);
}

void peers_say_masks_changed(struct kndl_bus *bus)
{
    Kndl__Secrets__V1__MasksChanged changed = KNDL__SECRETS__V1__MASKS_CHANGED__INIT;
    struct kndl_error err = {0};

    if (kndl_bus_publish_fact(bus, "masks", &changed.base, &err) < 0)
        kndl_log(KNDL_WARNING, "a fact was not published; redactor learns of it later",
                 KNDL_STR("why", err.message));
}
