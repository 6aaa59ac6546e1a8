/*
 * Appends what a run says, and derives from it what is not an Event: the open Turn, questions,
 * subagents, which prompt was delivered. Events of an older or settled run are history alone.
 */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "edit.h"
#include "kndl/buf.h"
#include "kndl/log.h"
#include "kndl/token.h"

#define V1(name) Kndl__Event__V1__##name
#define KIND(name) KNDL__EVENT__V1__EVENT__KIND_##name

/* A prompt that was taken begins its Turn within this, or the next one is handed over. */
enum { TURN_EXPECTED_MS = 30 * 1000 };

/* Longer ones nobody is asked. */
enum { QUESTION_BYTES_MAX = 16 * 1024 };

static int set_prompt(struct edit *edit, const char *prompt_id, int64_t state, const char *reason,
                      struct kndl_error *err)
{
    struct kndl_rows rows;

    edit->view_changed = true;
    return edit_exec(edit, "set_prompt", &rows, err, kndl_db_text(edit->session.id),
                     kndl_db_text(prompt_id), kndl_db_i64(state), kndl_db_text(reason));
}

int edit_deliver_prompt(struct edit *edit, const char *prompt_id, bool expect_turn,
                        struct kndl_error *err)
{
    struct kndl_rows rows;
    int64_t state;

    if (prompt_id[0] == '\0')
        return 0;
    if (edit_exec(edit, "find_prompt", &rows, err, kndl_db_text(edit->session.id),
                  kndl_db_text(prompt_id)) < 0)
        return -1;
    if (rows.count == 0)
        return 0;
    state = kndl_row_i64(&rows, 0, 3);
    if (state != KNDL__SESSIONS__V1__QUEUED_PROMPT__STATE__STATE_HANDED &&
        state != KNDL__SESSIONS__V1__QUEUED_PROMPT__STATE__STATE_UNSURE)
        return 0;
    if (expect_turn && !edit->session.turn_open)
        edit->session.turn_expected_until_ms = edit->session.now_ms + TURN_EXPECTED_MS;
    return set_prompt(edit, prompt_id, KNDL__SESSIONS__V1__QUEUED_PROMPT__STATE__STATE_DELIVERED,
                      "", err);
}

static int append_answer(struct edit *edit, const char *question_id, const char *subagent_id,
                         struct kndl_error *err)
{
    V1(Event) *event = edit_new_event(edit);
    V1(Answer) *answer = kndl_arena_alloc(edit->arena, sizeof *answer);

    kndl__event__v1__answer__init(answer);
    answer->question_id = (char *)question_id;
    answer->outcome = KNDL__EVENT__V1__ANSWER__OUTCOME__OUTCOME_UNANSWERED;
    event->subagent_id = (char *)subagent_id;
    event->kind_case = KIND(ANSWER);
    event->answer = answer;
    return edit_event(edit, event, 0, err);
}

int edit_close_questions(struct edit *edit, const char *subagent_id, struct kndl_error *err)
{
    struct kndl_rows open, rows;

    if (edit->session.open_questions == 0)
        return 0;
    if (edit_exec(edit, "open_questions", &open, err, kndl_db_text(edit->session.id)) < 0)
        return -1;
    for (size_t i = 0; i < open.count; i++) {
        const char *id = kndl_row_text(&open, i, 0);
        const char *of = kndl_row_text(&open, i, 1);

        if (subagent_id != NULL && strcmp(subagent_id, of) != 0)
            continue;
        if (edit_exec(edit, "set_question", &rows, err, kndl_db_text(edit->session.id),
                      kndl_db_text(id), kndl_db_i64(3), kndl_db_text("")) < 0 ||
            append_answer(edit, id, of, err) < 0)
            return -1;
        edit->session.open_questions--;
    }
    return 0;
}

/* One that is longer than people are asked is an Event alone: a view must fit into one message. */
static int on_question(struct edit *edit, const V1(Event) *event, struct kndl_error *err)
{
    V1(Question) *question = event->question;
    size_t size = kndl__event__v1__question__get_packed_size(question);
    struct kndl_rows rows;
    uint8_t *data;

    if (size > QUESTION_BYTES_MAX)
        return 0;
    data = kndl_arena_alloc(edit->arena, size);
    kndl__event__v1__question__pack(question, data);
    if (edit_exec(edit, "ask_question", &rows, err, kndl_db_text(edit->session.id),
                  kndl_db_text(question->id), kndl_db_i64(event->run),
                  kndl_db_text(event->subagent_id), kndl_db_i64(edit->session.now_ms),
                  kndl_db_i64((int64_t)question->n_questions),
                  kndl_db_bytes(kndl_slice(data, size))) < 0)
        return -1;
    edit->session.open_questions += rows.changed;
    return 0;
}

