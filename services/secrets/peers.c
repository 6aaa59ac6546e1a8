/* Calls to sessions. */

#include "peers.h"

#include <stdlib.h>

#include "kndl/bus.h"
#include "kndl/mem.h"
#include "kndl/sessions/v1/sessions_internal_service.pb-c.h"
#include "store.h"

#define V1(name) Kndl__Sessions__V1__##name

struct peers {
    struct kndl_bus *bus;
};

int peers_open(struct kndl_bus *bus, struct peers **ret_peers, struct kndl_error *err)
{
    (void)err;
    *ret_peers = kndl_new0(struct peers);
    (*ret_peers)->bus = bus;
    return 0;
}

void peers_close(struct peers *peers)
{
    free(peers);
}

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

int peers_tell_token_changed(struct peers *peers, struct kndl_call *call,
                             const struct token_change *change)
{
    V1(SetupTokenChangedRequest) request = KNDL__SESSIONS__V1__SETUP_TOKEN_CHANGED_REQUEST__INIT;
    V1(SetupTokenChangedResponse) *response;

    request.person_id = (char *)change->person_id;
    request.change = change_of(change);
    request.version = change->version;
    return KNDL_CALL(V1, SetupTokenChanged,
                     kndl__sessions__v1__sessions_internal_service__descriptor, peers->bus, call,
                     &request, &response);
}
