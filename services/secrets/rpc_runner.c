/* SecretsRunnerService: what a Runner may have, for a run that is assigned to it. */

#include "rpc.h"

#include <string.h>

#include "kndl/redact.h"
#include "kndl/rpc.h"
#include "kndl/secrets/v1/secrets_service.pb-c.h"
#include "store.h"

#define V1(name) Kndl__Secrets__V1__##name

enum { SESSION_TOKEN_CHARS_LEAST = 32, SESSION_TOKEN_CHARS_MOST = 200 };

static int fetch_setup_token(struct kndl_call *call, const V1(FetchSetupTokenRequest) *req,
                             V1(FetchSetupTokenResponse) *resp)
{
    struct secrets *secrets = call->state;
    const struct run run = {req->session_id, req->run, call->runner_id};
    const char *token;

    if (store_fetch_token(secrets->store, &run, call->arena, &token, &resp->mask_version,
                          &call->err) < 0)
        return -1;
    resp->token = (char *)token;
    return 0;
}

static int put_session_token(struct kndl_call *call, const V1(PutSessionTokenRequest) *req,
                             V1(PutSessionTokenResponse) *resp)
{
    struct secrets *secrets = call->state;
    const struct run run = {req->session_id, req->run, call->runner_id};
    struct kndl_slice token = kndl_slice_of(req->token);

    if (token.size < SESSION_TOKEN_CHARS_LEAST || token.size > SESSION_TOKEN_CHARS_MOST)
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT,
                         "the Session token has %zu bytes; it must have %d to %d", token.size,
                         SESSION_TOKEN_CHARS_LEAST, SESSION_TOKEN_CHARS_MOST);
    if (kndl_redact_check("session_token", token, NULL, &call->err) < 0)
        return -1;
    return store_put_run_mask(secrets->store, &run, "session_token", token, call->arena,
                              &resp->mask_version, &call->err);
}

static int fetch_variables(struct kndl_call *call, const V1(FetchVariablesRequest) *req,
                           V1(FetchVariablesResponse) *resp)
{
    struct secrets *secrets = call->state;
    const struct run run = {req->session_id, req->run, call->runner_id};
    struct variables variables;

    if (store_fetch_variables(secrets->store, &run, call->arena, &variables, &resp->mask_version,
                              &call->err) < 0)
        return -1;
    resp->values = kndl_arena_alloc(call->arena, (variables.count + 1) * sizeof *resp->values);
    for (size_t i = 0; i < variables.count; i++) {
        V1(FetchVariablesResponse__Value) *value = kndl_arena_alloc(call->arena, sizeof *value);

        *value = (V1(FetchVariablesResponse__Value))
            KNDL__SECRETS__V1__FETCH_VARIABLES_RESPONSE__VALUE__INIT;
        value->name = (char *)variables.all[i].name;
        value->value = (char *)variables.all[i].value;
        resp->values[resp->n_values++] = value;
    }
    return 0;
}

KNDL_RPC(V1, SecretsRunnerService, FetchSetupToken, fetch_setup_token)
KNDL_RPC(V1, SecretsRunnerService, FetchVariables, fetch_variables)
KNDL_RPC(V1, SecretsRunnerService, PutSessionToken, put_session_token)

static V1(SecretsRunnerService_Service) service =
    KNDL__SECRETS__V1__SECRETS_RUNNER_SERVICE__INIT(rpc_);

ProtobufCService *const secrets_runner_service = &service.base;
