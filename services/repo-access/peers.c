/* Calls to sessions and secrets, and facts. */

#include "peers.h"

#include <string.h>

#include "kndl/bus.h"
#include "kndl/log.h"
#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "kndl/secrets/v1/secrets_service.pb-c.h"
#include "kndl/sessions/v1/sessions_internal_service.pb-c.h"
#include "store_members.h"

#define SESSIONS(name) Kndl__Sessions__V1__##name
#define SECRETS(name) Kndl__Secrets__V1__##name

static int tell_sessions(struct kndl_bus *bus, struct kndl_call *call,
                         const struct departure *departure)
{
    SESSIONS(MemberRemovedRequest) request = KNDL__SESSIONS__V1__MEMBER_REMOVED_REQUEST__INIT;
    SESSIONS(MemberRemovedResponse) * response;

    request.person_id = (char *)departure->person_id;
    return KNDL_CALL(SESSIONS, MemberRemoved,
                     kndl__sessions__v1__sessions_internal_service__descriptor, bus, call, &request,
                     &response);
}

static int tell_secrets(struct kndl_bus *bus, struct kndl_call *call,
                        const struct departure *departure)
{
    SECRETS(MemberRemovedRequest) request = KNDL__SECRETS__V1__MEMBER_REMOVED_REQUEST__INIT;
    SECRETS(MemberRemovedResponse) * response;

    request.person_id = (char *)departure->person_id;
    request.removal_id = (char *)departure->removal_id;
    return KNDL_CALL(SECRETS, MemberRemoved,
                     kndl__secrets__v1__secrets_internal_service__descriptor, bus, call, &request,
                     &response);
}

int peers_tell_departure(struct kndl_bus *bus, struct kndl_call *call,
                         const struct departure *departure)
{
    return strcmp(departure->service, "sessions") == 0 ? tell_sessions(bus, call, departure)
                                                       : tell_secrets(bus, call, departure);
}

void peers_publish(struct kndl_bus *bus, enum peers_fact fact, const char *person_id)
{
    Kndl__RepoAccess__V1__Changed changed = KNDL__REPO_ACCESS__V1__CHANGED__INIT;
    struct kndl_error err = {0};

    changed.person_id = (char *)person_id;
    if (kndl_bus_publish_fact(bus, fact == FACT_PEOPLE ? "people" : "access", &changed.base, &err) <
        0)
        kndl_log(KNDL_WARNING, "a fact was not published; gateways learn of it later",
                 KNDL_STR("why", err.message));
}
