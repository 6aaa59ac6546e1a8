/* RunnersService: what people do with Runners. Every Member sees them, the Owner has the rest. */

#include <ctype.h>
#include <string.h>

#include "dispatch.h"
#include "handlers.h"
#include "kndl/clock.h"
#include "kndl/id.h"
#include "kndl/log.h"
#include "kndl/mem.h"
#include "kndl/rpc.h"
#include "kndl/secret.h"
#include "kndl/sessions/v1/runners_service.pb-c.h"
#include "kndl/token.h"
#include "rpc.h"
#include "runners.h"
#include "store.h"

#define V1(name) Kndl__Sessions__V1__##name

enum { NAME_BYTES_MAX = 64 };

static int check_name(struct kndl_call *call, const char *name)
{
    size_t size = strlen(name);

    if (size == 0 || size > NAME_BYTES_MAX || name[0] == ' ' || name[size - 1] == ' ')
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT,
                         "a Runner's name has 1 to %d characters and no space at its ends, unlike "
                         "\"%.100s\"",
                         NAME_BYTES_MAX, name);
    for (const char *c = name; *c != '\0'; c++)
        if (!isalnum((unsigned char)*c) && strchr(" ._-", *c) == NULL)
            return kndl_fail(
                &call->err, KNDL_INVALID_ARGUMENT,
                "a Runner's name is of letters, digits, spaces and . _ - alone, unlike "
                "\"%s\"",
                name);
    return 0;
}

static int ask(struct kndl_call *call, const char *request_id, const ProtobufCMessage *message,
               struct kndl_asked *ret_asked)
{
    if (kndl_call_check_request_id(call, request_id) < 0)
        return -1;
    *ret_asked = (struct kndl_asked){
        .person_id = call->actor.id,
        .request_id = request_id,
        .now_ms = kndl_clock_wall_ms(),
        .content = kndl_call_content(call, message),
    };
    return 0;
}

/* A new RUNNER_TOKEN; `ret_hash` has room for KNDL_HASH_BYTES. */
static void make_token(struct kndl_secret *ret_token, uint8_t ret_hash[KNDL_HASH_BYTES])
{
    kndl_token_new(KNDL_TOKEN_RUN, ret_token);
    kndl_hash(kndl_slice(ret_token->data, ret_token->size), ret_hash);
}

static int list_runners(struct kndl_call *call, const V1(ListRunnersRequest) *req,
                        V1(ListRunnersResponse) *resp)
{
    struct sessions *sessions = call->state;

    (void)req;
    return store_list_runners(sessions->store, call->arena, &resp->runners, &resp->n_runners,
                              &call->err);
}

static int register_runner(struct kndl_call *call, const V1(RegisterRunnerRequest) *req,
                           V1(RegisterRunnerResponse) *resp)
{
    struct sessions *sessions = call->state;
    KNDL_CLEANUP(kndl_secret_done) struct kndl_secret token = {0};
    struct kndl_asked asked;
    uint8_t hash[KNDL_HASH_BYTES];
    char id[KNDL_ID_SIZE];
    bool is_made;

    if (ask(call, req->request_id, &req->base, &asked) < 0 || check_name(call, req->name) < 0)
        return -1;
    kndl_id_new(id);
    make_token(&token, hash);
    const struct new_runner made = {
        .id = id,
        .name = req->name,
        .token_hash = kndl_slice(hash, sizeof hash),
    };
    if (store_register_runner(sessions->store, call->arena, &asked, &made, &resp->runner, &is_made,
                              &call->err) < 0)
        return -1;
    if (is_made)
        resp->token = kndl_arena_copy(call->arena, (const char *)token.data);
    kndl_log(KNDL_INFO, "runner registered", KNDL_STR("runner", resp->runner->id));
    return 0;
}

static int rename_runner(struct kndl_call *call, const V1(RenameRunnerRequest) *req,
                         V1(RenameRunnerResponse) *resp)
{
    struct sessions *sessions = call->state;
    struct kndl_asked asked;

    if (ask(call, req->request_id, &req->base, &asked) < 0 || check_name(call, req->name) < 0)
        return -1;
    return store_rename_runner(sessions->store, call->arena, &asked, req->runner_id, req->name,
                               &resp->runner, &call->err);
}

static int rotate_runner_token(struct kndl_call *call, const V1(RotateRunnerTokenRequest) *req,
                               V1(RotateRunnerTokenResponse) *resp)
{
    struct sessions *sessions = call->state;
    KNDL_CLEANUP(kndl_secret_done) struct kndl_secret token = {0};
    struct kndl_asked asked;
    uint8_t hash[KNDL_HASH_BYTES];
    bool is_made;

    if (ask(call, req->request_id, &req->base, &asked) < 0)
        return -1;
    make_token(&token, hash);
    if (store_rotate_runner_token(sessions->store, call->arena, &asked, req->runner_id,
                                  kndl_slice(hash, sizeof hash), &resp->runner, &is_made,
                                  &call->err) < 0)
        return -1;
    if (is_made)
        resp->token = kndl_arena_copy(call->arena, (const char *)token.data);
    kndl_log(KNDL_INFO, "runner token rotated", KNDL_STR("runner", req->runner_id));
    return 0;
}

static int remove_runner(struct kndl_call *call, const V1(RemoveRunnerRequest) *req,
                         V1(RemoveRunnerResponse) *resp)
{
    struct sessions *sessions = call->state;
    struct kndl_asked asked;

    (void)resp;
    if (ask(call, req->request_id, &req->base, &asked) < 0 ||
        store_remove_runner(sessions->store, call->arena, &asked, req->runner_id, &call->err) < 0)
        return -1;
    runners_publish_removed(sessions->bus, req->runner_id);
    kndl_log(KNDL_INFO, "runner removed", KNDL_STR("runner", req->runner_id));
    call->wake = &deadlines_task; /* ends what ran on it */
    return 0;
}

KNDL_PUBLIC(V1, RunnersService, ListRunners, list_runners, stand)
KNDL_PUBLIC(V1, RunnersService, RegisterRunner, register_runner, stand)
KNDL_PUBLIC(V1, RunnersService, RenameRunner, rename_runner, stand)
KNDL_PUBLIC(V1, RunnersService, RotateRunnerToken, rotate_runner_token, stand)
KNDL_PUBLIC(V1, RunnersService, RemoveRunner, remove_runner, stand)

static V1(RunnersService_Service) service = KNDL__SESSIONS__V1__RUNNERS_SERVICE__INIT(rpc_);

ProtobufCService *const runners_service = &service.base;
