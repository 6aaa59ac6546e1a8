/* What becomes of Sessions whose Repo is renamed, goes away, or comes back. */

#include <string.h>

#include "edit.h"

static const struct problem {
    const char *code;
    const char *refusal;
    const char *reason;
} problems[] = {
    {"repo_gone", "its Repo was deleted, or the GitHub App is not on it any more",
     "Its Repo was deleted, or the GitHub App is not on it any more. It can be read, and woken "
     "once "
     "the App is on the Repo again."},
    {"repo_suspended", "the GitHub App is suspended on its Repo's account",
     "The GitHub App is suspended on its Repo's account. It can be read, and woken once that is "
     "lifted in GitHub's settings of the account."},
};

static const struct problem *find_problem(const char *code)
{
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++)
        if (strcmp(problems[i].code, code) == 0)
            return &problems[i];
    return NULL;
}

const char *store_repo_reason(const char *problem)
{
    const struct problem *found = find_problem(problem);

    return found == NULL ? NULL : found->reason;
}

const char *store_repo_refusal(const char *problem)
{
    const struct problem *found = find_problem(problem);

    return found == NULL ? NULL : found->refusal;
}

static int follow(struct store *store, struct kndl_arena *arena, const char *session_id,
                  const struct repo_state *repo, struct changes *changes, struct kndl_error *err)
{
    const struct problem *problem = find_problem(repo->problem);
    KNDL_CLEANUP(edit_done) struct edit edit;

    if (edit_begin(store, arena, session_id, &edit, err) < 0)
        return -1;
    bool is_renamed = strcmp(edit.session.repo_name, repo->name) != 0;
    edit.session.repo_name = repo->name;
    edit.session.repo_problem = repo->problem;
    bool is_up = life_is_awake(edit.session.state) || edit.session.state == LIFE(FROZEN);
    if (problem != NULL && is_up &&
        edit_put_to_sleep(&edit, problem->code, problem->reason, err) < 0)
        return -1;
    /* With another owner the token of its Sandbox is another installation's. */
    if (problem == NULL && is_up && is_renamed &&
        edit_command(&edit, DELIVER_RENEW_GIT, "", kndl_slice(NULL, 0), "", err) < 0)
        return -1;
    return edit_commit(&edit, changes, err);
}

int store_follow_repo(struct store *store, struct kndl_arena *arena, const struct repo_state *repo,
                      struct changes *changes, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "sessions_of_repo", arena, &rows, err, kndl_db_i64(repo->id),
                     kndl_db_text(repo->name), kndl_db_text(repo->problem)) < 0)
        return -1;
    for (size_t i = 0; i < rows.count; i++)
        if (follow(store, arena, kndl_row_text(&rows, i, 0), repo, changes, err) < 0)
            return -1;
    return 0;
}
