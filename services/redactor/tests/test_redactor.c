/* The redactor's services, with secrets, sessions and viewers in memory (fakes.c). */

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "blocks.h"
#include "copy.h"
#include "hits.h"
#include "kndl/arena.h"
#include "kndl/clock.h"
#include "kndl/redact.h"
#include "kndl/redactor/v1/redactor_service.pb-c.h"
#include "kndl/testing.h"
#include "kndl/token.h"
#include "masks.h"
#include "rpc.h"
#include "sets.h"

#define V1(name) Kndl__Redactor__V1__##name

static void an_event_is_masked_stored_and_then_answered(void **state)
{
    struct fixture *f = *state;
    uint8_t hash[KNDL_HASH_BYTES];

    assert_int_equal(open_as(&f->copy, "r1"), 0);
    assert_int_equal(put_text(&f->copy, "it is canary-Value-31415926.", "", 1), 2);
    assert_string_equal(kndl_buf_text(&f->bus.stored), "it is *********************.\n");

    /* CR-05: the mod token itself goes no further. */
    kndl_hash(kndl_slice("kndl_mod_x", 10), hash);
    assert_memory_equal(f->bus.mod_token_hash, hash, sizeof hash);
}

static void a_value_cut_by_pieces_never_shows(void **unused)
{
    (void)unused;
    for (size_t cut = 1; cut < sizeof secret - 1; cut++) {
        struct kndl_bus bus = {.values = {secret}, .version = 1};
        struct copy copy;
        char head[64], tail[64];

        start(&copy, &bus);
        open_as(&copy, "r1");
        snprintf(head, sizeof head, "is %.*s", (int)cut, secret);
        snprintf(tail, sizeof tail, "%s, yes", secret + cut);
        put_delta(&copy, 0, head);
        put_delta(&copy, (int64_t)strlen(head), tail);
        assert_string_equal(kndl_buf_text(&bus.shown), "is *********************, yes");
        assert_false(bus.is_out_of_order);
        stop(&copy);
        forget(&bus);
    }
}

static void what_is_held_leaves_within_its_time(void **state)
{
    struct fixture *f = *state;

    open_as(&f->copy, "r1");
    put_delta(&f->copy, 0, "a can");
    assert_string_equal(kndl_buf_text(&f->bus.shown), "a ");
    assert_ptr_equal(f->copy.wake, &expire_task);
    kndl_clock_shift(150);
    assert_int_equal(kndl_test_task(&expire_task, &f->copy.redactor).code, KNDL_OK);
    assert_string_equal(kndl_buf_text(&f->bus.shown), "a can");

    /* The value completes: its rest is masked all the same. */
    put_delta(&f->copy, 5, "ary-Value-31415926!");
    assert_null(strstr(kndl_buf_text(&f->bus.shown), "31415926"));
    assert_false(f->bus.is_out_of_order);
}

static void the_task_is_woken_only_for_what_leaves_before_it_runs_again(void **state)
{
    enum { EARLIER_MS = 60000 };
    struct fixture *f = *state;

    open_as(&f->copy, "r1");
    put_delta(&f->copy, 0, "a canary");
    assert_ptr_equal(f->copy.wake, &expire_task);
    kndl_clock_shift(-EARLIER_MS);
    assert_int_equal(kndl_test_task(&expire_task, &f->copy.redactor).code, KNDL_OK);
    assert_string_equal(kndl_buf_text(&f->bus.shown), "a "); /* not yet */
    kndl_clock_shift(EARLIER_MS);
    put_delta_of(&f->copy, "", "b2", 0, "canary");
    assert_null(f->copy.wake);
    kndl_clock_shift(-EARLIER_MS);
    put_delta_of(&f->copy, "", "b3", 0, "canary");
    assert_ptr_equal(f->copy.wake, &expire_task);
    kndl_clock_shift(EARLIER_MS);
}

