/* Whatever happens to a Session, in any order and side by side: LI-01. */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "steps.h"

/* One thing that may happen to a Session at any time. What it fails with does not matter. */
static void happen(struct stage *stage, const char *id, unsigned i, unsigned *seed)
{
    const struct run_of run = {"r9", id, stage_read(stage, id).run};
    const struct ending ending = {0, (enum end_cause)(1 + rand_r(seed) % 4), "", "", "", true};
    char request[32];
    int64_t expected;

    snprintf(request, sizeof request, "x%u", i);
    const char *name = kndl_arena_copy(stage->arena, request);
    switch (rand_r(seed) % 12) {
    case 0:
        wake(stage, "zoe", id, name);
        break;
    case 1:
        put_to_sleep(stage, "zoe", id, name);
        break;
    case 2:
        prompt(stage, "zoe", id, name);
        break;
    case 3:
        go_away(stage);
        break;
    case 4:
        stage_attend(stage, "r9", running(stage, id), 1);
        break;
    case 5:
        stage_reconnect(stage, "r9", NULL, 0);
        break;
    case 6:
        store_report_running(stage->store, stage->arena, &run, "", &stage->changes, &stage->err);
        break;
    case 7:
        store_report_ended(stage->store, stage->arena, &run, &ending, &expected, &stage->changes,
                           &stage->err);
        break;
    case 8:
        stage_pass(rand_r(seed) % 1000000);
        stage_overdue(stage);
        break;
    case 9:
        store_put_person_to_sleep(stage->store, stage->arena, "zoe", rand_r(seed) % 2 == 0, i + 1,
                                  &stage->changes, &stage->err);
        break;
    default:
        stage_deliver(stage, id);
        break;
    }
}

/* What is told of its states is a walk along the table that ends where it is. */
static void assert_legal_walk(struct stage *stage, const char *id)
{
    Kndl__Event__V1__Event **events;
    size_t count = stage_events(stage, id, &events);
    life_state was = LIFE(UNSPECIFIED);

    for (size_t i = 0; i < count; i++) {
        if (events[i]->kind_case != KIND(STATE_CHANGED))
            continue;
        assert_true(life_can(was, events[i]->state_changed->state));
        was = events[i]->state_changed->state;
    }
    assert_int_equal(was, stage_read(stage, id).state);
    assert_true(count > 20);
}

static void li_01_whatever_happens_in_any_order_only_legal_edges_are_taken(void **state)
{
    struct stage *stage = *state;
    unsigned seed = 20;

    stage_attend(stage, "r9", NULL, 0);
    const char *id = stage_make(stage, "zoe", "r9", "");
    for (unsigned i = 0; i < 800; i++)
        happen(stage, id, i, &seed);
    assert_legal_walk(stage, id);
}

struct actor {
    pthread_t thread;
    struct stage stage; /* a connection and an arena of its own */
    const char *id;
    unsigned seed;
};

static void *act(void *data)
{
    struct actor *actor = data;

    for (unsigned i = 0; i < 150; i++)
        happen(&actor->stage, actor->id, actor->seed * 1000 + i, &actor->seed);
    return NULL;
}

/* Faults 20: the same side by side. The table is asserted at each change, and a deadlock would be
 * an error of a step that may not fail. */
static void li_01_six_at_once_take_legal_edges_alone(void **state)
{
    enum { ACTORS = 6 };
    struct stage *stage = *state;
    struct actor actors[ACTORS];

    stage_attend(stage, "r9", NULL, 0);
    const char *id = stage_make(stage, "zoe", "r9", "");
    for (unsigned i = 0; i < ACTORS; i++) {
        actors[i] = (struct actor){.id = id, .seed = i + 1};
        actors[i].stage.store = stage_connect();
        actors[i].stage.arena = kndl_arena_new(KNDL_ARENA_PLAIN);
        pthread_create(&actors[i].thread, NULL, act, &actors[i]);
    }
    for (unsigned i = 0; i < ACTORS; i++) {
        pthread_join(actors[i].thread, NULL);
        store_close(actors[i].stage.store);
        kndl_arena_free(actors[i].stage.arena);
    }
    assert_legal_walk(stage, id);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(li_01_whatever_happens_in_any_order_only_legal_edges_are_taken),
        cmocka_unit_test(li_01_six_at_once_take_legal_edges_alone),
    };

    return cmocka_run_group_tests_name("sessions walk, stored", tests, stage_open, stage_close);
}
