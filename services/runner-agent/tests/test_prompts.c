/* The prompt in Claude Code's hands: every way it can go, and exactly once (EV-02). */

#include "prompts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake_disk.h"
#include "kndl/loop.h"
#include "kndl/mem.h"
#include "kndl/seal.h"
#include "kndl/testing.h"
#include "orders.h"

#define OUTCOME(name) KNDL__SESSIONS__V1__REPORT_PROMPT_REQUEST__OUTCOME__OUTCOME_##name

struct fixture {
    struct disk disk;
    struct kndl_loop *loop;
    struct orders *orders;
    struct prompts *prompts;
    struct kndl_secret pair;
    uint8_t public_key[KNDL_SEAL_PUBLIC_BYTES];
    char path[64];
    int taken, refused;
    enum kndl_code refusal;
    int outcomes;
    prompt_outcome outcome;
    char outcome_id[64];
    char reason[128];
    int enters;
};

static void on_outcome(void *data, const char *prompt_id, prompt_outcome outcome,
                       const char *reason)
{
    struct fixture *f = data;

    f->outcomes++;
    f->outcome = outcome;
    snprintf(f->outcome_id, sizeof f->outcome_id, "%s", prompt_id);
    snprintf(f->reason, sizeof f->reason, "%s", reason);
}

static void on_enter(void *data)
{
    ((struct fixture *)data)->enters++;
}

static void on_order(void *data)
{
    (void)data;
}

static void on_taken(void *data, const struct kndl_error *err)
{
    struct fixture *f = data;

    if (err->code == KNDL_OK)
        f->taken++;
    else
        f->refused++;
    f->refusal = err->code;
}

static void open_prompts(struct fixture *f)
{
    f->orders = orders_new();
    f->prompts = prompts_new(&(struct prompts_options){.loop = f->loop,
                                                       .disk = &f->disk,
                                                       .orders = f->orders,
                                                       .seal_pair = &f->pair,
                                                       .path = f->path,
                                                       .on_outcome = on_outcome,
                                                       .on_enter = on_enter,
                                                       .on_order = on_order,
                                                       .data = f});
}

static int set_up(void **state)
{
    static struct fixture fixture;
    struct fixture *f = *state = &fixture;
    struct kndl_error err = {0};
    int fd;

    *f = (struct fixture){.path = "/tmp/kndl-prompt-XXXXXX"};
    fd = mkstemp(f->path);
    assert_true(fd >= 0);
    close(fd);
    unlink(f->path);
    assert_int_equal(kndl_crypt_init(&err), 0);
    kndl_seal_keypair(&f->pair, f->public_key);
    f->loop = kndl_loop_new();
    open_prompts(f);
    return 0;
}

static void close_prompts(struct fixture *f)
{
    prompts_free(f->prompts);
    orders_free(f->orders);
}

/* As after a restart of runner-agent. */
static void reopen(struct fixture *f)
{
    fake_disk_run(&f->disk);
    close_prompts(f);
    open_prompts(f);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    close_prompts(f);
    fake_disk_run(&f->disk);
    kndl_loop_free(f->loop);
    kndl_secret_done(&f->pair);
    unlink(f->path);
    return 0;
}

static void hand(struct fixture *f, const char *id, const char *text)
{
    Kndl__Runner__V1__HandPromptRequest request = KNDL__RUNNER__V1__HAND_PROMPT_REQUEST__INIT;
    struct kndl_buf sealed = {0};

    kndl_seal(f->public_key, kndl_slice_of(text), &sealed);
    request.session_id = (char *)"s";
    request.prompt_id = (char *)id;
    request.sealed_text = (ProtobufCBinaryData){sealed.size, (uint8_t *)sealed.data};
    prompts_hand(f->prompts, &request, on_taken, f);
    kndl_buf_done(&sealed);
}

/* The same, and the disk does its work. */
static void take(struct fixture *f, const char *id, const char *text)
{
    hand(f, id, text);
    fake_disk_run(&f->disk);
}

static int64_t fetch(struct fixture *f, const char *part)
{
    struct kndl_buf out = {0};
    int64_t n = orders_fetch(f->orders, 0, &out, NULL);

    if (part != NULL)
        assert_non_null(strstr(kndl_buf_text(&out), part));
    kndl_buf_done(&out);
    return n;
}

static void result(struct fixture *f, int64_t n, enum claude_outcome outcome, const char *reason)
{
    struct claude_result said = {n, outcome, reason, "half a thought"};

    orders_result(f->orders, &said);
}

static void assert_outcome(const struct fixture *f, int count, prompt_outcome outcome)
{
    assert_int_equal(f->outcomes, count);
    assert_int_equal(f->outcome, outcome);
}

static void it_is_on_the_disk_before_it_is_taken_and_offered(void **state)
{
    struct fixture *f = *state;

    hand(f, "p1", "hello");
    assert_int_equal(f->taken, 0);
    assert_int_equal(fetch(f, NULL), 0);
    fake_disk_run(&f->disk);
    assert_int_equal(f->taken, 1);
    assert_true(fetch(f, "\"op\":\"prompt\"") > 0);
}

