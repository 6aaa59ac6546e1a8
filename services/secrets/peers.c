/* Calls to sessions and repo-access, and a fact for redactor. */

#include "peers.h"

#include <stdlib.h>

#include "kndl/access.h"
#include "kndl/bus.h"
#include "kndl/log.h"
#include "kndl/mem.h"
#include "kndl/rpc.h"
#include "kndl/secrets/v1/secrets_service.pb-c.h"
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

int peers_resolve_repo(struct peers *peers, struct kndl_call *call, int64_t repo_id,
                       const char *name, int64_t *ret_id, const char **ret_name)
{
    return kndl_access_resolve_repo(peers->bus, call, repo_id, name, ret_id, ret_name);
}

int peers_check_access(struct peers *peers, struct kndl_call *call, const int64_t *repo_ids,
                       size_t count, struct kndl_access *ret_access)
{
    return kndl_access_check(peers->bus, call, repo_ids, count, ret_access);
}

void peers_say_masks_changed(struct peers *peers)
{
    Kndl__Secrets__V1__MasksChanged changed = KNDL__SECRETS__V1__MASKS_CHANGED__INIT;
    struct kndl_error err = {0};

    if (kndl_bus_publish_fact(peers->bus, "masks", &changed.base, &err) < 0)
        kndl_log(KNDL_WARNING, "a fact was not published; redactor learns of it later",
                 KNDL_STR("why", err.message));
}
