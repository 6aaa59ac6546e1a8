#pragma once

/* A bus of the test's own, in place of libs/bus: what is asked is kept, and a function answers. */

#include <pthread.h>

#include "kndl/buf.h"
#include "kndl/bus.h"

/* What was asked, copied. */
struct fake_request {
    char service[80];
    char method[40];
    char actor[80]; /* person/<id> */
    char trace[40];
    uint32_t timeout_ms;
    struct kndl_buf data;
};

/*
 * Answers on the loop's thread: packs into `out`, or sets err. False: not yet; fake_release()
 * answers all that wait by asking again.
 */
typedef bool (*fake_answer_fn)(const struct fake_request *request, struct kndl_buf *out,
                               struct kndl_error *err);

struct kndl_bus *fake_bus(fake_answer_fn answer);
void fake_bus_done(void);
void fake_set_connected(bool connected);

/* How often a method was asked; its newest request (valid until the next one). */
int fake_count(const char *method);
/* Waits until it was asked so often; false after 20 s. */
bool fake_wait(const char *method, int times);
const struct fake_request *fake_newest(const char *method);

/* Asks the function again for all that wait. */
void fake_release(void);

/* Publishes; to those who subscribed. From any thread. */
void fake_live(const char *session_id, enum kndl_live what, const ProtobufCMessage *message);
void fake_fact(const char *owner, const char *what);
void fake_fact_of(const char *owner, const char *what, const ProtobufCMessage *message);

/* How many subscriptions of a kind are open. */
int fake_subscriptions(void);

void fake_pack(struct kndl_buf *out, const ProtobufCMessage *message);
