/* SecretsService: what people do with their own setup token, and its table of methods. No secret
 * value ever comes back out of here. */

#include "rpc.h"

#include <string.h>

#include "changes.h"
#include "handlers.h"
#include "kndl/clock.h"
#include "kndl/rpc.h"
#include "kndl/secrets/v1/secrets_service.pb-c.h"
#include "kndl/setup_token.h"
#include "kndl/token.h"
#include "store.h"

#define V1(name) Kndl__Secrets__V1__##name

int read_request(struct kndl_call *call, const char *request_id, const ProtobufCMessage *message,
                 struct request *ret_request)
{
    if (kndl_call_check_request_id(call, request_id) < 0)
        return -1;

    /* It has values in it that nobody keeps: a hash tells as much. */
    struct kndl_slice content = kndl_call_content(call, message);
    *ret_request = (struct request){call->actor.id, request_id, kndl_clock_wall_ms(), {0}};
    kndl_hash(content, ret_request->content);
    explicit_bzero((void *)content.data, content.size);
    return 0;
}

static V1(SetupToken) *rpc_token(const struct setup_token *token, struct kndl_arena *arena)
{
    V1(SetupToken) *out = kndl_arena_alloc(arena, sizeof *out);

    *out = (V1(SetupToken))KNDL__SECRETS__V1__SETUP_TOKEN__INIT;
    out->set_at_ms = token->set_at_ms;
    out->expires_at_ms = token->expires_at_ms;
    out->version = token->version;
    out->masked = present_masked(&token->masked, arena);
    return out;
}

static int set_setup_token(struct kndl_call *call, const V1(SetSetupTokenRequest) *req,
                           V1(SetSetupTokenResponse) *resp)
{
    struct secrets *secrets = call->state;
    struct request request;
    struct setup_token token;
    struct kndl_slice value;
    bool changed;

    if (read_request(call, req->request_id, &req->base, &request) < 0 ||
        kndl_setup_token_read(req->token, &value, &call->err) < 0 ||
        store_set_token(secrets->store, &request, value, request.now_ms + KNDL_SETUP_TOKEN_LIFE_MS,
                        call->arena, &token, &changed, &call->err) < 0)
        return -1;
    resp->setup_token = rpc_token(&token, call->arena);
    if (changed)
        call->wake = &changes_task;
    return 0;
}

static int remove_setup_token(struct kndl_call *call, const V1(RemoveSetupTokenRequest) *req,
                              V1(RemoveSetupTokenResponse) *resp)
{
    struct secrets *secrets = call->state;
    struct request request;
    bool changed;

    (void)resp;
    if (read_request(call, req->request_id, &req->base, &request) < 0 ||
        store_remove_token(secrets->store, &request, call->arena, &changed, &call->err) < 0)
        return -1;
    if (changed)
        call->wake = &changes_task;
    return 0;
}

static int get_setup_token(struct kndl_call *call, const V1(GetSetupTokenRequest) *req,
                           V1(GetSetupTokenResponse) *resp)
{
    struct secrets *secrets = call->state;
    struct setup_token token;

    (void)req;
    if (store_find_token(secrets->store, call->actor.id, call->arena, &token, &call->err) < 0)
        return -1;
    if (token.exists)
        resp->setup_token = rpc_token(&token, call->arena);
    return 0;
}

KNDL_PUBLIC(V1, SecretsService, SetSetupToken, set_setup_token, stand)
KNDL_PUBLIC(V1, SecretsService, RemoveSetupToken, remove_setup_token, stand)
KNDL_PUBLIC(V1, SecretsService, GetSetupToken, get_setup_token, stand)
KNDL_PUBLIC(V1, SecretsService, ListVariables, list_variables, stand)
KNDL_PUBLIC(V1, SecretsService, SetVariables, set_variables, stand)
KNDL_PUBLIC(V1, SecretsService, RemoveVariable, remove_variable, stand)
KNDL_PUBLIC(V1, SecretsService, ListSharedVariables, list_shared_variables, stand)
KNDL_PUBLIC(V1, SecretsService, SetSharedVariable, set_shared_variable, stand)
KNDL_PUBLIC(V1, SecretsService, RemoveSharedVariable, remove_shared_variable, stand)
KNDL_PUBLIC(V1, SecretsService, LinkSharedVariable, link_shared_variable, stand)
KNDL_PUBLIC(V1, SecretsService, GetSessionVariables, get_session_variables, stand)

static V1(SecretsService_Service) service = KNDL__SECRETS__V1__SECRETS_SERVICE__INIT(rpc_);

ProtobufCService *const secrets_service = &service.base;
