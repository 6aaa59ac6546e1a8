/* What a Runner reports of a run, and what the end of a run does to its Session. */

#include <string.h>

#include "edit.h"
#include "kndl/buf.h"

#define PROMPT_STATE(name) KNDL__SESSIONS__V1__QUEUED_PROMPT__STATE__STATE_##name

static int set_phase(struct edit *edit, int64_t run, int64_t phase, int64_t assignment,
                     struct kndl_error *err)
{
    struct kndl_rows rows;

    return edit_exec(edit, "set_run_phase", &rows, err, kndl_db_text(edit->session.id),
                     kndl_db_i64(run), kndl_db_i64(phase), kndl_db_i64(assignment));
}

static int begin_report(struct store *store, struct kndl_arena *arena, const struct run_of *run,
                        struct edit *edit, int64_t *ret_run, struct run_row *ret_row,
                        struct kndl_error *err)
{
    bool found;

    if (edit_begin(store, arena, run->session_id, edit, err) < 0)
        return -1;
    *ret_run = run->run == 0 ? edit->session.run : run->run;
    if (edit_lock_run(edit, *ret_run, &found, ret_row, err) < 0)
        return -1;
    if (!found || strcmp(ret_row->runner_id, run->runner_id) != 0)
        return kndl_fail(err, KNDL_NOT_FOUND, "Session %s does not exist", run->session_id);
    return 0;
}

int store_report_step(struct store *store, struct kndl_arena *arena, const struct run_of *run,
                      const char *name, int64_t took_ms, struct changes *changes,
                      struct kndl_error *err)
{
    enum { STEPS_MAX = 64 };
    KNDL_CLEANUP(edit_done) struct edit edit;
    struct kndl_rows rows;
    struct run_row row;
    int64_t number;

    if (begin_report(store, arena, run, &edit, &number, &row, err) < 0 ||
        edit_exec(&edit, "count_steps", &rows, err, kndl_db_text(run->session_id),
                  kndl_db_i64(number)) < 0)
        return -1;
    if (kndl_row_i64(&rows, 0, 0) >= STEPS_MAX)
        return kndl_fail(err, KNDL_RESOURCE_EXHAUSTED, "a start has at most %d steps", STEPS_MAX);
    if (edit_exec(&edit, "put_step", &rows, err, kndl_db_text(run->session_id), kndl_db_i64(number),
                  kndl_db_text(name), kndl_db_i64(took_ms)) < 0)
        return -1;
    edit.view_changed = true;
    return edit_commit(&edit, changes, err);
}

int store_report_running(struct store *store, struct kndl_arena *arena, const struct run_of *run,
                         const char *claude_session_id, struct changes *changes,
                         struct kndl_error *err)
{
    KNDL_CLEANUP(edit_done) struct edit edit;
    struct run_row row;
    int64_t number;

    if (begin_report(store, arena, run, &edit, &number, &row, err) < 0)
        return -1;
    if (number != edit.session.run || row.phase >= PHASE_ENDED)
        return kndl_fail(err, KNDL_ABORTED, "run %lld of Session %s is over", (long long)number,
                         run->session_id);
    if (claude_session_id[0] != '\0')
        edit.session.claude_session_id = claude_session_id;
    if (set_phase(&edit, number, PHASE_RUNNING, ASSIGN_ACTIVE, err) < 0)
        return -1;
    if (edit.session.state == LIFE(STARTING) || edit.session.state == LIFE(WAKING) ||
        edit.session.state == LIFE(FROZEN)) {
        edit.session.was_active = true;
        if (edit_thaw(&edit, LIFE(ACTIVE), err) < 0)
            return -1;
    }
    return edit_commit(&edit, changes, err);
}

int store_report_waiting(struct store *store, struct kndl_arena *arena, const struct run_of *run,
                         const char *waits_code, struct changes *changes, struct kndl_error *err)
{
    KNDL_CLEANUP(edit_done) struct edit edit;
    struct run_row row;
    int64_t number;

    if (begin_report(store, arena, run, &edit, &number, &row, err) < 0)
        return -1;
    if (number != edit.session.run || row.phase >= PHASE_SETTLED)
        return kndl_fail(err, KNDL_ABORTED, "run %lld of Session %s is over", (long long)number,
                         run->session_id);
    edit.session.waits_code = waits_code;
    return edit_commit(&edit, changes, err);
}

/* ---- the end ---- */

static int close_turn(struct edit *edit, struct kndl_error *err)
{
    Kndl__Event__V1__Event *event = edit_new_event(edit);
    Kndl__Event__V1__TurnEnded *ended = kndl_arena_alloc(edit->arena, sizeof *ended);

    edit->session.turn_expected_until_ms = 0;
    if (!edit->session.turn_open)
        return 0;
    kndl__event__v1__turn_ended__init(ended);
    ended->turn_id = (char *)edit->session.turn_id;
    ended->reason = KNDL__EVENT__V1__TURN_ENDED__REASON__REASON_INTERRUPTED;
    event->kind_case = KNDL__EVENT__V1__EVENT__KIND_TURN_ENDED;
    event->turn_ended = ended;
    edit->session.turn_open = false;
    edit->session.turn_id = "";
    return edit_event(edit, event, 0, err);
}

