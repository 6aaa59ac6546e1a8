/* Events on their way: one batch in flight, nothing lost and nothing twice, whatever happens. */

#include "forward.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake_disk.h"
#include "hub.h"
#include "kndl/clock.h"
#include "kndl/loop.h"
#include "kndl/mem.h"
#include "kndl/redactor/v1/redactor_service.pb-c.h"
#include "kndl/testing.h"
#include "spool.h"

#define RV1(name) Kndl__Redactor__V1__##name

/* The hub of this test: keeps the question that is out, and answers when it is told to. */
struct hub_ask {
    hub_fn fn;
    void *data;
};

struct hub {
    struct hub_ask *out;
    char method[16];
    char instance[64];
    int asked, posted;
    int64_t first_n;
    size_t count;
    bool gap;
    char token[64];
    char ended_turn[32];
};

struct hub_ask *hub_ask(struct hub *hub, const struct hub_question *question, hub_fn fn, void *data)
{
    assert_null(hub->out); /* one in flight */
    hub->out = kndl_new0(struct hub_ask);
    *hub->out = (struct hub_ask){fn, data};
    hub->asked++;
    snprintf(hub->method, sizeof hub->method, "%s", question->method);
    if (strcmp(question->method, "Put") == 0) {
        const RV1(PutRequest) *put = (const void *)question->request;

        snprintf(hub->instance, sizeof hub->instance, "%s", question->instance_id);
        hub->first_n = put->first_n;
        hub->count = put->n_events;
        hub->gap = put->gap;
        snprintf(hub->token, sizeof hub->token, "%.*s", (int)put->mod_token.len,
                 (const char *)put->mod_token.data);
    }
    return hub->out;
}

static struct hub *the_hub;

void hub_drop(struct hub_ask *ask)
{
    if (ask != NULL && the_hub->out == ask)
        the_hub->out = NULL;
    free(ask);
}

void hub_post(struct hub *hub, const struct hub_question *question)
{
    const RV1(PutRequest) *put = (const void *)question->request;

    hub->posted++;
    snprintf(hub->ended_turn, sizeof hub->ended_turn, "%s", put->ended_turn_id);
}

struct fixture {
    struct disk disk;
    struct hub hub;
    struct kndl_loop *loop;
    struct spool *spool;
    struct forward *forward;
    char directory[64];
    int drained;
    enum kndl_code says; /* why nothing is masked */
    int waits, flows;    /* how often it was told that output waits, that it does not any more */
};

static void on_drained(void *data)
{
    ((struct fixture *)data)->drained++;
}

static void on_waiting(void *data, bool is_waiting)
{
    struct fixture *f = data;

    if (is_waiting)
        f->waits++;
    else
        f->flows++;
}

static void ignore(void *data, const struct kndl_error *err)
{
    (void)data;
    (void)err;
}

static void append(struct fixture *f, const char *text)
{
    Kndl__Event__V1__Text body = KNDL__EVENT__V1__TEXT__INIT;
    Kndl__Event__V1__Event event = KNDL__EVENT__V1__EVENT__INIT, *list = &event;

    body.text = (char *)text;
    event.kind_case = KNDL__EVENT__V1__EVENT__KIND_TEXT;
    event.text = &body;
    spool_append(f->spool, NULL, &list, 1, ignore, NULL);
    fake_disk_run(&f->disk);
}

static void open_forward(struct fixture *f)
{
    struct kndl_secret token = {0};

    f->forward = forward_new(&(struct forward_options){.loop = f->loop,
                                                       .hub = &f->hub,
                                                       .spool = f->spool,
                                                       .session_id = "s",
                                                       .run = 3,
                                                       .on_drained = on_drained,
                                                       .on_waiting = on_waiting,
                                                       .waiting_after_ms = 1,
                                                       .data = f});
    kndl_secret_copy(&token, kndl_slice_of("mod-token"));
    assert_null(f->hub.out);
    forward_set_token(f->forward, &token);
    kndl_secret_done(&token);
}

static int set_up(void **state)
{
    static struct fixture fixture;
    struct fixture *f = *state = &fixture;
    struct kndl_error err = {0};

    *f = (struct fixture){.directory = "/tmp/kndl-forward-XXXXXX"};
    the_hub = &f->hub;
    assert_int_equal(kndl_crypt_init(&err), 0);
    assert_non_null(mkdtemp(f->directory));
    f->loop = kndl_loop_new();
    assert_int_equal(
        spool_open(&(struct spool_options){&f->disk, f->directory, 64 << 20}, &f->spool, &err), 0);
    open_forward(f);
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    char path[128];

    forward_free(f->forward);
    spool_close(f->spool);
    fake_disk_run(&f->disk);
    kndl_loop_free(f->loop);
    for (int n = 1; n < 4; n++) {
        snprintf(path, sizeof path, "%s/%019d.seg", f->directory, n);
        unlink(path);
    }
    rmdir(f->directory);
    return 0;
}

