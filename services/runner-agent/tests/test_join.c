/* The way onto the Hub: tried until it is there, and never against a refusal or an order to end. */

#include "join.h"

#include <signal.h>
#include <string.h>

#include "credential.h"
#include "kndl/bus.h"
#include "kndl/env.h"
#include "kndl/loop.h"
#include "kndl/testing.h"
#include "runner.h"

static const struct kndl_env env[] = {{"RUNNER_NATS_URL", "nats://127.0.0.1:1", ""},
                                      {NULL, NULL, NULL}};

/* The Hub of this test: how often it is away yet, and what it says then. */
static struct {
    int credential_away, bus_away;
    enum kndl_code credential_says;
    int begun, opened;
    bool ends; /* SIGTERM comes while it is asked */
} hub;

static int away(int *times, enum kndl_code code, struct kndl_error *err)
{
    if (hub.ends)
        (void)raise(SIGTERM);
    if (*times == 0)
        return 0;
    (*times)--;
    return kndl_fail(err, code, "it is not there");
}

int credential_begin(struct credential *credential, uint64_t *ret_pause_ms, struct kndl_error *err)
{
    (void)credential;
    if (hub.credential_says == KNDL_FAILED_PRECONDITION)
        *ret_pause_ms = 1;
    if (away(&hub.credential_away, hub.credential_says, err) < 0)
        return -1;
    hub.begun++;
    return 0;
}

const char *credential_runner_id(const struct credential *credential)
{
    (void)credential;
    return hub.begun > 0 ? "r1" : NULL;
}

struct kndl_bus_signer credential_signer(struct credential *credential)
{
    (void)credential;
    return (struct kndl_bus_signer){0};
}

int kndl_bus_open(const struct kndl_bus_options *options, struct kndl_bus **ret_bus,
                  struct kndl_error *err)
{
    assert_string_equal(options->runner_id, "r1");
    if (away(&hub.bus_away, KNDL_UNAVAILABLE, err) < 0)
        return -1;
    hub.opened++;
    *ret_bus = (struct kndl_bus *)&hub;
    return 0;
}

struct fixture {
    struct runner runner;
    struct kndl_error err;
    bool is_stopped;
};

static int set_up(void **state)
{
    static struct fixture fixture;
    struct kndl_error err = {0};

    assert_int_equal(kndl_env_load(env, &err), 0);
    hub.credential_away = hub.bus_away = hub.begun = hub.opened = 0;
    hub.credential_says = KNDL_UNAVAILABLE;
    hub.ends = false;
    fixture = (struct fixture){.runner = {.loop = kndl_loop_new()}};
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    kndl_loop_free(f->runner.loop);
    return 0;
}

static int join(struct fixture *f)
{
    return join_hub(&f->runner, &f->is_stopped, &f->err);
}

static void a_hub_that_is_away_is_tried_until_it_is_there(void **state)
{
    struct fixture *f = *state;

    hub.credential_away = 2;
    hub.bus_away = 1;
    assert_int_equal(join(f), 0);
    assert_false(f->is_stopped);
    assert_int_equal(hub.begun, 1); /* NATS alone was tried again */
    assert_int_equal(hub.opened, 1);
    assert_string_equal(f->runner.id, "r1");
    assert_ptr_equal(f->runner.bus, &hub);
}

static void a_refusal_is_final(void **state)
{
    struct fixture *f = *state;

    hub.credential_away = 1;
    hub.credential_says = KNDL_UNAUTHENTICATED;
    assert_int_equal(join(f), -1);
    assert_int_equal(f->err.code, KNDL_UNAUTHENTICATED);
    assert_int_equal(hub.begun, 0);
}

/* AC-10: it may be updated meanwhile, and then it is let in. */
static void a_runner_that_is_turned_away_waits(void **state)
{
    struct fixture *f = *state;

    hub.credential_away = 3;
    hub.credential_says = KNDL_FAILED_PRECONDITION;
    assert_int_equal(join(f), 0);
    assert_false(f->is_stopped);
    assert_int_equal(hub.opened, 1);
}

/* CL-05 */
static void a_newer_release_that_is_ready_ends_the_tries(void **state)
{
    struct fixture *f = *state;

    hub.credential_away = 1;
    hub.credential_says = KNDL_ABORTED;
    assert_int_equal(join(f), -1);
    assert_int_equal(f->err.code, KNDL_ABORTED);
}

static void it_ends_when_told_to_although_the_hub_is_away(void **state)
{
    struct fixture *f = *state;

    hub.credential_away = 1000000;
    hub.ends = true;
    assert_int_equal(join(f), 0);
    assert_true(f->is_stopped);
    assert_int_equal(hub.opened, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(a_hub_that_is_away_is_tried_until_it_is_there),
        TEST(a_refusal_is_final),
        TEST(a_runner_that_is_turned_away_waits),
        TEST(a_newer_release_that_is_ready_ends_the_tries),
        TEST(it_ends_when_told_to_although_the_hub_is_away),
    };
    return cmocka_run_group_tests_name("runner-agent join", tests, NULL, NULL);
}
