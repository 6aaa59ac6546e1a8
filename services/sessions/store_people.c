/* What the Creator does: prompts, answers, Stop, sleep, wake. */

#include <string.h>

#include "edit.h"
#include "kndl/buf.h"

static int find_prompt(struct edit *edit, const char *prompt_id,
                       Kndl__Sessions__V1__QueuedPrompt **ret_prompt, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (edit_exec(edit, "find_prompt", &rows, err, kndl_db_text(edit->session.id),
                  kndl_db_text(prompt_id)) < 0)
        return -1;
    if (rows.count == 0)
        return kndl_fail(err, KNDL_NOT_FOUND, "prompt %s does not exist", prompt_id);
    *ret_prompt = store_prompt_of(&rows, 0, edit->arena);
    return 0;
}

/* Whether a Session in its state takes a prompt at all. */
static int check_takes_prompts(const struct session *session, struct kndl_error *err)
{
    if (session->state == LIFE(ARCHIVED))
        return kndl_fail(err, KNDL_ABORTED, "Session %s is Archived: restore it first",
                         session->id);
    if (session->state == LIFE(FAILED))
        return kndl_fail(err, KNDL_ABORTED,
                         "Session %s is Failed: Retry (`kndl wake`) first, then send the prompt",
                         session->id);
    if (session->repo_problem[0] != '\0')
        return kndl_fail(err, KNDL_ABORTED, "Session %s takes no prompts: %s", session->id,
                         store_repo_refusal(session->repo_problem));
    if (session->queued_count >= QUEUE_COUNT_MAX)
        return kndl_fail(err, KNDL_RESOURCE_EXHAUSTED,
                         "%d prompts wait already: cancel one, or send this one later",
                         QUEUE_COUNT_MAX);
    return 0;
}

int store_append_prompt(struct store *store, struct kndl_arena *arena, const struct asked *asked,
                        const char *masked, struct kndl_slice sealed,
                        Kndl__Sessions__V1__QueuedPrompt **ret_prompt, struct changes *changes,
                        struct kndl_error *err)
{
    KNDL_CLEANUP(edit_done) struct edit edit;
    struct kndl_rows rows;
    const char *result;
    char id[KNDL_ID_SIZE];
    bool repeat;

    if (edit_begin_asked(store, arena, asked, &edit, err) < 0 ||
        edit_find_request(&edit, asked, "SendPrompt", masked, &repeat, &result, err) < 0)
        return -1;
    if (repeat)
        return find_prompt(&edit, result, ret_prompt, err);
    if (check_takes_prompts(&edit.session, err) < 0)
        return -1;

    kndl_id_new(id);
    if (edit_exec(&edit, "append_prompt", &rows, err, kndl_db_text(id),
                  kndl_db_text(asked->session_id), kndl_db_bytes(sealed), kndl_db_text(masked),
                  kndl_db_text(asked->person_id)) < 0)
        return -1;
    edit.session.queued_count++;
    edit.session.queue_paused = false;
    edit.session.wake_held = false;
    if (edit.session.title[0] == '\0')
        edit.session.title = edit_title(&edit, masked);
    edit.view_changed = true;
    if (find_prompt(&edit, id, ret_prompt, err) < 0 ||
        edit_keep_request(&edit, asked, "SendPrompt", masked, id, err) < 0)
        return -1;
    return edit_commit(&edit, changes, err);
}

int store_cancel_prompt(struct store *store, struct kndl_arena *arena, const struct asked *asked,
                        const char *prompt_id, Kndl__Sessions__V1__QueuedPrompt **ret_prompt,
                        struct changes *changes, struct kndl_error *err)
{
    KNDL_CLEANUP(edit_done) struct edit edit;
    Kndl__Sessions__V1__QueuedPrompt *prompt;
    struct kndl_rows rows;
    const char *result;
    bool repeat;

    if (edit_begin_asked(store, arena, asked, &edit, err) < 0 ||
        edit_find_request(&edit, asked, "CancelPrompt", prompt_id, &repeat, &result, err) < 0)
        return -1;
    if (repeat)
        return find_prompt(&edit, prompt_id, ret_prompt, err);
    if (find_prompt(&edit, prompt_id, &prompt, err) < 0)
        return -1;
    if (prompt->state != KNDL__SESSIONS__V1__QUEUED_PROMPT__STATE__STATE_QUEUED)
        return kndl_fail(err, KNDL_ABORTED,
                         "prompt %s is not in the queue any more: it was handed to Claude Code, "
                         "or came to its end",
                         prompt_id);