/* Before the Event is stored: names who answered it through us. */
static int before_answer(struct edit *edit, V1(Answer) *answer, struct kndl_error *err)
{
    struct kndl_rows rows;
    const char *person;

    if (edit_exec(edit, "find_question", &rows, err, kndl_db_text(edit->session.id),
                  kndl_db_text(answer->question_id)) < 0)
        return -1;
    person = rows.count == 0 ? "" : kndl_row_text(&rows, 0, 2);
    if (answer->outcome == KNDL__EVENT__V1__ANSWER__OUTCOME__OUTCOME_ANSWERED)
        answer->person_id = (char *)person;
    if (edit_exec(edit, "set_question", &rows, err, kndl_db_text(edit->session.id),
                  kndl_db_text(answer->question_id), kndl_db_i64(3), kndl_db_text(person)) < 0)
        return -1;
    edit->session.open_questions -= rows.changed;
    return 0;
}

static int on_turn_started(struct edit *edit, const V1(Event) *event, struct kndl_error *err)
{
    if (event->subagent_id[0] != '\0')
        return 0;
    edit->session.turn_open = true;
    edit->session.turn_id = event->turn_started->turn_id;
    edit->session.turn_expected_until_ms = 0;
    return edit_deliver_prompt(edit, event->turn_started->prompt_id, false, err);
}

/* Anthropic does not take the token: nothing but a new one helps, so the run is stopped. */
static int refuse_setup_token(struct edit *edit, struct kndl_error *err)
{
    bool settled;

    if (!life_can(edit->session.state, LIFE(FAILED)))
        return 0;
    if (edit_stop_run(edit, "setup_token_refused", &settled, err) < 0)
        return -1;
    return edit_state(
        edit, LIFE(FAILED), "setup_token_refused",
        "Anthropic refused your setup token: replace it in the web UI under Setup token, "
        "then Retry and send the prompt again.",
        err);
}

static int on_turn_ended(struct edit *edit, const V1(Event) *event, struct kndl_error *err)
{
    if (event->subagent_id[0] != '\0')
        return 0;
    edit->session.turn_open = false;
    edit->session.turn_id = "";
    edit->session.turn_expected_until_ms = 0;
    if (strcmp(event->turn_ended->error_code, "authentication_failed") == 0)
        return refuse_setup_token(edit, err);
    return 0;
}

static int on_subagent(struct edit *edit, const V1(Event) *event, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (event->subagent_id[0] == '\0')
        return 0;
    if (event->kind_case == KIND(SUBAGENT_STARTED)) {
        if (edit_exec(edit, "start_subagent", &rows, err, kndl_db_text(edit->session.id),
                      kndl_db_text(event->subagent_id),
                      kndl_db_text(event->subagent_started->agent_type),
                      kndl_db_text(event->subagent_started->description)) < 0)
            return -1;
    } else if (edit_exec(edit, "end_subagent", &rows, err, kndl_db_text(edit->session.id),
                         kndl_db_text(event->subagent_id)) < 0) {
        return -1;
    }
    if (edit_exec(edit, "running_subagents", &rows, err, kndl_db_text(edit->session.id)) < 0)
        return -1;
    edit->session.running_subagents = (int64_t)rows.count;
    edit->view_changed = true;
    return 0;
}

static int on_prompt(struct edit *edit, const V1(Event) *event, struct kndl_error *err)
{
    if (event->subagent_id[0] != '\0')
        return 0;
    if (edit->session.title[0] == '\0')
        edit->session.title = edit_title(edit, event->prompt->text);
    return edit_deliver_prompt(edit, event->prompt->prompt_id, true, err);
}

/* What must be known or stored before the Event itself. */
static int derive_before(struct edit *edit, V1(Event) *event, struct kndl_error *err)
{
    if (event->kind_case == KIND(ANSWER))
        return before_answer(edit, event->answer, err);
    if (event->kind_case == KIND(TURN_ENDED))
        return edit_close_questions(edit, event->subagent_id, err);
    return 0;
}

static int derive_after(struct edit *edit, const V1(Event) *event, struct kndl_error *err)
{
    switch (event->kind_case) {
    case KIND(PROMPT):
        return on_prompt(edit, event, err);
    case KIND(QUESTION):
        return on_question(edit, event, err);
    case KIND(TURN_STARTED):
        return on_turn_started(edit, event, err);
    case KIND(TURN_ENDED):
        return on_turn_ended(edit, event, err);
    case KIND(SUBAGENT_STARTED):
    case KIND(SUBAGENT_ENDED):
        return on_subagent(edit, event, err);
    case KIND(ANSWER): /* before it */
    case KIND(TEXT):
    case KIND(THINKING):
    case KIND(TOOL_CALL):
    case KIND(TOOL_RESULT):
    case KIND(NOTE):
    case KIND(COMPACTION):
    case KIND(STATE_CHANGED):
    case KIND(_NOT_SET):
    case _KNDL__EVENT__V1__EVENT__KIND__CASE_IS_INT_SIZE:
        return 0;
    }
    return 0;
}

