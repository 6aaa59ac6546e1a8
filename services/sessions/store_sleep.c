/* Sessions that go to sleep although nobody asked for it, and prompts that nobody may send. */

#include "edit.h"

#define PROMPT_STATE(name) KNDL__SESSIONS__V1__QUEUED_PROMPT__STATE__STATE_##name

struct sleep_reason {
    const char *code;
    const char *text;
    bool pauses;         /* what waits does not wake it: it would only fail */
    const char *cancels; /* why what waits is cancelled; NULL: it stays */
};

static const struct sleep_reason token_replaced = {
    .code = "setup_token_replaced",
    .text = "Its Creator replaced their setup token: the new one is used when it is woken.",
};
static const struct sleep_reason token_removed = {
    .code = "setup_token_removed",
    .text = "Its Creator removed their setup token: set one in the web UI, then wake it.",
    .pauses = true,
};
static const struct sleep_reason token_missing = {
    .code = "no_setup_token",
    .text = "Its Creator has no setup token, and Sessions run on their Creator's own: set one in "
            "the web UI, then wake it.",
    .pauses = true,
};
static const struct sleep_reason member_removed = {
    .code = "member_removed",
    .text = "Its Creator is no Member of this kndl any more.",
    .pauses = true,
    .cancels = "Its Creator is no Member of this kndl any more.",
};

/* Cancels what waits and is not `spared`'s ("": anybody's). */
static int cancel_queued(struct edit *edit, const char *spared, const char *why,
                         struct kndl_error *err)
{
    struct kndl_rows queued;

    if (edit_exec(edit, "queued_prompts", &queued, err, kndl_db_text(edit->session.id),
                  kndl_db_text(spared)) < 0)
        return -1;
    for (size_t i = 0; i < queued.count; i++)
        if (edit_settle_prompt(edit, &queued, i, PROMPT_STATE(CANCELLED), why, err) < 0)
            return -1;
    return 0;
}

static int put_one_to_sleep(struct store *store, struct kndl_arena *arena, const char *session_id,
                            const struct sleep_reason *reason, struct changes *changes,
                            struct kndl_error *err)
{
    KNDL_CLEANUP(edit_done) struct edit edit;

    if (edit_begin(store, arena, session_id, &edit, err) < 0)
        return -1;
    if (reason->cancels != NULL && cancel_queued(&edit, "", reason->cancels, err) < 0)
        return -1;
    if (reason->pauses)
        edit.session.queue_paused = true;
    if ((life_is_awake(edit.session.state) || edit.session.state == LIFE(FROZEN)) &&
        edit_put_to_sleep(&edit, reason->code, reason->text, err) < 0)
        return -1;
    return edit_commit(&edit, changes, err);
}

static int put_all_to_sleep(struct store *store, struct kndl_arena *arena, const char *person_id,
                            const struct sleep_reason *reason, struct changes *changes,
                            struct kndl_error *err)
{
    const char *whose = reason->cancels == NULL ? "awake_of_person" : "sessions_of_person";
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, whose, arena, &rows, err, kndl_db_text(person_id)) < 0)
        return -1;
    for (size_t i = 0; i < rows.count; i++)
        if (put_one_to_sleep(store, arena, kndl_row_text(&rows, i, 0), reason, changes, err) < 0)
            return -1;
    return 0;
}

int store_put_person_to_sleep(struct store *store, struct kndl_arena *arena, const char *person_id,
                              bool replaced, int64_t version, struct changes *changes,
                              struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "find_setup_token", arena, &rows, err, kndl_db_text(person_id)) < 0)
        return -1;
    if (rows.count > 0 && kndl_row_i64(&rows, 0, 0) >= version)
        return 0;
    if (put_all_to_sleep(store, arena, person_id, replaced ? &token_replaced : &token_removed,
                         changes, err) < 0)
        return -1;
    return kndl_db_exec(store->db, "put_setup_token", arena, &rows, err, kndl_db_text(person_id),
                        kndl_db_i64(version));
}

int store_put_removed_to_sleep(struct store *store, struct kndl_arena *arena, const char *person_id,
                               struct changes *changes, struct kndl_error *err)
{
    /* First, so that what is stored after it is refused, and what was before it is cancelled. */
    if (kndl_db_exec(store->db, "count_removal", NULL, NULL, err, kndl_db_text(person_id)) < 0)
        return -1;
    return put_all_to_sleep(store, arena, person_id, &member_removed, changes, err);
}

int store_put_tokenless_to_sleep(struct store *store, struct kndl_arena *arena,
                                 const char *person_id, struct changes *changes,
                                 struct kndl_error *err)
{
    return put_all_to_sleep(store, arena, person_id, &token_missing, changes, err);
}

int store_list_awake_creators(struct store *store, struct kndl_arena *arena,
                              const char *const **ret_person_ids, size_t *ret_count,
                              struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec_params(store->db, "awake_creators", NULL, 0, arena, &rows, err) < 0)
        return -1;
    const char **ids = kndl_arena_alloc(arena, (rows.count + 1) * sizeof *ids);
    for (size_t i = 0; i < rows.count; i++)
        ids[i] = kndl_row_text(&rows, i, 0);
    *ret_person_ids = ids;
    *ret_count = rows.count;
    return 0;
}

int store_cancel_others_next(struct store *store, struct kndl_arena *arena, bool *ret_found,
                             struct changes *changes, struct kndl_error *err)
{
    KNDL_CLEANUP(edit_done) struct edit edit;

    if (edit_begin_next(store, arena, "others_prompts", &edit, ret_found, err) < 0)
        return -1;
    if (!*ret_found)
        return 0;
    if (cancel_queued(&edit, edit.session.creator_id,
                      "It was not its Creator's, and only the Creator drives a Session.", err) < 0)
        return -1;
    return edit_commit(&edit, changes, err);
}