/* The value is cut in two by the kill: the copy that opens next has not seen its first half. */
static void a_value_cut_by_the_death_of_a_copy_never_shows(void **unused)
{
    struct kndl_bus bus = {.values = {secret}, .version = 1};
    struct copy first, second;

    (void)unused;
    start(&first, &bus);
    open_as(&first, "r1");
    put_delta(&first, 0, "is canary-Val");
    stop(&first);

    start(&second, &bus);
    put_delta(&second, 13, "ue-31415926, yes");
    assert_int_equal(second.err.code, KNDL_FAILED_PRECONDITION);
    open_as(&second, "r1");
    put_delta(&second, 13, "ue-31415926, yes");
    put_delta(&second, 29, " and on");
    assert_string_equal(kndl_buf_text(&bus.shown), "is ");

    /* From the block's beginning it is taken, and the Event replaces all of it anyway. */
    bus.next_offset = 0;
    put_delta(&second, 0, "is canary-Value-31415926, yes and on");
    assert_string_equal(kndl_buf_text(&bus.shown), "is is *********************, yes and on");
    assert_int_equal(put_text(&second, "is canary-Value-31415926, yes and on", "b1", 1), 2);
    assert_null(strstr(kndl_buf_text(&bus.stored), "canary"));
    stop(&second);
    forget(&bus);
}

static void after_a_gap_a_block_is_passed_over(void **state)
{
    struct fixture *f = *state;

    open_as(&f->copy, "r1");
    put_delta(&f->copy, 0, "one ");
    put_delta(&f->copy, 8, "three");
    put_delta(&f->copy, 4, "two ");
    assert_string_equal(kndl_buf_text(&f->bus.shown), "one ");
}

/* A Subagent may run on behind its parent's Turn. */
static void ev_05_the_end_of_a_turn_leaves_its_subagents_blocks(void **state)
{
    struct fixture *f = *state;
    V1(PutRequest) ended = KNDL__REDACTOR__V1__PUT_REQUEST__INIT;

    open_as(&f->copy, "r1");
    put_delta(&f->copy, 0, "one ");
    f->bus.next_offset = 0;
    put_delta_of(&f->copy, "child", "b2", 0, "begins can");
    ended.ended_turn_id = (char *)"t1";
    put(&f->copy, "r1", &ended);
    put_delta_of(&f->copy, "child", "b2", 10, "ary-Value-31415926 and goes on");
    put_delta(&f->copy, 4, "two ");
    assert_string_equal(kndl_buf_text(&f->bus.shown),
                        "one begins ********************* and goes on");
}

/* A Subagent's tool call: its input streams, then its Event comes. */
static void put_tool_call(struct copy *copy, char *tool_use_id)
{
    V1(PutRequest) streams = KNDL__REDACTOR__V1__PUT_REQUEST__INIT;
    V1(PutRequest) comes = KNDL__REDACTOR__V1__PUT_REQUEST__INIT;
    Kndl__Event__V1__Delta delta = KNDL__EVENT__V1__DELTA__INIT;
    Kndl__Event__V1__Event event = KNDL__EVENT__V1__EVENT__INIT;
    Kndl__Event__V1__ToolCall tool_call = KNDL__EVENT__V1__TOOL_CALL__INIT;

    delta.subagent_id = (char *)"child";
    delta.block_id = tool_use_id;
    delta.tool_use_id = tool_use_id;
    delta.text = (char *)"{}";
    streams.n_deltas = 1;
    streams.deltas = (Kndl__Event__V1__Delta *[]){&delta};
    put(copy, "r1", &streams);

    tool_call.tool_use_id = tool_use_id;
    event.kind_case = KNDL__EVENT__V1__EVENT__KIND_TOOL_CALL;
    event.tool_call = &tool_call;
    comes.n_events = 1;
    comes.events = (Kndl__Event__V1__Event *[]){&event};
    put(copy, "r1", &comes);
}

