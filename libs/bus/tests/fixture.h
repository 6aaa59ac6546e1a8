#pragma once

/* A redactor that answers as its test says, on a real nats-server, and those who ask it. */

#include <nats/nats.h>

#include "connection.h"
#include "kndl/bus.h"
#include "kndl/redactor/v1/redactor_service.pb-c.h"
#include "kndl/testing.h"
#include "server.h"

#define V1(name) Kndl__Redactor__V1__##name

/* Opens the bus of a user; "r1" and "r2" are the Runners of kndl_test_nats(). */
struct kndl_bus *open_bus(const char *user);

/* A plain connection of a user, for what libs/bus would not do. */
natsConnection *open_plain(const char *user);

/* Starts the service; at most one at a time. */
void start_redactor(void);
void stop_redactor(void);
extern struct server redactor;

/* What Mask does: by its first text. */
#define TEXT_WAIT "wait"   /* until release_workers() */
#define TEXT_FAIL "fail"   /* NOT_FOUND with a line break in its message */
#define TEXT_BREAK "break" /* INTERNAL */
#define TEXT_DEFER "defer" /* answers from another thread */
#define TEXT_ACTOR "actor" /* answers with the actor, as kind number and id */
#define TEXT_WAKE "wake"   /* wakes the task */
void wait_for_busy(unsigned workers);
void release_workers(void);
unsigned task_runs(void);
/* In each of its next runs the task asks to be run again in a millisecond. */
void task_asks_again(unsigned times);

/* How the next start of the redactor goes: prepare fails as often, with UNAVAILABLE. */
void open_fails(unsigned times);

/* Asks Mask with one text; returns the code, and the answer's first text in `answer`. */
struct asked {
    struct kndl_error err;
    char text[256];
    bool is_done;
};
void ask_mask(struct kndl_bus *bus, const char *text, uint32_t timeout_ms, struct asked *asked);
void wait_asked(struct asked *asked);
enum kndl_code mask(struct kndl_bus *bus, const char *text, struct asked *asked);
