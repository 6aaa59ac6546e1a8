/*
 * api-gateway: the edge. HTTP and WebSocket outside, NATS inside.
 *
 * Proves who asks, routes public methods to their owners, serves the page. Owns nothing.
 */

#include "gateway.h"
#include "kndl/service.h"

static const struct kndl_service service = {
    .name = "api-gateway",
    .env = settings_env,
    .run = gateway_run,
};

int main(int argc, char **argv)
{
    return kndl_service_main(&service, argc, argv);
}
