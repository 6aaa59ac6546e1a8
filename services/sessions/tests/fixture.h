#pragma once

/* The handlers, called as people and Runners do, with a stage (stage.h) and fakes (fakes.h). */

#include "fakes.h"
#include "rpc.h"
#include "stage.h"

struct fixture {
    struct stage *stage;
    struct kndl_bus bus;
    struct sessions sessions;
    struct kndl_test_answer answer; /* of the last call */
};

/* Of one test, on the stage that is the group's state: with a Runner r1 that is there. */
int set_up(void **state);
int tear_down(void **state);

/* A person's call, and a Runner's; the answer is in the fixture until the next one. */
enum kndl_code call(struct fixture *f, const char *person, const char *method,
                    const ProtobufCMessage *req);
enum kndl_code report(struct fixture *f, const char *runner, const char *method,
                      const ProtobufCMessage *req);
