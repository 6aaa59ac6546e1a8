/* Opening, watching and closing the one connection. */

#include "connection.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kndl/clock.h"
#include "kndl/id.h"
#include "kndl/log.h"
#include "kndl/mem.h"
#include "subject.h"

enum {
    CONNECT_MS = 5000,
    RECONNECT_MS = 250, /* and as much jitter */
    WRITE_MS = 2000,    /* a server that takes nothing must not hold a loop for longer */
    PING_MS = 10000,
    PINGS_OUT_MAX = 2,
    DRAIN_MS = 5000,
    /* libnats 3.4.1 takes a signature whose first byte is 0 for none: one sign-in of 256 fails. */
    SIGN_IN_TRIES = 4,
    SIGNATURE_BYTES = 64,
    DELIVERY_THREADS = 4, /* of the process, shared by all subscriptions; callbacks don't block */
};

struct timespec kndl_wait_until(int64_t ms)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    if (ms < 0)
        ms = 0;
    until.tv_sec += ms / 1000;
    until.tv_nsec += (ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    return until;
}

void kndl_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

static char boot_id[40];
static pthread_once_t boot_once = PTHREAD_ONCE_INIT;

static void read_boot_id(void)
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

    if (file == NULL)
        return;
    if (fgets(boot_id, sizeof boot_id, file) != NULL)
        boot_id[strcspn(boot_id, "\n")] = '\0';
    fclose(file);
}

const char *kndl_boot_id(void)
{
    pthread_once(&boot_once, read_boot_id);
    return boot_id;
}

struct kndl_slice kndl_message_data(natsMsg *message)
{
    int size = natsMsg_GetDataLength(message);

    return kndl_slice(natsMsg_GetData(message), size > 0 ? (size_t)size : 0);
}

void kndl_message_done(natsMsg *message)
{
    struct kndl_slice data = kndl_message_data(message);

    if (data.size > 0)
        explicit_bzero((void *)data.data, data.size);
    natsMsg_Destroy(message);
}

const char *kndl_message_header(natsMsg *message, const char *name)
{
    const char *value = NULL;

    return natsMsgHeader_Get(message, name, &value) == NATS_OK ? value : NULL;
}

int kndl_nats_fail(struct kndl_error *err, natsStatus status, const char *what)
{
    switch (status) {
    case NATS_CONNECTION_AUTH_FAILED:
    case NATS_NOT_PERMITTED:
        return kndl_fail(err, KNDL_UNAUTHENTICATED, "NATS refuses the credentials: %s: %s", what,
                         nats_GetLastError(NULL));
    case NATS_MAX_PAYLOAD:
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "the message is too large: %s", what);
    default:
        return kndl_fail(err, KNDL_UNAVAILABLE, "NATS: %s: %s", what, natsStatus_GetText(status));
    }
}

static void on_disconnected(natsConnection *nats, void *data)
{
    struct kndl_bus *bus = data;

    (void)nats;
    if (atomic_load(&bus->closing))
        return;
    kndl_log(KNDL_WARNING, "the connection to NATS is lost; trying again",
             KNDL_STR("user", bus->user));
    kndl_requests_fail(bus, KNDL_DEADLINE_EXCEEDED,
                       "the connection to NATS broke; it may have been done");
}

static void on_reconnected(natsConnection *nats, void *data)
{
    struct kndl_bus *bus = data;

    (void)nats;
    kndl_log(KNDL_INFO, "connected to NATS again", KNDL_STR("user", bus->user));
}

/* NATS gives up after two refusals in a row, whatever it was told: start anew instead. */
static void on_closed(natsConnection *nats, void *data)
{
    struct kndl_bus *bus = data;
    const char *why = NULL;

    if (!atomic_load(&bus->closing)) {
        natsConnection_GetLastError(nats, &why);
        kndl_log(KNDL_ERROR, "NATS closed the connection for good; the process ends",
                 KNDL_STR("user", bus->user), KNDL_STR("why", why));
        _exit(1);
    }
    pthread_mutex_lock(&bus->lock);
    bus->is_closed = true;
    pthread_cond_broadcast(&bus->changed);
    pthread_mutex_unlock(&bus->lock);
}

static void on_error(natsConnection *nats, natsSubscription *sub, natsStatus status, void *data)
{
    struct kndl_bus *bus = data;
    const char *why = NULL;

    (void)sub;
    if (status == NATS_NOT_PERMITTED)
        atomic_fetch_add(&bus->refusals, 1);
    natsConnection_GetLastError(nats, &why);
    kndl_log(KNDL_ERROR, status == NATS_NOT_PERMITTED ? "NATS refused a subject" : "NATS error",
             KNDL_STR("user", bus->user), KNDL_STR("status", natsStatus_GetText(status)),
             KNDL_STR("why", why));
}

