/*
 * The tokens of a start, in this order: the run's mod token; the Session token, made here and
 * masked before anybody else knows it; the Creator's setup token, which goes to Claude Code alone;
 * the Variables of its Repo, which are kept until Claude Code was started (BU-10).
 */

#include "session_parts.h"

#include <string.h>

#include "kndl/log.h"
#include "kndl/secrets/v1/secrets_service.pb-c.h"

#define XV1(name) Kndl__Secrets__V1__##name

static void ask_secrets(struct session *session, const char *method,
                        const ProtobufCMessage *request, session_answer_fn fn)
{
    const struct hub_question question = {
        .service = &kndl__secrets__v1__secrets_runner_service__descriptor,
        .method = method,
        .request = request,
        .repeat = true,
    };

    session_ask(session, &question, fn, "");
}

/* "NAME=value", each followed by a NUL, in one piece of locked memory. */
static void keep_variables(struct session *session, const XV1(FetchVariablesResponse) * fetched)
{
    size_t size = 0;

    for (size_t i = 0; i < fetched->n_values; i++)
        size += strlen(fetched->values[i]->name) + strlen(fetched->values[i]->value) + 2;
    kndl_secret_done(&session->variables);
    if (size == 0)
        return;
    kndl_secret_new(&session->variables, size);
    char *at = (char *)session->variables.data;
    for (size_t i = 0; i < fetched->n_values; i++) {
        at = stpcpy(at, fetched->values[i]->name);
        *at++ = '=';
        at = stpcpy(at, fetched->values[i]->value) + 1;
    }
}

static void variables_fetched(struct session *session, const char *note,
                              const struct kndl_error *err, const ProtobufCMessage *response)
{
    const XV1(FetchVariablesResponse) *fetched = (const void *)response;

    (void)note;
    if (session->phase != SESSION_STARTING)
        return;
    if (response == NULL) {
        kndl_log(KNDL_WARNING, "no Variables", KNDL_STR("session", session->id),
                 KNDL_STR("why", err->message));
        session_fail(
            session, "variables_unavailable",
            err->code == KNDL_FAILED_PRECONDITION
                ? "A Variable of the Repo cannot be read any more; set it again, then Retry."
                : "The Repo's Variables could not be fetched from the Hub. Retry.");
        return;
    }
    keep_variables(session, fetched);
    forward_set_mask_version(session->forward, fetched->mask_version);
    session_make_sandbox(session);
}

static void fetch_variables(struct session *session)
{
    XV1(FetchVariablesRequest) request = KNDL__SECRETS__V1__FETCH_VARIABLES_REQUEST__INIT;

    request.session_id = session->id;
    request.run = session->start->run;
    ask_secrets(session, "FetchVariables", &request.base, variables_fetched);
}

static void setup_token_fetched(struct session *session, const char *note,
                                const struct kndl_error *err, const ProtobufCMessage *response)
{
    const XV1(FetchSetupTokenResponse) *fetched = (const void *)response;

    (void)note;
    if (session->phase != SESSION_STARTING)
        return;
    if (response == NULL) {
        /* The message of a missing one is made for people (CR-01). */
        if (err->code == KNDL_ABORTED)
            session_fail(session, "no_setup_token", err->message);
        else
            session_fail(
                session, "setup_token_unavailable",
                err->code == KNDL_FAILED_PRECONDITION
                    ? "The Creator's setup token cannot be read any more; set it again in the web "
                      "UI, then Retry."
                    : "The Creator's setup token could not be fetched from the Hub. Retry.");
        return;
    }
    kndl_secret_copy(&session->setup_token, kndl_slice_of(fetched->token));
    forward_set_mask_version(session->forward, fetched->mask_version);
    fetch_variables(session);
}

static void fetch_setup_token(struct session *session)
{
    XV1(FetchSetupTokenRequest) request = KNDL__SECRETS__V1__FETCH_SETUP_TOKEN_REQUEST__INIT;

    request.session_id = session->id;
    request.run = session->start->run;
    ask_secrets(session, "FetchSetupToken", &request.base, setup_token_fetched);
}

static void refused(struct session *session, const struct kndl_error *err)
{
    kndl_log(KNDL_WARNING, "the Hub gives this run no token", KNDL_STR("session", session->id),
             KNDL_STR("why", err->message));
    session_fail(session, "hub_refused",
                 "The Hub would not give this run a token of its own: another one took its place. "
                 "Retry.");
}

static void session_token_put(struct session *session, const char *note,
                              const struct kndl_error *err, const ProtobufCMessage *response)
{
    const XV1(PutSessionTokenResponse) *put = (const void *)response;

    (void)note;
    if (session->phase != SESSION_STARTING)
        return;
    if (response == NULL) {
        refused(session, err);
        return;
    }
    forward_set_mask_version(session->forward, put->mask_version);
    fetch_setup_token(session);
}

/* 256 random bits, of this run alone (RE-02). Masked before anybody else knows it. */
static void make_session_token(struct session *session)
{
    XV1(PutSessionTokenRequest) request = KNDL__SECRETS__V1__PUT_SESSION_TOKEN_REQUEST__INIT;

    kndl_token_new(KNDL_TOKEN_SES, &session->session_token);
    kndl_hash(kndl_slice(session->session_token.data, session->session_token.size),
              session->session_token_hash);
    request.session_id = session->id;
    request.run = session->start->run;
    request.token = (char *)session->session_token.data;
    ask_secrets(session, "PutSessionToken", &request.base, session_token_put);
}

static void mod_token_issued(struct session *session, const char *note,
                             const struct kndl_error *err, const ProtobufCMessage *response)
{
    const SV1(IssueModTokenResponse) *issued = (const void *)response;

    (void)note;
    if (session->phase != SESSION_STARTING)
        return;
    if (response == NULL) {
        refused(session, err);
        return;
    }
    session_take_mod_token(session, issued->token);
    make_session_token(session);
}

void session_ask_token(struct session *session, session_answer_fn fn)
{
    SV1(IssueModTokenRequest) request = KNDL__SESSIONS__V1__ISSUE_MOD_TOKEN_REQUEST__INIT;
    struct hub_question question = {
        .service = &kndl__sessions__v1__sessions_runner_service__descriptor,
        .method = "IssueModToken",
        .request = &request.base,
        .repeat = true,
    };

    request.session_id = session->id;
    request.run = session->start->run;
    session_ask(session, &question, fn, "");
}

static void late_token_issued(struct session *session, const char *note,
                              const struct kndl_error *err, const ProtobufCMessage *response)
{
    const SV1(IssueModTokenResponse) *issued = (const void *)response;

    (void)note;
    if (response != NULL)
        session_take_mod_token(session, issued->token);
    else
        kndl_log(KNDL_WARNING, "no mod token for what is left", KNDL_STR("session", session->id),
                 KNDL_STR("why", err->message));
}

void session_ask_mod_token(struct session *session)
{
    if (!forward_is_drained(session->forward))
        session_ask_token(session, late_token_issued);
}

void session_fetch_tokens(struct session *session)
{
    session_ask_token(session, mod_token_issued);
}