static struct hub_ask take_out(struct hub *hub)
{
    struct hub_ask ask = *hub->out;

    free(hub->out);
    hub->out = NULL;
    return ask;
}

static void opened(struct fixture *f, const char *instance)
{
    RV1(OpenResponse) response = KNDL__REDACTOR__V1__OPEN_RESPONSE__INIT;
    struct kndl_error err = {0};
    struct hub_ask ask = take_out(&f->hub);

    assert_string_equal(f->hub.method, "Open");
    response.instance_id = (char *)instance;
    ask.fn(ask.data, &err, &response.base);
}

static void put_answered(struct fixture *f, int64_t expected_n)
{
    RV1(PutResponse) response = KNDL__REDACTOR__V1__PUT_RESPONSE__INIT;
    struct kndl_error err = {0};
    struct hub_ask ask = take_out(&f->hub);

    assert_string_equal(f->hub.method, "Put");
    response.expected_n = expected_n;
    ask.fn(ask.data, &err, &response.base);
}

static void refused(struct fixture *f, enum kndl_code code)
{
    struct kndl_error err = {0};
    struct hub_ask ask = take_out(&f->hub);

    kndl_fail(&err, code, "no");
    ask.fn(ask.data, &err, NULL);
}

static void stop_if_asked(void *data)
{
    struct fixture *f = data;

    if (f->hub.out != NULL)
        kndl_loop_stop(f->loop);
}

/* Runs the loop until something is asked again: pauses are short. */
static void until_asked(struct fixture *f)
{
    struct kndl_timer *timer = kndl_timer_new(f->loop, stop_if_asked, f);

    kndl_timer_start(timer, 1, 1);
    kndl_loop_run(f->loop, NULL, NULL);
    kndl_timer_free(timer);
}

static void a_stream_is_opened_and_then_batches_go_one_by_one(void **state)
{
    struct fixture *f = *state;

    opened(f, "copy-1");
    assert_null(f->hub.out);
    append(f, "one");
    append(f, "two");
    forward_wake(f->forward, 7);
    assert_string_equal(f->hub.instance, "copy-1");
    assert_string_equal(f->hub.token, "mod-token");
    assert_int_equal(f->hub.first_n, 1);
    assert_int_equal(f->hub.count, 2);
    append(f, "three");
    forward_wake(f->forward, 8);
    put_answered(f, 3);
    assert_int_equal(f->hub.first_n, 3);
    assert_int_equal(f->drained, 0);
    put_answered(f, 4);
    assert_int_equal(f->drained, 1);
    assert_true(forward_is_drained(f->forward));
}

static void what_sessions_has_already_is_not_sent_again(void **state)
{
    struct fixture *f = *state;

    append(f, "one");
    append(f, "two");
    append(f, "three");
    opened(f, "copy-1");
    assert_int_equal(f->hub.first_n, 1);
    put_answered(f, 4);
    assert_true(forward_is_drained(f->forward));
}

static void a_batch_that_was_not_taken_goes_again_from_where_sessions_is(void **state)
{
    struct fixture *f = *state;

    append(f, "one");
    append(f, "two");
    opened(f, "copy-1");
    put_answered(f, 1);
    assert_null(f->hub.out); /* not at once */
    until_asked(f);
    assert_int_equal(f->hub.first_n, 1);
    put_answered(f, 2);
    assert_int_equal(f->hub.first_n, 2);
    assert_int_equal(f->hub.count, 1);
}

static void a_copy_that_is_gone_is_opened_anew_and_nothing_is_skipped(void **state)
{
    struct fixture *f = *state;

    append(f, "one");
    opened(f, "copy-1");
    refused(f, KNDL_UNAVAILABLE);
    until_asked(f);
    opened(f, "copy-2");
    assert_string_equal(f->hub.instance, "copy-2");
    assert_int_equal(f->hub.first_n, 1);
    refused(f, KNDL_DEADLINE_EXCEEDED);
    until_asked(f);
    assert_string_equal(f->hub.method, "Open");
}

