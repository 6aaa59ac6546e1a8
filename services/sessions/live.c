/* Publishes changes. */

#include "live.h"

#include "kndl/bus.h"
#include "kndl/gateway/v1/frame.pb-c.h"
#include "kndl/log.h"
#include "present.h"
#include "store.h"

/* With headers and the rest a message stays under 900 KB. */
enum { LIVE_BYTES_MAX = 800 * 1024 };

static void publish(struct kndl_bus *bus, const char *session_id, enum kndl_live what,
                    const ProtobufCMessage *message)
{
    struct kndl_error err = {0};

    if (kndl_bus_publish_live(bus, session_id, what, message, &err) < 0)
        kndl_log(KNDL_WARNING, "a live message was lost; viewers find it by number",
                 KNDL_STR("session", session_id), KNDL_STR("error", err.message));
}

static void publish_change(struct kndl_bus *bus, struct kndl_arena *arena,
                           const struct change *change, int64_t relay_at_us)
{
    const struct session *session = &change->session;
    Kndl__Gateway__V1__Live message = KNDL__GATEWAY__V1__LIVE__INIT;

    message.session_id = (char *)session->id;
    message.events = change->events;
    message.n_events = change->event_count;
    message.last_seq = session->last_seq;
    message.view_version = session->view_version;
    message.relay_at_us = relay_at_us;
    if (kndl__gateway__v1__live__get_packed_size(&message) > LIVE_BYTES_MAX)
        message.n_events = 0;
    publish(bus, session->id, KNDL_LIVE_EVENT, &message.base);
    if (change->is_summary)
        publish(bus, session->id, KNDL_LIVE_SUMMARY, &present_session(arena, session, NULL)->base);
}

void live_publish(struct kndl_bus *bus, struct kndl_arena *arena, const struct changes *changes,
                  int64_t relay_at_us)
{
    const struct change *in_order[64];
    size_t count = 0;

    /* The list is newest first. Past 64 the others are found by number. */
    for (const struct change *change = changes->first; change != NULL && count < 64;
         change = change->next)
        in_order[count++] = change;
    while (count > 0)
        publish_change(bus, arena, in_order[--count], relay_at_us);
}
