/* A Session's questions to the Hub: each is answered once, however many are out. */

#include "asks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kndl/mem.h"
#include "kndl/sessions/v1/sessions_runner_service.pb-c.h"
#include "kndl/testing.h"

enum { MANY = 100 };

/* The hub of this test: keeps what is out until it is told to answer. */
struct hub_ask {
    hub_fn fn; /* NULL: dropped */
    void *data;
};

struct hub {
    struct hub_ask *out[MANY];
    size_t count;
};

struct hub_ask *hub_ask(struct hub *hub, const struct hub_question *question, hub_fn fn, void *data)
{
    struct hub_ask *ask = kndl_new0(struct hub_ask);

    assert_string_equal(question->method, "ReportCommand");
    assert_true(hub->count < MANY);
    *ask = (struct hub_ask){fn, data};
    hub->out[hub->count++] = ask;
    return ask;
}

void hub_drop(struct hub_ask *ask)
{
    ask->fn = NULL;
}

static void answer(struct hub *hub, size_t at, enum kndl_code code)
{
    struct hub_ask *ask = hub->out[at];
    struct kndl_error err = {.code = code};

    if (ask->fn != NULL)
        ask->fn(ask->data, &err, NULL);
}

static void free_hub(struct hub *hub)
{
    for (size_t i = 0; i < hub->count; i++)
        free(hub->out[i]);
}

/* The Session of this test: who was told what. */
struct session {
    struct asks *asks;
    enum kndl_code told[MANY];
    unsigned times[MANY];
};

static void on_answer(struct session *session, const char *note, const struct kndl_error *err,
                      const ProtobufCMessage *response)
{
    size_t at = strtoul(note, NULL, 10);

    assert_null(response);
    session->told[at] = err->code;
    session->times[at]++;
}

static void ask_many(struct session *session)
{
    Kndl__Sessions__V1__ReportCommandRequest request =
        KNDL__SESSIONS__V1__REPORT_COMMAND_REQUEST__INIT;
    struct hub_question question = {
        .service = &kndl__sessions__v1__sessions_runner_service__descriptor,
        .method = "ReportCommand",
        .request = &request.base,
    };

    for (size_t i = 0; i < MANY; i++) {
        char note[16];

        snprintf(note, sizeof note, "%zu", i);
        asks_put(session->asks, &question, on_answer, note);
    }
}

static void every_question_is_answered_once_however_many_are_out(void **unused)
{
    struct hub hub = {0};
    struct session session = {0};

    (void)unused;
    session.asks = asks_new(&hub, &session);
    ask_many(&session);
    for (size_t i = 0; i < MANY; i += 2)
        answer(&hub, i, KNDL_NOT_FOUND);
    for (size_t i = 1; i < MANY; i += 2)
        answer(&hub, i, KNDL_OK);
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(session.times[i], 1);
        assert_int_equal(session.told[i], i % 2 == 0 ? KNDL_NOT_FOUND : KNDL_OK);
    }
    asks_free(session.asks);
    free_hub(&hub);
}

static void what_is_out_is_dropped_with_the_session(void **unused)
{
    struct hub hub = {0};
    struct session session = {0};

    (void)unused;
    session.asks = asks_new(&hub, &session);
    ask_many(&session);
    asks_free(session.asks);
    for (size_t i = 0; i < MANY; i++)
        answer(&hub, i, KNDL_OK);
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(session.times[i], 0);
    free_hub(&hub);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_question_is_answered_once_however_many_are_out),
        cmocka_unit_test(what_is_out_is_dropped_with_the_session),
    };
    return cmocka_run_group_tests_name("runner-agent asks", tests, NULL, NULL);
}
