/*
 * The Sandbox's git token: asked for when the Sandbox runs, again every 45 minutes, since one lasts
 * an hour, at once when the Hub says so, and every 5 minutes while there is none. A Session starts
 * and goes on without.
 */

#include <stdlib.h>
#include <string.h>

#include "kndl/buf.h"
#include "kndl/log.h"
#include "kndl/loop.h"
#include "kndl/mem.h"
#include "session_parts.h"

enum {
    AGAIN_MS = 45 * 60 * 1000,
    WITHOUT_MS = 5 * 60 * 1000,
    ASK_MS = 20 * 1000,
    WRITE_MS = 30 * 1000,
};

static void ask(void *data);

static bool has_sandbox(const struct session *session)
{
    return session->phase == SESSION_STARTING || session->phase == SESSION_RUNNING;
}

static void again_in(struct session *session, int64_t ms)
{
    session->is_asking_git = false;
    if (session->asks_git_again)
        ms = 0;
    if (!has_sandbox(session))
        return;
    if (session->git_timer == NULL)
        session->git_timer = kndl_timer_new(session->runner->loop, ask, session);
    kndl_timer_start(session->git_timer, (uint64_t)ms, 0);
}

/* Said once, until there is one again: in the log, and in the Session. */
static void go_without(struct session *session, const char *why)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf text = {0};

    if (!session->is_without_git) {
        kndl_log(KNDL_WARNING, "the Sandbox has no git token; asked again every 5 minutes",
                 KNDL_STR("session", session->id), KNDL_STR("why", why));
        kndl_buf_printf(&text,
                        "git and gh in the Sandbox have no new token for GitHub: %s. kndl asks "
                        "again every 5 minutes; until then a push or fetch may be refused.",
                        why);
        session_note(session, "git_token_missing", kndl_buf_text(&text));
    }
    session->is_without_git = true;
    again_in(session, WITHOUT_MS);
}

static void written(void *data, const struct sandbox_exit *end)
{
    struct session *session = data;

    if (!session_leave(session))
        return;
    if (end->err.code != KNDL_OK || end->code != 0) {
        go_without(session, end->err.code != KNDL_OK ? end->err.message
                                                     : "it could not be written in the Sandbox");
        return;
    }
    if (session->is_without_git)
        session_note(session, "git_token_back",
                     "git and gh in the Sandbox have a token for GitHub again.");
    session->is_without_git = false;
    again_in(session, AGAIN_MS);
}

/* https://host[:port] of a URL. */
static struct kndl_slice origin_of(const char *url)
{
    const char *host = strstr(url, "://");

    if (host == NULL)
        return kndl_slice_of("https://github.com");
    host += strlen("://");
    return kndl_slice(url, (size_t)(host - url) + strcspn(host, "/"));
}

/* By stdin: in no argument, in no environment and on no disk (GI-03). */
static void write_token(struct session *session, const SV1(MintGitTokenResponse) * minted)
{
    static const char *const argv[] = {CLAUDE_LAUNCHER, "--take-git-token", NULL};
    struct sandbox_command command = {.argv = argv, .deadline_ms = WRITE_MS};
    struct kndl_slice origin = origin_of(minted->clone_url);
    struct kndl_buf input = {0};

    kndl_buf_reserve(&input, origin.size + strlen(minted->token) + 2);
    kndl_buf_append(&input, origin.data, origin.size);
    kndl_buf_append_char(&input, '\n');
    kndl_buf_append_text(&input, minted->token);
    command.input = kndl_buf_slice(&input);
    session_enter(session);
    sandbox_exec(session->runner->sandboxes, session->sandbox, &command, NULL, written, session);
    explicit_bzero(input.data, input.capacity);
    kndl_buf_done(&input);
}

static void minted(struct session *session, const char *note, const struct kndl_error *err,
                   const ProtobufCMessage *response)
{
    const SV1(MintGitTokenResponse) *answer = (const void *)response;

    (void)note;
    if (!has_sandbox(session)) {
        session->is_asking_git = false;
        return;
    }
    if (response == NULL) {
        go_without(session, err->message);
        return;
    }
    /* Masked before anybody in the Sandbox can say it (GI-05). */
    forward_set_mask_version(session->forward, answer->mask_version);
    write_token(session, answer);
}

static void ask(void *data)
{
    struct session *session = data;
    SV1(MintGitTokenRequest) request = KNDL__SESSIONS__V1__MINT_GIT_TOKEN_REQUEST__INIT;
    struct hub_question question = {
        .service = &kndl__sessions__v1__sessions_runner_service__descriptor,
        .method = "MintGitToken",
        .request = &request.base,
        .timeout_ms = ASK_MS,
    };

    if (session->is_asking_git || !has_sandbox(session))
        return;
    session->is_asking_git = true;
    session->asks_git_again = false;
    request.session_id = session->id;
    request.use = KNDL__SESSIONS__V1__MINT_GIT_TOKEN_REQUEST__USE__USE_SANDBOX;
    session_ask(session, &question, minted, "");
}

void session_keep_git(struct session *session)
{
    ask(session);
}

void session_ask_git_again(struct session *session)
{
    /* Before the first is asked for there is nothing to renew; one on its way may be the older. */
    if (session->is_asking_git)
        session->asks_git_again = true;
    else if (session->git_timer != NULL)
        ask(session);
}
