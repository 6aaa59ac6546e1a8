/* Serving and asking on a real nats-server. */

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "kndl/mem.h"

static struct kndl_bus *sessions;

/* A service answers "is not ready" until its first worker is open. */
static void wait_until_ready(void)
{
    struct asked asked;

    do
        mask(sessions, "ready?", &asked);
    while (asked.err.code == KNDL_UNAVAILABLE);
    assert_int_equal(asked.err.code, KNDL_OK);
}

static int set_up(void **unused)
{
    (void)unused;
    sessions = open_bus("sessions");
    start_redactor();
    wait_until_ready();
    return 0;
}

static int tear_down(void **unused)
{
    (void)unused;
    release_workers();
    stop_redactor();
    kndl_bus_close(sessions);
    return 0;
}

static void a_call_is_answered(void **unused)
{
    struct asked asked;

    (void)unused;
    assert_int_equal(mask(sessions, "hello", &asked), KNDL_OK);
    assert_string_equal(asked.text, "hello");
}

static void an_error_arrives_on_one_line(void **unused)
{
    struct asked asked;

    (void)unused;
    assert_int_equal(mask(sessions, TEXT_FAIL, &asked), KNDL_NOT_FOUND);
    assert_string_equal(asked.err.message, "not  Nats-Evil: 1");
}

static void an_internal_error_keeps_its_cause_inside(void **unused)
{
    struct asked asked;

    (void)unused;
    assert_int_equal(mask(sessions, TEXT_BREAK, &asked), KNDL_INTERNAL);
    assert_string_equal(asked.err.message, "internal error");
}

static void a_deferred_call_is_answered_when_its_promise_is_kept(void **unused)
{
    struct asked asked;

    (void)unused;
    assert_int_equal(mask(sessions, TEXT_DEFER, &asked), KNDL_OK);
    assert_string_equal(asked.text, "kept");
}

static void the_actor_travels(void **unused)
{
    struct asked asked;

    (void)unused;
    assert_int_equal(mask(sessions, TEXT_ACTOR, &asked), KNDL_OK);
    assert_string_equal(asked.text, "0 ada");
}

static void a_handler_wakes_a_task(void **unused)
{
    struct asked asked;
    unsigned before;

    (void)unused;
    while ((before = task_runs()) == 0)
        ; /* its first run, at the start */
    assert_int_equal(mask(sessions, TEXT_WAKE, &asked), KNDL_OK);
    while (task_runs() == before)
        assert_int_equal(mask(sessions, "again", &asked), KNDL_OK);
}

/* Its period is ten minutes. */
static void a_task_runs_again_when_it_asked_for_that(void **unused)
{
    struct asked asked;
    unsigned before;

    (void)unused;
    while ((before = task_runs()) == 0)
        ;
    task_asks_again(2);
    assert_int_equal(mask(sessions, TEXT_WAKE, &asked), KNDL_OK);
    while (task_runs() < before + 3)
        assert_int_equal(mask(sessions, "again", &asked), KNDL_OK);
}

static void a_full_queue_refuses_at_once(void **unused)
{
    enum { MORE = 10, ALL = KNDL_WORKERS + KNDL_LANE_MAX + MORE };
    static struct asked asked[ALL];
    unsigned codes[17] = {0};

    (void)unused;
    for (unsigned i = 0; i < KNDL_WORKERS; i++)
        ask_mask(sessions, TEXT_WAIT, 60000, &asked[i]);
    wait_for_busy(KNDL_WORKERS);
    for (unsigned i = KNDL_WORKERS; i < ALL; i++)
        ask_mask(sessions, "more", 60000, &asked[i]);
    /* One subscription gives them in order: the last ones found it full. */
    for (unsigned i = ALL - MORE; i < ALL; i++)
        wait_asked(&asked[i]);
    release_workers();
    for (unsigned i = 0; i < ALL; i++) {
        wait_asked(&asked[i]);
        codes[asked[i].err.code]++;
    }
    assert_int_equal(codes[KNDL_OK], ALL - MORE);
    assert_int_equal(codes[KNDL_RESOURCE_EXHAUSTED], MORE);
}

static void count_open(const struct kndl_reply *reply, void *data)
{
    atomic_int *counts = data;

    atomic_fetch_add(&counts[reply->err.code == KNDL_RESOURCE_EXHAUSTED], 1);
}

