/* Runners that are there, are away, or are back; and Sessions past their deadline. */

#include <stdio.h>
#include <string.h>

#include "edit.h"

/* A start that was just taken may not be in an Attend that was on its way. */
enum { LOST_AFTER_MS = 10 * 1000 };

int edit_thaw(struct edit *edit, life_state state, struct kndl_error *err)
{
    struct session *session = &edit->session;
    const char *code = session->sleep_code;
    const char *reason = session->sleep_reason;

    if (session->state != LIFE(FROZEN))
        return edit_state(edit, state, "running", "", err);
    session->sleep_code = session->sleep_reason = "";
    if (code[0] != '\0')
        return edit_state(edit, LIFE(GOING_TO_SLEEP), code, reason, err);
    return edit_state(edit, state, "runner_back", "Its Runner is back.", err);
}

static const struct attended *find_attended(const struct attendance *attendance,
                                            const char *session_id, int64_t run)
{
    for (size_t i = 0; i < attendance->count; i++)
        if (attendance->runs[i].run == run &&
            strcmp(attendance->runs[i].session_id, session_id) == 0)
            return &attendance->runs[i];
    return NULL;
}

/* What is known of a run when its Runner speaks of it. */
struct known {
    life_state state; /* of its Session */
    bool is_current;  /* its Session's newest */
    int64_t phase;    /* sessions.run.phase */
    bool is_long_taken;
};

enum verdict { AS_IT_SHOULD, LOST, STARTS, RUNS, STOPS };

/* Compares a run with what its Runner says of it (NULL: nothing). A run that was up and that is
 * STARTING again is being taken back by a Runner that restarted: it waits until that is done. */
static enum verdict judge(const struct known *known, const struct attended *there)
{
    bool is_frozen = known->state == LIFE(FROZEN);
    bool is_start = known->state == LIFE(STARTING) || known->state == LIFE(WAKING);

    if (there == NULL && known->phase > PHASE_DUE)
        return known->is_long_taken ? LOST : AS_IT_SHOULD;
    if (!known->is_current || known->phase >= PHASE_ENDED)
        return AS_IT_SHOULD;
    if (there == NULL)
        return is_frozen ? STARTS : AS_IT_SHOULD;
    switch (there->phase) {
    case RUN_STARTING:
        return is_frozen && known->phase < PHASE_RUNNING ? STARTS : AS_IT_SHOULD;
    case RUN_RUNNING:
        if (is_start && (known->phase == PHASE_RUNNING || known->is_long_taken))
            return RUNS; /* its report was lost */
        return is_frozen ? RUNS : AS_IT_SHOULD;
    case RUN_STOPPING:
        return is_frozen ? STOPS : AS_IT_SHOULD;
    case RUN_ENDED:
        break; /* its Events and its report are on their way */
    }
    return AS_IT_SHOULD;
}

static int end_lost(struct edit *edit, int64_t run, struct run_row *row, struct kndl_error *err)
{
    const struct ending ending = {
        .last_n = row->last_n,
        .cause = END_LOST,
        .reason_code = "",
        .reason = "",
        .last_output = "",
        .conversation_exists = row->phase == PHASE_RUNNING,
    };

    if (row->phase < PHASE_ENDED)
        return edit_mark_ended(edit, run, &ending, row, err);
    row->ended_n = row->last_n;
    return edit_end_run(edit, run, row, err);
}

static int act(struct edit *edit, enum verdict verdict, int64_t run, struct run_row *row,
               struct kndl_error *err)
{
    bool was_starting = edit->session.frozen_from == LIFE(STARTING);
    struct kndl_rows rows;

    switch (verdict) {
    case AS_IT_SHOULD:
        break;
    case LOST:
        return end_lost(edit, run, row, err);
    case STARTS:
        return edit_thaw(edit, was_starting ? LIFE(STARTING) : LIFE(WAKING), err);
    case RUNS:
        edit->session.was_active = true;
        if (edit_exec(edit, "set_run_phase", &rows, err, kndl_db_text(edit->session.id),
                      kndl_db_i64(run), kndl_db_i64(PHASE_RUNNING), kndl_db_i64(ASSIGN_ACTIVE)) < 0)
            return -1;
        return edit_thaw(edit, LIFE(ACTIVE), err);
    case STOPS:
        return edit_thaw(edit, LIFE(GOING_TO_SLEEP), err);
    }
    return 0;
}

static int reconcile(struct store *store, struct kndl_arena *arena, const char *session_id,
                     int64_t run, const struct attended *there, struct changes *changes,
                     struct kndl_error *err)
{
    KNDL_CLEANUP(edit_done) struct edit edit;
    struct run_row row;
    bool found;

