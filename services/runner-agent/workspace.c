/* Clones and the download as the loop sees them. */

#include <stdio.h>
#include <stdlib.h>

#include "kndl/log.h"
#include "kndl/mem.h"
#include "namespace_host.h"

enum { IDLE_MS = 120 * 1000, MOST_MS = 30 * 60 * 1000, CLEAR_MS = 60 * 1000 };

struct workspace_work {
    struct sandbox_host *host;
    struct child *child;
    workspace_progress_fn on_progress;
    sandbox_fn fn;
    void *data;
    const char *reason;    /* where the child had none: it was ended */
    struct args clear;     /* what removes the rest of a clone that failed; empty: nothing does */
    struct kndl_error err; /* of that failure */
    char err_reason[32];
};

static void on_message(void *data, struct child_message *message)
{
    struct workspace_work *work = data;

    if (work->on_progress != NULL)
        work->on_progress(work->data, child_value(message, "text"),
                          (unsigned)child_number(message, "percent"));
}

static void answer_and_free(struct workspace_work *work, struct sandbox_answer answer)
{
    if (work->fn != NULL)
        work->fn(work->data, &answer);
    args_done(&work->clear);
    free(work);
}

static void cleared(void *data, const struct sandbox_answer *answer)
{
    struct workspace_work *work = data;

    if (answer->err.code != KNDL_OK)
        kndl_log(KNDL_WARNING, "the rest of a clone could not be removed; the next one does it",
                 KNDL_STR("why", answer->err.message));
    answer_and_free(work, (struct sandbox_answer){
                              .err = work->err,
                              .reason = work->err_reason,
                              .took_ms = answer->took_ms,
                          });
}

static void on_end(void *data, const struct child_end *end)
{
    struct workspace_work *work = data;
    struct sandbox_answer answer = answer_of(end);

    work->child = NULL;
    if (answer.err.code == KNDL_DEADLINE_EXCEEDED)
        answer.reason = work->reason;
    if (answer.err.code == KNDL_OK || work->clear.count == 0) {
        answer_and_free(work, answer);
        return;
    }
    /* A child that was killed could not clear up behind itself. */
    work->err = answer.err;
    (void)snprintf(work->err_reason, sizeof work->err_reason, "%s", answer.reason);
    start_simple(work->host, "clone-clear", &work->clear, (struct kndl_slice){0}, CLEAR_MS, cleared,
                 work);
}

static void start(struct workspace_work *work, const char *verb, const struct args *args,
                  struct kndl_slice input)
{
    work->child = child_start(work->host->children, &(struct child_options){
                                                        .verb = verb,
                                                        .args = (const char *const *)args->items,
                                                        .input = input,
                                                        .deadline_ms = MOST_MS,
                                                        .idle_ms = IDLE_MS,
                                                        .on_message = on_message,
                                                        .on_end = on_end,
                                                        .data = work,
                                                    });
}

struct workspace_work *workspace_clone(struct sandbox_host *host,
                                       const struct workspace_clone *clone,
                                       workspace_progress_fn on_progress, sandbox_fn fn, void *data)
{
    KNDL_CLEANUP(args_done) struct args args = {0};
    struct workspace_work *work = kndl_new0(struct workspace_work);

    *work = (struct workspace_work){.host = host,
                                    .on_progress = on_progress,
                                    .fn = fn,
                                    .data = data,
                                    .reason = "repo_clone_failed"};
    args_add(&work->clear, "name", clone->sandbox);
    args_add(&work->clear, "directory", clone->directory);
    args_add(&args, "name", clone->sandbox);
    args_add(&args, "url", clone->url);
    args_add(&args, "directory", clone->directory);
    args_add(&args, "base", clone->base == NULL ? "" : clone->base);
    args_add(&args, "branch", clone->branch == NULL ? "" : clone->branch);
    args_add(&args, "author_name", clone->author_name == NULL ? "" : clone->author_name);
    args_add(&args, "author_email", clone->author_email == NULL ? "" : clone->author_email);
    args_add(&args, "host_git", clone->host_git ? "yes" : "");
    start(work, "clone", &args, clone->token);
    return work;
}

void workspace_cancel(struct workspace_work *work)
{
    if (work->child != NULL)
        child_kill(work->child);
}

void claude_code_ensure(struct sandbox_host *host, workspace_progress_fn on_progress, sandbox_fn fn,
                        void *data)
{
    struct workspace_work *work = kndl_new0(struct workspace_work);
    struct args none = {0};

    *work = (struct workspace_work){.host = host,
                                    .on_progress = on_progress,
                                    .fn = fn,
                                    .data = data,
                                    .reason = "download_failed"};
    start(work, "download", &none, (struct kndl_slice){0});
}
