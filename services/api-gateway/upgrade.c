/* From a GET /socket to a socket, with repo-access's word in between. */

#include "upgrade.h"

#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "ask.h"
#include "kndl/id.h"
#include "kndl/mem.h"
#include "kndl/publics.h"
#include "people.h"
#include "rate.h"
#include "request_data.h"
#include "socket.h"

/* An upgrade that waits for repo-access to say who it is. */
struct upgrade {
    struct request_data base;
    struct gateway *gateway;
    struct kndl_web_request *request;
    struct credential credential;
    struct ask *ask;
    char trace[KNDL_ID_SIZE];
};

void upgrade_abort(struct upgrade *upgrade)
{
    ask_cancel(upgrade->ask);
    free(upgrade);
}

static int check_sockets(struct gateway *gateway, const char *person_id, struct kndl_error *err)
{
    if (sockets_count(gateway, person_id) >= SOCKETS_OF_PERSON_MAX)
        return kndl_fail(err, KNDL_RESOURCE_EXHAUSTED,
                         "%d sockets are open already: close some pages of this Hub",
                         SOCKETS_OF_PERSON_MAX);
    return rate_take(gateway, RATE_SOCKET, person_id, err);
}

static void let_in(struct gateway *gateway, struct kndl_web_request *request,
                   const struct principal *principal, const char *trace)
{
    struct kndl_error err;
    bool has_protocol = kndl_web_header(request, "sec-websocket-protocol") != NULL;

    if (check_sockets(gateway, principal->id, &err) < 0) {
        answer_error(gateway, request, &err, trace);
        return;
    }
    kndl_web_upgrade(request, has_protocol ? "kndl" : NULL, socket_new(gateway, principal));
}

static void on_known(const struct kndl_reply *reply, void *data)
{
    struct upgrade upgrade = *(struct upgrade *)data;
    struct principal principal;
    struct kndl_error err;

    free(data);
    if (people_read(upgrade.gateway, &upgrade.credential, reply, &principal, &err) == 0)
        let_in(upgrade.gateway, upgrade.request, &principal, upgrade.trace);
    else
        answer_error(upgrade.gateway, upgrade.request, &err, upgrade.trace);
}

/* An upgrade is refused like any request: by Host, route, rate, Origin and credential. */
static int check_upgrade(struct gateway *gateway, const struct kndl_web_request *request,
                         struct credential *ret, struct kndl_error *err)
{
    const char *protocol = kndl_web_header(request, "sec-websocket-protocol");

    if (!credential_host_is_ours(&gateway->settings, request))
        return kndl_fail(err, KNDL_PERMISSION_DENIED, "the Hub is at %s", gateway->settings.origin);
    if (kndl_path_find(KNDL_DOOR_HUB, "UPGRADE", kndl_web_path(request)) != KNDL_PATH_SOCKET)
        return kndl_fail(err, KNDL_NOT_FOUND, "the socket is at /socket");
    if (protocol != NULL && strcmp(protocol, "kndl") != 0)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "the subprotocol is kndl");
    if (gateway->is_draining)
        return kndl_fail(err, KNDL_UNAVAILABLE, "the Hub is stopping");
    if (rate_take(gateway, RATE_SOCKET_ADDRESS, rate_address(gateway, request), err) < 0)
        return -1;
    return credential_read_sign_in(&gateway->settings, request, ret, err);
}

void upgrade_begin(struct kndl_web_request *request, void *data)
{
    struct gateway *gateway = data;
    struct credential credential;
    struct principal principal;
    char trace[KNDL_ID_SIZE];
    struct kndl_error err;

    kndl_id_new(trace);
    if (check_upgrade(gateway, request, &credential, &err) < 0) {
        answer_error(gateway, request, &err, trace);
        return;
    }
    if (people_find(gateway, &credential, &principal)) {
        let_in(gateway, request, &principal, trace);
        return;
    }
    struct upgrade *upgrade = kndl_new0(struct upgrade);
    upgrade->base.kind = REQUEST_UPGRADE;
    upgrade->gateway = gateway;
    upgrade->request = request;
    upgrade->credential = credential;
    memcpy(upgrade->trace, trace, sizeof trace);
    kndl_web_set_data(request, upgrade);
    upgrade->ask = people_ask(gateway, &credential, trace, on_known, upgrade);
}
