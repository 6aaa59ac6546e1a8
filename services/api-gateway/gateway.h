#pragma once

/*
 * The one gateway of this process: its loop, its server, its connection to the bus, and what its
 * files keep. Everything in it belongs to the loop's thread; threads of the bus only post.
 */

#include "kndl/arena.h"
#include "kndl/buf.h"
#include "kndl/bus.h"
#include "kndl/loop.h"
#include "kndl/web.h"
#include "settings.h"

struct gateway {
    struct kndl_loop *loop;
    struct kndl_bus *bus;
    struct kndl_web *web;
    struct settings settings;
    struct kndl_arena *arena; /* for one callback of the loop: reset by whoever begins to use it */
    struct people *people;
    struct rates *rates;
    struct files *files;
    struct release *release;
    struct lives *lives;
    struct health *health;
    struct sockets *sockets;
    struct kndl_buf frame; /* a socket's, as it is packed */
    struct kndl_subscription *facts;
    unsigned asks;      /* sent, and their answers did not come to the loop yet */
    unsigned calls;     /* requests of people that wait for an answer */
    struct wait *waits; /* those of calls, for when it stops */
    bool is_draining;
    int64_t drain_until_ms;
    struct kndl_timer *drain_timer;
};

/* Everything but `run`: tests drive the loop themselves. Fails as kndl_web_open() does. */
int gateway_open(struct kndl_bus *bus, const struct settings *settings,
                 struct gateway **ret_gateway, struct kndl_error *err);
void gateway_close(struct gateway *gateway);

/* For kndl_service: until SIGTERM. */
int gateway_run(struct kndl_bus *bus, struct kndl_error *err);
