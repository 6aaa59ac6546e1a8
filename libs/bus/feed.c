/* Live subjects and facts: published without an answer, received outside any queue. */

#include "connection.h"

#include <stdlib.h>
#include <string.h>

#include "kndl/guard.h"
#include "kndl/mem.h"
#include "subject.h"

static const char *live_word(enum kndl_live what)
{
    switch (what) {
    case KNDL_LIVE_EVENT:
        return "event";
    case KNDL_LIVE_DELTA:
        return "delta";
    case KNDL_LIVE_SUMMARY:
        return "summary";
    }
    abort();
}

static int publish(struct kndl_bus *bus, const char *subject, const ProtobufCMessage *message,
                   struct kndl_error *err)
{
    size_t size = protobuf_c_message_get_packed_size(message);

    if (size > KNDL_MESSAGE_BYTES_MAX)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "the message has %zu bytes; the most is %d",
                         size, KNDL_MESSAGE_BYTES_MAX);
    if (!kndl_bus_is_connected(bus))
        return kndl_fail(err, KNDL_UNAVAILABLE, "NATS is away");
    uint8_t *bytes = kndl_alloc(size + 1, 1);
    protobuf_c_message_pack(message, bytes);
    natsStatus s = natsConnection_Publish(bus->nats, subject, bytes, (int)size);
    free(bytes);
    return s == NATS_OK ? 0 : kndl_nats_fail(err, s, subject);
}

int kndl_bus_publish_live(struct kndl_bus *bus, const char *session_id, enum kndl_live what,
                          const ProtobufCMessage *message, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf subject = {0};

    if (!kndl_token_is_plain(session_id))
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "the Session's id is none");
    kndl_buf_printf(&subject, "kndl.live.%s.%s", session_id, live_word(what));
    return publish(bus, kndl_buf_text(&subject), message, err);
}

int kndl_bus_publish_fact(struct kndl_bus *bus, const char *what, const ProtobufCMessage *message,
                          struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf subject = {0};

    if (!kndl_token_is_plain(what))
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "the fact's name is none");
    kndl_buf_printf(&subject, "kndl.fact.%s.%s", bus->user, what);
    return publish(bus, kndl_buf_text(&subject), message, err);
}

/* Lives until its owner unsubscribed and NATS says that no callback will come any more. */
struct kndl_subscription {
    atomic_int holders; /* the owner and NATS */
    natsSubscription *nats;
    pthread_mutex_t lock; /* held while fn runs; recursive, for one that unsubscribes itself */
    bool is_closed;       /* under the lock */
    kndl_message_fn fn;
    void *data;
};

static void take(natsConnection *nats, natsSubscription *nats_sub, natsMsg *message, void *data)
{
    struct kndl_subscription *sub = data;

    (void)nats;
    (void)nats_sub;
    pthread_mutex_lock(&sub->lock);
    if (!sub->is_closed)
        sub->fn(natsMsg_GetSubject(message), kndl_message_data(message), sub->data);
    pthread_mutex_unlock(&sub->lock);
    natsMsg_Destroy(message);
}

static void forget(void *data)
{
    struct kndl_subscription *sub = data;

    if (atomic_fetch_sub(&sub->holders, 1) > 1)
        return;
    pthread_mutex_destroy(&sub->lock);
    free(sub);
}

static int subscribe(struct kndl_bus *bus, const char *subject, kndl_message_fn fn, void *data,
                     struct kndl_subscription **ret_sub, struct kndl_error *err)
{
    struct kndl_subscription *sub = kndl_new0(struct kndl_subscription);
    pthread_mutexattr_t recursive;

    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&sub->lock, &recursive);
    pthread_mutexattr_destroy(&recursive);
    atomic_init(&sub->holders, 2);
    sub->fn = fn;
    sub->data = data;
    natsStatus s = natsConnection_Subscribe(&sub->nats, bus->nats, subject, take, sub);
    if (s != NATS_OK) {
        atomic_store(&sub->holders, 1);
        forget(sub);
        return kndl_nats_fail(err, s, subject);
    }
    if (natsSubscription_SetOnCompleteCB(sub->nats, forget, sub) != NATS_OK)
        abort();
    *ret_sub = sub;
    return 0;
}

int kndl_bus_subscribe_live(struct kndl_bus *bus, const char *session_id, enum kndl_live what,
                            kndl_message_fn fn, void *data, struct kndl_subscription **ret_sub,
                            struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf subject = {0};

    if (session_id != NULL && !kndl_token_is_plain(session_id))
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "the Session's id is none");
    kndl_buf_printf(&subject, "kndl.live.%s.%s", session_id == NULL ? "*" : session_id,
                    live_word(what));
    return subscribe(bus, kndl_buf_text(&subject), fn, data, ret_sub, err);
}

int kndl_bus_subscribe_fact(struct kndl_bus *bus, const char *owner, const char *what,
                            kndl_message_fn fn, void *data, struct kndl_subscription **ret_sub,
                            struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf subject = {0};

    if (!kndl_token_is_plain(owner) || !(strcmp(what, "*") == 0 || kndl_token_is_plain(what)))
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "the fact's name is none");
    kndl_buf_printf(&subject, "kndl.fact.%s.%s", owner, what);
    return subscribe(bus, kndl_buf_text(&subject), fn, data, ret_sub, err);
}

void kndl_bus_unsubscribe(struct kndl_subscription *sub)
{
    if (sub == NULL)
        return;
    natsSubscription *nats = sub->nats;
    pthread_mutex_lock(&sub->lock);
    sub->is_closed = true;
    pthread_mutex_unlock(&sub->lock);
    natsSubscription_Unsubscribe(nats);
    natsSubscription_Destroy(nats);
    forget(sub);
}
