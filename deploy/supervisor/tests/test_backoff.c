#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backoff.h"

static void what_ended_first_starts_at_once(void **state)
{
    struct backoff backoff = {0};

    (void)state;
    assert_int_equal(backoff_next(&backoff, 5, 12345), 0);
}

static void pauses_double_to_thirty_seconds(void **state)
{
    struct backoff backoff = {0};
    int64_t whole_ms = BACKOFF_FIRST_MS;

    (void)state;
    (void)backoff_next(&backoff, 0, 0);
    for (int n = 0; n < 20; n++) {
        struct backoff same = backoff;
        int64_t least = backoff_next(&backoff, 0, 0);
        int64_t most = backoff_next(&same, 0, (uint32_t)(whole_ms / 2));

        assert_int_equal(least, whole_ms / 2);
        assert_int_equal(most, whole_ms);
        whole_ms = whole_ms * 2 < BACKOFF_MOST_MS ? whole_ms * 2 : BACKOFF_MOST_MS;
    }
    assert_int_equal(whole_ms, BACKOFF_MOST_MS);
}

static void jitter_never_leaves_the_upper_half(void **state)
{
    struct backoff backoff = {.ended = 30};

    (void)state;
    for (uint32_t random = 0; random < 100000; random += 77) {
        int64_t pause = backoff_next(&backoff, 0, random * 2654435761u);

        assert_in_range(pause, BACKOFF_MOST_MS / 2, BACKOFF_MOST_MS);
    }
}

static void a_minute_of_running_forgives_all(void **state)
{
    struct backoff backoff = {.ended = 9};

    (void)state;
    assert_true(backoff_next(&backoff, BACKOFF_FORGIVEN_MS - 1, 0) > 0);
    assert_int_equal(backoff_next(&backoff, BACKOFF_FORGIVEN_MS, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_ended_first_starts_at_once),
        cmocka_unit_test(pauses_double_to_thirty_seconds),
        cmocka_unit_test(jitter_never_leaves_the_upper_half),
        cmocka_unit_test(a_minute_of_running_forgives_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
