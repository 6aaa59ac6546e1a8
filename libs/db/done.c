/* Requests that were done, as rows. */

#include "kndl/done.h"

#include <string.h>

/* No row changed: it was done already. Some of what is older than a day goes, but not what is asked
 * about: it would be done again, and nobody would know of it. */
const char kndl_done_keep_sql[] =
    "WITH old AS (DELETE FROM done WHERE (person_id, request_id) IN ("
    "    SELECT person_id, request_id FROM done WHERE done_at < $4::timestamptz - interval '1 day'"
    "    AND (person_id, request_id) <> ($1, $2)"
    "    ORDER BY done_at LIMIT 10 FOR UPDATE SKIP LOCKED)) "
    "INSERT INTO done (person_id, request_id, made_id, done_at, content)"
    " VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING";

const char kndl_done_find_sql[] =
    "SELECT made_id, content FROM done WHERE person_id = $1 AND request_id = $2";

int kndl_done_find(struct kndl_db *db, const char *person_id, const char *request_id,
                   struct kndl_arena *arena, const struct kndl_done **ret_done,
                   struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(db, "find_done", arena, &rows, err, kndl_db_text(person_id),
                     kndl_db_text(request_id)) < 0)
        return -1;
    *ret_done = NULL;
    if (rows.count == 0)
        return 0;

    struct kndl_done *done = kndl_arena_alloc(arena, sizeof *done);
    done->made_id = kndl_row_text(&rows, 0, 0);
    done->content =
        kndl_row_is_null(&rows, 0, 1) ? kndl_slice(NULL, 0) : kndl_row_bytes(&rows, 0, 1);
    *ret_done = done;
    return 0;
}

int kndl_done_put(struct kndl_db *db, const struct kndl_asked *asked, const char *made_id,
                  struct kndl_arena *arena, const struct kndl_done **ret_done,
                  struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(db, "keep_done", arena, &rows, err, kndl_db_text(asked->person_id),
                     kndl_db_text(asked->request_id), kndl_db_text(made_id),
                     kndl_db_i64(asked->now_ms), kndl_db_bytes(asked->content)) < 0)
        return -1;
    *ret_done = NULL;
    return rows.changed > 0
               ? 0
               : kndl_done_find(db, asked->person_id, asked->request_id, arena, ret_done, err);
}

int kndl_done_keep(struct kndl_db *db, const struct kndl_asked *asked, const char *made_id,
                   struct kndl_arena *arena, const struct kndl_done **ret_done,
                   struct kndl_error *err)
{
    const struct kndl_done *done;

    if (kndl_done_put(db, asked, made_id, arena, &done, err) < 0)
        return -1;
    if (done != NULL && done->content.data != NULL &&
        !kndl_slice_equal(done->content, asked->content))
        return kndl_done_refuse(asked->request_id, err);
    *ret_done = done;
    return 0;
}

int kndl_done_refuse(const char *request_id, struct kndl_error *err)
{
    return kndl_fail(err, KNDL_INVALID_ARGUMENT, "request_id %s was used for something else",
                     request_id);
}