    if (edit_begin(store, arena, session_id, &edit, err) < 0 ||
        edit_lock_run(&edit, run, &found, &row, err) < 0)
        return -1;
    if (!found || row.phase >= PHASE_SETTLED)
        return 0;

    const struct known known = {
        .state = edit.session.state,
        .is_current = run == edit.session.run,
        .phase = row.phase,
        .is_long_taken = row.taken_at_ms <= edit.session.now_ms - LOST_AFTER_MS,
    };
    if (act(&edit, judge(&known, there), run, &row, err) < 0)
        return -1;
    return edit_commit(&edit, changes, err);
}

static int thaw_asleep(struct store *store, struct kndl_arena *arena, const char *session_id,
                       struct changes *changes, struct kndl_error *err)
{
    KNDL_CLEANUP(edit_done) struct edit edit;

    if (edit_begin(store, arena, session_id, &edit, err) < 0)
        return -1;
    if (edit.session.state != LIFE(FROZEN))
        return 0;
    if (edit_state(&edit, LIFE(ASLEEP), "runner_back", "Its Runner is back.", err) < 0)
        return -1;
    return edit_commit(&edit, changes, err);
}

static int put_runner(struct store *store, struct kndl_arena *arena,
                      const struct attendance *attendance, bool *ret_connected, int64_t *ret_now_ms,
                      struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_tx_done) struct kndl_tx tx = {0};
    struct kndl_rows before, rows;

    if (kndl_tx_begin(store->db, &tx, err) < 0 ||
        kndl_db_exec(store->db, "read_runner", arena, &before, err,
                     kndl_db_text(attendance->runner_id)) < 0 ||
        kndl_db_exec(store->db, "attend", arena, &rows, err, kndl_db_text(attendance->runner_id),
                     kndl_db_text(attendance->instance_id), kndl_db_text(attendance->hostname),
                     kndl_db_text(attendance->version), kndl_db_text(attendance->backend),
                     kndl_db_bytes(attendance->seal_key),
                     kndl_db_text(attendance->update_note)) < 0)
        return -1;
    if (rows.count == 0)
        return kndl_fail(err, KNDL_PERMISSION_DENIED,
                         "this Runner is not registered here: the Owner registers it and gives it "
                         "a RUNNER_TOKEN");
    *ret_now_ms = kndl_row_i64(&rows, 0, 0);
    *ret_connected = kndl_row_bool(&before, 0, 1) ||
                     strcmp(kndl_row_text(&before, 0, 0), attendance->instance_id) != 0;
    if (*ret_connected && kndl_db_exec(store->db, "unhold_sessions", arena, &rows, err,
                                       kndl_db_text(attendance->runner_id)) < 0)
        return -1;
    return kndl_tx_commit(&tx, err);
}

/* Must the row's run be told to stop, if it is there? */
static bool should_stop(const struct kndl_rows *runs, const struct attended *there)
{
    if (there->phase != RUN_STARTING && there->phase != RUN_RUNNING)
        return false;
    for (size_t i = 0; i < runs->count; i++) {
        life_state state = (life_state)kndl_row_i64(runs, i, 5);

        if (strcmp(kndl_row_text(runs, i, 0), there->session_id) != 0 ||
            kndl_row_i64(runs, i, 1) != there->run)
            continue;
        return there->run != kndl_row_i64(runs, i, 4) || state == LIFE(GOING_TO_SLEEP) ||
               state == LIFE(FAILED) || state == LIFE(ASLEEP) || state == LIFE(ARCHIVED);
    }
    return true;
}

int store_attend(struct store *store, struct kndl_arena *arena, const struct attendance *attendance,
                 int64_t *ret_now_ms, const char ***ret_stop, size_t *ret_stop_count,
                 struct changes *changes, struct kndl_error *err)
{
    struct kndl_rows runs, frozen;
    bool connected;
    size_t stop_count = 0;

    if (put_runner(store, arena, attendance, &connected, ret_now_ms, err) < 0 ||
        kndl_db_exec(store->db, "runs_of_runner", arena, &runs, err,
                     kndl_db_text(attendance->runner_id)) < 0)
        return -1;
    for (size_t i = 0; i < runs.count; i++) {
        const char *session_id = kndl_row_text(&runs, i, 0);
        int64_t run = kndl_row_i64(&runs, i, 1);
        const struct attended *there = find_attended(attendance, session_id, run);
        const struct known known = {
            .state = (life_state)kndl_row_i64(&runs, i, 5),
            .is_current = run == kndl_row_i64(&runs, i, 4),
            .phase = kndl_row_i64(&runs, i, 2),
            .is_long_taken = kndl_row_i64(&runs, i, 3) <= kndl_row_i64(&runs, i, 6) - LOST_AFTER_MS,
        };

        /* Asked again under the lock: mostly there is nothing to do. */
        if (judge(&known, there) != AS_IT_SHOULD &&
            reconcile(store, arena, session_id, run, there, changes, err) < 0)
            return -1;
    }
    if (kndl_db_exec(store->db, "frozen_without_run", arena, &frozen, err,
                     kndl_db_text(attendance->runner_id)) < 0)
        return -1;
    for (size_t i = 0; i < frozen.count; i++)
        if (thaw_asleep(store, arena, kndl_row_text(&frozen, i, 0), changes, err) < 0)
            return -1;