static int close_subagents(struct edit *edit, struct kndl_error *err)
{
    struct kndl_rows running, rows;

    if (edit_exec(edit, "running_subagents", &running, err, kndl_db_text(edit->session.id)) < 0)
        return -1;
    for (size_t i = 0; i < running.count; i++) {
        Kndl__Event__V1__Event *event = edit_new_event(edit);
        Kndl__Event__V1__SubagentEnded *ended = kndl_arena_alloc(edit->arena, sizeof *ended);

        kndl__event__v1__subagent_ended__init(ended);
        ended->status = KNDL__EVENT__V1__SUBAGENT_ENDED__STATUS__STATUS_INTERRUPTED;
        event->subagent_id = (char *)kndl_row_text(&running, i, 0);
        event->kind_case = KNDL__EVENT__V1__EVENT__KIND_SUBAGENT_ENDED;
        event->subagent_ended = ended;
        if (edit_exec(edit, "end_subagent", &rows, err, kndl_db_text(edit->session.id),
                      kndl_db_text(event->subagent_id)) < 0 ||
            edit_event(edit, event, 0, err) < 0)
            return -1;
    }
    edit->session.running_subagents = 0;
    return 0;
}

static const char may_have_been_sent[] =
    "It may have been sent: Claude Code ended while it had it. See what is above before you send "
    "it again.";

/* What became of a prompt that is in no queue any more, so that its Creator sees it. */
static int note_prompt(struct edit *edit, const char *masked, int64_t state, const char *reason,
                       struct kndl_error *err)
{
    static const struct {
        const char *code;
        const char *text;
    } ends[] = {
        [PROMPT_STATE(REFUSED)] = {"prompt_refused", "This prompt was refused"},
        [PROMPT_STATE(CANCELLED)] = {"prompt_cancelled", "This prompt was cancelled"},
        [PROMPT_STATE(UNSURE)] = {"prompt_unsure", "What became of this prompt is unsure"},
    };
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf text = {0};

    kndl_buf_printf(&text, "%s: “%s”. %s", ends[state].text, edit_title(edit, masked), reason);
    return edit_note(edit, KNDL__EVENT__V1__NOTE__LEVEL__LEVEL_WARNING, ends[state].code,
                     kndl_arena_copy(edit->arena, kndl_buf_text(&text)), err);
}

int edit_settle_prompt(struct edit *edit, const struct kndl_rows *prompts, size_t row,
                       int64_t state, const char *reason, struct kndl_error *err)
{
    struct kndl_rows rows;

    edit->view_changed = true;
    if (edit_exec(edit, "set_prompt", &rows, err, kndl_db_text(edit->session.id),
                  kndl_db_text(kndl_row_text(prompts, row, 0)), kndl_db_i64(state),
                  kndl_db_text(reason)) < 0)
        return -1;
    if (kndl_row_i64(prompts, row, 3) == PROMPT_STATE(QUEUED))
        edit->session.queued_count--;
    if (state == PROMPT_STATE(QUEUED)) {
        edit->session.queued_count++;
        return 0;
    }
    return note_prompt(edit, kndl_row_text(prompts, row, 2), state, reason, err);
}

/* A prompt that the Runner surely never had waits again; any other may have been sent, and is
 * never typed twice. */
static int close_handed(struct edit *edit, struct kndl_error *err)
{
    struct kndl_rows handed;

    if (edit_exec(edit, "handed_prompts", &handed, err, kndl_db_text(edit->session.id)) < 0)
        return -1;
    for (size_t i = 0; i < handed.count; i++) {
        bool maybe = kndl_row_bool(&handed, i, 6) || kndl_row_bool(&handed, i, 7);

        if (edit_settle_prompt(edit, &handed, i,
                               maybe ? PROMPT_STATE(UNSURE) : PROMPT_STATE(QUEUED),
                               maybe ? may_have_been_sent : "", err) < 0)
            return -1;
    }
    return 0;
}

/* What Claude Code or the failed step said last, for a person who wants to know why. */
static int note_last_output(struct edit *edit, const struct run_row *row, struct kndl_error *err)
{
    if (row->last_output[0] == '\0' || row->cause == END_COMMANDED)
        return 0;
    return edit_note(edit, KNDL__EVENT__V1__NOTE__LEVEL__LEVEL_ERROR, "last_output",
                     row->last_output, err);
}

static const char *or_else(const char *text, const char *fallback)
{
    return text[0] == '\0' ? fallback : text;
}

