/*
 * How long does a call from one service to another take? Prints the median in microseconds and
 * its ratio to a PING of nats-server on a raw socket, measured in turns (a call crosses four
 * sockets, a PING two).
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kndl/clock.h"
#include "tests/fixture.h"
#include "tests/wire.h"

enum { ROUNDS = 20, CALLS = 100 };

static int compare(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;

    return left < right ? -1 : left > right;
}

int main(void)
{
    static int64_t calls[ROUNDS * CALLS];
    static int64_t pings[ROUNDS * CALLS];
    struct kndl_bus *sessions = open_bus("sessions");
    char creds[512];
    struct asked asked;

    snprintf(creds, sizeof creds, "%s/creds/sessions.creds", kndl_test_nats()->dir);
    struct wire *wire = wire_open(kndl_test_nats()->url, creds);
    start_redactor();
    do
        mask(sessions, "ready?", &asked);
    while (asked.err.code != KNDL_OK);

    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < CALLS; i++) {
            int64_t start_us = kndl_clock_us();
            mask(sessions, "a text of a usual length, to be masked", &asked);
            calls[round * CALLS + i] = kndl_clock_us() - start_us;
        }
        for (int i = 0; i < CALLS; i++) {
            int64_t start_us = kndl_clock_us();
            wire_received(wire); /* PING, PONG */
            pings[round * CALLS + i] = kndl_clock_us() - start_us;
        }
    }
    qsort(calls, ROUNDS * CALLS, sizeof calls[0], compare);
    qsort(pings, ROUNDS * CALLS, sizeof pings[0], compare);
    long long call = calls[ROUNDS * CALLS / 2];
    long long ping = pings[ROUNDS * CALLS / 2];
    printf("a call takes %lld us, %.1f times a PING of nats-server (%lld us)\n", call,
           (double)call / (double)ping, ping);

    wire_close(wire);
    stop_redactor();
    kndl_bus_close(sessions);
    return 0;
}