static void a_full_disk_does_not_take_it(void **state)
{
    struct fixture *f = *state;

    f->disk.is_full = true;
    take(f, "p1", "hello");
    assert_int_equal(f->refusal, KNDL_RESOURCE_EXHAUSTED);
    assert_int_equal(fetch(f, NULL), 0);
    f->disk.is_full = false;
    take(f, "p1", "hello");
    assert_int_equal(f->taken, 1);
}

static void it_is_started_when_the_mod_says_so_and_told_once(void **state)
{
    struct fixture *f = *state;

    take(f, "p1", "hello");
    result(f, fetch(f, NULL), CLAUDE_STARTED, "");
    assert_outcome(f, 1, OUTCOME(STARTED));
    assert_string_equal(prompts_match(f->prompts, "hello", false), "p1");
    assert_outcome(f, 1, OUTCOME(STARTED));
}

static void it_is_started_when_its_row_came_first(void **state)
{
    struct fixture *f = *state;
    int64_t n;

    take(f, "p1", "hello");
    n = fetch(f, NULL);
    assert_string_equal(prompts_match(f->prompts, "something else", false), "");
    assert_string_equal(prompts_match(f->prompts, "hello", false), "p1");
    assert_outcome(f, 1, OUTCOME(STARTED));
    result(f, n, CLAUDE_STARTED, "");
    assert_outcome(f, 1, OUTCOME(STARTED));
}

static void its_row_names_it_even_after_sessions_knows(void **state)
{
    struct fixture *f = *state;

    take(f, "p1", "hello");
    result(f, fetch(f, NULL), CLAUDE_STARTED, "");
    prompts_reported(f->prompts, "p1");
    assert_string_equal(prompts_match(f->prompts, "hello", false), "p1");
    assert_string_equal(prompts_match(f->prompts, "hello", false), "");
    assert_int_equal(f->outcomes, 1);
}

/* hub-link posts what Claude Code's hooks say in the order they run, which is not always the same.
 */
static void its_turn_may_start_before_its_row_comes(void **state)
{
    struct fixture *f = *state;

    take(f, "p1", "hello");
    result(f, fetch(f, NULL), CLAUDE_STARTED, "");
    assert_string_equal(prompts_of_turn(f->prompts, "hello"), "p1");
    prompts_reported(f->prompts, "p1");
    assert_string_equal(prompts_of_turn(f->prompts, "hello"), "p1");
    assert_string_equal(prompts_match(f->prompts, "hello", false), "p1");
    assert_string_equal(prompts_match(f->prompts, "hello", false), "");
    assert_int_equal(f->outcomes, 1);
}

static void a_turn_that_starts_is_a_receipt(void **state)
{
    struct fixture *f = *state;

    take(f, "p1", "hello");
    assert_string_equal(prompts_of_turn(f->prompts, "hello"), "p1");
    assert_outcome(f, 1, OUTCOME(STARTED));
    prompts_reported(f->prompts, "p1");
    assert_string_equal(prompts_match(f->prompts, "hello", false), "p1");
}

static void one_at_a_time_is_in_hand(void **state)
{
    struct fixture *f = *state;

    take(f, "p1", "hello");
    hand(f, "p1", "hello");
    assert_int_equal(f->taken, 2);
    hand(f, "p2", "another");
    assert_int_equal(f->refusal, KNDL_ABORTED);
    result(f, fetch(f, NULL), CLAUDE_STARTED, "");
    take(f, "p2", "another");
    assert_true(fetch(f, "another") > 0);
}

static void one_that_is_done_is_told_again_and_never_offered_again(void **state)
{
    struct fixture *f = *state;

    take(f, "p1", "hello");
    result(f, fetch(f, NULL), CLAUDE_STARTED, "");
    prompts_reported(f->prompts, "p1");
    take(f, "p1", "hello");
    assert_outcome(f, 2, OUTCOME(STARTED));
    assert_int_equal(fetch(f, NULL), 0);
}

static void taken_from_the_queue_it_is_queued_again(void **state)
{
    struct fixture *f = *state;

    take(f, "p1", "hello");
    result(f, fetch(f, NULL), CLAUDE_UNQUEUED, "the prompt was removed from the queue");
    assert_outcome(f, 1, OUTCOME(REQUEUE));
}

static void refused_by_a_hook_it_is_refused_with_the_reason(void **state)
{
    struct fixture *f = *state;

    take(f, "p1", "hello");
    result(f, fetch(f, NULL), CLAUDE_REFUSED, "not on a Sunday");
    assert_outcome(f, 1, OUTCOME(REFUSED));
    assert_string_equal(f->reason, "not on a Sunday");
}

