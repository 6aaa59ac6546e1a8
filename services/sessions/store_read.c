/* What is read: Sessions, their views, pages of Events. */

#include <string.h>

#include "edit.h"

int store_read_session(struct store *store, struct kndl_arena *arena, const char *session_id,
                       struct session *ret_session, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "read_session", arena, &rows, err, kndl_db_text(session_id)) < 0)
        return -1;
    if (rows.count == 0)
        return kndl_fail(err, KNDL_NOT_FOUND, "Session %s does not exist", session_id);
    store_session_of(&rows, 0, ret_session);
    return 0;
}

int store_list_repos(struct store *store, struct kndl_arena *arena, const char *creator_id,
                     int64_t **ret_ids, size_t *ret_count, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "list_repos", arena, &rows, err, kndl_db_text(creator_id)) < 0)
        return -1;
    *ret_ids = kndl_arena_alloc(arena, rows.count * sizeof **ret_ids);
    for (size_t i = 0; i < rows.count; i++)
        (*ret_ids)[i] = kndl_row_i64(&rows, i, 0);
    *ret_count = rows.count;
    return 0;
}

int store_list_sessions(struct store *store, struct kndl_arena *arena, const int64_t *repo_ids,
                        size_t repo_count, const char *creator_id,
                        const struct session_place *behind, int64_t limit,
                        struct session **ret_sessions, size_t *ret_count, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "list_sessions", arena, &rows, err,
                     kndl_db_i64s(repo_ids, repo_count), kndl_db_text(creator_id),
                     kndl_db_i64(behind->changed_at_ms), kndl_db_text(behind->id),
                     kndl_db_i64(limit)) < 0)
        return -1;
    *ret_sessions = kndl_arena_alloc(arena, rows.count * sizeof **ret_sessions);
    for (size_t i = 0; i < rows.count; i++)
        store_session_of(&rows, i, &(*ret_sessions)[i]);
    *ret_count = rows.count;
    return 0;
}

static int read_queue(struct store *store, struct kndl_arena *arena, const char *session_id,
                      struct view *view, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "waiting_prompts", arena, &rows, err, kndl_db_text(session_id)) < 0)
        return -1;
    view->queue = kndl_arena_alloc(arena, rows.count * sizeof(*view->queue));
    view->queue_count = rows.count;
    for (size_t i = 0; i < rows.count; i++)
        view->queue[i] = store_prompt_of(&rows, i, arena);
    return 0;
}

static int read_questions(struct store *store, struct kndl_arena *arena, const char *session_id,
                          struct view *view, struct kndl_error *err)
{
    ProtobufCAllocator allocator = kndl_arena_allocator(arena);
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "open_questions", arena, &rows, err, kndl_db_text(session_id)) < 0)
        return -1;
    view->questions = kndl_arena_alloc(arena, rows.count * sizeof(*view->questions));
    view->question_count = rows.count;
    for (size_t i = 0; i < rows.count; i++) {
        Kndl__Sessions__V1__OpenQuestion *open = kndl_arena_alloc(arena, sizeof *open);
        struct kndl_slice data = kndl_row_bytes(&rows, i, 3);

        kndl__sessions__v1__open_question__init(open);
        open->question = kndl__event__v1__question__unpack(&allocator, data.size, data.data);
        if (open->question == NULL)
            return kndl_fail(err, KNDL_DATA_LOSS, "question %s of Session %s cannot be read",
                             kndl_row_text(&rows, i, 0), session_id);
        open->subagent_id = (char *)kndl_row_text(&rows, i, 1);
        open->asked_at_ms = kndl_row_i64(&rows, i, 2);
        open->answered = kndl_row_i64(&rows, i, 4) == 2;
        view->questions[i] = open;
    }
    return 0;
}

