/* What is due: claimed, settled when it was taken, released when it was not. */

#include <string.h>

#include "edit.h"

static int claim_prompt(struct store *store, struct kndl_arena *arena, struct delivery *delivery,
                        bool *ret_found, struct changes *changes, struct kndl_error *err)
{
    KNDL_CLEANUP(edit_done) struct edit edit;
    const struct session *session = &edit.session;
    struct kndl_rows rows;

    if (edit_begin_next(store, arena, "due_prompt", &edit, ret_found, err) < 0)
        return -1;
    if (!*ret_found)
        return 0;

    bool may_hand = session->state == LIFE(ACTIVE) && !session->turn_open &&
                    !session->queue_paused && session->turn_expected_until_ms <= session->now_ms;
    if (edit_exec(&edit, "claim_prompt", &rows, err, kndl_db_text(session->id),
                  kndl_db_i64(session->run), kndl_db_bool(may_hand),
                  kndl_db_text(session->creator_id)) < 0)
        return -1;
    *ret_found = rows.count > 0;
    if (!*ret_found)
        return 0;
    *delivery = (struct delivery){
        .kind = DELIVER_PROMPT,
        .id = kndl_row_text(&rows, 0, 0),
        .sealed = kndl_row_bytes(&rows, 0, 1),
        .session_id = session->id,
        .run = session->run,
        .runner_id = session->runner_id,
        .creator_id = session->creator_id,
        .repo_id = session->repo_id,
    };
    edit.view_changed = true;
    return edit_commit(&edit, changes, err);
}

static int read_sources(struct store *store, struct kndl_arena *arena, struct delivery *delivery,
                        struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "newest_sources", arena, &rows, err,
                     kndl_db_text(delivery->session_id)) < 0)
        return -1;
    delivery->sources = kndl_arena_alloc(arena, (rows.count + 1) * sizeof *delivery->sources);
    delivery->source_count = rows.count;
    for (size_t i = 0; i < rows.count; i++)
        delivery->sources[i] = (char *)kndl_row_text(&rows, i, 0);
    return 0;
}

static int claim_command(struct store *store, struct kndl_arena *arena, struct delivery *delivery,
                         bool *ret_found, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec_params(store->db, "claim_command", NULL, 0, arena, &rows, err) < 0)
        return -1;
    *ret_found = rows.count > 0;
    if (!*ret_found)
        return 0;
    *delivery = (struct delivery){
        .id = kndl_row_text(&rows, 0, 0),
        .kind = (enum delivery_kind)kndl_row_i64(&rows, 0, 1),
        .session_id = kndl_row_text(&rows, 0, 2),
        .run = kndl_row_i64(&rows, 0, 3),
        .runner_id = kndl_row_text(&rows, 0, 4),
        .target_id = kndl_row_text(&rows, 0, 5),
        .sealed = kndl_row_bytes(&rows, 0, 6),
        .reason_code = kndl_row_text(&rows, 0, 7),
        .creator_id = kndl_row_text(&rows, 0, 8),
        .creator_name = kndl_row_text(&rows, 0, 9),
        .creator_email = kndl_row_text(&rows, 0, 10),
        .repo_id = kndl_row_i64(&rows, 0, 11),
        .repo_name = kndl_row_text(&rows, 0, 12),
        .claude_session_id = kndl_row_text(&rows, 0, 13),
        .conversation_exists = kndl_row_bool(&rows, 0, 14),
        .model = kndl_row_text(&rows, 0, 15),
        .effort = kndl_row_text(&rows, 0, 16),
    };
    return delivery->kind == DELIVER_START ? read_sources(store, arena, delivery, err) : 0;
}

static int claim_assignment(struct store *store, struct kndl_arena *arena,
                            struct delivery *delivery, bool *ret_found, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec_params(store->db, "claim_assignment", NULL, 0, arena, &rows, err) < 0)
        return -1;
    *ret_found = rows.count > 0;
    if (!*ret_found)
        return 0;
    *delivery = (struct delivery){
        .kind = DELIVER_ASSIGNMENT,
        .session_id = kndl_row_text(&rows, 0, 0),
        .run = kndl_row_i64(&rows, 0, 1),
        .runner_id = kndl_row_text(&rows, 0, 2),
        .assignment = kndl_row_i64(&rows, 0, 3),
        .creator_id = kndl_row_text(&rows, 0, 4),
        .repo_id = kndl_row_i64(&rows, 0, 5),
    };
    return 0;
}

/* Asleep Sessions with prompts become Waking; what that makes due is claimed as a command. */
static int wake_all(struct store *store, struct kndl_arena *arena, struct changes *changes,
                    struct kndl_error *err)
{
    for (;;) {
        KNDL_CLEANUP(edit_done) struct edit edit;
        bool found;

        if (edit_begin_next(store, arena, "due_wake", &edit, &found, err) < 0)
            return -1;
        if (!found)
            return 0;

        /* It may have changed while its lock was waited for. */
        if (edit.session.state != LIFE(ASLEEP) || edit.session.queued_count == 0)
            return 0;
        if (edit_start_run(&edit, err) < 0 ||
            edit_state(&edit, edit.session.was_active ? LIFE(WAKING) : LIFE(STARTING),
                       "prompt_waits", "A prompt waits for it.", err) < 0 ||
            edit_commit(&edit, changes, err) < 0)
            return -1;
    }
}

int store_claim_delivery(struct store *store, struct kndl_arena *arena,
                         const struct delivery **ret_delivery, struct changes *changes,
                         struct kndl_error *err)
{
    struct delivery *delivery = kndl_arena_alloc(arena, sizeof *delivery);
    bool found;

