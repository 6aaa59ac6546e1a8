/* The dispatcher, with a store, Runners and secrets in memory. */

#include "dispatch.h"

#include "fakes.h"
#include "kndl/testing.h"
#include "rpc.h"
#include "store.h"

/* In place of the store: what is due, in order, and what became of it. */
struct store {
    struct delivery due[8];
    size_t count;
    size_t next;
    unsigned settled;
    unsigned released;
    bool was_unsure;
};

int store_claim_delivery(struct store *store, struct kndl_arena *arena,
                         const struct delivery **ret_delivery, struct changes *changes,
                         struct kndl_error *err)
{
    (void)arena;
    (void)changes;
    (void)err;
    *ret_delivery = store->next < store->count ? &store->due[store->next++] : NULL;
    return 0;
}

int store_settle_delivery(struct store *store, struct kndl_arena *arena,
                          const struct delivery *delivery, struct kndl_error *err)
{
    (void)arena;
    (void)delivery;
    (void)err;
    store->settled++;
    return 0;
}

int store_release_delivery(struct store *store, struct kndl_arena *arena,
                           const struct delivery *delivery, bool is_unsure, struct changes *changes,
                           struct kndl_error *err)
{
    (void)arena;
    (void)delivery;
    (void)changes;
    (void)err;
    store->released++;
    store->was_unsure = is_unsure;
    return 0;
}

struct fixture {
    struct store store;
    struct kndl_bus bus;
    struct sessions sessions;
};

static void set_up(struct fixture *f, enum delivery_kind kind)
{
    *f = (struct fixture){
        .store = {.due = {{.kind = kind, .session_id = "s1", .run = 1}}, .count = 1}};
    f->sessions = (struct sessions){.store = &f->store, .bus = &f->bus};
}

static void what_is_taken_is_settled(void **unused)
{
    struct fixture f;

    (void)unused;
    set_up(&f, DELIVER_PROMPT);
    assert_int_equal(kndl_test_task(&dispatch_task, &f.sessions).code, KNDL_OK);
    assert_int_equal(f.bus.runners.commands, 1);
    assert_int_equal(f.store.settled, 1);
    assert_int_equal(f.store.released, 0);
}

/* CR-02: secrets hands out the setup token by that alone. */
static void cr_02_secrets_hears_of_a_start_before_the_runner_does(void **unused)
{
    struct fixture f;

    (void)unused;
    set_up(&f, DELIVER_START);
    kndl_test_task(&dispatch_task, &f.sessions);
    assert_int_equal(f.bus.peers.assignments, 1);
    assert_int_equal(f.bus.peers.last_phase, 2);
    assert_int_equal(f.bus.runners.commands, 1);
}

static void an_assignment_is_no_command(void **unused)
{
    struct fixture f;

    (void)unused;
    set_up(&f, DELIVER_ASSIGNMENT);
    f.store.due[0].assignment = 5;
    kndl_test_task(&dispatch_task, &f.sessions);
    assert_int_equal(f.bus.peers.last_phase, 5);
    assert_int_equal(f.bus.runners.commands, 0);
    assert_int_equal(f.store.settled, 1);
}

static void what_is_refused_is_released_and_the_next_goes_on(void **unused)
{
    struct fixture f;

    (void)unused;
    set_up(&f, DELIVER_PROMPT);
    f.store.due[1] = f.store.due[0];
    f.store.count = 2;
    f.bus.runners.code = KNDL_UNAVAILABLE;
    assert_int_equal(kndl_test_task(&dispatch_task, &f.sessions).code, KNDL_OK);
    assert_int_equal(f.bus.runners.commands, 2);
    assert_int_equal(f.store.released, 2);
    assert_false(f.store.was_unsure);
}

static void silence_means_that_it_may_have_been_taken(void **unused)
{
    struct fixture f;

    (void)unused;
    set_up(&f, DELIVER_PROMPT);
    f.bus.runners.code = KNDL_DEADLINE_EXCEEDED;
    kndl_test_task(&dispatch_task, &f.sessions);
    assert_int_equal(f.store.released, 1);
    assert_true(f.store.was_unsure);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_taken_is_settled),
        cmocka_unit_test(cr_02_secrets_hears_of_a_start_before_the_runner_does),
        cmocka_unit_test(an_assignment_is_no_command),
        cmocka_unit_test(what_is_refused_is_released_and_the_next_goes_on),
        cmocka_unit_test(silence_means_that_it_may_have_been_taken),
    };
    return cmocka_run_group_tests_name("sessions dispatch", tests, NULL, NULL);
}