static void after_an_escape_it_is_filled_in_and_enter_pressed(void **state)
{
    struct fixture *f = *state;
    struct kndl_buf out = {0};

    take(f, "p1", "/hello ");
    result(f, fetch(f, NULL), CLAUDE_STOPPED, "the session was stopped");
    assert_int_equal(f->outcomes, 0);
    result(f, fetch(f, "\"op\":\"fill\",\"id\":\"p1\",\"text\":\" /hello \""), CLAUDE_FILLED, "");
    assert_int_equal(f->enters, 1);
    assert_int_equal(f->outcomes, 0);
    assert_string_equal(prompts_match(f->prompts, " /hello", true), "p1");
    assert_outcome(f, 1, OUTCOME(STARTED));
    /* The person's own words go back into the box. */
    assert_true(orders_fetch(f->orders, 0, &out, NULL) > 0);
    assert_non_null(strstr(kndl_buf_text(&out), "half a thought"));
    kndl_buf_done(&out);
}

static void with_a_dialog_open_no_enter_is_pressed(void **state)
{
    struct fixture *f = *state;

    take(f, "p1", "hello");
    result(f, fetch(f, NULL), CLAUDE_STOPPED, "the session was stopped");
    result(f, fetch(f, NULL), CLAUDE_DIALOG_OPEN, "");
    assert_int_equal(f->enters, 0);
    assert_int_equal(f->outcomes, 0);
}

static void what_a_person_typed_is_theirs_unless_we_filled_it(void **state)
{
    struct fixture *f = *state;

    take(f, "p1", "hello");
    assert_string_equal(prompts_match(f->prompts, "hello", true), "");
    assert_int_equal(f->outcomes, 0);
}

static void a_new_key_refuses_what_it_cannot_open(void **state)
{
    struct fixture *f = *state;
    uint8_t other[KNDL_SEAL_PUBLIC_BYTES];

    memcpy(other, f->public_key, sizeof other);
    kndl_secret_done(&f->pair);
    kndl_seal_keypair(&f->pair, f->public_key);
    memcpy(f->public_key, other, sizeof other);
    take(f, "p1", "hello");
    assert_int_equal(f->taken, 1);
    assert_outcome(f, 1, OUTCOME(REFUSED));
}

/* Decisions after Claude Code died; the transcript's rows were matched before. */

static void never_fetched_it_is_queued_again(void **state)
{
    struct fixture *f = *state;

    take(f, "p1", "hello");
    prompts_settle(f->prompts);
    assert_outcome(f, 1, OUTCOME(REQUEUE));
}

static void fetched_and_not_in_the_transcript_it_may_have_been_sent(void **state)
{
    struct fixture *f = *state;

    take(f, "p1", "hello");
    fetch(f, NULL);
    prompts_settle(f->prompts);
    assert_outcome(f, 1, OUTCOME(UNSURE));
    assert_int_equal(fetch(f, NULL), 0);
}

static void in_the_transcript_it_is_started(void **state)
{
    struct fixture *f = *state;

    take(f, "p1", "hello");
    fetch(f, NULL);
    assert_string_equal(prompts_match(f->prompts, "hello", false), "p1");
    prompts_settle(f->prompts);
    assert_outcome(f, 1, OUTCOME(STARTED));
}

static void after_a_restart_it_is_offered_under_the_same_number(void **state)
{
    struct fixture *f = *state;
    int64_t n;

    take(f, "p1", "hello");
    n = fetch(f, NULL);
    reopen(f);
    assert_int_equal(f->outcomes, 0);
    assert_int_equal(fetch(f, "hello"), n);
    prompts_settle(f->prompts);
    assert_outcome(f, 1, OUTCOME(UNSURE));
}

static void after_a_restart_an_outcome_is_told_again(void **state)
{
    struct fixture *f = *state;

    take(f, "p1", "hello");
    result(f, fetch(f, NULL), CLAUDE_STARTED, "");
    reopen(f);
    assert_outcome(f, 2, OUTCOME(STARTED));
    assert_int_equal(fetch(f, NULL), 0);
    prompts_reported(f->prompts, "p1");
    reopen(f);
    assert_int_equal(f->outcomes, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(it_is_on_the_disk_before_it_is_taken_and_offered),
        TEST(a_full_disk_does_not_take_it),
        TEST(it_is_started_when_the_mod_says_so_and_told_once),
        TEST(it_is_started_when_its_row_came_first),
        TEST(its_row_names_it_even_after_sessions_knows),
        TEST(its_turn_may_start_before_its_row_comes),
        TEST(a_turn_that_starts_is_a_receipt),
        TEST(one_at_a_time_is_in_hand),
        TEST(one_that_is_done_is_told_again_and_never_offered_again),
        TEST(taken_from_the_queue_it_is_queued_again),
        TEST(refused_by_a_hook_it_is_refused_with_the_reason),
        TEST(after_an_escape_it_is_filled_in_and_enter_pressed),
        TEST(with_a_dialog_open_no_enter_is_pressed),
        TEST(what_a_person_typed_is_theirs_unless_we_filled_it),
        TEST(a_new_key_refuses_what_it_cannot_open),
        TEST(never_fetched_it_is_queued_again),
        TEST(fetched_and_not_in_the_transcript_it_may_have_been_sent),
        TEST(in_the_transcript_it_is_started),
        TEST(after_a_restart_it_is_offered_under_the_same_number),
        TEST(after_a_restart_an_outcome_is_told_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