/* Answers each Open with that code until it is told. */
static void refuse_until_told(void *data)
{
    struct fixture *f = data;

    if (f->waits > 0)
        kndl_loop_stop(f->loop);
    else if (f->hub.out != NULL)
        refused(f, f->says);
}

static void until_waiting_is_told(struct fixture *f, enum kndl_code says)
{
    struct kndl_timer *timer = kndl_timer_new(f->loop, refuse_until_told, f);

    f->says = says;

    kndl_timer_start(timer, 1, 1);
    kndl_loop_run(f->loop, NULL, NULL);
    kndl_timer_free(timer);
}

static void assert_waits_and_is_told_once(struct fixture *f, enum kndl_code says)
{
    append(f, "one");
    until_waiting_is_told(f, says);
    if (f->hub.out == NULL)
        until_asked(f);
    opened(f, "copy-2");
    assert_int_equal(f->flows, 0); /* an open stream has masked nothing yet */
    assert_int_equal(f->hub.first_n, 1);
    put_answered(f, 2);
    assert_int_equal(f->waits, 1);
    assert_int_equal(f->flows, 1);
    assert_true(forward_is_drained(f->forward));
}

static void output_that_nobody_masks_waits_and_is_told_once(void **state)
{
    assert_waits_and_is_told_once(*state, KNDL_UNAVAILABLE);
}

static void output_with_a_value_that_cannot_be_read_waits_and_is_told_once(void **state)
{
    assert_waits_and_is_told_once(*state, KNDL_FAILED_PRECONDITION);
}

static void where_there_is_no_output_nothing_waits(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < 3; i++) {
        refused(f, KNDL_UNAVAILABLE);
        until_asked(f);
    }
    opened(f, "copy-2");
    append(f, "one");
    forward_wake(f->forward, 7);
    put_answered(f, 2);
    assert_int_equal(f->waits, 0);
    assert_int_equal(f->flows, 0);
}

static void what_is_forgotten_here_is_a_gap_that_is_said(void **state)
{
    struct fixture *f = *state;
    KNDL_CLEANUP(kndl_free) char *big = kndl_alloc(1, 5 << 20);

    memset(big, 'x', (5 << 20) - 1);
    append(f, big);
    append(f, "two");
    spool_forget(f->spool, 1);
    fake_disk_run(&f->disk);
    /* As after a restart. */
    forward_free(f->forward);
    open_forward(f);
    opened(f, "copy-1");
    put_answered(f, 1); /* sessions still wants the first */
    if (f->hub.out == NULL)
        until_asked(f);
    assert_int_equal(f->hub.first_n, 2);
    assert_true(f->hub.gap);
    put_answered(f, 3);
    assert_true(forward_is_drained(f->forward));
}

static void an_answer_that_cannot_be_is_not_believed(void **state)
{
    struct fixture *f = *state;

    append(f, "one");
    opened(f, "copy-1");
    put_answered(f, 99);
    assert_false(forward_is_drained(f->forward));
    until_asked(f);
    assert_int_equal(f->hub.first_n, 1);
}

static void deltas_go_only_where_a_stream_is_open(void **state)
{
    struct fixture *f = *state;
    Kndl__Event__V1__Delta piece = KNDL__EVENT__V1__DELTA__INIT, *list = &piece;

    forward_deltas(f->forward, &list, 1, "", 5);
    assert_int_equal(f->hub.posted, 0);
    opened(f, "copy-1");
    forward_deltas(f->forward, &list, 1, "", 5);
    append(f, "one");
    forward_wake(f->forward, 6);
    forward_deltas(f->forward, NULL, 0, "turn-1", 5);
    assert_int_equal(f->hub.posted, 2);
    assert_string_equal(f->hub.ended_turn, "turn-1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(a_stream_is_opened_and_then_batches_go_one_by_one),
        TEST(what_sessions_has_already_is_not_sent_again),
        TEST(a_batch_that_was_not_taken_goes_again_from_where_sessions_is),
        TEST(a_copy_that_is_gone_is_opened_anew_and_nothing_is_skipped),
        TEST(output_that_nobody_masks_waits_and_is_told_once),
        TEST(output_with_a_value_that_cannot_be_read_waits_and_is_told_once),
        TEST(where_there_is_no_output_nothing_waits),
        TEST(what_is_forgotten_here_is_a_gap_that_is_said),
        TEST(an_answer_that_cannot_be_is_not_believed),
        TEST(deltas_go_only_where_a_stream_is_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
