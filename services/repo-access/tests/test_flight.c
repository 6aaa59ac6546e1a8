#include "flight.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "kndl/testing.h"

static atomic_int begun;
static atomic_int first;

static void *ask(void *key)
{
    struct kndl_error err = {0};
    bool is_first = false;

    atomic_fetch_add(&begun, 1);
    if (flight_begin(key, &is_first, &err) < 0)
        abort();
    if (is_first) {
        atomic_fetch_add(&first, 1);
        flight_end(key);
    }
    return NULL;
}

static void who_asks_the_same_waits_for_the_one_who_does(void **state)
{
    struct kndl_error err = {0};
    pthread_t threads[2];
    bool is_first = false;

    (void)state;
    assert_int_equal(flight_begin("a", &is_first, &err), 0);
    assert_true(is_first);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, ask, "a");
    while (atomic_load(&begun) < 2)
        sched_yield();
    assert_int_equal(atomic_load(&first), 0);
    flight_end("a");
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

static void other_questions_are_asked_meanwhile_up_to_the_limit(void **state)
{
    static const char *const keys[FLIGHT_WAITING_MAX] = {"a", "b", "c", "d"};
    struct kndl_error err = {0};
    bool is_first;

    (void)state;
    for (int i = 0; i < FLIGHT_WAITING_MAX; i++) {
        assert_int_equal(flight_begin(keys[i], &is_first, &err), 0);
        assert_true(is_first);
    }
    assert_int_equal(flight_begin("e", &is_first, &err), -1);
    assert_int_equal(err.code, KNDL_RESOURCE_EXHAUSTED);
    assert_int_equal(flight_begin("a", &is_first, &err), -1);
    flight_end("b");
    assert_int_equal(flight_begin("e", &is_first, &err), 0);
    flight_end("a");
    flight_end("c");
    flight_end("d");
    flight_end("e");
    assert_int_equal(flight_begin("a", &is_first, &err), 0);
    assert_true(is_first);
    flight_end("a");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_asks_the_same_waits_for_the_one_who_does),
        cmocka_unit_test(other_questions_are_asked_meanwhile_up_to_the_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