/* Else a Session would soon have as many open as it may. */
static void ev_05_a_tool_call_that_has_its_event_streams_no_more(void **state)
{
    struct fixture *f = *state;

    open_as(&f->copy, "r1");
    for (int i = 0; i < BLOCKS_PER_SESSION_MAX; i++) {
        char id[16];

        snprintf(id, sizeof id, "toolu_%d", i);
        put_tool_call(&f->copy, id);
    }
    kndl_buf_clear(&f->bus.shown);
    put_delta(&f->copy, 0, "still shown");
    assert_string_equal(kndl_buf_text(&f->bus.shown), "still shown");
}

struct feeder {
    struct blocks *blocks;
    struct masks *masks;
    struct kndl_buf shown;
    int64_t next_offset;
    bool is_out_of_order;
    _Atomic bool stops;
};

static void collect(const char *session_id, Kndl__Event__V1__Delta **deltas, size_t count,
                    void *data)
{
    struct feeder *feeder = data;

    (void)session_id;
    for (size_t i = 0; i < count; i++) {
        feeder->is_out_of_order |= deltas[i]->offset != feeder->next_offset;
        feeder->next_offset += (int64_t)strlen(deltas[i]->text);
        kndl_buf_append_text(&feeder->shown, deltas[i]->text);
    }
}

static void *expire_all(void *data)
{
    struct feeder *feeder = data;

    while (!feeder->stops)
        blocks_expire(feeder->blocks, kndl_clock_us() + 200000, collect, feeder);
    return NULL;
}

/* The raw worker feeds a block while the task lets go of what it holds, again and again. */
static void deltas_leave_in_order_whoever_lets_them_go(void **unused)
{
    const struct kndl_redact_value value = {.name = "v", .value = kndl_slice_of(secret)};
    struct feeder feeder = {.blocks = blocks_new()};
    struct hits *hits = hits_new();
    struct kndl_redact_set *set;
    struct kndl_arena *arena = kndl_arena_new(KNDL_ARENA_PLAIN);
    Kndl__Event__V1__Delta delta = KNDL__EVENT__V1__DELTA__INIT;
    Kndl__Event__V1__Delta *deltas[] = {&delta};
    struct kndl_error err;
    pthread_t thread;
    int64_t fed = 0;

    (void)unused;
    assert_int_equal(kndl_redact_set_new(&value, 1, &set, &err), 0);
    feeder.masks = masks_new(set, 1, hits);
    pthread_create(&thread, NULL, expire_all, &feeder);
    for (int i = 0; i < 3000; i++) {
        delta.block_id = (char *)"b1";
        delta.offset = fed;
        delta.text = (char *)(i % 3 == 0 ? "a can" : "b word ");
        fed += (int64_t)strlen(delta.text);
        blocks_feed(feeder.blocks, session, feeder.masks, deltas, 1, arena, collect, &feeder);
        kndl_arena_reset(arena);
    }
    feeder.stops = true;
    pthread_join(thread, NULL);
    blocks_expire(feeder.blocks, kndl_clock_us() + 200000, collect, &feeder);
    assert_false(feeder.is_out_of_order);
    assert_int_equal(feeder.shown.size, fed);
    kndl_buf_done(&feeder.shown);
    masks_unref(feeder.masks);
    blocks_free(feeder.blocks);
    hits_free(hits);
    kndl_arena_free(arena);
}

static void unknown_values_let_nothing_out(void **state)
{
    struct fixture *f = *state;

    f->bus.secrets_code = KNDL_UNAVAILABLE;
    assert_int_equal(open_as(&f->copy, "r1"), -1);
    assert_int_equal(f->copy.err.code, KNDL_UNAVAILABLE);

    /* Also in a stream that is open: the Runner knows of a value that this copy does not. */
    f->bus.secrets_code = KNDL_OK;
    open_as(&f->copy, "r1");
    f->bus.secrets_code = KNDL_UNAVAILABLE;
    assert_int_equal(put_text(&f->copy, "canary-Value-31415926", "", 2), -1);
    assert_int_equal(f->copy.err.code, KNDL_UNAVAILABLE);
    assert_int_equal(f->bus.batches, 0);
}

