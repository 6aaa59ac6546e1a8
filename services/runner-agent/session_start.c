/*
 * The beginning of a start: the Repo is cloned, once for each Session, and Claude Code fetched,
 * once for each Runner. Then come tokens, Sandbox and Claude Code: session_tokens.c,
 * session_sandbox.c, session_claude.c.
 */

#include "session_parts.h"

#include <unistd.h>

#include "disk.h"
#include "kndl/mem.h"

/* -------------------------------------------------------------------------------------- image */

static void image_ready(void *data, const struct sandbox_answer *answer)
{
    struct session *session = data;

    if (session_goes_on_after(session, answer, "claude_download_failed"))
        session_fetch_tokens(session);
}

static void ready_image(struct session *session)
{
    session_step_begin(session, "image");
    session_enter(session);
    claude_code_ensure(session->runner->sandboxes, NULL, image_ready, session);
}

/* -------------------------------------------------------------------------------------- clone */

static void clone_is_kept(void *data, const struct kndl_error *err)
{
    struct session *session = data;

    if (session_goes_on_after(session, &(struct sandbox_answer){.err = *err, .reason = ""},
                              "sandbox_failed"))
        ready_image(session);
}

static void cloned(void *data, const struct sandbox_answer *answer)
{
    struct session *session = data;
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf path = {0};

    session->clone = NULL;
    if (!session_leave(session))
        return;
    if (session->phase != SESSION_STARTING) {
        session_end_now(session);
        return;
    }
    if (answer->err.code != KNDL_OK) {
        session_fail_by_answer(session, answer, "repo_clone_failed");
        return;
    }
    session_path(session, "cloned", &path);
    session_enter(session);
    disk_write_file(session->runner->disk, kndl_buf_text(&path), "1\n", 2, clone_is_kept, session);
}

static void start_clone(struct session *session, const char *url, struct kndl_slice token,
                        bool host_git)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf directory = {0};
    struct workspace_clone clone = {
        .sandbox = session->sandbox,
        .url = url,
        .base = "",
        .branch = "",
        .author_name = session->start->creator_name,
        .author_email = session->start->creator_email,
        .token = token,
        .host_git = host_git,
    };

    session_path(session, "workspace", &directory);
    clone.directory = kndl_buf_text(&directory);
    session_enter(session);
    session->clone = workspace_clone(session->runner->sandboxes, &clone, NULL, cloned, session);
}

static void git_token_minted(struct session *session, const char *note,
                             const struct kndl_error *err, const ProtobufCMessage *response)
{
    const SV1(MintGitTokenResponse) *minted = (const void *)response;
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf url = {0};

    (void)note;
    if (session->phase != SESSION_STARTING)
        return;
    if (response != NULL) {
        forward_set_mask_version(session->forward, minted->mask_version);
        start_clone(session, minted->clone_url, kndl_slice_of(minted->token), false);
    } else if (err->code == KNDL_FAILED_PRECONDITION) {
        /* Without an App: the host's own git and its own credentials (GI-06). */
        kndl_buf_printf(&url, "https://github.com/%s.git", session->start->repo_name);
        start_clone(session, kndl_buf_text(&url), (struct kndl_slice){0}, true);
    } else {
        /* Refused or not answered: never the host's credentials, which may see more. */
        kndl_buf_append_text(&session->end.last_output, err->message);
        session_fail(session, "repo_clone_failed",
                     err->code == KNDL_PERMISSION_DENIED
                         ? "GitHub gives kndl no token to clone the Repo with. See that the GitHub "
                           "App is installed on it and not suspended, then Retry."
                         : "kndl could not get a token to clone the Repo with: GitHub or the Hub "
                           "did not answer. Retry in a while.");
    }
}

static void clone_repo(struct session *session)
{
    SV1(MintGitTokenRequest) request = KNDL__SESSIONS__V1__MINT_GIT_TOKEN_REQUEST__INIT;
    struct hub_question question = {
        .service = &kndl__sessions__v1__sessions_runner_service__descriptor,
        .method = "MintGitToken",
        .request = &request.base,
        .timeout_ms = 20000,
    };

    session_step_begin(session, "clone");
    request.session_id = session->id;
    request.use = KNDL__SESSIONS__V1__MINT_GIT_TOKEN_REQUEST__USE__USE_CLONE;
    session_ask(session, &question, git_token_minted, "");
}

void session_begin(struct session *session)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf marker = {0};

    session_set_phase(session, SESSION_STARTING);
    if (session->is_adopted) {
        session_adopt(session);
        return;
    }
    session_path(session, "cloned", &marker);
    if (access(kndl_buf_text(&marker), F_OK) == 0)
        ready_image(session);
    else
        clone_repo(session);
}
