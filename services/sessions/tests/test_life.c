/* LI-01: the table of states. */

#include "life.h"

#include <string.h>

#include "kndl/testing.h"

static void no_state_follows_itself(void **unused)
{
    (void)unused;
    for (unsigned state = 0; state < LIFE_STATES; state++)
        assert_false(life_can((life_state)state, (life_state)state));
}

static void a_session_begins_by_starting_and_never_is_new_again(void **unused)
{
    (void)unused;
    for (unsigned state = 0; state < LIFE_STATES; state++) {
        assert_int_equal(life_can(LIFE(UNSPECIFIED), (life_state)state), state == LIFE(STARTING));
        assert_false(life_can((life_state)state, LIFE(UNSPECIFIED)));
    }
}

static void li_01_only_a_start_a_wake_or_a_return_makes_a_session_active(void **unused)
{
    (void)unused;
    for (unsigned state = 0; state < LIFE_STATES; state++)
        assert_int_equal(life_can((life_state)state, LIFE(ACTIVE)),
                         state == LIFE(STARTING) || state == LIFE(WAKING) || state == LIFE(FROZEN));
}

static void what_goes_to_sleep_only_falls_asleep_or_freezes(void **unused)
{
    (void)unused;
    for (unsigned state = 0; state < LIFE_STATES; state++)
        assert_int_equal(life_can(LIFE(GOING_TO_SLEEP), (life_state)state),
                         state == LIFE(ASLEEP) || state == LIFE(FROZEN));
}

static void every_transitional_state_has_a_deadline_and_no_other(void **unused)
{
    (void)unused;
    for (unsigned state = 0; state < LIFE_STATES; state++)
        assert_int_equal(life_limit_ms((life_state)state) > 0, state == LIFE(STARTING) ||
                                                                   state == LIFE(WAKING) ||
                                                                   state == LIFE(GOING_TO_SLEEP));
}

/* Property: wherever a walk along the table leads, it is no dead end. */
static void from_every_state_a_session_can_be_active_again(void **unused)
{
    (void)unused;
    for (unsigned from = 1; from < LIFE_STATES; from++) {
        unsigned reached = 1u << from;

        for (unsigned round = 0; round < LIFE_STATES; round++)
            for (unsigned a = 0; a < LIFE_STATES; a++)
                for (unsigned b = 0; b < LIFE_STATES; b++)
                    if ((reached & 1u << a) != 0 && life_can((life_state)a, (life_state)b))
                        reached |= 1u << b;
        assert_true((reached & 1u << LIFE(ACTIVE)) != 0);
    }
}

static void every_state_has_a_name(void **unused)
{
    (void)unused;
    for (unsigned state = 0; state < LIFE_STATES; state++)
        assert_true(strlen(life_name((life_state)state)) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_state_follows_itself),
        cmocka_unit_test(a_session_begins_by_starting_and_never_is_new_again),
        cmocka_unit_test(li_01_only_a_start_a_wake_or_a_return_makes_a_session_active),
        cmocka_unit_test(what_goes_to_sleep_only_falls_asleep_or_freezes),
        cmocka_unit_test(every_transitional_state_has_a_deadline_and_no_other),
        cmocka_unit_test(from_every_state_a_session_can_be_active_again),
        cmocka_unit_test(every_state_has_a_name),
    };
    return cmocka_run_group_tests_name("sessions life", tests, NULL, NULL);
}