static void a_newer_value_is_learnt_before_its_batch_is_masked(void **state)
{
    struct fixture *f = *state;

    open_as(&f->copy, "r1");
    f->bus.values[1] = "ghs_newtoken";
    f->bus.version = 2;
    assert_int_equal(put_text(&f->copy, "push with ghs_newtoken", "", 2), 2);
    assert_string_equal(kndl_buf_text(&f->bus.stored), "push with ************\n");
    assert_int_equal(f->bus.asked, 2);
    put_text(&f->copy, "again", "", 2);
    assert_int_equal(f->bus.asked, 2);
}

/* RD-02: a Variable that is set while a Session runs. Its Runner knows nothing of it. */
static void rd_02_values_that_changed_are_learnt_anew_when_it_is_said_or_soon(void **state)
{
    struct fixture *f = *state;

    open_as(&f->copy, "r1");
    put_text(&f->copy, "the new one is another-Value.", "", 1);
    unsigned asked = f->bus.asked;
    f->bus.values[1] = "another-Value";
    f->bus.version = 2;
    sets_doubt(f->copy.redactor.sets);
    put_text(&f->copy, "the new one is another-Value.", "", 1);
    assert_non_null(strstr(kndl_buf_text(&f->bus.stored), "the new one is *************.\n"));
    assert_int_equal(f->bus.asked, asked + 1);
    put_text(&f->copy, "more", "", 1);
    assert_int_equal(f->bus.asked, asked + 1);

    /* What was said may be lost. */
    f->bus.values[2] = "a-third-Value";
    f->bus.version = 3;
    kndl_clock_shift(11 * 1000);
    put_text(&f->copy, "and a-third-Value.", "", 1);
    assert_non_null(strstr(kndl_buf_text(&f->bus.stored), "and *************.\n"));

    /* And if they cannot be learnt, nothing leaves. */
    f->bus.secrets_code = KNDL_UNAVAILABLE;
    sets_doubt(f->copy.redactor.sets);
    unsigned batches = f->bus.batches;
    put_text(&f->copy, "waits", "", 1);
    assert_int_equal(f->bus.batches, batches);
}

static void a_stream_is_its_runners_alone(void **state)
{
    struct fixture *f = *state;
    V1(PutRequest) req = KNDL__REDACTOR__V1__PUT_REQUEST__INIT;

    assert_int_equal(open_as(&f->copy, "r2"), -1);
    assert_int_equal(f->copy.err.code, KNDL_NOT_FOUND);
    open_as(&f->copy, "r1");
    assert_int_equal(put(&f->copy, "r2", &req), -1);
    assert_int_equal(f->copy.err.code, KNDL_FAILED_PRECONDITION);
}

/* CR-06: what the fact of a removed Runner does. */
static void cr_06_the_streams_of_a_removed_runner_are_dropped_and_no_others(void **state)
{
    struct fixture *f = *state;

    open_as(&f->copy, "r1");
    sets_drop_runner(f->copy.redactor.sets, "r2");
    assert_int_equal(put_text(&f->copy, "goes on", "", 1), 2);
    sets_drop_runner(f->copy.redactor.sets, "r1");
    unsigned batches = f->bus.batches;
    assert_int_equal(put_text(&f->copy, "is refused", "", 1), -1);
    assert_int_equal(f->copy.err.code, KNDL_FAILED_PRECONDITION);
    assert_int_equal(f->bus.batches, batches);
}

static void what_sessions_refuses_stays_with_the_runner(void **state)
{
    struct fixture *f = *state;

    f->bus.sessions_code = KNDL_UNAVAILABLE;
    open_as(&f->copy, "r1");
    assert_int_equal(put_text(&f->copy, "hello", "", 1), -1);
    assert_int_equal(f->copy.err.code, KNDL_UNAVAILABLE);
}