/* What a state of the Session becomes at the end of its run, and why. */
static int next_state(struct edit *edit, const struct run_row *row, struct kndl_error *err)
{
    struct session *session = &edit->session;
    life_state was = session->state == LIFE(FROZEN) ? session->frozen_from : session->state;
    bool is_start = was == LIFE(STARTING) || was == LIFE(WAKING);

    if (session->sleep_code[0] != '\0' && session->state == LIFE(FROZEN))
        return edit_state(edit, LIFE(ASLEEP), session->sleep_code, session->sleep_reason, err);
    if (session->state == LIFE(GOING_TO_SLEEP))
        return edit_state(edit, LIFE(ASLEEP), session->reason_code, session->reason, err);
    if (!life_is_awake(session->state) && session->state != LIFE(FROZEN))
        return 0;

    if (is_start && row->cause == END_FAILED)
        return edit_state(edit, LIFE(FAILED), or_else(row->reason_code, "start_failed"),
                          or_else(row->reason, "The start did not succeed: Retry."), err);
    if (is_start && row->cause == END_EXITED)
        return edit_state(edit, LIFE(FAILED), or_else(row->reason_code, "claude_exited"),
                          or_else(row->reason,
                                  "Claude Code ended before it was ready: what it said "
                                  "last is above. Retry once the cause is gone."),
                          err);
    if (is_start && row->cause == END_LOST)
        return edit_state(edit, LIFE(FAILED), or_else(row->reason_code, "start_lost"),
                          or_else(row->reason, "The Runner was restarted while the Session "
                                               "started: Retry."),
                          err);
    if (row->cause == END_FAILED)
        return edit_state(edit, LIFE(FAILED), or_else(row->reason_code, "run_failed"),
                          or_else(row->reason, "The run failed: Retry."), err);
    if (row->cause == END_EXITED) {
        session->wake_held = true;
        return edit_state(edit, LIFE(ASLEEP), or_else(row->reason_code, "claude_exited"),
                          or_else(row->reason, "Claude Code ended by itself. A prompt wakes it."),
                          err);
    }
    if (row->cause == END_LOST)
        return edit_state(edit, LIFE(ASLEEP), or_else(row->reason_code, "run_lost"),
                          or_else(row->reason, "Its Claude Code was gone when the Runner came "
                                               "back. A prompt wakes it."),
                          err);
    return edit_state(edit, LIFE(ASLEEP), or_else(row->reason_code, "stopped"), row->reason, err);
}

int edit_end_run(struct edit *edit, int64_t run, const struct run_row *row, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (set_phase(edit, run, PHASE_SETTLED, ASSIGN_SETTLED, err) < 0 ||
        edit_exec(edit, "drop_commands", &rows, err, kndl_db_text(edit->session.id),
                  kndl_db_i64(run)) < 0)
        return -1;

    /* A later run waits for this one's end, so whatever is open is this one's. */
    if (edit_close_questions(edit, NULL, err) < 0 || close_subagents(edit, err) < 0 ||
        close_turn(edit, err) < 0 || close_handed(edit, err) < 0 ||
        note_last_output(edit, row, err) < 0)
        return -1;
    if (run != edit->session.run)
        return 0;
    edit->session.waits_code = "";
    return next_state(edit, row, err);
}

int edit_mark_ended(struct edit *edit, int64_t run, const struct ending *ending,
                    struct run_row *row, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (row->phase >= PHASE_ENDED)
        return 0;
    if (edit_exec(edit, "set_run_ended", &rows, err, kndl_db_text(edit->session.id),
                  kndl_db_i64(run), kndl_db_i64(ending->last_n), kndl_db_i64(ending->cause),
                  kndl_db_text(ending->reason_code), kndl_db_text(ending->reason),
                  kndl_db_text(ending->last_output)) < 0)
        return -1;
    row->phase = PHASE_ENDED;
    row->ended_n = ending->last_n;
    row->cause = ending->cause;
    row->reason_code = ending->reason_code;
    row->reason = ending->reason;
    row->last_output = ending->last_output;
    if (run == edit->session.run && ending->conversation_exists)
        edit->session.conversation_exists = true;
    return row->last_n >= row->ended_n ? edit_end_run(edit, run, row, err) : 0;
}

int store_report_ended(struct store *store, struct kndl_arena *arena, const struct run_of *run,
                       const struct ending *ending, int64_t *ret_expected_n,
                       struct changes *changes, struct kndl_error *err)
{
    KNDL_CLEANUP(edit_done) struct edit edit;
    struct run_row row;
    int64_t number;

    if (begin_report(store, arena, run, &edit, &number, &row, err) < 0 ||
        edit_mark_ended(&edit, number, ending, &row, err) < 0 ||
        edit_commit(&edit, changes, err) < 0)
        return -1;
    *ret_expected_n = row.last_n + 1;
    return 0;
}