    if (edit_exec(&edit, "set_prompt", &rows, err, kndl_db_text(asked->session_id),
                  kndl_db_text(prompt_id),
                  kndl_db_i64(KNDL__SESSIONS__V1__QUEUED_PROMPT__STATE__STATE_CANCELLED),
                  kndl_db_text("")) < 0)
        return -1;
    edit.session.queued_count--;
    edit.view_changed = true;
    if (find_prompt(&edit, prompt_id, ret_prompt, err) < 0 ||
        edit_keep_request(&edit, asked, "CancelPrompt", prompt_id, "", err) < 0)
        return -1;
    return edit_commit(&edit, changes, err);
}

int store_resume_queue(struct store *store, struct kndl_arena *arena, const struct asked *asked,
                       struct session *ret_session, struct changes *changes, struct kndl_error *err)
{
    KNDL_CLEANUP(edit_done) struct edit edit;
    const char *result;
    bool repeat;

    if (edit_begin_asked(store, arena, asked, &edit, err) < 0 ||
        edit_find_request(&edit, asked, "ResumeQueue", "", &repeat, &result, err) < 0)
        return -1;
    *ret_session = edit.session;
    if (repeat)
        return 0;
    edit.session.queue_paused = false;
    edit.session.wake_held = false;
    if (edit_keep_request(&edit, asked, "ResumeQueue", "", "", err) < 0 ||
        edit_commit(&edit, changes, err) < 0)
        return -1;
    *ret_session = edit.session;
    return 0;
}

int store_answer_question(struct store *store, struct kndl_arena *arena, const struct asked *asked,
                          const char *question_id, size_t answer_count, const char *masked,
                          struct kndl_slice sealed, struct changes *changes, struct kndl_error *err)
{
    KNDL_CLEANUP(edit_done) struct edit edit;
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf content = {0};
    struct kndl_rows rows;
    const char *result;
    bool repeat;

    kndl_buf_printf(&content, "%s\n%s", question_id, masked);
    if (edit_begin_asked(store, arena, asked, &edit, err) < 0 ||
        edit_find_request(&edit, asked, "AnswerQuestion", kndl_buf_text(&content), &repeat, &result,
                          err) < 0)
        return -1;
    if (repeat)
        return 0;
    if (edit_exec(&edit, "find_question", &rows, err, kndl_db_text(asked->session_id),
                  kndl_db_text(question_id)) < 0)
        return -1;
    if (rows.count == 0)
        return kndl_fail(err, KNDL_NOT_FOUND, "question %s does not exist", question_id);
    if (kndl_row_i64(&rows, 0, 0) != 1 || kndl_row_i64(&rows, 0, 3) != edit.session.run)
        return kndl_fail(err, KNDL_ABORTED, "question %s is not open any more", question_id);
    if (kndl_row_i64(&rows, 0, 1) != (int64_t)answer_count)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "question %s asks %lld things and %zu were answered", question_id,
                         (long long)kndl_row_i64(&rows, 0, 1), answer_count);
    if (edit.session.state != LIFE(ACTIVE) && edit.session.state != LIFE(FROZEN))
        return kndl_fail(err, KNDL_ABORTED, "Session %s is %s: nobody waits for an answer",
                         asked->session_id, life_name(edit.session.state));

    if (edit_exec(&edit, "set_question", &rows, err, kndl_db_text(asked->session_id),
                  kndl_db_text(question_id), kndl_db_i64(2), kndl_db_text(asked->person_id)) < 0 ||
        edit_command(&edit, DELIVER_ANSWER, question_id, sealed, "", err) < 0 ||
        edit_keep_request(&edit, asked, "AnswerQuestion", kndl_buf_text(&content), "", err) < 0)
        return -1;
    edit.view_changed = true;
    return edit_commit(&edit, changes, err);
}

int store_stop_turn(struct store *store, struct kndl_arena *arena, const struct asked *asked,
                    const char *turn_id, const char **ret_turn_id, struct changes *changes,
                    struct kndl_error *err)
{
    KNDL_CLEANUP(edit_done) struct edit edit;
    bool repeat;