/* A Runner's share is full: a service still gets in. */
static void a_runner_cannot_fill_a_queue(void **unused)
{
    enum { MORE = 10 };
    static struct asked waiting[KNDL_WORKERS];
    static atomic_int counts[2];
    struct kndl_bus *runner = open_bus("r1");
    struct kndl_request request = {
        .service = &kndl__redactor__v1__redactor_runner_service__descriptor,
        .method = "Open",
        .timeout_ms = 60000,
    };
    struct kndl_error err = {0};
    struct asked asked;

    (void)unused;
    request.actor.kind = KNDL_RUNNER;
    request.actor.id = "r1";
    for (unsigned i = 0; i < KNDL_WORKERS; i++)
        ask_mask(sessions, TEXT_WAIT, 60000, &waiting[i]);
    wait_for_busy(KNDL_WORKERS);
    for (unsigned i = 0; i < KNDL_LANE_RUNNER_MAX + MORE; i++)
        assert_int_equal(kndl_bus_send(runner, &request, count_open, counts, &err), 0);
    while (atomic_load(&counts[1]) < MORE)
        poll(NULL, 0, 1);
    ask_mask(sessions, "taken", 60000, &asked);
    release_workers();
    wait_asked(&asked);
    assert_int_equal(asked.err.code, KNDL_OK);
    while (atomic_load(&counts[0]) < KNDL_LANE_RUNNER_MAX)
        poll(NULL, 0, 1);
    assert_int_equal(atomic_load(&counts[1]), MORE);
    for (unsigned i = 0; i < KNDL_WORKERS; i++)
        wait_asked(&waiting[i]);
    kndl_bus_close(runner);
}

static void what_is_past_its_deadline_is_not_done(void **unused)
{
    struct asked asked[KNDL_WORKERS];
    struct asked late;

    (void)unused;
    for (unsigned i = 0; i < KNDL_WORKERS; i++)
        ask_mask(sessions, TEXT_WAIT, 60000, &asked[i]);
    wait_for_busy(KNDL_WORKERS);
    unsigned before = task_runs();
    ask_mask(sessions, TEXT_WAKE, 50, &late);
    wait_asked(&late);
    assert_int_equal(late.err.code, KNDL_DEADLINE_EXCEEDED);
    release_workers();
    for (unsigned i = 0; i < KNDL_WORKERS; i++)
        wait_asked(&asked[i]);
    assert_int_equal(mask(sessions, "after", &late), KNDL_OK);
    assert_true(lane_wait_idle(&redactor.calls, 10000));
    assert_int_equal(task_runs(), before);
}

/* What a stopped process finds when it goes on: the caller has given up long ago. */
static void what_was_kept_back_is_not_done(void **unused)
{
    static const char subject[] = "kndl.rpc.redactor.v1.RedactorInternalService.Mask";
    natsConnection *nats = open_plain("sessions");
    natsSubscription *inbox = NULL;
    natsMsg *answer = NULL;
    char deadline[128];

    (void)unused;
    assert_string_not_equal(kndl_boot_id(), "");
    assert_int_equal(natsConnection_SubscribeSync(&inbox, nats, "_INBOX.sessions.x.*"), NATS_OK);
    for (int past = 1; past >= 0; past--) {
        natsMsg *request = NULL;
        char reply[64];
        /* The second is of another host, whose clock says nothing here. */
        snprintf(deadline, sizeof deadline, "%s 1", past ? kndl_boot_id() : "another-boot");
        snprintf(reply, sizeof reply, "_INBOX.sessions.x.%d", past);
        assert_int_equal(natsMsg_Create(&request, subject, reply, NULL, 0), NATS_OK);
        natsMsgHeader_Set(request, KNDL_HEADER_ACTOR, "person/ada");
        natsMsgHeader_Set(request, KNDL_HEADER_DEADLINE, deadline);
        assert_int_equal(natsConnection_PublishMsg(nats, request), NATS_OK);
        natsMsg_Destroy(request);
    }
    assert_int_equal(natsSubscription_NextMsg(&answer, inbox, 10000), NATS_OK);
    assert_string_equal(natsMsg_GetSubject(answer), "_INBOX.sessions.x.0");
    natsMsg_Destroy(answer);
    natsSubscription_Destroy(inbox);
    natsConnection_Destroy(nats);
}

