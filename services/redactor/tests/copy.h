#pragma once

/* One copy of the service, and what a Runner sends it. */

#include <stdint.h>

#include "fakes.h"
#include "kndl/error.h"
#include "kndl/redactor/v1/redactor_service.pb-c.h"
#include "rpc.h"

enum { SECRET_SIZE = 22 };
extern const char session[];
extern const char secret[SECRET_SIZE];

/* A second one shares the bus. */
struct copy {
    struct redactor redactor;
    struct kndl_error err; /* of the last call */
    const struct kndl_task *wake;
};

struct fixture {
    struct kndl_bus bus; /* secrets gives `secret`, in version 1 */
    struct copy copy;    /* to which nobody has opened a stream */
};

/* Of one test. */
int set_up(void **state);
int tear_down(void **state);

void start(struct copy *copy, struct kndl_bus *bus);
void stop(struct copy *copy);
void forget(struct kndl_bus *bus);

int open_as(struct copy *copy, const char *runner);

/* Sends a batch; what sessions expects next, or -1. */
int64_t put(struct copy *copy, const char *runner, Kndl__Redactor__V1__PutRequest *req);
int64_t put_text(struct copy *copy, const char *text, const char *block_id, int64_t version);
void put_delta(struct copy *copy, int64_t offset, const char *text); /* of the main thread's b1 */
void put_delta_of(struct copy *copy, const char *subagent_id, const char *block_id, int64_t offset,
                  const char *text);
