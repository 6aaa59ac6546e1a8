/* SessionsInternalService: what other services ask. */

#include "dispatch.h"
#include "kndl/buf.h"
#include "kndl/clock.h"
#include "kndl/log.h"
#include "kndl/mem.h"
#include "kndl/nkey.h"
#include "kndl/rpc.h"
#include "kndl/sessions/v1/sessions_internal_service.pb-c.h"
#include "kndl/token.h"
#include "live.h"
#include "minter.h"
#include "peers.h"
#include "protocol.h"
#include "rpc.h"
#include "store.h"

#define V1(name) Kndl__Sessions__V1__##name

/* Nobody may make people wait for a redactor that hangs. */
enum { REDACTOR_MS = 1000 };

static int get_health(struct kndl_call *call, const V1(GetHealthRequest) *req,
                      V1(GetHealthResponse) *resp)
{
    struct sessions *sessions = call->state;
    int64_t at_most = kndl_clock_ms() + REDACTOR_MS;

    (void)req;
    if (store_count_runners(sessions->store, call->arena, &resp->runners, &call->err) < 0)
        return -1;
    if (call->deadline_ms > at_most)
        call->deadline_ms = at_most;
    resp->redactor_answers = peers_redactor_answers(sessions->bus, call);
    return 0;
}

static int append_events(struct kndl_call *call, const V1(AppendEventsRequest) *req,
                         V1(AppendEventsResponse) *resp)
{
    struct sessions *sessions = call->state;
    const struct batch batch = {
        .runner_id = req->runner_id,
        .session_id = req->session_id,
        .run = req->run,
        .first_n = req->first_n,
        .events = req->events,
        .count = req->n_events,
        .mod_token_hash = kndl_slice(req->mod_token_hash.data, req->mod_token_hash.len),
        .gap = req->gap,
    };
    struct changes changes = {0};
    int64_t began_us = kndl_clock_us();

    if (store_append_events(sessions->store, call->arena, &batch, &resp->expected_n, &changes,
                            &call->err) < 0)
        return -1;
    live_publish(sessions->bus, call->arena, &changes, req->relay_at_us);
    kndl_log(KNDL_INFO, "events appended", KNDL_STR("session", req->session_id),
             KNDL_I64("run", req->run), KNDL_I64("first_n", req->first_n),
             KNDL_U64("count", req->n_events), KNDL_I64("expected_n", resp->expected_n),
             KNDL_I64("relay_at_us", req->relay_at_us), KNDL_I64("began_us", began_us),
             KNDL_I64("took_us", kndl_clock_us() - began_us));
    if (changes.first != NULL && changes.first->is_summary)
        call->wake = &dispatch_task;
    return 0;
}

static int setup_token_changed(struct kndl_call *call, const V1(SetupTokenChangedRequest) *req,
                               V1(SetupTokenChangedResponse) *resp)
{
    struct sessions *sessions = call->state;
    struct changes changes = {0};

    (void)resp;
    switch (req->change) {
    case KNDL__SESSIONS__V1__SETUP_TOKEN_CHANGED_REQUEST__CHANGE__CHANGE_ADDED:
        return 0;
    case KNDL__SESSIONS__V1__SETUP_TOKEN_CHANGED_REQUEST__CHANGE__CHANGE_REPLACED:
    case KNDL__SESSIONS__V1__SETUP_TOKEN_CHANGED_REQUEST__CHANGE__CHANGE_REMOVED:
        break;
    case KNDL__SESSIONS__V1__SETUP_TOKEN_CHANGED_REQUEST__CHANGE__CHANGE_UNSPECIFIED:
    default:
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT, "the change is not named");
    }
    bool is_replaced =
        req->change == KNDL__SESSIONS__V1__SETUP_TOKEN_CHANGED_REQUEST__CHANGE__CHANGE_REPLACED;
    int stored = store_put_person_to_sleep(sessions->store, call->arena, req->person_id,
                                           is_replaced, req->version, &changes, &call->err);

    /* Those that were changed before it failed are changed all the same. */
    live_publish(sessions->bus, call->arena, &changes, 0);
    call->wake = &dispatch_task;
    return stored;
}