static int read_subagents(struct store *store, struct kndl_arena *arena, const char *session_id,
                          struct view *view, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "running_subagents", arena, &rows, err, kndl_db_text(session_id)) <
        0)
        return -1;
    view->subagents = kndl_arena_alloc(arena, rows.count * sizeof(*view->subagents));
    view->subagent_count = rows.count;
    for (size_t i = 0; i < rows.count; i++) {
        Kndl__Sessions__V1__Subagent *subagent = kndl_arena_alloc(arena, sizeof *subagent);

        kndl__sessions__v1__subagent__init(subagent);
        subagent->id = (char *)kndl_row_text(&rows, i, 0);
        subagent->agent_type = (char *)kndl_row_text(&rows, i, 1);
        subagent->description = (char *)kndl_row_text(&rows, i, 2);
        subagent->is_running = true;
        view->subagents[i] = subagent;
    }
    return 0;
}

int store_read_view(struct store *store, struct kndl_arena *arena, const char *session_id,
                    struct view *ret_view, struct kndl_error *err)
{
    struct view view = {0};

    if (read_queue(store, arena, session_id, &view, err) < 0 ||
        read_questions(store, arena, session_id, &view, err) < 0 ||
        read_subagents(store, arena, session_id, &view, err) < 0)
        return -1;
    *ret_view = view;
    return 0;
}

int store_read_steps(struct store *store, struct kndl_arena *arena, const char *session_id,
                     int64_t run, Kndl__Sessions__V1__StartStep ***ret_steps, size_t *ret_count,
                     struct kndl_error *err)
{
    Kndl__Sessions__V1__StartStep **steps;
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "list_steps", arena, &rows, err, kndl_db_text(session_id),
                     kndl_db_i64(run)) < 0)
        return -1;
    steps = kndl_arena_alloc(arena, rows.count * sizeof *steps);
    for (size_t i = 0; i < rows.count; i++) {
        steps[i] = kndl_arena_alloc(arena, sizeof **steps);
        kndl__sessions__v1__start_step__init(steps[i]);
        steps[i]->name = (char *)kndl_row_text(&rows, i, 0);
        steps[i]->took_ms = kndl_row_i64(&rows, i, 1);
    }
    *ret_steps = steps;
    *ret_count = rows.count;
    return 0;
}

int store_read_page(struct store *store, struct kndl_arena *arena, const char *session_id,
                    int64_t after_seq, int64_t before_seq, int64_t limit,
                    Kndl__Event__V1__Event ***ret_events, size_t *ret_count, struct kndl_error *err)
{
    ProtobufCAllocator allocator = kndl_arena_allocator(arena);
    Kndl__Event__V1__Event **events;
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, before_seq > 0 ? "page_before" : "page_after", arena, &rows, err,
                     kndl_db_text(session_id), kndl_db_i64(before_seq > 0 ? before_seq : after_seq),
                     kndl_db_i64(limit), kndl_db_i64(PAGE_BYTES_MAX)) < 0)
        return -1;
    events = kndl_arena_alloc(arena, rows.count * sizeof *events);
    for (size_t i = 0; i < rows.count; i++) {
        struct kndl_slice data = kndl_row_bytes(&rows, i, 1);

        events[i] = kndl__event__v1__event__unpack(&allocator, data.size, data.data);
        if (events[i] == NULL)
            return kndl_fail(err, KNDL_DATA_LOSS, "Event %lld of Session %s cannot be read",
                             (long long)kndl_row_i64(&rows, i, 0), session_id);
    }
    *ret_events = events;
    *ret_count = rows.count;
    return 0;
}

int store_read_head(struct store *store, struct kndl_arena *arena, const char *session_id,
                    const int64_t *repo_ids, size_t repo_count, bool *ret_found,
                    int64_t *ret_last_seq, int64_t *ret_view_version, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "heads", arena, &rows, err, kndl_db_i64s(repo_ids, repo_count),
                     kndl_db_text(session_id)) < 0)
        return -1;
    *ret_found = rows.count > 0;
    if (*ret_found) {
        *ret_last_seq = kndl_row_i64(&rows, 0, 0);
        *ret_view_version = kndl_row_i64(&rows, 0, 1);
    }
    return 0;
}
