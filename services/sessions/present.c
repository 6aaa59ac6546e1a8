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
    shown->reason_code = (char *)session->reason_code;
    shown->reason = (char *)session->reason;
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
