/* The gateway's life: open, run, drain, close. */

#include "gateway.h"

#include <stdlib.h>
#include <sys/resource.h>

#include "answer.h"
#include "facts.h"
#include "files.h"
#include "health.h"
#include "kndl/clock.h"
#include "kndl/guard.h"
#include "kndl/log.h"
#include "kndl/mem.h"
#include "kndl/secret.h"
#include "live.h"
#include "people.h"
#include "rate.h"
#include "release.h"
#include "route.h"
#include "socket.h"
#include "upgrade.h"
#include "wait.h"

enum {
    DRAIN_MS = 5000,
    CONNECTIONS_OF_ADDRESS_MAX = 256,
    DRAIN_TICK_MS = 20,
    SOCKET_FRAME_BYTES_MAX = 64 * 1024, /* of a client's; its frames are small */
    SOCKET_QUEUE_BYTES_MAX = 4 * 1024 * 1024,
};

int gateway_open(struct kndl_bus *bus, const struct settings *settings,
                 struct gateway **ret_gateway, struct kndl_error *err)
{
    struct gateway *gateway = kndl_new0(struct gateway);

    gateway->loop = kndl_loop_new();
    gateway->bus = bus;
    gateway->settings = *settings;
    gateway->arena = kndl_arena_new(KNDL_ARENA_PLAIN);
    people_open(gateway);
    rate_open(gateway);
    live_open(gateway);
    health_open(gateway);
    sockets_open(gateway);
    facts_open(gateway);
    if (files_open(gateway, err) < 0 || release_open(gateway, err) < 0 ||
        kndl_web_open(
            gateway->loop,
            &(struct kndl_web_options){
                .address = settings->address,
                .port = settings->port,
                .listen_fd = -1,
                /* Through a proxy, as on loopback, everybody has the same one. */
                .connections_of_address_max =
                    settings->proxy[0] != '\0' || settings_is_loopback_address(settings->address)
                        ? 0
                        : CONNECTIONS_OF_ADDRESS_MAX,
                .body_bytes_max = KNDL_MESSAGE_BYTES_MAX,
                .socket_frame_bytes_max = SOCKET_FRAME_BYTES_MAX,
                .socket_queue_bytes_max = SOCKET_QUEUE_BYTES_MAX,
                .data = gateway,
                .on_request = route_request,
                .on_abort = route_abort,
                .on_upgrade = upgrade_begin,
                .on_socket_open = socket_opened,
                .on_socket_frame = socket_frame,
                .on_socket_drained = socket_drained,
                .on_socket_closed = socket_closed,
                .on_refusal = answer_refusal,
            },
            &gateway->web, err) < 0) {
        gateway_close(gateway);
        return -1;
    }
    *ret_gateway = gateway;
    return 0;
}

void gateway_close(struct gateway *gateway)
{
    kndl_web_close(gateway->web);
    facts_close(gateway);
    health_close(gateway);
    sockets_close(gateway);
    kndl_timer_free(gateway->drain_timer);
    live_close(gateway);
    rate_close(gateway);
    people_close(gateway);
    release_close(gateway);
    files_close(gateway);
    kndl_arena_free(gateway->arena);
    kndl_loop_free(gateway->loop);
    free(gateway);
}

/* Ends the loop once everybody has an answer, or has waited long enough. */
static void drain(void *data)
{
    struct gateway *gateway = data;
    bool is_over = kndl_clock_ms() >= gateway->drain_until_ms;

    if ((gateway->calls > 0 || gateway->sockets->first != NULL) && !is_over)
        return;
    kndl_web_close(gateway->web);
    gateway->web = NULL;
    kndl_timer_stop(gateway->drain_timer);
    kndl_loop_stop(gateway->loop);
}

static void on_signal(void *data)
{
    struct gateway *gateway = data;

    if (gateway->is_draining)
        return;
    kndl_log(KNDL_INFO, "stopping", KNDL_U64("calls", gateway->calls));
    gateway->is_draining = true;
    gateway->drain_until_ms = kndl_clock_ms() + DRAIN_MS;
    sockets_dismiss(gateway);
    wait_end_all(gateway);
    gateway->drain_timer = kndl_timer_new(gateway->loop, drain, gateway);
    kndl_timer_start(gateway->drain_timer, 0, DRAIN_TICK_MS);
}

/* Each connection is a descriptor; the usual soft limit is 1024. */
static void raise_file_limit(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
}

int gateway_run(struct kndl_bus *bus, struct kndl_error *err)
{
    struct settings settings;
    struct gateway *gateway;

    raise_file_limit();
    if (kndl_crypt_init(err) < 0 || settings_read(&settings, err) < 0 ||
        gateway_open(bus, &settings, &gateway, err) < 0)
        return -1;
    kndl_log(KNDL_INFO, "listening", KNDL_STR("address", settings.address),
             KNDL_I64("port", kndl_web_port(gateway->web)));
    kndl_loop_run(gateway->loop, on_signal, gateway);
    if (gateway->asks == 0)
        gateway_close(gateway); /* else answers would come to a loop that is gone */
    return 0;
}
