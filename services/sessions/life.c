/* The table of legal changes of state. Whatever it does not name does not happen. */

#include "life.h"

#include <assert.h>

#define TO(state) (1u << LIFE(state))

static const struct {
    const char *name;
    int64_t limit_ms;
    unsigned next;
} states[LIFE_STATES] = {
    [LIFE(UNSPECIFIED)] = {"new", 0, TO(STARTING)},
    [LIFE(STARTING)] = {"Starting", 15 * 60 * 1000,
                        TO(ACTIVE) | TO(GOING_TO_SLEEP) | TO(ASLEEP) | TO(FROZEN) | TO(FAILED)},
    [LIFE(ACTIVE)] = {"Active", 0, TO(GOING_TO_SLEEP) | TO(ASLEEP) | TO(FROZEN) | TO(FAILED)},
    [LIFE(GOING_TO_SLEEP)] = {"Going to sleep", 60 * 1000, TO(ASLEEP) | TO(FROZEN)},
    [LIFE(ASLEEP)] = {"Asleep", 0, TO(WAKING) | TO(STARTING) | TO(FROZEN) | TO(ARCHIVED)},
    [LIFE(WAKING)] = {"Waking", 2 * 60 * 1000,
                      TO(ACTIVE) | TO(GOING_TO_SLEEP) | TO(ASLEEP) | TO(FROZEN) | TO(FAILED)},
    [LIFE(FROZEN)] = {"Frozen", 0,
                      TO(STARTING) | TO(ACTIVE) | TO(GOING_TO_SLEEP) | TO(ASLEEP) | TO(WAKING) |
                          TO(FAILED)},
    [LIFE(FAILED)] = {"Failed", 0, TO(STARTING) | TO(WAKING) | TO(ARCHIVED)},
    [LIFE(ARCHIVED)] = {"Archived", 0, TO(ASLEEP)},
};

bool life_can(life_state from, life_state to)
{
    assert((unsigned)from < LIFE_STATES && (unsigned)to < LIFE_STATES);
    return (states[from].next & 1u << to) != 0;
}

int64_t life_limit_ms(life_state state)
{
    assert((unsigned)state < LIFE_STATES);
    return states[state].limit_ms;
}

bool life_is_awake(life_state state)
{
    return state == LIFE(STARTING) || state == LIFE(ACTIVE) || state == LIFE(WAKING) ||
           state == LIFE(GOING_TO_SLEEP);
}

const char *life_name(life_state state)
{
    assert((unsigned)state < LIFE_STATES);
    return states[state].name;
}