    if (edit_begin_asked(store, arena, asked, &edit, err) < 0 ||
        edit_find_request(&edit, asked, "StopTurn", turn_id, &repeat, ret_turn_id, err) < 0)
        return -1;
    if (repeat)
        return 0;
    if (!edit.session.turn_open)
        return kndl_fail(err, KNDL_ABORTED, "no Turn of Session %s runs", asked->session_id);
    if (turn_id[0] != '\0' && strcmp(turn_id, edit.session.turn_id) != 0)
        return kndl_fail(err, KNDL_ABORTED, "Turn %s does not run any more", turn_id);

    *ret_turn_id = edit.session.turn_id;
    edit.session.queue_paused = true;
    if (edit_command(&edit, DELIVER_STOP_TURN, edit.session.turn_id, kndl_slice(NULL, 0), "", err) <
            0 ||
        edit_keep_request(&edit, asked, "StopTurn", turn_id, edit.session.turn_id, err) < 0)
        return -1;
    return edit_commit(&edit, changes, err);
}

int store_sleep_session(struct store *store, struct kndl_arena *arena, const struct asked *asked,
                        struct session *ret_session, struct changes *changes,
                        struct kndl_error *err)
{
    KNDL_CLEANUP(edit_done) struct edit edit;
    const char *result;
    bool repeat;

    if (edit_begin_asked(store, arena, asked, &edit, err) < 0 ||
        edit_find_request(&edit, asked, "SleepSession", "", &repeat, &result, err) < 0)
        return -1;
    *ret_session = edit.session;
    if (repeat)
        return 0;
    if (edit.session.state != LIFE(ACTIVE))
        return kndl_fail(err, KNDL_ABORTED,
                         "Session %s is %s: only one that is Active can be put to sleep",
                         asked->session_id, life_name(edit.session.state));
    if (edit_put_to_sleep(&edit, "asked", "Its Creator put it to sleep.", err) < 0 ||
        edit_keep_request(&edit, asked, "SleepSession", "", "", err) < 0 ||
        edit_commit(&edit, changes, err) < 0)
        return -1;
    *ret_session = edit.session;
    return 0;
}

int store_wake_session(struct store *store, struct kndl_arena *arena, const struct asked *asked,
                       bool has_token, struct session *ret_session, struct changes *changes,
                       struct kndl_error *err)
{
    KNDL_CLEANUP(edit_done) struct edit edit;
    const char *result;
    bool repeat;

    if (edit_begin_asked(store, arena, asked, &edit, err) < 0 ||
        edit_find_request(&edit, asked, "WakeSession", "", &repeat, &result, err) < 0)
        return -1;
    *ret_session = edit.session;
    if (repeat)
        return 0;
    if (!has_token)
        return kndl_fail(err, KNDL_ABORTED, NO_SETUP_TOKEN);
    if (edit.session.state != LIFE(ASLEEP) && edit.session.state != LIFE(FAILED))
        return kndl_fail(err, KNDL_ABORTED,
                         "Session %s is %s: only one that is Asleep or Failed can be woken",
                         asked->session_id, life_name(edit.session.state));
    if (edit.session.repo_problem[0] != '\0')
        return kndl_fail(err, KNDL_ABORTED, "Session %s cannot be woken: %s", asked->session_id,
                         store_repo_refusal(edit.session.repo_problem));
    if (edit.session.runner_removed)
        return kndl_fail(err, KNDL_ABORTED,
                         "the Runner %s of Session %s was removed: begin a new Session",
                         edit.session.runner_name, asked->session_id);
    if (edit.session.runner_away)
        return kndl_fail(err, KNDL_ABORTED,
                         "the Runner %s of Session %s is away: start it, then try again",
                         edit.session.runner_name, asked->session_id);
    if (edit_start_run(&edit, err) < 0 ||
        edit_state(&edit, edit.session.was_active ? LIFE(WAKING) : LIFE(STARTING), "asked",
                   "Its Creator woke it.", err) < 0 ||
        edit_keep_request(&edit, asked, "WakeSession", "", "", err) < 0 ||
        edit_commit(&edit, changes, err) < 0)
        return -1;
    *ret_session = edit.session;
    return 0;
}