    if (claim_prompt(store, arena, delivery, &found, changes, err) < 0)
        return -1;
    if (!found && wake_all(store, arena, changes, err) < 0)
        return -1;
    if (!found && claim_command(store, arena, delivery, &found, err) < 0)
        return -1;
    if (!found && claim_assignment(store, arena, delivery, &found, err) < 0)
        return -1;
    *ret_delivery = found ? delivery : NULL;
    return 0;
}

/* Locks go from the Session to what hangs on it: a run's row is changed twice here, and then
 * PostgreSQL looks for its Session, which a report may hold that waits for the run. */
static int settle_command(struct store *store, struct kndl_arena *arena,
                          const struct delivery *delivery, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_tx_done) struct kndl_tx tx = {0};
    struct kndl_rows rows;

    if (kndl_tx_begin(store->db, &tx, err) < 0 ||
        kndl_db_exec(store->db, "lock_session", arena, &rows, err,
                     kndl_db_text(delivery->session_id)) < 0 ||
        kndl_db_exec(store->db, "take_command", arena, &rows, err, kndl_db_text(delivery->id)) < 0)
        return -1;
    if (delivery->kind == DELIVER_START &&
        (kndl_db_exec(store->db, "set_run_phase", arena, &rows, err,
                      kndl_db_text(delivery->session_id), kndl_db_i64(delivery->run),
                      kndl_db_i64(PHASE_TAKEN), kndl_db_i64(ASSIGN_STARTING)) < 0 ||
         kndl_db_exec(store->db, "put_assignment", arena, &rows, err,
                      kndl_db_text(delivery->session_id), kndl_db_i64(delivery->run),
                      kndl_db_i64(ASSIGN_STARTING)) < 0))
        return -1;
    return kndl_tx_commit(&tx, err);
}

int store_settle_delivery(struct store *store, struct kndl_arena *arena,
                          const struct delivery *delivery, struct kndl_error *err)
{
    struct kndl_rows rows;

    switch (delivery->kind) {
    case DELIVER_ASSIGNMENT:
        return kndl_db_exec(store->db, "put_assignment", arena, &rows, err,
                            kndl_db_text(delivery->session_id), kndl_db_i64(delivery->run),
                            kndl_db_i64(delivery->assignment));
    case DELIVER_PROMPT:
        if (kndl_db_exec(store->db, "prompt_taken", arena, &rows, err,
                         kndl_db_text(delivery->session_id), kndl_db_text(delivery->id)) < 0)
            return -1;
        break;
    case DELIVER_START:
    case DELIVER_STOP_RUN:
    case DELIVER_STOP_TURN:
    case DELIVER_ANSWER:
    case DELIVER_RENEW_GIT:
        if (settle_command(store, arena, delivery, err) < 0)
            return -1;
        break;
    }
    return kndl_db_exec(store->db, "unpause_runner", arena, &rows, err,
                        kndl_db_text(delivery->runner_id));
}

static int release_prompt(struct store *store, struct kndl_arena *arena,
                          const struct delivery *delivery, bool is_unsure, struct changes *changes,
                          struct kndl_error *err)
{
    KNDL_CLEANUP(edit_done) struct edit edit;
    struct kndl_rows handed, rows;

    if (edit_begin(store, arena, delivery->session_id, &edit, err) < 0 ||
        edit_exec(&edit, "handed_prompts", &handed, err, kndl_db_text(delivery->session_id)) < 0)
        return -1;

    /* A report of the Runner came first, or another copy's claim. */
    if (handed.count == 0 || strcmp(kndl_row_text(&handed, 0, 0), delivery->id) != 0 ||
        kndl_row_bool(&handed, 0, 6))
        return 0;

    if (is_unsure || kndl_row_bool(&handed, 0, 7)) {
        if (edit_exec(&edit, "prompt_unsure", &rows, err, kndl_db_text(delivery->session_id),
                      kndl_db_text(delivery->id)) < 0)
            return -1;
        return edit_commit(&edit, changes, err);
    }
    if (edit_exec(&edit, "set_prompt", &rows, err, kndl_db_text(delivery->session_id),
                  kndl_db_text(delivery->id),
                  kndl_db_i64(KNDL__SESSIONS__V1__QUEUED_PROMPT__STATE__STATE_QUEUED),
                  kndl_db_text("")) < 0)
        return -1;
    edit.session.queued_count++;
    edit.view_changed = true;
    return edit_commit(&edit, changes, err);
}

int store_release_delivery(struct store *store, struct kndl_arena *arena,
                           const struct delivery *delivery, bool is_unsure, struct changes *changes,
                           struct kndl_error *err)
{
    struct kndl_rows rows;

    if (delivery->kind == DELIVER_ASSIGNMENT)
        return kndl_db_exec(store->db, "release_assignment", arena, &rows, err,
                            kndl_db_text(delivery->session_id), kndl_db_i64(delivery->run));

    /* The pause first: what is released may be claimed at once. */
    if (kndl_db_exec(store->db, "pause_runner", arena, &rows, err,
                     kndl_db_text(delivery->runner_id)) < 0)
        return -1;
    if (delivery->kind == DELIVER_PROMPT)
        return release_prompt(store, arena, delivery, is_unsure, changes, err);
    return kndl_db_exec(store->db, "release_command", arena, &rows, err, kndl_db_text(delivery->id),
                        kndl_db_bool(is_unsure));
}