/* A request of stock NATS, with what libs/bus would not send. */
static int ask_plain(natsConnection *nats, const char *subject, const char *actor, const void *data,
                     int size)
{
    natsMsg *request = NULL;
    natsMsg *answer = NULL;
    const char *code = NULL;
    natsSubscription *inbox = NULL;
    int number = -1;

    assert_int_equal(natsConnection_SubscribeSync(&inbox, nats, "_INBOX.sessions.plain"), NATS_OK);
    assert_int_equal(natsMsg_Create(&request, subject, "_INBOX.sessions.plain", data, size),
                     NATS_OK);
    if (actor != NULL)
        assert_int_equal(natsMsgHeader_Set(request, KNDL_HEADER_ACTOR, actor), NATS_OK);
    assert_int_equal(natsConnection_PublishMsg(nats, request), NATS_OK);
    if (natsSubscription_NextMsg(&answer, inbox, 10000) == NATS_OK) {
        number = natsMsgHeader_Get(answer, KNDL_HEADER_CODE, &code) == NATS_OK
                     ? (int)strtol(code, NULL, 10)
                     : 0;
    }
    natsMsg_Destroy(answer);
    natsMsg_Destroy(request);
    natsSubscription_Destroy(inbox);
    return number;
}

static void foreign_requests_are_refused_by_code(void **unused)
{
    static const char mask_subject[] = "kndl.rpc.redactor.v1.RedactorInternalService.Mask";
    static uint8_t deep[64 * 1024];
    natsConnection *nats = open_plain("sessions");

    (void)unused;
    assert_int_equal(ask_plain(nats, mask_subject, "person/ada", "", 0), KNDL_OK);
    assert_int_equal(ask_plain(nats, mask_subject, NULL, "", 0), KNDL_UNAUTHENTICATED);
    assert_int_equal(ask_plain(nats, mask_subject, "person/", "", 0), KNDL_UNAUTHENTICATED);
    assert_int_equal(ask_plain(nats, mask_subject, "person/a.b", "", 0), KNDL_UNAUTHENTICATED);
    assert_int_equal(ask_plain(nats, mask_subject, "god/ada", "", 0), KNDL_UNAUTHENTICATED);
    memset(deep, 0xff, sizeof deep);
    assert_int_equal(ask_plain(nats, mask_subject, "person/ada", deep, sizeof deep),
                     KNDL_INVALID_ARGUMENT);
    assert_int_equal(ask_plain(nats, mask_subject, "person/ada", "\x22\x02\xc3\x28", 4),
                     KNDL_INVALID_ARGUMENT);
    natsConnection_Destroy(nats);
}

static void an_unknown_method_is_unimplemented(void **unused)
{
    struct kndl_request request = {
        .service = &kndl__redactor__v1__redactor_internal_service__descriptor,
        .method = "Unmask",
        .timeout_ms = 1000,
    };
    struct kndl_error err;
    natsMsg *message = NULL;
    natsConnection *nats = open_plain("sessions");
    natsSubscription *inbox = NULL;
    natsMsg *answer = NULL;
    const char *code = NULL;

    (void)unused;
    request.actor.id = "ada";
    assert_int_equal(kndl_bus_send(sessions, &request, NULL, NULL, &err), -1);
    assert_int_equal(err.code, KNDL_UNIMPLEMENTED);

    /* To the server of the call: its contract loses its methods for a moment. */
    assert_int_equal(natsConnection_SubscribeSync(&inbox, nats, "_INBOX.sessions.x"), NATS_OK);
    assert_int_equal(natsConnection_Flush(nats), NATS_OK);
    assert_int_equal(natsMsg_Create(&message, "kndl.rpc.redactor.v1.RedactorInternalService.Mask",
                                    "_INBOX.sessions.x", NULL, 0),
                     NATS_OK);
    struct family *family = &redactor.families[0];
    ProtobufCService *own = family->service;
    ProtobufCService empty = {.descriptor = own->descriptor, .invoke = own->invoke};
    ProtobufCServiceDescriptor none = *own->descriptor;
    none.n_methods = 0;
    empty.descriptor = &none;
    family->service = &empty;
    natsMsgHeader_Set(message, KNDL_HEADER_ACTOR, "person/ada");
    assert_int_equal(natsConnection_PublishMsg(nats, message), NATS_OK);
    assert_int_equal(natsSubscription_NextMsg(&answer, inbox, 10000), NATS_OK);
    assert_int_equal(natsMsgHeader_Get(answer, KNDL_HEADER_CODE, &code), NATS_OK);
    assert_string_equal(code, "12");
    assert_true(lane_wait_idle(&redactor.calls, 10000));
    family->service = own;
    natsMsg_Destroy(answer);
    natsMsg_Destroy(message);
    natsSubscription_Destroy(inbox);
    natsConnection_Destroy(nats);
}

