/* Topics, their listeners, and the way from the bus's threads to the loop. */

#include "live.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "kndl/gateway/v1/frame.pb-c.h"
#include "kndl/guard.h"
#include "kndl/id.h"
#include "kndl/log.h"
#include "kndl/mem.h"

enum { BUCKETS = 256 };

struct live_listener {
    struct topic *topic;
    struct live_listener *next; /* links topic->listeners */
    struct live_listener *prev;
    live_fn fn;
    void *user_data;
};

struct topic {
    struct gateway *gateway;       /* constant, and so `what`: read by the bus's threads */
    struct topic *next;            /* of its bucket */
    char session_id[KNDL_ID_SIZE]; /* "": every Session */
    enum kndl_live what;
    struct kndl_subscription *subscription;
    struct live_listener *listeners;
    struct live_listener *following; /* the one after whom fn runs now: moved when it leaves */
};

struct lives {
    struct topic *buckets[BUCKETS];
};

/* From a thread of the bus to the loop. Its topic is freed behind it, through the same mailbox. */
struct letter {
    struct topic *topic;
    size_t size;
    uint8_t data[];
};

static const ProtobufCMessageDescriptor *type_of(enum kndl_live what)
{
    switch (what) {
    case KNDL_LIVE_EVENT:
        return &kndl__gateway__v1__live__descriptor;
    case KNDL_LIVE_DELTA:
        return &kndl__gateway__v1__live_deltas__descriptor;
    case KNDL_LIVE_SUMMARY:
        return &kndl__sessions__v1__session__descriptor;
    }
    abort();
}

static void tell(struct topic *topic, const ProtobufCMessage *message, struct kndl_slice data)
{
    struct live_listener *listener = topic->listeners;

    while (listener != NULL) {
        topic->following = listener->next;
        listener->fn(message, data, listener->user_data);
        listener = topic->following;
    }
    topic->following = NULL;
}

static void deliver(void *data)
{
    struct letter *letter = data;
    struct topic *topic = letter->topic;
    struct kndl_slice bytes = kndl_slice(letter->data, letter->size);
    ProtobufCMessage *message;
    struct kndl_error err;

    if (topic->listeners != NULL) {
        kndl_arena_reset(topic->gateway->arena);
        ProtobufCAllocator allocator = kndl_arena_allocator(topic->gateway->arena);
        if (kndl_guard_unpack(type_of(topic->what), bytes, &allocator, &message, &err) < 0)
            kndl_log(KNDL_WARNING, "a live message is malformed", KNDL_STR("why", err.message));
        else
            tell(topic, message, bytes);
    }
    free(letter);
}

static void on_message(const char *subject, struct kndl_slice data, void *user_data)
{
    struct topic *topic = user_data;

    (void)subject;
    if (data.size > KNDL_MESSAGE_BYTES_MAX)
        return;
    struct letter *letter = kndl_alloc(1, sizeof *letter + data.size);
    letter->topic = topic;
    letter->size = data.size;
    if (data.size > 0)
        memcpy(letter->data, data.data, data.size);
    kndl_loop_post(topic->gateway->loop, deliver, letter);
}

static struct topic **find(struct gateway *gateway, const char *session_id, enum kndl_live what)
{
    unsigned hash = (unsigned)what;

    for (const char *c = session_id; *c != '\0'; c++)
        hash = hash * 31 + (unsigned char)*c;
    struct topic **at = &gateway->lives->buckets[hash % BUCKETS];
    while (*at != NULL && ((*at)->what != what || strcmp((*at)->session_id, session_id) != 0))
        at = &(*at)->next;
    return at;
}

static struct topic *open_topic(struct gateway *gateway, const char *session_id,
                                enum kndl_live what)
{
    struct topic *topic = kndl_new0(struct topic);
    struct kndl_error err;

    topic->gateway = gateway;
    topic->what = what;
    strncpy(topic->session_id, session_id, KNDL_ID_CHARS);
    if (kndl_bus_subscribe_live(gateway->bus, session_id[0] == '\0' ? NULL : topic->session_id,
                                what, on_message, topic, &topic->subscription, &err) < 0)
        kndl_log(KNDL_WARNING, "live messages cannot be subscribed to; asking every 5 s alone",
                 KNDL_STR("why", err.message));
    return topic;
}

struct live_listener *live_join(struct gateway *gateway, const char *session_id,
                                enum kndl_live what, live_fn fn, void *user_data)
{
    struct live_listener *listener = kndl_new0(struct live_listener);
    struct topic **at = find(gateway, session_id == NULL ? "" : session_id, what);

    if (*at == NULL)
        *at = open_topic(gateway, session_id == NULL ? "" : session_id, what);
    listener->topic = *at;
    listener->fn = fn;
    listener->user_data = user_data;
    listener->next = (*at)->listeners;
    if (listener->next != NULL)
        listener->next->prev = listener;
    (*at)->listeners = listener;
    return listener;
}

void live_leave(struct live_listener *listener)
{
    if (listener == NULL)
        return;
    struct topic *topic = listener->topic;
    struct gateway *gateway = topic->gateway;

    if (topic->following == listener)
        topic->following = listener->next;
    if (listener->prev != NULL)
        listener->prev->next = listener->next;
    else
        topic->listeners = listener->next;
    if (listener->next != NULL)
        listener->next->prev = listener->prev;
    free(listener);
    if (topic->listeners != NULL)
        return;

    *find(gateway, topic->session_id, topic->what) = topic->next;
    kndl_bus_unsubscribe(topic->subscription);  /* no letter is posted from here on */
    kndl_loop_post(gateway->loop, free, topic); /* behind those that were */
}

void live_open(struct gateway *gateway)
{
    gateway->lives = kndl_new0(struct lives);
}

void live_close(struct gateway *gateway)
{
    for (size_t i = 0; gateway->lives != NULL && i < BUCKETS; i++)
        assert(gateway->lives->buckets[i] == NULL);
    free(gateway->lives);
}
