/* Clones and the download as the loop sees them. */

#include <stdlib.h>

#include "kndl/mem.h"
#include "namespace_host.h"

enum { IDLE_MS = 120 * 1000, MOST_MS = 30 * 60 * 1000 };

struct work {
    workspace_progress_fn on_progress;
    sandbox_fn fn;
    void *data;
    const char *reason; /* where the child had none: it was ended */
};

static void on_message(void *data, struct child_message *message)
{
    struct work *work = data;

    if (work->on_progress != NULL)
        work->on_progress(work->data, child_value(message, "text"),
                          (unsigned)child_number(message, "percent"));
}

static void on_end(void *data, const struct child_end *end)
{
    struct work *work = data;
    struct sandbox_answer answer = answer_of(end);

    if (answer.err.code == KNDL_DEADLINE_EXCEEDED)
        answer.reason = work->reason;
    if (work->fn != NULL)
        work->fn(work->data, &answer);
    free(work);
}

static void start(struct sandbox_host *host, const char *verb, const struct args *args,
                  struct kndl_slice input, struct work work)
{
    struct work *kept = kndl_new0(struct work);

    *kept = work;
    (void)child_start(host->children, &(struct child_options){
                                          .verb = verb,
                                          .args = (const char *const *)args->items,
                                          .input = input,
                                          .deadline_ms = MOST_MS,
                                          .idle_ms = IDLE_MS,
                                          .on_message = on_message,
                                          .on_end = on_end,
                                          .data = kept,
                                      });
}

void workspace_clone(struct sandbox_host *host, const struct workspace_clone *clone,
                     workspace_progress_fn on_progress, sandbox_fn fn, void *data)
{
    KNDL_CLEANUP(args_done) struct args args = {0};

    args_add(&args, "name", clone->sandbox);
    args_add(&args, "url", clone->url);
    args_add(&args, "directory", clone->directory);
    args_add(&args, "base", clone->base == NULL ? "" : clone->base);
    args_add(&args, "branch", clone->branch == NULL ? "" : clone->branch);
    args_add(&args, "author_name", clone->author_name == NULL ? "" : clone->author_name);
    args_add(&args, "author_email", clone->author_email == NULL ? "" : clone->author_email);
    args_add(&args, "host_git", clone->host_git ? "yes" : "");
    start(host, "clone", &args, clone->token,
          (struct work){on_progress, fn, data, "repo_clone_failed"});
}

void claude_code_ensure(struct sandbox_host *host, workspace_progress_fn on_progress, sandbox_fn fn,
                        void *data)
{
    struct args none = {0};

    start(host, "download", &none, (struct kndl_slice){0},
          (struct work){on_progress, fn, data, "download_failed"});
}
