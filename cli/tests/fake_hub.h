#pragma once

/* A Hub with a script: it answers each request with the next line of it, and keeps what it was
 * asked. */

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "kndl/error.h"

enum { HUB_ANSWERS_MAX = 16 };

struct hub_answer {
    const char *method; /* the end of the path that must be asked, such as "/GetSession" */
    int status;
    const ProtobufCMessage *message; /* of a 200 */
    const char *json;                /* instead */
    int retry_s;                     /* Retry-After; 0: none */
};

struct hub {
    struct hub_answer answers[HUB_ANSWERS_MAX];
    size_t count;
    char url[64];

    /* Written by the Hub's thread, read once hub_stop() returned. */
    size_t asked;
    char bodies[HUB_ANSWERS_MAX][512];
    size_t body_sizes[HUB_ANSWERS_MAX];
    char heads[HUB_ANSWERS_MAX][1024];
    int mistakes; /* requests that the script did not expect */
    int listener;
    pthread_t thread;

    /* Of hub_run(). */
    char *text; /* what the verb wrote to standard output */
    struct kndl_error err;
};

void hub_start(struct hub *hub);
void hub_stop(struct hub *hub);

/* The script goes on with this. */
void hub_will_answer(struct hub *hub, const char *method, const ProtobufCMessage *message);
void hub_will_fail(struct hub *hub, const char *method, int status, const char *json);

/*
 * Runs a verb with these words, which end with NULL, against the script; all of it must have been
 * asked. What the verb returned.
 */
struct verb;
int hub_run(struct hub *hub, const struct verb *verb, char **words);

/* Forgets the script and what came of it, for another one. */
void hub_forget(struct hub *hub);

/* A cmocka teardown, for a fixture on the heap whose first member is its hub. */
int hub_tear_down(void **state);

/* The n-th request, unpacked; freed by the caller. */
void *hub_asked(const struct hub *hub, size_t n, const ProtobufCMessageDescriptor *type);
