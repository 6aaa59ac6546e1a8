/* From a path, by its row of the table (kndl/publics.h), to who answers it. */

#include "route.h"

#include "answer.h"
#include "auth.h"
#include "call.h"
#include "credential.h"
#include "files.h"
#include "health.h"
#include "kndl/publics.h"
#include "runner.h"
#include "upgrade.h"

static void refuse_path(struct gateway *gateway, struct kndl_web_request *request,
                        const char *trace)
{
    struct kndl_error err;

    kndl_fail(&err, KNDL_UNIMPLEMENTED, "there is no such route");
    answer_error_as(gateway, request, 404, &err, trace);
}

static void dispatch(struct gateway *gateway, struct kndl_web_request *request,
                     enum kndl_path_id path, const char *trace)
{
    switch (path) {
    case KNDL_PATH_HEALTH:
        health_begin(gateway, request, trace);
        break;
    case KNDL_PATH_METHOD:
        call_begin(gateway, request, trace);
        break;
    case KNDL_PATH_RUNNER_CREDENTIAL:
    case KNDL_PATH_RUNNER_RELEASE:
    case KNDL_PATH_RUNNER_RELEASE_FILE:
        runner_begin(gateway, request, path, trace);
        break;
    case KNDL_PATH_SIGN_IN_METHODS:
    case KNDL_PATH_DEV_LOGIN:
    case KNDL_PATH_GITHUB_BEGIN:
    case KNDL_PATH_GITHUB_RETURN:
    case KNDL_PATH_DEVICE_BEGIN:
    case KNDL_PATH_DEVICE_POLL:
    case KNDL_PATH_SIGN_OUT:
        auth_begin(gateway, request, path, trace);
        break;
    case KNDL_PATH_FILE:
        files_answer(gateway, request, trace);
        break;
    case KNDL_PATH_SOCKET: /* upgrade.c's */
    case KNDL_PATH_MOD_HELLO:
    case KNDL_PATH_MOD_EVENTS:
    case KNDL_PATH_MOD_RESULTS:
    case KNDL_PATH_MOD_COMMANDS:
    case KNDL_PATH_MOD_ANSWER: /* a relay's */
    case KNDL_PATH_NONE:
        refuse_path(gateway, request, trace);
        break;
    }
}

void route_request(struct kndl_web_request *request, void *data)
{
    struct gateway *gateway = data;
    enum kndl_path_id path =
        kndl_path_find(KNDL_DOOR_HUB, kndl_web_method(request), kndl_web_path(request));
    char trace[KNDL_ID_SIZE];
    struct kndl_error err;

    kndl_id_new(trace);
    /* A supervisor asks for its health by whatever name it knows us. */
    if (path != KNDL_PATH_HEALTH && !credential_host_is_ours(&gateway->settings, request)) {
        kndl_fail(&err, KNDL_PERMISSION_DENIED, "the Hub is at %s", gateway->settings.origin);
        answer_error(gateway, request, &err, trace);
        return;
    }
    /* Before its type, its body or its credential is looked at. */
    if (credential_page_is_foreign(&gateway->settings, request)) {
        credential_refuse_page(&err);
        answer_error(gateway, request, &err, trace);
        return;
    }
    dispatch(gateway, request, path, trace);
}

void route_abort(struct kndl_web_request *request, void *data)
{
    struct request_data *base = kndl_web_data(request);

    if (base == NULL)
        return;
    switch (base->kind) {
    case REQUEST_CALL:
        call_abort((struct call *)base);
        break;
    case REQUEST_AUTH:
        auth_abort((struct auth *)base);
        break;
    case REQUEST_HEALTH:
        health_abort(data, request);
        break;
    case REQUEST_UPGRADE:
        upgrade_abort((struct upgrade *)base);
        break;
    case REQUEST_RUNNER:
        runner_abort((struct runner_request *)base);
        break;
    }
}
