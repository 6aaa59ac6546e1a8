/* Rows as messages. */

#include "present.h"

#include <string.h>

#include "kndl/arena.h"

static Kndl__Sessions__V1__Session__Activity activity_of(const struct session *session)
{
    if (session->state != LIFE(ACTIVE))
        return KNDL__SESSIONS__V1__SESSION__ACTIVITY__ACTIVITY_UNSPECIFIED;
    if (session->open_questions > 0)
        return KNDL__SESSIONS__V1__SESSION__ACTIVITY__ACTIVITY_NEEDS_YOU;
    if (session->turn_open || session->running_subagents > 0)
        return KNDL__SESSIONS__V1__SESSION__ACTIVITY__ACTIVITY_WORKING;
    return KNDL__SESSIONS__V1__SESSION__ACTIVITY__ACTIVITY_IDLE;
}

static const struct {
    const char *code;
    const char *reason;
} reasons_to_wait[] = {
    {"output_waits", "Its output waits on the Runner: the Hub cannot mask it at the moment. "
                     "Nothing is lost."},
    {"spool_full", "Its output waits in the Sandbox: the Runner has no room to keep more of it. "
                   "Nothing is lost."},
};

const char *present_waits(const char *code)
{
    for (size_t i = 0; i < sizeof reasons_to_wait / sizeof *reasons_to_wait; i++)
        if (strcmp(reasons_to_wait[i].code, code) == 0)
            return reasons_to_wait[i].reason;
    return NULL;
}

/* Why it is in its state; or, before that, why there is no more to be seen of one that is awake, or
 * why one that is not cannot be woken. */
static void say_why(const struct session *session, Kndl__Sessions__V1__Session *shown)
{
    bool is_awake = life_is_awake(session->state);
    const char *code = is_awake ? session->waits_code : session->repo_problem;
    const char *reason = is_awake ? present_waits(code) : store_repo_reason(code);

    shown->reason_code = (char *)(reason == NULL ? session->reason_code : code);
    shown->reason = (char *)(reason == NULL ? session->reason : reason);
}

Kndl__Sessions__V1__Session *present_session(struct kndl_arena *arena,
                                             const struct session *session, const char *person_id)
{
    Kndl__Sessions__V1__Session *shown = kndl_arena_alloc(arena, sizeof *shown);

    kndl__sessions__v1__session__init(shown);
    shown->id = (char *)session->id;
    shown->title = (char *)session->title;
    shown->creator_id = (char *)session->creator_id;
    shown->creator_login = (char *)session->creator_login;
    shown->repo_id = session->repo_id;
    shown->repo_name = (char *)session->repo_name;
    shown->runner_id = (char *)session->runner_id;
    shown->state = session->state;
    say_why(session, shown);
    shown->activity = activity_of(session);
    shown->model = (char *)session->model;
    shown->effort = (char *)session->effort;
    shown->created_at_ms = session->created_at_ms;
    shown->changed_at_ms = session->changed_at_ms;
    shown->last_seq = session->last_seq;
    shown->run = session->run;
    shown->queue_paused = session->queue_paused;
    shown->queued_count = (int32_t)session->queued_count;
    shown->is_creator = person_id != NULL && strcmp(person_id, session->creator_id) == 0;
    shown->runner_last_seen_at_ms = session->runner_last_seen_ms;
    return shown;
}
