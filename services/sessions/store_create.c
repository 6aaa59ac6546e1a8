/* How a Session is made. */

#include <string.h>

#include "edit.h"

int store_pick_runner(struct store *store, struct kndl_arena *arena,
                      struct runner_choice *ret_runner, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec_params(store->db, "pick_runner", NULL, 0, arena, &rows, err) < 0)
        return -1;
    if (rows.count == 0)
        return kndl_fail(err, KNDL_UNAVAILABLE,
                         "no Runner is there: start one, then try again; nothing was made");
    *ret_runner = (struct runner_choice){
        .id = kndl_row_text(&rows, 0, 0),
        .seal_key = kndl_row_bytes(&rows, 0, 1),
        .awake_count = kndl_row_i64(&rows, 0, 2),
    };
    return 0;
}

static int read_first_prompt(struct store *store, struct kndl_arena *arena, const char *session_id,
                             Kndl__Sessions__V1__QueuedPrompt **ret_prompt, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "first_prompt", arena, &rows, err, kndl_db_text(session_id)) < 0)
        return -1;
    *ret_prompt = rows.count == 0 ? NULL : store_prompt_of(&rows, 0, arena);
    return 0;
}

int store_find_created(struct store *store, struct kndl_arena *arena, const char *creator_id,
                       const char *request_id, const char *content, bool *ret_found,
                       struct session *ret_session, Kndl__Sessions__V1__QueuedPrompt **ret_prompt,
                       struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "find_created", arena, &rows, err, kndl_db_text(creator_id),
                     kndl_db_text(request_id)) < 0)
        return -1;
    *ret_found = rows.count > 0;
    if (!*ret_found)
        return 0;
    if (!edit_same_masked(kndl_row_text(&rows, 0, 1), content))
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "request_id %s was used for another Session of yours", request_id);
    if (store_read_session(store, arena, kndl_row_text(&rows, 0, 0), ret_session, err) < 0)
        return -1;

    /* Only a Session that was made with a prompt has one that this request put there. */
    *ret_prompt = NULL;
    if (strstr(content, "\nprompt=") == NULL)
        return 0;
    return read_first_prompt(store, arena, ret_session->id, ret_prompt, err);
}

static int insert(struct edit *edit, const struct new_session *made, struct kndl_error *err)
{
    struct kndl_rows rows;
    char uuid[KNDL_UUID_SIZE];

    kndl_id_to_uuid(made->id, uuid);
    if (edit_exec(edit, "create_session", &rows, err, kndl_db_text(made->id),
                  kndl_db_text(made->request_id), kndl_db_text(made->content),
                  kndl_db_text(made->creator_id), kndl_db_text(made->creator_login),
                  kndl_db_text(made->creator_name), kndl_db_text(made->creator_email),
                  kndl_db_i64(made->repo_id), kndl_db_text(made->repo_name),
                  kndl_db_text(made->runner_id), kndl_db_text(made->model),
                  kndl_db_text(made->effort), kndl_db_text(uuid)) < 0)
        return -1;
    if (rows.changed == 0)
        return kndl_fail(err, KNDL_ABORTED, "this request is being made already; ask again");
    if (edit_exec(edit, "lock_session", &rows, err, kndl_db_text(made->id)) < 0)
        return -1;
    store_session_of(&rows, 0, &edit->session);
    edit->before = edit->session;
    edit->is_new = true;
    return 0;
}

static int append_first_prompt(struct edit *edit, const struct new_session *made,
                               struct kndl_error *err)
{
    struct kndl_rows rows;
    char id[KNDL_ID_SIZE];

    if (made->prompt_masked[0] == '\0')
        return 0;
    kndl_id_new(id);
    edit->session.queued_count = 1;
    return edit_exec(edit, "append_prompt", &rows, err, kndl_db_text(id), kndl_db_text(made->id),
                     kndl_db_bytes(made->prompt_sealed), kndl_db_text(made->prompt_masked),
                     kndl_db_text(made->creator_id));
}

int store_create_session(struct store *store, struct kndl_arena *arena,
                         const struct new_session *made, struct session *ret_session,
                         Kndl__Sessions__V1__QueuedPrompt **ret_prompt, struct changes *changes,
                         struct kndl_error *err)
{
    KNDL_CLEANUP(edit_done) struct edit edit = {.store = store, .arena = arena};

    if (kndl_tx_begin(store->db, &edit.tx, err) < 0)
        return -1;
    if (insert(&edit, made, err) < 0 || append_first_prompt(&edit, made, err) < 0)
        return -1;
    edit.session.title = edit_title(&edit, made->prompt_masked);
    if (edit_start_run(&edit, err) < 0 ||
        edit_state(&edit, LIFE(STARTING), "created", "", err) < 0 ||
        edit_commit(&edit, changes, err) < 0)
        return -1;
    *ret_session = edit.session;
    return read_first_prompt(store, arena, made->id, ret_prompt, err);
}