/* ---- prompts and commands ---- */

static int end_handed(struct edit *edit, const char *prompt_id, int64_t state, const char *reason,
                      struct kndl_error *err)
{
    struct kndl_rows handed;

    if (edit_exec(edit, "handed_prompts", &handed, err, kndl_db_text(edit->session.id)) < 0)
        return -1;
    if (handed.count == 0 || strcmp(kndl_row_text(&handed, 0, 0), prompt_id) != 0)
        return 0;
    return edit_settle_prompt(edit, &handed, 0, state, reason, err);
}

int store_report_prompt(struct store *store, struct kndl_arena *arena, const struct run_of *run,
                        const char *prompt_id, enum prompt_outcome outcome, const char *reason,
                        struct changes *changes, struct kndl_error *err)
{
    KNDL_CLEANUP(edit_done) struct edit edit;
    struct run_row row;
    int64_t number;
    int done = 0;

    if (begin_report(store, arena, run, &edit, &number, &row, err) < 0)
        return -1;
    switch (outcome) {
    case PROMPT_STARTED:
        done = edit_deliver_prompt(&edit, prompt_id,
                                   number == edit.session.run && row.phase == PHASE_RUNNING, err);
        break;
    case PROMPT_REFUSED:
        done = end_handed(&edit, prompt_id, PROMPT_STATE(REFUSED),
                          or_else(reason, "Claude Code did not take it: send it again."), err);
        break;
    case PROMPT_REQUEUE:
        done = end_handed(&edit, prompt_id, PROMPT_STATE(QUEUED), "", err);
        break;
    case PROMPT_UNSURE:
        done = end_handed(&edit, prompt_id, PROMPT_STATE(UNSURE), may_have_been_sent, err);
        break;
    }
    return done < 0 ? -1 : edit_commit(&edit, changes, err);
}

int store_report_command(struct store *store, struct kndl_arena *arena, const struct run_of *run,
                         const char *command_id, bool done, const char *reason,
                         struct changes *changes, struct kndl_error *err)
{
    KNDL_CLEANUP(edit_done) struct edit edit;
    struct kndl_rows ended, rows;
    struct run_row row;
    int64_t number;

    if (begin_report(store, arena, run, &edit, &number, &row, err) < 0 ||
        edit_exec(&edit, "end_command", &ended, err, kndl_db_text(run->session_id),
                  kndl_db_text(command_id)) < 0)
        return -1;
    if (ended.count == 0 || done)
        return edit_commit(&edit, changes, err);

    bool is_answer = kndl_row_i64(&ended, 0, 0) == DELIVER_ANSWER;
    if (is_answer) {
        edit.view_changed = true;
        if (edit_exec(&edit, "set_question", &rows, err, kndl_db_text(run->session_id),
                      kndl_db_text(kndl_row_text(&ended, 0, 1)), kndl_db_i64(1),
                      kndl_db_text("")) < 0)
            return -1;
    }
    if (edit_note(&edit, KNDL__EVENT__V1__NOTE__LEVEL__LEVEL_WARNING,
                  is_answer ? "answer_not_given" : "turn_not_stopped",
                  or_else(reason, is_answer ? "The answer did not reach Claude Code: answer again."
                                            : "The Turn could not be stopped: try again."),
                  err) < 0)
        return -1;
    return edit_commit(&edit, changes, err);
}

int store_put_mod_token(struct store *store, struct kndl_arena *arena, const struct run_of *run,
                        struct kndl_slice hash, struct kndl_error *err)
{
    KNDL_CLEANUP(edit_done) struct edit edit;
    struct changes none = {0};
    struct kndl_rows rows;
    struct run_row row;
    int64_t number;

    if (begin_report(store, arena, run, &edit, &number, &row, err) < 0)
        return -1;
    if (row.phase >= PHASE_SETTLED)
        return kndl_fail(err, KNDL_ABORTED, "run %lld of Session %s is over", (long long)number,
                         run->session_id);
    if (edit_exec(&edit, "set_mod_token", &rows, err, kndl_db_text(run->session_id),
                  kndl_db_i64(number), kndl_db_bytes(hash)) < 0)
        return -1;
    return edit_commit(&edit, &none, err);
}

int store_read_running(struct store *store, struct kndl_arena *arena, const struct run_of *run,
                       struct session *ret_session, struct kndl_error *err)
{
    KNDL_CLEANUP(edit_done) struct edit edit;
    struct run_row row;
    int64_t number;

    if (begin_report(store, arena, run, &edit, &number, &row, err) < 0)
        return -1;
    if (row.phase >= PHASE_ENDED || number != edit.session.run)
        return kndl_fail(err, KNDL_ABORTED, "Session %s does not run", run->session_id);
    *ret_session = edit.session;
    return 0;
}
