#pragma once

/* What tests share: cmocka, and a call made in-process, packed as on the bus. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kndl/rpc.h"
#include "kndl/service.h"

/*
 * What came of a call; one that was deferred has come when its promise was kept (30 s at most).
 * `response` is NULL on failure; kndl_test_done() frees it.
 */
struct kndl_test_answer {
    struct kndl_error err;
    ProtobufCMessage *response;
    const struct kndl_task *wake;
};

/* Calls a method as a person. Request and response live in an arena, as they do in a worker. */
struct kndl_test_answer kndl_test_call(ProtobufCService *service, void *state, const char *person,
                                       const char *method, const ProtobufCMessage *request);

/* The same as a Runner, whose id the subject would prove. */
struct kndl_test_answer kndl_test_runner_call(ProtobufCService *service, void *state,
                                              const char *runner, const char *method,
                                              const ProtobufCMessage *request);

/* The same as a raw batch (RedactorRawService), whose Session the subject says too. */
struct kndl_test_answer kndl_test_raw_call(ProtobufCService *service, void *state,
                                           const char *runner, const char *session,
                                           const ProtobufCMessage *request);
void kndl_test_done(struct kndl_test_answer *answer);

/* Runs a task once, as if its period had passed. */
struct kndl_error kndl_test_task(const struct kndl_task *task, void *state);

/*
 * A PostgreSQL of the test's own: one cluster per test executable, in a temporary folder, started
 * at the first use (as root: in a user namespace) and gone when the process ends. Returns a URL
 * of a new, empty database, valid until the process ends.
 */
const char *kndl_test_database(void);

/*
 * A nats-server with kndl's accounts and users, as kndl-init makes them, on a free port. Gone
 * when the process ends.
 */
struct kndl_test_nats {
    const char *url;
    const char *dir; /* creds/<user>.creds, creds/runner-r1.creds and runner-r2.creds */
};
const struct kndl_test_nats *kndl_test_nats(void);

/* kill -9 of that server, and its start on the same port. */
void kndl_test_nats_kill(void);
void kndl_test_nats_start(void);