static pthread_once_t library_once = PTHREAD_ONCE_INIT;

static void open_library(void)
{
    if (nats_Open(-1) != NATS_OK || nats_SetMessageDeliveryPoolSize(DELIVERY_THREADS) != NATS_OK)
        abort();
}

static natsStatus give_jwt(char **ret_jwt, char **ret_why, void *data)
{
    struct kndl_bus *bus = data;

    *ret_jwt = bus->signer.jwt(bus->signer.data);
    if (*ret_jwt != NULL)
        return NATS_OK;
    *ret_why = kndl_strdup("there are no credentials");
    return NATS_ERR;
}

static natsStatus give_signature(char **ret_why, unsigned char **ret_signature, int *ret_size,
                                 const char *nonce, void *data)
{
    struct kndl_bus *bus = data;

    (void)ret_why;
    *ret_signature = kndl_alloc(SIGNATURE_BYTES, 1);
    *ret_size = SIGNATURE_BYTES;
    bus->signer.sign(bus->signer.data, kndl_slice_of(nonce), *ret_signature);
    return NATS_OK;
}

static natsStatus set_credentials(natsOptions *nats, const struct kndl_bus_options *options,
                                  struct kndl_bus *bus)
{
    if (options->signer == NULL)
        return natsOptions_SetUserCredentialsFromFiles(nats, options->creds_file, NULL);
    return natsOptions_SetUserCredentialsCallbacks(nats, give_jwt, bus, give_signature, bus);
}

static natsStatus set_options(natsOptions *nats, const struct kndl_bus_options *options,
                              struct kndl_bus *bus)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf prefix = {0};
    natsStatus s = natsOptions_SetURL(nats, options->url);

    kndl_inbox_write(&prefix, bus->user, bus->runner_id);
    if (s == NATS_OK)
        s = set_credentials(nats, options, bus);
    if (s == NATS_OK)
        s = natsOptions_SetName(nats, bus->user);
    if (s == NATS_OK)
        s = natsOptions_SetCustomInboxPrefix(nats, kndl_buf_text(&prefix));
    if (s == NATS_OK)
        s = natsOptions_SetSendAsap(nats, options->send_asap);
    if (s == NATS_OK)
        s = natsOptions_SetTimeout(nats, CONNECT_MS);
    if (s == NATS_OK)
        s = natsOptions_SetMaxReconnect(nats, -1);
    if (s == NATS_OK)
        s = natsOptions_SetReconnectWait(nats, RECONNECT_MS);
    if (s == NATS_OK)
        s = natsOptions_SetReconnectJitter(nats, RECONNECT_MS, RECONNECT_MS);
    /* 0 would mean 8 MB: what was published while disconnected came after its caller's timeout. */
    if (s == NATS_OK)
        s = natsOptions_SetReconnectBufSize(nats, 1);
    if (s == NATS_OK)
        s = natsOptions_SetWriteDeadline(nats, WRITE_MS);
    if (s == NATS_OK)
        s = natsOptions_SetPingInterval(nats, PING_MS);
    if (s == NATS_OK)
        s = natsOptions_SetMaxPingsOut(nats, PINGS_OUT_MAX);
    if (s == NATS_OK)
        s = natsOptions_UseGlobalMessageDelivery(nats, true);
    if (s == NATS_OK)
        s = natsOptions_SetDisconnectedCB(nats, on_disconnected, bus);
    if (s == NATS_OK)
        s = natsOptions_SetReconnectedCB(nats, on_reconnected, bus);
    if (s == NATS_OK)
        s = natsOptions_SetClosedCB(nats, on_closed, bus);
    if (s == NATS_OK)
        s = natsOptions_SetErrorHandler(nats, on_error, bus);
    return s;
}

static struct kndl_bus *new_bus(const struct kndl_bus_options *options)
{
    struct kndl_bus *bus = kndl_new0(struct kndl_bus);
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf inbox = {0};
    char id[KNDL_ID_SIZE];

    if (options->signer != NULL)
        bus->signer = *options->signer;
    bus->user = kndl_strdup(options->user);
    bus->runner_id = kndl_strdup(options->runner_id);
    kndl_id_new(id);
    kndl_inbox_write(&inbox, bus->user, bus->runner_id);
    kndl_buf_printf(&inbox, ".%s", id);
    bus->inbox = kndl_buf_take(&inbox);
    bus->next_deadline_ms = INT64_MAX;
    pthread_mutex_init(&bus->lock, NULL);
    kndl_cond_init(&bus->changed);
    kndl_cond_init(&bus->place_free);
    return bus;
}

