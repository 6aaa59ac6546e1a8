/* One Session changed in one transaction. */

#include "edit.h"

#include <assert.h>
#include <string.h>

#include "kndl/permit.h"

static const char absent[] = "Session %s does not exist";

static int load(struct edit *edit, const char *session_id, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (edit_exec(edit, "lock_session", &rows, err, kndl_db_text(session_id)) < 0)
        return -1;
    if (rows.count == 0)
        return kndl_fail(err, KNDL_NOT_FOUND, absent, session_id);
    store_session_of(&rows, 0, &edit->session);
    edit->before = edit->session;
    return 0;
}

int edit_begin(struct store *store, struct kndl_arena *arena, const char *session_id,
               struct edit *edit, struct kndl_error *err)
{
    *edit = (struct edit){.store = store, .arena = arena};
    if (kndl_tx_begin(store->db, &edit->tx, err) < 0)
        return -1;
    if (load(edit, session_id, err) < 0) {
        edit_done(edit);
        return -1;
    }
    return 0;
}

int edit_begin_next(struct store *store, struct kndl_arena *arena, const char *statement,
                    struct edit *edit, bool *ret_found, struct kndl_error *err)
{
    struct kndl_rows rows;

    *edit = (struct edit){.store = store, .arena = arena};
    if (kndl_tx_begin(store->db, &edit->tx, err) < 0)
        return -1;
    if (kndl_db_exec_params(store->db, statement, NULL, 0, arena, &rows, err) < 0 ||
        (rows.count > 0 && load(edit, kndl_row_text(&rows, 0, 0), err) < 0)) {
        edit_done(edit);
        return -1;
    }
    *ret_found = rows.count > 0;
    if (!*ret_found)
        edit_done(edit);
    return 0;
}

int edit_begin_asked(struct store *store, struct kndl_arena *arena, const struct asked *asked,
                     struct edit *edit, struct kndl_error *err)
{
    if (edit_begin(store, arena, asked->session_id, edit, err) < 0)
        return -1;
    if (strcmp(edit->session.creator_id, asked->person_id) != 0) {
        edit_done(edit);
        return kndl_public_deny(KNDL_WHO_CREATOR, err);
    }
    if (edit->session.creator_removals != asked->creator_removals) {
        edit_done(edit);
        return kndl_public_deny(KNDL_WHO_MEMBER, err);
    }
    return 0;
}

/* The next character's first byte. */
static const char *next_char(const char *text)
{
    do
        text++;
    while (((unsigned char)*text & 0xc0) == 0x80);
    return text;
}

bool edit_same_masked(const char *a, const char *b)
{
    while (*a != '\0' && *b != '\0') {
        const char *after_a = next_char(a);
        const char *after_b = next_char(b);

        if (*a != '*' && *b != '*' &&
            (after_a - a != after_b - b || memcmp(a, b, (size_t)(after_a - a)) != 0))
            return false;
        a = after_a;
        b = after_b;
    }
    return *a == *b;
}

const char *edit_title(struct edit *edit, const char *masked)
{
    enum { TITLE_BYTES_MAX = 120 };
    char title[TITLE_BYTES_MAX + 1];
    const char *line = masked + strspn(masked, " \t\r\n");
    size_t size = strcspn(line, "\r\n");

    if (size > TITLE_BYTES_MAX) {
        size = TITLE_BYTES_MAX;
        while (((unsigned char)line[size] & 0xc0) == 0x80)
            size--;
    }
    memcpy(title, line, size);
    title[size] = '\0';
    return kndl_arena_copy(edit->arena, title);
}

int edit_find_request(struct edit *edit, const struct asked *asked, const char *method,
                      const char *content, bool *ret_repeat, const char **ret_result,
                      struct kndl_error *err)
{
    struct kndl_rows rows;