static int member_removed(struct kndl_call *call, const V1(MemberRemovedRequest) *req,
                          V1(MemberRemovedResponse) *resp)
{
    struct sessions *sessions = call->state;
    struct changes changes = {0};

    (void)resp;
    int stored = store_put_removed_to_sleep(sessions->store, call->arena, req->person_id, &changes,
                                            &call->err);

    /* Those that were changed before it failed are changed all the same. */
    live_publish(sessions->bus, call->arena, &changes, 0);
    call->wake = &dispatch_task;
    return stored;
}

static int refuse_token(struct kndl_call *call)
{
    return kndl_fail(&call->err, KNDL_UNAUTHENTICATED,
                     "the RUNNER_TOKEN is not known here: the Owner registers Runners");
}

/* Whose token it is, by its hash. */
static int find_token(struct kndl_call *call, const ProtobufCBinaryData *brought,
                      const char **ret_runner_id)
{
    struct sessions *sessions = call->state;
    struct kndl_slice hash;
    bool is_known;

    if (brought->len != KNDL_HASH_BYTES)
        return refuse_token(call);
    if (store_find_runner_token(sessions->store, call->arena,
                                kndl_slice(brought->data, brought->len), &is_known, ret_runner_id,
                                &hash, &call->err) < 0)
        return -1;
    if (!is_known || hash.size != KNDL_HASH_BYTES ||
        !kndl_hash_equal((const uint8_t *)hash.data, brought->data))
        return refuse_token(call);
    return 0;
}

static int check_runner_token(struct kndl_call *call, const V1(CheckRunnerTokenRequest) *req,
                              V1(CheckRunnerTokenResponse) *resp)
{
    return find_token(call, &req->token_hash, (const char **)&resp->runner_id);
}

static int mint_runner_credential(struct kndl_call *call,
                                  const V1(MintRunnerCredentialRequest) *req,
                                  V1(MintRunnerCredentialResponse) *resp)
{
    struct sessions *sessions = call->state;
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf jwt = {0};
    const struct spoken spoken = {req->protocol, req->version, req->update_note};
    const char *runner_id;

    if (find_token(call, &req->token_hash, &runner_id) < 0)
        return -1;
    if (!kndl_nkey_is_public(KNDL_NKEY_USER, kndl_slice_of(req->user_public)))
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT, "the key is no user's public nkey");
    if (protocol_check(call, runner_id, &spoken) < 0)
        return -1;

    resp->lasts_ms = minter_lasts_ms();
    resp->expires_at_ms = kndl_clock_wall_ms() + resp->lasts_ms;
    minter_mint(sessions->minter, runner_id, req->user_public, resp->expires_at_ms, &jwt);
    resp->runner_id = (char *)runner_id;
    resp->jwt = kndl_arena_copy(call->arena, kndl_buf_text(&jwt));
    kndl_log(KNDL_INFO, "runner credential minted", KNDL_STR("runner", runner_id));
    return 0;
}

KNDL_RPC(V1, SessionsInternalService, MintRunnerCredential, mint_runner_credential)
KNDL_RPC(V1, SessionsInternalService, CheckRunnerToken, check_runner_token)
KNDL_RPC(V1, SessionsInternalService, AppendEvents, append_events)
KNDL_RPC(V1, SessionsInternalService, SetupTokenChanged, setup_token_changed)
KNDL_RPC(V1, SessionsInternalService, MemberRemoved, member_removed)
KNDL_RPC(V1, SessionsInternalService, GetHealth, get_health)

static V1(SessionsInternalService_Service) service =
    KNDL__SESSIONS__V1__SESSIONS_INTERNAL_SERVICE__INIT(rpc_);

ProtobufCService *const sessions_internal_service = &service.base;
