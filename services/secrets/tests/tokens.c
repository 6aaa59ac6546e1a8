#include "tokens.h"

#include <stdio.h>

#include "store.h"

void restart(struct fixture *f)
{
    store_close(f->secrets.store);
    assert_int_equal(store_open(&f->secrets.store, &f->err), 0);
}

bool set_token(struct fixture *f, const char *request_id, const char *token)
{
    V1(SetSetupTokenRequest) req = KNDL__SECRETS__V1__SET_SETUP_TOKEN_REQUEST__INIT;

    req.request_id = (char *)request_id;
    req.token = (char *)token;
    struct kndl_test_answer answer =
        kndl_test_call(secrets_service, &f->secrets, f->person, "SetSetupToken", &req.base);
    note(f, &answer);
    if (answer.response != NULL)
        f->version = ((V1(SetSetupTokenResponse) *)answer.response)->setup_token->version;
    kndl_test_done(&answer);
    return f->err.code == KNDL_OK;
}

bool remove_token(struct fixture *f, const char *request_id)
{
    V1(RemoveSetupTokenRequest) req = KNDL__SECRETS__V1__REMOVE_SETUP_TOKEN_REQUEST__INIT;

    req.request_id = (char *)request_id;
    struct kndl_test_answer answer =
        kndl_test_call(secrets_service, &f->secrets, f->person, "RemoveSetupToken", &req.base);
    note(f, &answer);
    kndl_test_done(&answer);
    return f->err.code == KNDL_OK;
}

bool token_exists(struct fixture *f)
{
    V1(CheckSetupTokenRequest) req = KNDL__SECRETS__V1__CHECK_SETUP_TOKEN_REQUEST__INIT;

    req.person_id = f->person;
    struct kndl_test_answer answer = kndl_test_call(secrets_internal_service, &f->secrets,
                                                    "sessions", "CheckSetupToken", &req.base);
    assert_non_null(answer.response);
    bool exists = ((V1(CheckSetupTokenResponse) *)answer.response)->exists;
    f->version = ((V1(CheckSetupTokenResponse) *)answer.response)->version;
    kndl_test_done(&answer);
    return exists;
}

bool fetch_token(struct fixture *f, const char *by, int64_t run)
{
    V1(FetchSetupTokenRequest) req = KNDL__SECRETS__V1__FETCH_SETUP_TOKEN_REQUEST__INIT;

    req.session_id = f->session;
    req.run = run;
    struct kndl_test_answer answer = kndl_test_runner_call(secrets_runner_service, &f->secrets, by,
                                                           "FetchSetupToken", &req.base);
    note(f, &answer);
    f->text[0] = '\0';
    if (answer.response != NULL) {
        const V1(FetchSetupTokenResponse) *resp = (V1(FetchSetupTokenResponse) *)answer.response;
        f->version = resp->mask_version;
        snprintf(f->text, sizeof f->text, "%s", resp->token);
    }
    kndl_test_done(&answer);
    return f->err.code == KNDL_OK;
}