    if (edit_exec(edit, "find_request", &rows, err, kndl_db_text(asked->session_id),
                  kndl_db_text(asked->request_id)) < 0)
        return -1;
    if (rows.count == 0) {
        *ret_repeat = false;
        return 0;
    }
    if (strcmp(kndl_row_text(&rows, 0, 0), method) != 0 ||
        !edit_same_masked(kndl_row_text(&rows, 0, 1), content))
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "request_id %s was used for something else in this Session",
                         asked->request_id);
    *ret_repeat = true;
    *ret_result = kndl_row_text(&rows, 0, 2);
    return 0;
}

int edit_keep_request(struct edit *edit, const struct asked *asked, const char *method,
                      const char *content, const char *result, struct kndl_error *err)
{
    struct kndl_rows rows;

    return edit_exec(edit, "put_request", &rows, err, kndl_db_text(asked->session_id),
                     kndl_db_text(asked->request_id), kndl_db_text(method), kndl_db_text(content),
                     kndl_db_text(result));
}

Kndl__Event__V1__Event *edit_new_event(struct edit *edit)
{
    Kndl__Event__V1__Event *event = kndl_arena_alloc(edit->arena, sizeof *event);

    kndl__event__v1__event__init(event);
    return event;
}

static void remember(struct edit *edit, Kndl__Event__V1__Event *event)
{
    if (edit->event_count == edit->event_room) {
        size_t room = edit->event_room == 0 ? 16 : edit->event_room * 2;
        Kndl__Event__V1__Event **events = kndl_arena_alloc(edit->arena, room * sizeof *events);

        if (edit->event_count > 0)
            memcpy(events, edit->events, edit->event_count * sizeof *events);
        edit->events = events;
        edit->event_room = room;
    }
    edit->events[edit->event_count++] = event;
}

int edit_event(struct edit *edit, Kndl__Event__V1__Event *event, int64_t n, struct kndl_error *err)
{
    struct session *session = &edit->session;
    struct kndl_rows rows;

    event->seq = session->last_seq + 1;
    event->at_ms = session->now_ms;
    if (n == 0)
        event->run = session->run;

    size_t size = kndl__event__v1__event__get_packed_size(event);
    uint8_t *data = kndl_arena_alloc(edit->arena, size);
    kndl__event__v1__event__pack(event, data);

    if (edit_exec(edit, "append_event", &rows, err, kndl_db_text(session->id),
                  kndl_db_i64(event->seq), kndl_db_i64(event->at_ms),
                  kndl_db_i64((int64_t)event->kind_case), kndl_db_text(event->subagent_id),
                  kndl_db_i64(event->run), n == 0 ? kndl_db_null() : kndl_db_i64(n),
                  kndl_db_text(event->source_id), kndl_db_i64((int64_t)size),
                  kndl_db_bytes(kndl_slice(data, size))) < 0)
        return -1;
    session->last_seq = event->seq;
    session->changed_at_ms = event->at_ms;
    remember(edit, event);
    return 0;
}

int edit_note(struct edit *edit, Kndl__Event__V1__Note__Level level, const char *code,
              const char *text, struct kndl_error *err)
{
    Kndl__Event__V1__Event *event = edit_new_event(edit);
    Kndl__Event__V1__Note *note = kndl_arena_alloc(edit->arena, sizeof *note);

    kndl__event__v1__note__init(note);
    note->level = level;
    note->note_code = (char *)code;
    note->text = (char *)text;
    event->kind_case = KNDL__EVENT__V1__EVENT__KIND_NOTE;
    event->note = note;
    return edit_event(edit, event, 0, err);
}

int edit_state(struct edit *edit, life_state state, const char *code, const char *reason,
               struct kndl_error *err)
{
    struct session *session = &edit->session;

    if (session->state == state)
        return 0;
    assert(life_can(session->state, state));
    if (!life_can(session->state, state))
        return kndl_fail(err, KNDL_INTERNAL, "Session %s is %s and cannot be %s", session->id,
                         life_name(session->state), life_name(state));

    Kndl__Event__V1__Event *event = edit_new_event(edit);
    Kndl__Event__V1__StateChanged *changed = kndl_arena_alloc(edit->arena, sizeof *changed);