static void nobody_there_is_unavailable_at_once(void **unused)
{
    struct asked asked;

    (void)unused;
    stop_redactor();
    assert_int_equal(mask(sessions, "hello", &asked), KNDL_UNAVAILABLE);
    assert_string_equal(
        asked.err.message,
        "redactor, a part of the Hub, is away and nothing reached it; " KNDL_BACK_SOON);
    start_redactor();
}

static void calls_wait_while_a_worker_cannot_open(void **unused)
{
    struct asked asked;

    (void)unused;
    stop_redactor();
    open_fails(3 * (KNDL_WORKERS + KNDL_RAW_WORKERS + 1));
    start_redactor();
    assert_int_equal(mask(sessions, "hello", &asked), KNDL_UNAVAILABLE);
    assert_string_equal(asked.err.message,
                        "redactor, a part of the Hub, is just starting; try again in a moment");
    wait_until_ready();
}

struct raw_asked {
    struct kndl_error err;
    int64_t number;
    char text[64];
    atomic_bool is_done;
};

static void take_raw(const struct kndl_reply *reply, void *data)
{
    struct raw_asked *asked = data;

    asked->err = reply->err;
    if (reply->err.code == KNDL_OK) {
        V1(PutResponse) *response =
            kndl__redactor__v1__put_response__unpack(NULL, reply->data.size, reply->data.data);
        asked->number = response->expected_n;
        kndl__redactor__v1__put_response__free_unpacked(response, NULL);
    }
    atomic_store(&asked->is_done, true);
}

static int64_t put(struct kndl_bus *runner, const char *session)
{
    static struct raw_asked asked;
    struct kndl_request request = {
        .service = &kndl__redactor__v1__redactor_raw_service__descriptor,
        .method = "Put",
        .instance_id = kndl_service_instance(),
        .session_id = session,
        .timeout_ms = 10000,
    };
    struct kndl_error err = {0};

    asked = (struct raw_asked){0};
    request.actor.kind = KNDL_RUNNER;
    request.actor.id = "r1";
    if (kndl_bus_send(runner, &request, take_raw, &asked, &err) < 0)
        fail_msg("%s", err.message);
    while (!atomic_load(&asked.is_done))
        ;
    if (asked.err.code != KNDL_OK)
        fail_msg("%s", asked.err.message);
    return asked.number;
}

static void batches_of_a_session_keep_to_one_worker(void **unused)
{
    struct kndl_bus *runner = open_bus("r1");
    int64_t first = put(runner, "session1");
    bool differs = false;

    (void)unused;
    for (int i = 0; i < 20; i++)
        assert_int_equal(put(runner, "session1"), first);
    for (int i = 0; i < 20 && !differs; i++) {
        char session[32];
        snprintf(session, sizeof session, "other%d", i);
        differs = put(runner, session) != first;
    }
    assert_true(differs);
    kndl_bus_close(runner);
}

/* Ids with which a caller could choose the subject. */
static void no_id_can_change_the_subject(void **unused)
{
    static const char *const ids[] = {"", "a.b", "*", ">", "a\r\nPUB x 1", "a b", "\xc3\xa9", NULL};
    struct kndl_bus *runner = open_bus("r1");
    struct kndl_request request = {
        .service = &kndl__redactor__v1__redactor_raw_service__descriptor,
        .method = "Put",
        .timeout_ms = 1000,
    };
    char *long_id = kndl_alloc(64 * 1024 + 1, 1);
    struct kndl_error err;

    (void)unused;
    memset(long_id, 'a', 64 * 1024);
    request.actor.id = "r1";
    for (size_t i = 0; i <= sizeof ids / sizeof ids[0]; i++) {
        const char *id = i < sizeof ids / sizeof ids[0] ? ids[i] : long_id;
        request.instance_id = "i";
        request.session_id = id;
        assert_int_equal(kndl_bus_send(runner, &request, take_raw, NULL, &err), -1);
        assert_int_equal(err.code, KNDL_INVALID_ARGUMENT);
        request.instance_id = id;
        request.session_id = "s";
        assert_int_equal(kndl_bus_send(runner, &request, take_raw, NULL, &err), -1);
        assert_int_equal(err.code, KNDL_INVALID_ARGUMENT);
        request.instance_id = "i";
        if (id != NULL) {
            request.actor.id = id;
            assert_int_equal(kndl_bus_send(runner, &request, take_raw, NULL, &err), -1);
            assert_int_equal(err.code, KNDL_INVALID_ARGUMENT);
            request.actor.id = "r1";
            request.trace = id;
            assert_int_equal(kndl_bus_send(runner, &request, take_raw, NULL, &err), -1);
            request.trace = NULL;
            assert_int_equal(kndl_bus_publish_fact(sessions, id, NULL, &err) < 0 &&
                                 err.code == KNDL_INVALID_ARGUMENT,
                             1);
        }
    }
    free(long_id);
    kndl_bus_close(runner);
}