/* Claude Code's handles are short; what is not would not fit an index, or a StartRun. */
static bool is_handle(const char *text)
{
    enum { HANDLE_BYTES_MAX = 200 };

    return strlen(text) <= HANDLE_BYTES_MAX;
}

/* States are ours to tell. A Runner that tells one, or nothing, or with handles that Claude Code
 * never made, is passed over. */
static bool is_from_claude(const V1(Event) *event)
{
    if (!is_handle(event->subagent_id) || !is_handle(event->source_id))
        return false;
    if (event->kind_case == KIND(QUESTION))
        return is_handle(event->question->id);
    if (event->kind_case == KIND(TURN_STARTED))
        return is_handle(event->turn_started->turn_id);
    return event->kind_case != KIND(_NOT_SET) && event->kind_case != KIND(STATE_CHANGED);
}

static int append_gap(struct edit *edit, int64_t from, int64_t to, struct kndl_error *err)
{
    char text[160];

    snprintf(text, sizeof text,
             "The Runner lost %" PRId64 " Events of this run before they reached the Hub.",
             to - from + 1);
    return edit_note(edit, KNDL__EVENT__V1__NOTE__LEVEL__LEVEL_WARNING, "events_lost",
                     kndl_arena_copy(edit->arena, text), err);
}

static int append_all(struct edit *edit, const struct batch *batch, struct run_row *row,
                      struct kndl_error *err)
{
    bool is_current = batch->run == edit->session.run && row->phase < PHASE_SETTLED;

    for (size_t i = 0; i < batch->count; i++) {
        int64_t n = batch->first_n + (int64_t)i;
        V1(Event) *event = batch->events[i];

        if (n <= row->last_n)
            continue;
        row->last_n = n;
        if (!is_from_claude(event)) {
            kndl_log(KNDL_WARNING, "an Event of a Runner was passed over",
                     KNDL_STR("session", batch->session_id), KNDL_I64("n", n));
            continue;
        }
        event->run = batch->run;
        if (is_current && derive_before(edit, event, err) < 0)
            return -1;
        if (edit_event(edit, event, n, err) < 0)
            return -1;
        if (is_current && derive_after(edit, event, err) < 0)
            return -1;
    }
    return 0;
}

/* Whether the batch is the run's own and comes in order. A run whose Runner said which Event was
 * its last has no more; one that was given up for lost may still have a spool. */
static bool is_taken(const struct batch *batch, const struct run_row *row)
{
    if (row->mod_token_hash.size != KNDL_HASH_BYTES ||
        batch->mod_token_hash.size != KNDL_HASH_BYTES ||
        !kndl_hash_equal(row->mod_token_hash.data, batch->mod_token_hash.data)) {
        kndl_log(KNDL_WARNING, "a batch with an older mod token was left out",
                 KNDL_STR("session", batch->session_id), KNDL_I64("run", batch->run));
        return false;
    }
    if (row->phase >= PHASE_SETTLED && row->cause != END_LOST)
        return false;
    return batch->first_n >= 1 && (batch->first_n <= row->last_n + 1 || batch->gap);
}

int store_append_events(struct store *store, struct kndl_arena *arena, const struct batch *batch,
                        int64_t *ret_expected_n, struct changes *changes, struct kndl_error *err)
{
    KNDL_CLEANUP(edit_done) struct edit edit;
    struct kndl_rows rows;
    struct run_row row;
    bool found;

    if (edit_begin(store, arena, batch->session_id, &edit, err) < 0 ||
        edit_lock_run(&edit, batch->run, &found, &row, err) < 0)
        return -1;
    if (!found || strcmp(row.runner_id, batch->runner_id) != 0)
        return kndl_fail(err, KNDL_NOT_FOUND, "run %lld of Session %s does not exist",
                         (long long)batch->run, batch->session_id);
    if (!is_taken(batch, &row)) {
        *ret_expected_n = row.last_n + 1;
        return 0;
    }
    if (batch->first_n > row.last_n + 1) {
        if (append_gap(&edit, row.last_n + 1, batch->first_n - 1, err) < 0)
            return -1;
        row.last_n = batch->first_n - 1;
    }
    if (batch->run == edit.session.run)
        edit.session.waits_code = "";
    if (append_all(&edit, batch, &row, err) < 0 ||
        edit_exec(&edit, "set_run_n", &rows, err, kndl_db_text(batch->session_id),
                  kndl_db_i64(batch->run), kndl_db_i64(row.last_n)) < 0)
        return -1;
    if (row.phase == PHASE_ENDED && row.last_n >= row.ended_n &&
        edit_end_run(&edit, batch->run, &row, err) < 0)
        return -1;
    if (edit_commit(&edit, changes, err) < 0)
        return -1;
    *ret_expected_n = row.last_n + 1;
    return 0;
}