    kndl__event__v1__state_changed__init(changed);
    changed->state = state;
    changed->reason_code = (char *)code;
    changed->reason = (char *)reason;
    event->kind_case = KNDL__EVENT__V1__EVENT__KIND_STATE_CHANGED;
    event->state_changed = changed;

    session->frozen_from = state == LIFE(FROZEN) ? session->state : LIFE(UNSPECIFIED);
    session->state = state;
    session->reason_code = code;
    session->reason = reason;
    session->deadline_ms = life_limit_ms(state) == 0 ? 0 : session->now_ms + life_limit_ms(state);
    return edit_event(edit, event, 0, err);
}

int edit_command(struct edit *edit, enum delivery_kind kind, const char *target_id,
                 struct kndl_slice sealed, const char *reason_code, struct kndl_error *err)
{
    const struct session *session = &edit->session;
    struct kndl_rows rows;
    char id[KNDL_ID_SIZE];

    kndl_id_new(id);
    return edit_exec(edit, "add_command", &rows, err, kndl_db_text(id), kndl_db_text(session->id),
                     kndl_db_i64(session->run), kndl_db_text(session->runner_id), kndl_db_i64(kind),
                     kndl_db_text(target_id),
                     sealed.data == NULL ? kndl_db_null() : kndl_db_bytes(sealed),
                     kndl_db_text(reason_code));
}

int edit_start_run(struct edit *edit, struct kndl_error *err)
{
    struct session *session = &edit->session;
    struct kndl_rows rows;

    session->run++;
    session->wake_held = false;
    session->sleep_code = session->sleep_reason = session->waits_code = "";
    if (edit_exec(edit, "make_run", &rows, err, kndl_db_text(session->id),
                  kndl_db_i64(session->run), kndl_db_text(session->runner_id)) < 0)
        return -1;
    return edit_command(edit, DELIVER_START, "", kndl_slice(NULL, 0), "", err);
}

int edit_lock_run(struct edit *edit, int64_t run, bool *ret_found, struct run_row *ret_row,
                  struct kndl_error *err)
{
    struct kndl_rows rows;

    if (edit_exec(edit, "lock_run", &rows, err, kndl_db_text(edit->session.id), kndl_db_i64(run)) <
        0)
        return -1;
    *ret_found = rows.count > 0;
    if (!*ret_found)
        return 0;
    *ret_row = (struct run_row){
        .runner_id = kndl_row_text(&rows, 0, 0),
        .phase = kndl_row_i64(&rows, 0, 1),
        .taken_at_ms = kndl_row_i64(&rows, 0, 2),
        .mod_token_hash = kndl_row_bytes(&rows, 0, 3),
        .last_n = kndl_row_i64(&rows, 0, 4),
        .ended_n = kndl_row_i64(&rows, 0, 5),
        .cause = (enum end_cause)kndl_row_i64(&rows, 0, 6),
        .reason_code = kndl_row_text(&rows, 0, 7),
        .reason = kndl_row_text(&rows, 0, 8),
        .last_output = kndl_row_text(&rows, 0, 9),
    };
    return 0;
}

int edit_stop_run(struct edit *edit, const char *reason_code, bool *ret_settled,
                  struct kndl_error *err)
{
    const struct session *session = &edit->session;
    struct kndl_rows rows;
    struct run_row row;
    bool found;

    *ret_settled = false;
    if (edit_lock_run(edit, session->run, &found, &row, err) < 0)
        return -1;
    if (!found || row.phase >= PHASE_SETTLED) {
        *ret_settled = true;
        return 0;
    }
    if (row.phase == PHASE_DUE) {
        if (edit_exec(edit, "find_start", &rows, err, kndl_db_text(session->id),
                      kndl_db_i64(session->run)) < 0)
            return -1;
        if (rows.count > 0 && !kndl_row_bool(&rows, 0, 0)) {
            *ret_settled = true;
            if (edit_exec(edit, "set_run_phase", &rows, err, kndl_db_text(session->id),
                          kndl_db_i64(session->run), kndl_db_i64(PHASE_SETTLED),
                          kndl_db_i64(PHASE_SETTLED)) < 0)
                return -1;
            return edit_exec(edit, "drop_commands", &rows, err, kndl_db_text(session->id),
                             kndl_db_i64(session->run));
        }
    }
    if (edit_exec(edit, "has_stop", &rows, err, kndl_db_text(session->id),
                  kndl_db_i64(session->run)) < 0)
        return -1;
    if (kndl_row_i64(&rows, 0, 0) > 0)
        return 0;
    return edit_command(edit, DELIVER_STOP_RUN, "", kndl_slice(NULL, 0), reason_code, err);
}