static void half_of_the_workers_at_most_wait_for_one_service(void **unused)
{
    struct kndl_bus *bus = open_bus("sessions");
    struct kndl_error err = {0};

    (void)unused;
    bus->waits_max = 1;
    struct kndl_arena *arena = kndl_arena_new(KNDL_ARENA_PLAIN);
    V1(MaskRequest) request = KNDL__REDACTOR__V1__MASK_REQUEST__INIT;
    V1(MaskResponse) *response = NULL;
    struct kndl_call call = {.arena = arena, .reply = &err};
    call.actor.id = "ada";
    snprintf(bus->targets[0].name, sizeof bus->targets[0].name, "redactor");
    bus->targets[0].waiting = 1;
    assert_int_equal(KNDL_CALL(V1, Mask, kndl__redactor__v1__redactor_internal_service__descriptor,
                               bus, &call, &request, &response),
                     -1);
    assert_int_equal(call.err.code, KNDL_RESOURCE_EXHAUSTED);
    bus->targets[0].waiting = 0;
    call.err = (struct kndl_error){0};
    assert_int_equal(KNDL_CALL(V1, Mask, kndl__redactor__v1__redactor_internal_service__descriptor,
                               bus, &call, &request, &response),
                     0);
    assert_non_null(response);
    assert_int_equal(bus->targets[0].waiting, 0);
    kndl_arena_free(arena);
    kndl_bus_close(bus);
}

static void *ask_often(void *data)
{
    struct kndl_bus *bus = data;
    struct kndl_arena *arena = kndl_arena_new(KNDL_ARENA_PLAIN);
    struct kndl_error reply = {0};
    intptr_t refused = 0;

    for (int i = 0; i < 100; i++) {
        V1(MaskRequest) request = KNDL__REDACTOR__V1__MASK_REQUEST__INIT;
        V1(MaskResponse) *response = NULL;
        struct kndl_call call = {.arena = arena, .reply = &reply};

        call.actor.id = "ada";
        refused += KNDL_CALL(V1, Mask, kndl__redactor__v1__redactor_internal_service__descriptor,
                             bus, &call, &request, &response) < 0;
        kndl_arena_reset(arena);
    }
    kndl_arena_free(arena);
    return (void *)refused;
}

/* As many at once as a team's browsers make. */
static void a_service_that_answers_is_not_called_slow(void **unused)
{
    struct kndl_bus *bus = open_bus("sessions");
    pthread_t workers[4];

    (void)unused;
    bus->waits_max = 1;
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&workers[i], NULL, ask_often, bus), 0);
    for (size_t i = 0; i < 4; i++) {
        void *refused;

        assert_int_equal(pthread_join(workers[i], &refused), 0);
        assert_null(refused);
    }
    kndl_bus_close(bus);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_call_is_answered, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_error_arrives_on_one_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_internal_error_keeps_its_cause_inside, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_deferred_call_is_answered_when_its_promise_is_kept,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_actor_travels, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_handler_wakes_a_task, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_task_runs_again_when_it_asked_for_that, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_full_queue_refuses_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_runner_cannot_fill_a_queue, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_past_its_deadline_is_not_done, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_kept_back_is_not_done, set_up, tear_down),
        cmocka_unit_test_setup_teardown(foreign_requests_are_refused_by_code, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_unknown_method_is_unimplemented, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nobody_there_is_unavailable_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(calls_wait_while_a_worker_cannot_open, set_up, tear_down),
        cmocka_unit_test_setup_teardown(batches_of_a_session_keep_to_one_worker, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_id_can_change_the_subject, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_service_that_answers_is_not_called_slow, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(half_of_the_workers_at_most_wait_for_one_service, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests_name("serve", tests, NULL, NULL);
}
