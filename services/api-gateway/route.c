/* The few kinds of paths: /health, /auth/, /runner/credential, methods, and the page. */

#include "route.h"

#include <string.h>

#include "answer.h"
#include "auth.h"
#include "call.h"
#include "credential.h"
#include "files.h"
#include "health.h"
#include "runner.h"
#include "upgrade.h"

static bool is_reading(const struct kndl_web_request *request)
{
    const char *method = kndl_web_method(request);

    return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}

void route_request(struct kndl_web_request *request, void *data)
{
    struct gateway *gateway = data;
    const char *path = kndl_web_path(request);
    char trace[KNDL_ID_SIZE];
    struct kndl_error err;

    kndl_id_new(trace);
    if (strcmp(path, "/health") == 0 && is_reading(request)) {
        health_begin(gateway, request, trace); /* by whatever name a supervisor knows us */
    } else if (!credential_host_is_ours(&gateway->settings, request)) {
        kndl_fail(&err, KNDL_PERMISSION_DENIED, "the Hub is at %s", gateway->settings.origin);
        answer_error(gateway, request, &err, trace);
    } else if (strncmp(path, "/auth/", 6) == 0) {
        auth_begin(gateway, request, trace);
    } else if (strcmp(path, "/runner/credential") == 0 &&
               strcmp(kndl_web_method(request), "POST") == 0) {
        runner_begin(gateway, request, trace);
    } else if (method_is_path(path)) {
        call_begin(gateway, request, trace);
    } else if (is_reading(request)) {
        files_answer(gateway, request, trace);
    } else {
        kndl_fail(&err, KNDL_UNIMPLEMENTED, "there is no such method");
        answer_error_as(gateway, request, 404, &err, trace);
    }
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
