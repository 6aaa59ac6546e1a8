/* How often values were masked: the only place where it is kept. redactor's copies report what they
 * found. */

#include <stdlib.h>
#include <string.h>

#include "kndl/mem.h"
#include "store_parts.h"

const char counted_git_tokens[] = "git_token";

static int compare(const void *a, const void *b)
{
    const struct hits *left = a, *right = b;
    int order = strcmp(left->counted_id, right->counted_id);

    return order != 0 ? order : (left->repo_id > right->repo_id) - (left->repo_id < right->repo_id);
}

int store_count_masked(struct store *store, const struct report *report, int64_t now_ms,
                       struct kndl_arena *arena, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_tx_done) struct kndl_tx tx;
    struct kndl_rows rows;

    /* In one order, so that two reports never wait for each other. */
    qsort(report->hits, report->count, sizeof *report->hits, compare);
    if (kndl_tx_begin(store->db, &tx, err) < 0 ||
        kndl_db_exec(store->db, "keep_report", arena, &rows, err, kndl_db_text(report->reporter_id),
                     kndl_db_i64(report->n), kndl_db_i64(now_ms)) < 0)
        return -1;
    for (size_t i = 0; i < report->count && rows.changed > 0; i++) {
        const struct hits *hits = &report->hits[i];

        if (kndl_db_exec(store->db, "count_hits", NULL, NULL, err, kndl_db_text(hits->counted_id),
                         kndl_db_i64(hits->repo_id), kndl_db_i64(hits->version),
                         kndl_db_i64(hits->count), kndl_db_i64(hits->last_at_ms)) < 0)
            return -1;
    }
    return kndl_tx_commit(&tx, err);
}

int find_hits(struct store *store, const char *counted_id, int64_t repo_id, int64_t version,
              struct kndl_arena *arena, struct masked *ret_masked, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "sum_hits", arena, &rows, err, kndl_db_text(counted_id),
                     repo_id != 0 ? kndl_db_i64(repo_id) : kndl_db_null(),
                     kndl_db_i64(version)) < 0)
        return -1;
    *ret_masked = (struct masked){kndl_row_i64(&rows, 0, 0), kndl_row_ms(&rows, 0, 1)};
    return 0;
}

int store_find_git_hits(struct store *store, int64_t repo_id, struct kndl_arena *arena,
                        struct masked *ret_masked, struct kndl_error *err)
{
    return find_hits(store, counted_git_tokens, repo_id, 0, arena, ret_masked, err);
}
