/* Live subjects, facts, and a Runner's commands. */

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "fixture.h"
#include "kndl/gateway/v1/frame.pb-c.h"
#include "kndl/mem.h"
#include "kndl/runner/v1/runner_service.pb-c.h"

#define RUNNER(name) Kndl__Runner__V1__##name

struct seen {
    atomic_int count;
    char subject[128]; /* of the last; written before count rises */
    size_t size;
};

static void see(const char *subject, struct kndl_slice data, void *user_data)
{
    struct seen *seen = user_data;

    snprintf(seen->subject, sizeof seen->subject, "%s", subject);
    seen->size = data.size;
    atomic_fetch_add(&seen->count, 1);
}

static void wait_seen(struct seen *seen, int count)
{
    for (int tries = 0; atomic_load(&seen->count) < count; tries++) {
        assert_true(tries < 10000);
        poll(NULL, 0, 1);
    }
}

static void what_is_live_reaches_who_watches(void **unused)
{
    struct kndl_bus *gateway = open_bus("api_gateway");
    struct kndl_bus *sessions = open_bus("sessions");
    Kndl__Gateway__V1__Live live = KNDL__GATEWAY__V1__LIVE__INIT;
    struct seen one = {0}, all = {0};
    struct kndl_subscription *one_sub, *all_sub;
    struct kndl_error err = {0};

    (void)unused;
    live.session_id = (char *)"s1";
    assert_int_equal(
        kndl_bus_subscribe_live(gateway, "s1", KNDL_LIVE_EVENT, see, &one, &one_sub, &err), 0);
    assert_int_equal(
        kndl_bus_subscribe_live(gateway, NULL, KNDL_LIVE_EVENT, see, &all, &all_sub, &err), 0);
    natsConnection_Flush(gateway->nats);
    assert_int_equal(kndl_bus_publish_live(sessions, "s2", KNDL_LIVE_EVENT, &live.base, &err), 0);
    assert_int_equal(kndl_bus_publish_live(sessions, "s1", KNDL_LIVE_EVENT, &live.base, &err), 0);
    wait_seen(&one, 1);
    wait_seen(&all, 2);
    assert_string_equal(one.subject, "kndl.live.s1.event");
    assert_int_equal(one.size, 4);

    kndl_bus_unsubscribe(one_sub);
    assert_int_equal(kndl_bus_publish_live(sessions, "s1", KNDL_LIVE_EVENT, &live.base, &err), 0);
    wait_seen(&all, 3);
    assert_int_equal(atomic_load(&one.count), 1);
    kndl_bus_unsubscribe(all_sub);
    kndl_bus_unsubscribe(NULL);
    assert_int_equal(atomic_load(&gateway->refusals) + atomic_load(&sessions->refusals), 0);
    kndl_bus_close(sessions);
    kndl_bus_close(gateway);
}

static void a_fact_carries_its_owners_name(void **unused)
{
    struct kndl_bus *redactor_bus = open_bus("redactor");
    struct kndl_bus *secrets = open_bus("secrets");
    Kndl__Gateway__V1__Live live = KNDL__GATEWAY__V1__LIVE__INIT;
    struct seen seen = {0};
    struct kndl_subscription *sub;
    struct kndl_error err = {0};

    (void)unused;
    assert_int_equal(kndl_bus_subscribe_fact(redactor_bus, "secrets", "*", see, &seen, &sub, &err),
                     0);
    natsConnection_Flush(redactor_bus->nats);
    assert_int_equal(kndl_bus_publish_fact(secrets, "masks", &live.base, &err), 0);
    wait_seen(&seen, 1);
    assert_string_equal(seen.subject, "kndl.fact.secrets.masks");
    kndl_bus_unsubscribe(sub);
    kndl_bus_close(secrets);
    kndl_bus_close(redactor_bus);
}

/* The server says so later; the bus counts it. */
static void a_refused_subject_is_noticed(void **unused)
{
    struct kndl_bus *secrets = open_bus("secrets");
    Kndl__Gateway__V1__Live live = KNDL__GATEWAY__V1__LIVE__INIT;
    struct kndl_error err = {0};

    (void)unused;
    assert_int_equal(kndl_bus_publish_live(secrets, "s1", KNDL_LIVE_EVENT, &live.base, &err), 0);
    for (int tries = 0; atomic_load(&secrets->refusals) == 0; tries++) {
        assert_true(tries < 10000);
        poll(NULL, 0, 1);
    }
    kndl_bus_close(secrets);
}

static void take_command(struct kndl_command *command, void *data)
{
    struct kndl_bus *bus = data;
    RUNNER(StopRunRequest) *request = (RUNNER(StopRunRequest) *)command->request;
    RUNNER(StopRunResponse) response = KNDL__RUNNER__V1__STOP_RUN_RESPONSE__INIT;

    assert_string_equal(command->method->name, "StopRun");
    if (request->run != 7) {
        kndl_fail(&command->err, KNDL_ABORTED, "run %d is not here", (int)request->run);
        kndl_bus_answer(bus, command, NULL);
        return;
    }
    kndl_bus_answer(bus, command, &response.base);
}

static int stop_run(struct kndl_bus *sessions, const char *runner_id, int run,
                    struct kndl_error *ret_err)
{
    RUNNER(StopRunRequest) request = KNDL__RUNNER__V1__STOP_RUN_REQUEST__INIT;
    struct kndl_arena *arena = kndl_arena_new(KNDL_ARENA_PLAIN);
    ProtobufCMessage *response = NULL;
    struct kndl_call call = {.arena = arena};

    request.run = run;
    call.actor.kind = KNDL_SERVICE;
    call.actor.id = "sessions";
    int status = kndl_bus_call(sessions, &call, &kndl__runner__v1__runner_service__descriptor,
                               "StopRun", runner_id, &request.base, &response);
    *ret_err = call.err;
    kndl_arena_free(arena);
    return status;
}

static void a_runner_takes_its_commands(void **unused)
{
    struct kndl_bus *sessions = open_bus("sessions");
    struct kndl_bus *runner = open_bus("r1");
    struct kndl_error err = {0};

    (void)unused;
    assert_int_equal(kndl_bus_serve_commands(runner, &kndl__runner__v1__runner_service__descriptor,
                                             take_command, runner, &err),
                     0);
    natsConnection_Flush(runner->nats);
    assert_int_equal(stop_run(sessions, "r1", 7, &err), 0);
    assert_int_equal(stop_run(sessions, "r1", 8, &err), -1);
    assert_int_equal(err.code, KNDL_ABORTED);
    assert_string_equal(err.message, "run 8 is not here");
    assert_int_equal(stop_run(sessions, "r2", 7, &err), -1);
    assert_int_equal(err.code, KNDL_UNAVAILABLE);
    assert_string_equal(err.message, "the Runner r2 is away and nothing reached it");
    assert_int_equal(stop_run(sessions, "*", 7, &err), -1);
    assert_int_equal(err.code, KNDL_INVALID_ARGUMENT);
    kndl_bus_close(runner);
    kndl_bus_close(sessions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_live_reaches_who_watches),
        cmocka_unit_test(a_fact_carries_its_owners_name),
        cmocka_unit_test(a_refused_subject_is_noticed),
        cmocka_unit_test(a_runner_takes_its_commands),
    };
    return cmocka_run_group_tests_name("feed", tests, NULL, NULL);
}
