/* CreateSession: nothing is made unless all that a Session needs is there. */

#include <string.h>

#include "dispatch.h"
#include "handlers.h"
#include "kndl/buf.h"
#include "kndl/log.h"
#include "kndl/mem.h"
#include "kndl/seal.h"
#include "live.h"
#include "peers.h"
#include "present.h"
#include "rpc.h"

#define V1(name) Kndl__Sessions__V1__##name

enum { AWAKE_PER_RUNNER_MAX = 100, MODEL_BYTES_MAX = 100, ASSIGN_MADE = 1 };

static int check_model(struct kndl_call *call, const char *model)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                  "._[]-";

    if (strlen(model) > MODEL_BYTES_MAX || model[strspn(model, allowed)] != '\0' || model[0] == '-')
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT,
                         "a model's name has up to %d letters, digits and ._[]-, unlike %.100s",
                         MODEL_BYTES_MAX, model);
    return 0;
}

static int check_effort(struct kndl_call *call, const char *effort)
{
    static const char *const efforts[] = {"", "low", "medium", "high", "xhigh", "max"};

    for (size_t i = 0; i < sizeof efforts / sizeof *efforts; i++)
        if (strcmp(effort, efforts[i]) == 0)
            return 0;
    return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT,
                     "effort is low, medium, high, xhigh or max, not %.40s", effort);
}

static int check_request(struct kndl_call *call, const V1(CreateSessionRequest) *req)
{
    if (kndl_call_check_request_id(call, req->request_id) < 0 ||
        check_model(call, req->model) < 0 || check_effort(call, req->effort) < 0)
        return -1;
    return req->prompt[0] == '\0' ? 0 : check_prompt(call, req->prompt);
}

static int mask_prompt(struct kndl_call *call, const char *prompt, int64_t repo_id,
                       const char **ret_masked)
{
    const struct masking masking = {.creator_id = call->actor.id, .repo_id = repo_id};

    *ret_masked = "";
    if (prompt[0] == '\0')
        return 0;
    return mask_written(call, &masking, &prompt, 1, ret_masked);
}

static const char *content_of(struct kndl_call *call, const V1(CreateSessionRequest) *req,
                              int64_t repo_id, const char *masked)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf content = {0};

    kndl_buf_printf(&content, "repo=%lld\nmodel=%s\neffort=%s", (long long)repo_id, req->model,
                    req->effort);
    if (masked[0] != '\0')
        kndl_buf_printf(&content, "\nprompt=%s", masked);
    return kndl_arena_copy(call->arena, kndl_buf_text(&content));
}

static int check_setup_token(struct kndl_call *call)
{
    struct sessions *sessions = call->state;
    bool exists;

    if (peers_check_setup_token(sessions->bus, call, call->actor.id, &exists) < 0)
        return -1;
    if (!exists)
        return kndl_fail(&call->err, KNDL_ABORTED, NO_SETUP_TOKEN);
    return 0;
}

static int choose_runner(struct kndl_call *call, struct runner_choice *ret_runner)
{
    struct sessions *sessions = call->state;

    if (store_pick_runner(sessions->store, call->arena, ret_runner, &call->err) < 0)
        return -1;
    if (ret_runner->awake_count >= AWAKE_PER_RUNNER_MAX)
        return kndl_fail(&call->err, KNDL_RESOURCE_EXHAUSTED,
                         "every Runner has %d Sessions awake: put one to sleep, then try again",
                         AWAKE_PER_RUNNER_MAX);
    if (ret_runner->seal_key.size != KNDL_SEAL_PUBLIC_BYTES)
        return kndl_fail(&call->err, KNDL_UNAVAILABLE, "the Runner has no key yet; try again");
    return 0;
}

/* Stores it and says so to secrets first, so that it is masked from its first moment. */
static int make(struct kndl_call *call, struct new_session *made, const char *prompt,
                const struct runner_choice *runner, struct session *ret_session,
                V1(QueuedPrompt) **ret_prompt)
{
    struct sessions *sessions = call->state;
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf sealed = {0};
    struct changes changes = {0};
    const struct assignment assignment = {
        .session_id = made->id,
        .runner_id = runner->id,
        .creator_id = made->creator_id,
        .repo_id = made->repo_id,
        .phase = ASSIGN_MADE,
    };

    kndl_seal(runner->seal_key.data, kndl_slice_of(prompt), &sealed);
    made->prompt_sealed = kndl_buf_slice(&sealed);
    if (peers_put_assignment(sessions->bus, call, &assignment) < 0 ||
        store_create_session(sessions->store, call->arena, made, ret_session, ret_prompt, &changes,
                             &call->err) < 0)
        return -1;
    kndl_log(KNDL_INFO, "session made", KNDL_STR("session", made->id),
             KNDL_STR("runner", runner->id), KNDL_I64("repo", made->repo_id));
    live_publish(sessions->bus, call->arena, &changes, 0);
    return 0;
}

int create_session(struct kndl_call *call, const V1(CreateSessionRequest) *req,
                   V1(CreateSessionResponse) *resp)
{
    struct sessions *sessions = call->state;
    struct new_session made = {
        .request_id = req->request_id,
        .creator_id = call->actor.id,
        .model = req->model,
        .effort = req->effort,
        .repo_id = named_repo(call)->id,
        .repo_name = named_repo(call)->name,
    };
    struct session session;
    struct runner_choice runner;
    struct person person;
    char id[KNDL_ID_SIZE];
    bool is_repeat;

    if (check_request(call, req) < 0 ||
        mask_prompt(call, req->prompt, made.repo_id, &made.prompt_masked) < 0)
        return -1;

    made.content = content_of(call, req, made.repo_id, made.prompt_masked);
    if (store_find_created(sessions->store, call->arena, made.creator_id, made.request_id,
                           made.content, &is_repeat, &session, &resp->prompt, &call->err) < 0)
        return -1;
    if (!is_repeat) {
        if (check_setup_token(call) < 0 || peers_get_person(sessions->bus, call, &person) < 0 ||
            choose_runner(call, &runner) < 0)
            return -1;
        kndl_id_new(id);
        made.id = id;
        made.creator_login = person.login;
        made.creator_name = person.name;
        made.creator_email = person.email;
        made.runner_id = runner.id;
        if (make(call, &made, req->prompt, &runner, &session, &resp->prompt) < 0) {
            /* Its twin may have been quicker. */
            struct kndl_error first = call->err;

            if (first.code != KNDL_ABORTED ||
                store_find_created(sessions->store, call->arena, made.creator_id, made.request_id,
                                   made.content, &is_repeat, &session, &resp->prompt,
                                   &call->err) < 0)
                return -1;
            if (!is_repeat)
                return -1;
            call->err = (struct kndl_error){0};
        }
    }
    resp->session = present_session(call->arena, &session, call->actor.id);
    call->wake = &dispatch_task;
    return 0;
}