int edit_put_to_sleep(struct edit *edit, const char *code, const char *reason,
                      struct kndl_error *err)
{
    struct session *session = &edit->session;
    bool settled;

    if (edit_stop_run(edit, code, &settled, err) < 0)
        return -1;
    if (session->state == LIFE(FROZEN) && !settled) {
        session->sleep_code = code;
        session->sleep_reason = reason;
        return 0;
    }
    return edit_state(edit, settled ? LIFE(ASLEEP) : LIFE(GOING_TO_SLEEP), code, reason, err);
}

/* Is something else to be seen in the view or in lists? */
static bool is_view_changed(const struct edit *edit)
{
    const struct session *a = &edit->before;
    const struct session *b = &edit->session;

    return edit->view_changed || a->state != b->state || strcmp(a->reason, b->reason) != 0 ||
           a->queue_paused != b->queue_paused || a->turn_open != b->turn_open ||
           a->open_questions != b->open_questions || a->running_subagents != b->running_subagents ||
           strcmp(a->title, b->title) != 0 || a->run != b->run ||
           strcmp(a->waits_code, b->waits_code) != 0 || strcmp(a->repo_name, b->repo_name) != 0 ||
           strcmp(a->repo_problem, b->repo_problem) != 0;
}

static void add_change(struct edit *edit, bool is_view, struct changes *changes)
{
    struct change *change = kndl_arena_alloc(edit->arena, sizeof *change);

    *change = (struct change){
        .next = changes->first,
        .session = edit->session,
        .events = edit->events,
        .event_count = edit->event_count,
        .is_summary = is_view,
    };
    changes->first = change;
}

int edit_commit(struct edit *edit, struct changes *changes, struct kndl_error *err)
{
    struct session *session = &edit->session;
    struct kndl_rows rows;
    bool is_view = edit->is_new || is_view_changed(edit);

    if (is_view)
        session->view_version++;
    if (edit_exec(edit, "update_session", &rows, err, kndl_db_text(session->id),
                  kndl_db_text(session->claude_session_id), kndl_db_text(session->title),
                  kndl_db_i64(session->state), kndl_db_text(session->reason_code),
                  kndl_db_text(session->reason), kndl_db_i64(session->frozen_from),
                  kndl_db_text(session->sleep_code), kndl_db_text(session->sleep_reason),
                  kndl_db_i64(session->run), kndl_db_bool(session->conversation_exists),
                  kndl_db_bool(session->was_active), kndl_db_bool(session->wake_held),
                  kndl_db_bool(session->queue_paused), kndl_db_bool(session->turn_open),
                  kndl_db_text(session->turn_id), kndl_db_i64(session->turn_expected_until_ms),
                  kndl_db_i64(session->open_questions), kndl_db_i64(session->running_subagents),
                  kndl_db_i64(session->last_seq), kndl_db_i64(session->view_version),
                  kndl_db_i64(session->changed_at_ms), kndl_db_i64(session->deadline_ms),
                  kndl_db_text(session->waits_code), kndl_db_text(session->repo_name),
                  kndl_db_text(session->repo_problem)) < 0)
        return -1;
    if (kndl_tx_commit(&edit->tx, err) < 0)
        return -1;
    if (is_view || edit->event_count > 0)
        add_change(edit, is_view, changes);
    return 0;
}

void edit_done(struct edit *edit)
{
    kndl_tx_done(&edit->tx);
}