static void texts_are_masked_at_once_with_the_newest_values(void **state)
{
    struct fixture *f = *state;
    V1(MaskRequest) req = KNDL__REDACTOR__V1__MASK_REQUEST__INIT;

    req.session_id = (char *)session;
    req.n_texts = 2;
    req.texts = (char *[]){(char *)"canary-Value-31415926", (char *)"plain"};
    struct kndl_test_answer answer =
        kndl_test_call(redactor_internal_service, &f->copy.redactor, "sessions", "Mask", &req.base);
    const V1(MaskResponse) *resp = (V1(MaskResponse) *)answer.response;
    assert_int_equal(resp->n_texts, 2);
    assert_string_equal(resp->texts[0], "*********************");
    assert_string_equal(resp->texts[1], "plain");
    kndl_test_done(&answer);

    req.texts = (char *[]){(char *)"> canary-Value-314\n---", (char *)""};
    req.are_screens = true;
    answer =
        kndl_test_call(redactor_internal_service, &f->copy.redactor, "sessions", "Mask", &req.base);
    assert_string_equal(((V1(MaskResponse) *)answer.response)->texts[0], "> ****************\n---");
    kndl_test_done(&answer);

    f->bus.secrets_code = KNDL_UNAVAILABLE;
    answer =
        kndl_test_call(redactor_internal_service, &f->copy.redactor, "sessions", "Mask", &req.base);
    assert_int_equal(answer.err.code, KNDL_UNAVAILABLE);
    kndl_test_done(&answer);
}

static void nothing_of_a_raw_text_is_in_the_log(void **state)
{
    struct fixture *f = *state;
    char log[64 * 1024];
    FILE *file = tmpfile();
    int kept = dup(STDERR_FILENO);

    fflush(stderr);
    dup2(fileno(file), STDERR_FILENO);
    open_as(&f->copy, "r1");
    put_delta(&f->copy, 0, "streams canary-Value-31415926 on");
    put_text(&f->copy, "says canary-Value-31415926 and words", "b1", 1);
    f->bus.secrets_code = KNDL_UNAVAILABLE;
    put_text(&f->copy, "says canary-Value-31415926 and words", "b1", 9);
    dup2(kept, STDERR_FILENO);
    close(kept);

    rewind(file);
    size_t size = fread(log, 1, sizeof log - 1, file);
    log[size] = '\0';
    assert_true(size > 0);
    assert_null(strstr(log, "canary"));
    assert_null(strstr(log, "words"));
    assert_null(strstr(log, "streams"));
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(an_event_is_masked_stored_and_then_answered),
        cmocka_unit_test(a_value_cut_by_pieces_never_shows),
        TEST(ev_05_a_tool_call_that_has_its_event_streams_no_more),
        TEST(what_is_held_leaves_within_its_time),
        TEST(the_task_is_woken_only_for_what_leaves_before_it_runs_again),
        cmocka_unit_test(a_value_cut_by_the_death_of_a_copy_never_shows),
        TEST(after_a_gap_a_block_is_passed_over),
        TEST(ev_05_the_end_of_a_turn_leaves_its_subagents_blocks),
        cmocka_unit_test(deltas_leave_in_order_whoever_lets_them_go),
        TEST(unknown_values_let_nothing_out),
        TEST(a_newer_value_is_learnt_before_its_batch_is_masked),
        TEST(rd_02_values_that_changed_are_learnt_anew_when_it_is_said_or_soon),
        TEST(a_stream_is_its_runners_alone),
        TEST(cr_06_the_streams_of_a_removed_runner_are_dropped_and_no_others),
        TEST(what_sessions_refuses_stays_with_the_runner),
        TEST(texts_are_masked_at_once_with_the_newest_values),
        TEST(nothing_of_a_raw_text_is_in_the_log),
    };
    return cmocka_run_group_tests_name("redactor", tests, NULL, NULL);
}