    *ret_stop = kndl_arena_alloc(arena, (attendance->count + 1) * sizeof **ret_stop);
    for (size_t i = 0; i < attendance->count; i++)
        if (should_stop(&runs, &attendance->runs[i]))
            (*ret_stop)[stop_count++] = attendance->runs[i].session_id;
    *ret_stop_count = stop_count;
    return 0;
}

int store_mark_silent(struct store *store, struct kndl_arena *arena, size_t *ret_count,
                      struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec_params(store->db, "silent_runners", NULL, 0, arena, &rows, err) < 0)
        return -1;
    *ret_count = rows.count;
    return 0;
}

int store_count_runners(struct store *store, struct kndl_arena *arena, int32_t *ret_count,
                        struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec_params(store->db, "count_runners", NULL, 0, arena, &rows, err) < 0)
        return -1;
    *ret_count = (int32_t)kndl_row_i64(&rows, 0, 0);
    return 0;
}

int store_freeze_next(struct store *store, struct kndl_arena *arena, bool *ret_found,
                      struct changes *changes, struct kndl_error *err)
{
    KNDL_CLEANUP(edit_done) struct edit edit;
    char reason[200];

    if (edit_begin_next(store, arena, "session_to_freeze", &edit, ret_found, err) < 0)
        return -1;
    if (!*ret_found)
        return 0;
    if (edit.session.state == LIFE(GOING_TO_SLEEP)) {
        edit.session.sleep_code = edit.session.reason_code;
        edit.session.sleep_reason = edit.session.reason;
    }
    bool is_removed = edit.session.runner_removed;
    snprintf(reason, sizeof reason,
             is_removed ? "Its Runner %.100s was removed: begin a new Session."
                        : "Its Runner %.100s is away: start it, and the Session goes on when it is "
                          "back.",
             edit.session.runner_name);
    if (edit_state(&edit, LIFE(FROZEN), is_removed ? "runner_removed" : "runner_away",
                   kndl_arena_copy(arena, reason), err) < 0)
        return -1;
    return edit_commit(&edit, changes, err);
}

/* A stop that takes too long is commanded again; only its Runner's report ends it. */
static int stop_again(struct edit *edit, struct kndl_error *err)
{
    enum { AGAIN_AFTER_MS = 10 * 60 * 1000 };
    bool settled;

    if (edit_stop_run(edit, "stop_overdue", &settled, err) < 0)
        return -1;
    if (settled)
        return edit_state(edit, LIFE(ASLEEP), edit->session.reason_code, edit->session.reason, err);
    edit->session.deadline_ms = edit->session.now_ms + AGAIN_AFTER_MS;
    return edit_note(edit, KNDL__EVENT__V1__NOTE__LEVEL__LEVEL_WARNING, "stop_overdue",
                     "Its Runner has not reported it stopped yet: the stop was sent again.", err);
}

int store_overdue_next(struct store *store, struct kndl_arena *arena, bool *ret_found,
                       struct changes *changes, struct kndl_error *err)
{
    KNDL_CLEANUP(edit_done) struct edit edit;
    bool settled;

    if (edit_begin_next(store, arena, "overdue_session", &edit, ret_found, err) < 0)
        return -1;
    if (!*ret_found)
        return 0;
    if (edit.session.state == LIFE(GOING_TO_SLEEP)) {
        if (stop_again(&edit, err) < 0)
            return -1;
    } else if (edit.session.state == LIFE(STARTING) || edit.session.state == LIFE(WAKING)) {
        bool first = edit.session.state == LIFE(STARTING);

        if (edit_stop_run(&edit, "start_overdue", &settled, err) < 0 ||
            edit_state(&edit, LIFE(FAILED), first ? "start_timeout" : "wake_timeout",
                       first ? "The start took longer than 15 minutes: see its steps, then Retry."
                             : "The wake took longer than 2 minutes: see its steps, then Retry.",
                       err) < 0)
            return -1;
    } else {
        edit.session.deadline_ms = 0;
    }
    return edit_commit(&edit, changes, err);
}
