#include "steps.h"

void assert_state(struct stage *stage, const char *id, life_state state, const char *code)
{
    struct session session = stage_read(stage, id);

    assert_string_equal(life_name(session.state), life_name(state));
    assert_string_equal(session.reason_code, code);
}

const struct attended *running(struct stage *stage, const char *id)
{
    struct attended *run = kndl_arena_alloc(stage->arena, sizeof *run);

    *run = (struct attended){id, stage_read(stage, id).run, RUN_RUNNING, 0};
    return run;
}

int put_to_sleep(struct stage *stage, const char *person, const char *id, const char *request)
{
    const struct asked asked = {person, id, request, 0};
    struct session session;

    return store_sleep_session(stage->store, stage->arena, &asked, &session, &stage->changes,
                               &stage->err);
}

int wake(struct stage *stage, const char *person, const char *id, const char *request)
{
    const struct asked asked = {person, id, request, 0};
    struct session session;

    return store_wake_session(stage->store, stage->arena, &asked, true, &session, &stage->changes,
                              &stage->err);
}

int prompt(struct stage *stage, const char *person, const char *id, const char *request)
{
    const struct asked asked = {person, id, request, 0};
    Kndl__Sessions__V1__QueuedPrompt *queued;

    return store_append_prompt(stage->store, stage->arena, &asked, "hello", kndl_slice("sealed", 6),
                               &queued, &stage->changes, &stage->err);
}

void start_turn(struct stage *stage, const char *runner, const char *id)
{
    Kndl__Event__V1__Event *started = stage_turn_started(stage, "t1", "");

    stage_append(stage, runner, id, 1, &started, 1);
}

void freeze(struct stage *stage)
{
    size_t count;
    bool found;

    assert_int_equal(store_mark_silent(stage->store, stage->arena, &count, &stage->err), 0);
    do
        assert_int_equal(
            store_freeze_next(stage->store, stage->arena, &found, &stage->changes, &stage->err), 0);
    while (found);
}

void go_away(struct stage *stage)
{
    stage_pass(21 * 1000);
    freeze(stage);
}

const Kndl__Event__V1__Event *find_kind(Kndl__Event__V1__Event **events, size_t count,
                                        Kndl__Event__V1__Event__KindCase kind)
{
    while (count-- > 0)
        if (events[count]->kind_case == kind)
            return events[count];
    fail_msg("there is no Event of kind %d", (int)kind);
    return NULL;
}
