/* Questions to the Hub: answered on the loop, repeated where another try may help. */

#include "hub.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kndl/bus.h"
#include "kndl/loop.h"
#include "kndl/sessions/v1/sessions_runner_service.pb-c.h"
#include "kndl/testing.h"

#define SV1(name) Kndl__Sessions__V1__##name

/* The bus of this test: answers each question on a thread of its own, as the real one does. */
struct kndl_bus {
    enum kndl_code codes[8]; /* of the answers, one after the other */
    int sent;
    pthread_t threads[8];
    int thread_count;
    bool refuses; /* kndl_bus_send itself fails */
};

struct job {
    kndl_reply_fn fn;
    void *data;
    enum kndl_code code;
};

static void *answer(void *data)
{
    struct job job = *(struct job *)data;
    SV1(IssueModTokenResponse) response = KNDL__SESSIONS__V1__ISSUE_MOD_TOKEN_RESPONSE__INIT;
    struct kndl_reply reply = {0};
    uint8_t bytes[64];

    free(data);
    response.token = (char *)"a token";
    reply.data = kndl_slice(bytes, protobuf_c_message_pack(&response.base, bytes));
    if (job.code != KNDL_OK) {
        kndl_fail(&reply.err, job.code, "no");
        reply.data = (struct kndl_slice){0};
    }
    job.fn(&reply, job.data);
    return NULL;
}

int kndl_bus_send(struct kndl_bus *bus, const struct kndl_request *request, kndl_reply_fn fn,
                  void *data, struct kndl_error *err)
{
    struct job *job;

    assert_string_equal(request->method, "IssueModToken");
    assert_string_equal(request->actor.id, "runner-1");
    bus->sent++;
    if (bus->refuses)
        return kndl_fail(err, KNDL_UNAVAILABLE, "not connected");
    job = calloc(1, sizeof *job);
    *job = (struct job){fn, data, bus->codes[bus->sent - 1]};
    assert_int_equal(pthread_create(&bus->threads[bus->thread_count++], NULL, answer, job), 0);
    return 0;
}

int kndl_bus_post(struct kndl_bus *bus, const struct kndl_request *request, struct kndl_error *err)
{
    (void)bus;
    (void)request;
    (void)err;
    return 0;
}

struct fixture {
    struct kndl_bus bus;
    struct kndl_loop *loop;
    struct hub *hub;
    int answers;
    enum kndl_code code;
    char token[16];
};

static void on_answer(void *data, const struct kndl_error *err, const ProtobufCMessage *response)
{
    struct fixture *f = data;

    f->answers++;
    f->code = err->code;
    if (response != NULL)
        strcpy(f->token, ((const SV1(IssueModTokenResponse) *)response)->token);
    kndl_loop_stop(f->loop);
}

static int set_up(void **state)
{
    static struct fixture fixture;
    struct fixture *f = *state = &fixture;

    *f = (struct fixture){.loop = kndl_loop_new()};
    f->hub = hub_new(f->loop, &f->bus, "runner-1");
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < f->bus.thread_count; i++)
        pthread_join(f->bus.threads[i], NULL);
    kndl_loop_free(f->loop);
    hub_free(f->hub);
    return 0;
}

static struct hub_ask *ask(struct fixture *f, bool repeat)
{
    SV1(IssueModTokenRequest) request = KNDL__SESSIONS__V1__ISSUE_MOD_TOKEN_REQUEST__INIT;
    struct hub_question question = {
        .service = &kndl__sessions__v1__sessions_runner_service__descriptor,
        .method = "IssueModToken",
        .request = &request.base,
        .repeat = repeat,
    };

    return hub_ask(f->hub, &question, on_answer, f);
}

static void an_answer_comes_on_the_loop(void **state)
{
    struct fixture *f = *state;

    ask(f, false);
    assert_int_equal(f->answers, 0);
    kndl_loop_run(f->loop, NULL, NULL);
    assert_int_equal(f->answers, 1);
    assert_string_equal(f->token, "a token");
}

static void it_is_asked_again_while_the_hub_is_away(void **state)
{
    struct fixture *f = *state;

    f->bus.codes[0] = KNDL_UNAVAILABLE;
    f->bus.codes[1] = KNDL_DEADLINE_EXCEEDED;
    ask(f, true);
    kndl_loop_run(f->loop, NULL, NULL);
    assert_int_equal(f->bus.sent, 3);
    assert_int_equal(f->answers, 1);
    assert_int_equal(f->code, KNDL_OK);
}

static void what_another_try_would_not_change_is_the_answer(void **state)
{
    struct fixture *f = *state;

    f->bus.codes[0] = KNDL_ABORTED;
    ask(f, true);
    kndl_loop_run(f->loop, NULL, NULL);
    assert_int_equal(f->bus.sent, 1);
    assert_int_equal(f->code, KNDL_ABORTED);
}

static void without_repeating_a_failure_is_the_answer(void **state)
{
    struct fixture *f = *state;

    f->bus.refuses = true;
    ask(f, false);
    assert_int_equal(f->answers, 0);
    kndl_loop_run(f->loop, NULL, NULL);
    assert_int_equal(f->code, KNDL_UNAVAILABLE);
}

static void one_that_was_dropped_is_never_told(void **state)
{
    struct fixture *f = *state;

    hub_drop(ask(f, true));
    ask(f, false);
    kndl_loop_run(f->loop, NULL, NULL);
    assert_int_equal(f->answers, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(an_answer_comes_on_the_loop),
        TEST(it_is_asked_again_while_the_hub_is_away),
        TEST(what_another_try_would_not_change_is_the_answer),
        TEST(without_repeating_a_failure_is_the_answer),
        TEST(one_that_was_dropped_is_never_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