static void free_bus(struct kndl_bus *bus)
{
    pthread_cond_destroy(&bus->place_free);
    pthread_cond_destroy(&bus->changed);
    pthread_mutex_destroy(&bus->lock);
    free(bus->inbox);
    free(bus->runner_id);
    free(bus->user);
    free(bus);
}

static natsStatus connect_bus(struct kndl_bus *bus, const struct kndl_bus_options *options)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf replies = {0};
    natsOptions *nats = NULL;
    natsStatus s = natsOptions_Create(&nats);

    if (s == NATS_OK)
        s = set_options(nats, options, bus);
    if (s == NATS_OK)
        s = natsConnection_Connect(&bus->nats, nats);
    natsOptions_Destroy(nats);
    kndl_buf_printf(&replies, "%s.*", bus->inbox);
    if (s == NATS_OK)
        s = natsConnection_Subscribe(&bus->replies, bus->nats, kndl_buf_text(&replies),
                                     kndl_requests_take, bus);
    if (s == NATS_OK)
        s = natsSubscription_SetPendingLimits(bus->replies, -1, -1);
    return s;
}

/* The closed callback comes on a thread of NATS's own; the bus must outlive it. */
static void close_hard(struct kndl_bus *bus)
{
    struct timespec until = kndl_wait_until(DRAIN_MS);

    natsConnection_Close(bus->nats);
    pthread_mutex_lock(&bus->lock);
    while (!bus->is_closed)
        if (pthread_cond_timedwait(&bus->changed, &bus->lock, &until) != 0)
            break;
    pthread_mutex_unlock(&bus->lock);
}

int kndl_bus_open(const struct kndl_bus_options *options, struct kndl_bus **ret_bus,
                  struct kndl_error *err)
{
    if (!kndl_token_is_plain(options->user) ||
        (options->runner_id != NULL && !kndl_token_is_plain(options->runner_id)))
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "the user's name or the Runner's id is none");
    if (options->signer == NULL && access(options->creds_file, R_OK) < 0)
        return kndl_fail(err, KNDL_FAILED_PRECONDITION, "%s cannot be read", options->creds_file);

    pthread_once(&library_once, open_library);
    struct kndl_bus *bus = new_bus(options);
    natsStatus s = NATS_ERR;
    for (int tries = 0; tries < SIGN_IN_TRIES; tries++) {
        s = connect_bus(bus, options);
        if (s != NATS_CONNECTION_AUTH_FAILED)
            break;
    }
    if (s != NATS_OK) {
        atomic_store(&bus->closing, true);
        if (bus->nats != NULL)
            close_hard(bus);
        natsSubscription_Destroy(bus->replies);
        natsConnection_Destroy(bus->nats);
        free_bus(bus);
        return kndl_nats_fail(err, s, options->url);
    }
    if (pthread_create(&bus->timer, NULL, kndl_requests_time, bus) != 0)
        abort();
    *ret_bus = bus;
    return 0;
}

/* Sends and takes what is under way; true once NATS says it's over. */
static bool drain(struct kndl_bus *bus)
{
    struct timespec until = kndl_wait_until(DRAIN_MS + 1000);
    bool is_closed;

    if (natsConnection_DrainTimeout(bus->nats, DRAIN_MS) != NATS_OK)
        return false;
    pthread_mutex_lock(&bus->lock);
    while (!bus->is_closed)
        if (pthread_cond_timedwait(&bus->changed, &bus->lock, &until) != 0)
            break;
    is_closed = bus->is_closed;
    pthread_mutex_unlock(&bus->lock);
    return is_closed;
}

void kndl_bus_close(struct kndl_bus *bus)
{
    if (bus == NULL)
        return;
    atomic_store(&bus->closing, true);
    kndl_requests_fail(bus, KNDL_CANCELLED, "this process ends");
    if (!drain(bus))
        close_hard(bus);

    pthread_mutex_lock(&bus->lock);
    bus->timer_stops = true;
    pthread_cond_broadcast(&bus->changed);
    pthread_mutex_unlock(&bus->lock);
    pthread_join(bus->timer, NULL);

    natsSubscription_Destroy(bus->commands);
    natsSubscription_Destroy(bus->replies);
    natsConnection_Destroy(bus->nats);
    free_bus(bus);
}

bool kndl_bus_is_connected(struct kndl_bus *bus)
{
    return natsConnection_Status(bus->nats) == NATS_CONN_STATUS_CONNECTED;
}
