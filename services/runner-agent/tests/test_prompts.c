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

static void set_up(struct fixture *f)
{
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

static void tear_down(struct fixture *f)
{
    close_prompts(f);
    fake_disk_run(&f->disk);
    kndl_loop_free(f->loop);
    kndl_secret_done(&f->pair);
    unlink(f->path);
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

static void it_is_on_the_disk_before_it_is_taken_and_offered(void **unused)
{
    struct fixture f;

    (void)unused;
    set_up(&f);
    hand(&f, "p1", "hello");
    assert_int_equal(f.taken, 0);
    assert_int_equal(fetch(&f, NULL), 0);
    fake_disk_run(&f.disk);
    assert_int_equal(f.taken, 1);
    assert_true(fetch(&f, "\"op\":\"prompt\"") > 0);
    tear_down(&f);
}

static void a_full_disk_does_not_take_it(void **unused)
{
    struct fixture f;

    (void)unused;
    set_up(&f);
    f.disk.is_full = true;
    hand(&f, "p1", "hello");
    fake_disk_run(&f.disk);
    assert_int_equal(f.refusal, KNDL_RESOURCE_EXHAUSTED);
    assert_int_equal(fetch(&f, NULL), 0);
    f.disk.is_full = false;
    hand(&f, "p1", "hello");
    fake_disk_run(&f.disk);
    assert_int_equal(f.taken, 1);
    tear_down(&f);
}

static void it_is_started_when_the_mod_says_so_and_told_once(void **unused)
{
    struct fixture f;

    (void)unused;
    set_up(&f);
    hand(&f, "p1", "hello");
    fake_disk_run(&f.disk);
    result(&f, fetch(&f, NULL), CLAUDE_STARTED, "");
    assert_outcome(&f, 1, OUTCOME(STARTED));
    assert_string_equal(prompts_match(f.prompts, "hello", false), "p1");
    assert_outcome(&f, 1, OUTCOME(STARTED));
    tear_down(&f);
}

static void it_is_started_when_its_row_came_first(void **unused)
{
    struct fixture f;
    int64_t n;

    (void)unused;
    set_up(&f);
    hand(&f, "p1", "hello");
    fake_disk_run(&f.disk);
    n = fetch(&f, NULL);
    assert_string_equal(prompts_match(f.prompts, "something else", false), "");
    assert_string_equal(prompts_match(f.prompts, "hello", false), "p1");
    assert_outcome(&f, 1, OUTCOME(STARTED));
    result(&f, n, CLAUDE_STARTED, "");
    assert_outcome(&f, 1, OUTCOME(STARTED));
    tear_down(&f);
}

static void its_row_names_it_even_after_sessions_knows(void **unused)
{
    struct fixture f;

    (void)unused;
    set_up(&f);
    hand(&f, "p1", "hello");
    fake_disk_run(&f.disk);
    result(&f, fetch(&f, NULL), CLAUDE_STARTED, "");
    prompts_reported(f.prompts, "p1");
    assert_string_equal(prompts_match(f.prompts, "hello", false), "p1");
    assert_string_equal(prompts_match(f.prompts, "hello", false), "");
    assert_int_equal(f.outcomes, 1);
    tear_down(&f);
}

/* hub-link posts what Claude Code's hooks say in the order they run, which is not always the same.
 */
static void its_turn_may_start_before_its_row_comes(void **unused)
{
    struct fixture f;

    (void)unused;
    set_up(&f);
    hand(&f, "p1", "hello");
    fake_disk_run(&f.disk);
    result(&f, fetch(&f, NULL), CLAUDE_STARTED, "");
    assert_string_equal(prompts_of_turn(f.prompts, "hello"), "p1");
    prompts_reported(f.prompts, "p1");
    assert_string_equal(prompts_of_turn(f.prompts, "hello"), "p1");
    assert_string_equal(prompts_match(f.prompts, "hello", false), "p1");
    assert_string_equal(prompts_match(f.prompts, "hello", false), "");
    assert_int_equal(f.outcomes, 1);
    tear_down(&f);
}

static void a_turn_that_starts_is_a_receipt(void **unused)
{
    struct fixture f;

    (void)unused;
    set_up(&f);
    hand(&f, "p1", "hello");
    fake_disk_run(&f.disk);
    assert_string_equal(prompts_of_turn(f.prompts, "hello"), "p1");
    assert_outcome(&f, 1, OUTCOME(STARTED));
    prompts_reported(f.prompts, "p1");
    assert_string_equal(prompts_match(f.prompts, "hello", false), "p1");
    tear_down(&f);
}

static void one_at_a_time_is_in_hand(void **unused)
{
    struct fixture f;

    (void)unused;
    set_up(&f);
    hand(&f, "p1", "hello");
    fake_disk_run(&f.disk);
    hand(&f, "p1", "hello");
    assert_int_equal(f.taken, 2);
    hand(&f, "p2", "another");
    assert_int_equal(f.refusal, KNDL_ABORTED);
    result(&f, fetch(&f, NULL), CLAUDE_STARTED, "");
    hand(&f, "p2", "another");
    fake_disk_run(&f.disk);
    assert_true(fetch(&f, "another") > 0);
    tear_down(&f);
}

static void one_that_is_done_is_told_again_and_never_offered_again(void **unused)
{
    struct fixture f;

    (void)unused;
    set_up(&f);
    hand(&f, "p1", "hello");
    fake_disk_run(&f.disk);
    result(&f, fetch(&f, NULL), CLAUDE_STARTED, "");
    prompts_reported(f.prompts, "p1");
    hand(&f, "p1", "hello");
    fake_disk_run(&f.disk);
    assert_outcome(&f, 2, OUTCOME(STARTED));
    assert_int_equal(fetch(&f, NULL), 0);
    tear_down(&f);
}

static void taken_from_the_queue_it_is_queued_again(void **unused)
{
    struct fixture f;

    (void)unused;
    set_up(&f);
    hand(&f, "p1", "hello");
    fake_disk_run(&f.disk);
    result(&f, fetch(&f, NULL), CLAUDE_UNQUEUED, "the prompt was removed from the queue");
    assert_outcome(&f, 1, OUTCOME(REQUEUE));
    tear_down(&f);
}

static void refused_by_a_hook_it_is_refused_with_the_reason(void **unused)
{
    struct fixture f;

    (void)unused;
    set_up(&f);
    hand(&f, "p1", "hello");
    fake_disk_run(&f.disk);
    result(&f, fetch(&f, NULL), CLAUDE_REFUSED, "not on a Sunday");
    assert_outcome(&f, 1, OUTCOME(REFUSED));
    assert_string_equal(f.reason, "not on a Sunday");
    tear_down(&f);
}

static void after_an_escape_it_is_filled_in_and_enter_pressed(void **unused)
{
    struct fixture f;
    struct kndl_buf out = {0};

    (void)unused;
    set_up(&f);
    hand(&f, "p1", "/hello ");
    fake_disk_run(&f.disk);
    result(&f, fetch(&f, NULL), CLAUDE_STOPPED, "the session was stopped");
    assert_int_equal(f.outcomes, 0);
    result(&f, fetch(&f, "\"op\":\"fill\",\"id\":\"p1\",\"text\":\" /hello \""), CLAUDE_FILLED, "");
    assert_int_equal(f.enters, 1);
    assert_int_equal(f.outcomes, 0);
    assert_string_equal(prompts_match(f.prompts, " /hello", true), "p1");
    assert_outcome(&f, 1, OUTCOME(STARTED));
    /* The person's own words go back into the box. */
    assert_true(orders_fetch(f.orders, 0, &out, NULL) > 0);
    assert_non_null(strstr(kndl_buf_text(&out), "half a thought"));
    kndl_buf_done(&out);
    tear_down(&f);
}

static void with_a_dialog_open_no_enter_is_pressed(void **unused)
{
    struct fixture f;

    (void)unused;
    set_up(&f);
    hand(&f, "p1", "hello");
    fake_disk_run(&f.disk);
    result(&f, fetch(&f, NULL), CLAUDE_STOPPED, "the session was stopped");
    result(&f, fetch(&f, NULL), CLAUDE_DIALOG_OPEN, "");
    assert_int_equal(f.enters, 0);
    assert_int_equal(f.outcomes, 0);
    tear_down(&f);
}

static void what_a_person_typed_is_theirs_unless_we_filled_it(void **unused)
{
    struct fixture f;

    (void)unused;
    set_up(&f);
    hand(&f, "p1", "hello");
    fake_disk_run(&f.disk);
    assert_string_equal(prompts_match(f.prompts, "hello", true), "");
    assert_int_equal(f.outcomes, 0);
    tear_down(&f);
}

static void a_new_key_refuses_what_it_cannot_open(void **unused)
{
    struct fixture f;
    uint8_t other[KNDL_SEAL_PUBLIC_BYTES];

    (void)unused;
    set_up(&f);
    memcpy(other, f.public_key, sizeof other);
    kndl_secret_done(&f.pair);
    kndl_seal_keypair(&f.pair, f.public_key);
    memcpy(f.public_key, other, sizeof other);
    hand(&f, "p1", "hello");
    fake_disk_run(&f.disk);
    assert_int_equal(f.taken, 1);
    assert_outcome(&f, 1, OUTCOME(REFUSED));
    tear_down(&f);
}

/* Decisions after Claude Code died; the transcript's rows were matched before. */

static void never_fetched_it_is_queued_again(void **unused)
{
    struct fixture f;

    (void)unused;
    set_up(&f);
    hand(&f, "p1", "hello");
    fake_disk_run(&f.disk);
    prompts_settle(f.prompts);
    assert_outcome(&f, 1, OUTCOME(REQUEUE));
    tear_down(&f);
}

static void fetched_and_not_in_the_transcript_it_may_have_been_sent(void **unused)
{
    struct fixture f;

    (void)unused;
    set_up(&f);
    hand(&f, "p1", "hello");
    fake_disk_run(&f.disk);
    fetch(&f, NULL);
    prompts_settle(f.prompts);
    assert_outcome(&f, 1, OUTCOME(UNSURE));
    assert_int_equal(fetch(&f, NULL), 0);
    tear_down(&f);
}

static void in_the_transcript_it_is_started(void **unused)
{
    struct fixture f;

    (void)unused;
    set_up(&f);
    hand(&f, "p1", "hello");
    fake_disk_run(&f.disk);
    fetch(&f, NULL);
    assert_string_equal(prompts_match(f.prompts, "hello", false), "p1");
    prompts_settle(f.prompts);
    assert_outcome(&f, 1, OUTCOME(STARTED));
    tear_down(&f);
}

static void after_a_restart_it_is_offered_under_the_same_number(void **unused)
{
    struct fixture f;
    int64_t n;

    (void)unused;
    set_up(&f);
    hand(&f, "p1", "hello");
    fake_disk_run(&f.disk);
    n = fetch(&f, NULL);
    reopen(&f);
    assert_int_equal(f.outcomes, 0);
    assert_int_equal(fetch(&f, "hello"), n);
    prompts_settle(f.prompts);
    assert_outcome(&f, 1, OUTCOME(UNSURE));
    tear_down(&f);
}

static void after_a_restart_an_outcome_is_told_again(void **unused)
{
    struct fixture f;

    (void)unused;
    set_up(&f);
    hand(&f, "p1", "hello");
    fake_disk_run(&f.disk);
    result(&f, fetch(&f, NULL), CLAUDE_STARTED, "");
    reopen(&f);
    assert_outcome(&f, 2, OUTCOME(STARTED));
    assert_int_equal(fetch(&f, NULL), 0);
    prompts_reported(f.prompts, "p1");
    reopen(&f);
    assert_int_equal(f.outcomes, 2);
    tear_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_on_the_disk_before_it_is_taken_and_offered),
        cmocka_unit_test(a_full_disk_does_not_take_it),
        cmocka_unit_test(it_is_started_when_the_mod_says_so_and_told_once),
        cmocka_unit_test(it_is_started_when_its_row_came_first),
        cmocka_unit_test(its_row_names_it_even_after_sessions_knows),
        cmocka_unit_test(its_turn_may_start_before_its_row_comes),
        cmocka_unit_test(a_turn_that_starts_is_a_receipt),
        cmocka_unit_test(one_at_a_time_is_in_hand),
        cmocka_unit_test(one_that_is_done_is_told_again_and_never_offered_again),
        cmocka_unit_test(taken_from_the_queue_it_is_queued_again),
        cmocka_unit_test(refused_by_a_hook_it_is_refused_with_the_reason),
        cmocka_unit_test(after_an_escape_it_is_filled_in_and_enter_pressed),
        cmocka_unit_test(with_a_dialog_open_no_enter_is_pressed),
        cmocka_unit_test(what_a_person_typed_is_theirs_unless_we_filled_it),
        cmocka_unit_test(a_new_key_refuses_what_it_cannot_open),
        cmocka_unit_test(never_fetched_it_is_queued_again),
        cmocka_unit_test(fetched_and_not_in_the_transcript_it_may_have_been_sent),
        cmocka_unit_test(in_the_transcript_it_is_started),
        cmocka_unit_test(after_a_restart_it_is_offered_under_the_same_number),
        cmocka_unit_test(after_a_restart_an_outcome_is_told_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
