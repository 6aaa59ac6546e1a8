/*
 * SessionsService: each handler checks its request, asks other services, changes the store in
 * one transaction and answers. What a Runner must hear of it is the dispatcher's.
 */

#include "rpc.h"

#include <ctype.h>
#include <string.h>

#include "dispatch.h"
#include "handlers.h"
#include "kndl/buf.h"
#include "kndl/clock.h"
#include "kndl/log.h"
#include "kndl/mem.h"
#include "kndl/runner/v1/runner_service.pb-c.h"
#include "kndl/seal.h"
#include "live.h"
#include "peers.h"
#include "present.h"

#define V1(name) Kndl__Sessions__V1__##name

enum { ANSWER_BYTES_MAX = 16 * 1024, ANSWERS_MAX = 16 };

bool is_graphic(const char *text, size_t most)
{
    size_t size = 0;

    while (isgraph((unsigned char)text[size]))
        size++;
    return size <= most && text[size] == '\0';
}

int check_prompt(struct kndl_call *call, const char *text)
{
    if (text[strspn(text, " \t\r\n")] == '\0')
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT, "the prompt is empty");
    if (strlen(text) > PROMPT_BYTES_MAX)
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT,
                         "the prompt has %zu bytes; the most is %d", strlen(text),
                         PROMPT_BYTES_MAX);
    if (text[0] == '/')
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT,
                         "a prompt that begins with / would be a command of Claude Code, and "
                         "those are not run from here; begin it with another word");
    return 0;
}

int mask_written(struct kndl_call *call, const struct masking *masking, const char *const *texts,
                 size_t count, const char **ret_texts)
{
    struct sessions *sessions = call->state;

    if (peers_mask(sessions->bus, call, masking, texts, count, ret_texts) == 0)
        return 0;
    if (call->err.code != KNDL_UNAVAILABLE && call->err.code != KNDL_DEADLINE_EXCEEDED)
        return -1;
    kndl_log(KNDL_WARNING, "nothing can be masked", KNDL_STR("why", call->err.message));
    return kndl_fail(&call->err, KNDL_UNAVAILABLE,
                     "what you wrote was not taken, since the Hub cannot mask it now: redactor or "
                     "secrets is away; " KNDL_BACK_SOON);
}

static int mask_one(struct kndl_call *call, const char *session_id, const char *text,
                    const char **ret_masked)
{
    const struct masking masking = {.session_id = session_id};

    return mask_written(call, &masking, &text, 1, ret_masked);
}

/* The call's person as the one who asks. */
static struct asked asked_by(const struct kndl_call *call, const char *session_id,
                             const char *request_id)
{
    return (struct asked){call->actor.id, session_id, request_id,
                          named_session(call)->session.creator_removals};
}

/* The answer leaves; viewers and the dispatcher hear of it. */
static int done(struct kndl_call *call, const struct changes *changes)
{
    struct sessions *sessions = call->state;

    live_publish(sessions->bus, call->arena, changes, 0);
    call->wake = &dispatch_task;
    return 0;
}

/* The key of the Runner of the Session that is named. */
static int find_key(struct kndl_call *call, struct kndl_slice *ret_key)
{
    *ret_key = named_session(call)->session.seal_key;
    if (ret_key->size != KNDL_SEAL_PUBLIC_BYTES)
        return kndl_fail(&call->err, KNDL_UNAVAILABLE, "the Runner has no key yet; try again");
    return 0;
}

static int send_prompt(struct kndl_call *call, const V1(SendPromptRequest) *req,
                       V1(SendPromptResponse) *resp)
{
    struct sessions *sessions = call->state;
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf sealed = {0};
    const struct asked asked = asked_by(call, req->session_id, req->request_id);
    int64_t began_us = kndl_clock_us();
    struct changes changes = {0};
    struct kndl_slice key;
    const char *masked;

    if (kndl_call_check_request_id(call, req->request_id) < 0 ||
        check_prompt(call, req->text) < 0 || find_key(call, &key) < 0 ||
        mask_one(call, req->session_id, req->text, &masked) < 0)
        return -1;
    kndl_seal(key.data, kndl_slice_of(req->text), &sealed);
    if (store_append_prompt(sessions->store, call->arena, &asked, masked, kndl_buf_slice(&sealed),
                            &resp->prompt, &changes, &call->err) < 0)
        return -1;

    /* Stored is done: whether the Session is Active or Asleep, the prompt waits its turn. */
    kndl_log(KNDL_INFO, "prompt queued", KNDL_STR("session", req->session_id),
             KNDL_STR("prompt", resp->prompt->id), KNDL_I64("began_us", began_us),
             KNDL_I64("took_us", kndl_clock_us() - began_us));
    return done(call, &changes);
}

static int cancel_prompt(struct kndl_call *call, const V1(CancelPromptRequest) *req,
                         V1(CancelPromptResponse) *resp)
{
    struct sessions *sessions = call->state;
    const struct asked asked = asked_by(call, req->session_id, req->request_id);
    struct changes changes = {0};

    if (kndl_call_check_request_id(call, req->request_id) < 0 ||
        store_cancel_prompt(sessions->store, call->arena, &asked, req->prompt_id, &resp->prompt,
                            &changes, &call->err) < 0)
        return -1;
    return done(call, &changes);
}

static int resume_queue(struct kndl_call *call, const V1(ResumeQueueRequest) *req,
                        V1(ResumeQueueResponse) *resp)
{
    struct sessions *sessions = call->state;
    const struct asked asked = asked_by(call, req->session_id, req->request_id);
    struct changes changes = {0};
    struct session session;

    if (kndl_call_check_request_id(call, req->request_id) < 0 ||
        store_resume_queue(sessions->store, call->arena, &asked, &session, &changes, &call->err) <
            0)
        return -1;
    resp->session = present_session(call->arena, &session, call->actor.id);
    return done(call, &changes);
}

static int check_answers(struct kndl_call *call, const V1(AnswerQuestionRequest) *req)
{
    if (req->n_answers == 0 || req->n_answers > ANSWERS_MAX)
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT,
                         "give one answer for each thing asked, 1 to %d", ANSWERS_MAX);
    for (size_t i = 0; i < req->n_answers; i++)
        if (req->answers[i][0] == '\0' || strlen(req->answers[i]) > ANSWER_BYTES_MAX)
            return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT,
                             "answer %zu has %zu bytes; it has 1 to %d", i + 1,
                             strlen(req->answers[i]), ANSWER_BYTES_MAX);
    return 0;
}

static void seal_answers(struct kndl_call *call, struct kndl_slice key,
                         const V1(AnswerQuestionRequest) *req, struct kndl_buf *sealed)
{
    Kndl__Runner__V1__Answers answers = KNDL__RUNNER__V1__ANSWERS__INIT;

    answers.answers = req->answers;
    answers.n_answers = req->n_answers;
    size_t size = kndl__runner__v1__answers__get_packed_size(&answers);
    uint8_t *bytes = kndl_arena_alloc(call->arena, size);
    kndl__runner__v1__answers__pack(&answers, bytes);
    kndl_seal(key.data, kndl_slice(bytes, size), sealed);
}

static int answer_question(struct kndl_call *call, const V1(AnswerQuestionRequest) *req,
                           V1(AnswerQuestionResponse) *resp)
{
    struct sessions *sessions = call->state;
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf sealed = {0};
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf content = {0};
    const struct asked asked = asked_by(call, req->session_id, req->request_id);
    const struct masking masking = {.session_id = req->session_id};
    const char *masked[ANSWERS_MAX];
    struct changes changes = {0};
    struct kndl_slice key;

    (void)resp;
    if (kndl_call_check_request_id(call, req->request_id) < 0 || check_answers(call, req) < 0 ||
        find_key(call, &key) < 0 ||
        mask_written(call, &masking, (const char *const *)req->answers, req->n_answers, masked) < 0)
        return -1;
    for (size_t i = 0; i < req->n_answers; i++)
        kndl_buf_printf(&content, "%zu:%s\n", strlen(masked[i]), masked[i]);
    seal_answers(call, key, req, &sealed);
    if (store_answer_question(sessions->store, call->arena, &asked, req->question_id,
                              req->n_answers, kndl_buf_text(&content), kndl_buf_slice(&sealed),
                              &changes, &call->err) < 0)
        return -1;
    return done(call, &changes);
}

static int stop_turn(struct kndl_call *call, const V1(StopTurnRequest) *req,
                     V1(StopTurnResponse) *resp)
{
    struct sessions *sessions = call->state;
    const struct asked asked = asked_by(call, req->session_id, req->request_id);
    struct changes changes = {0};
    const char *turn_id;

    if (kndl_call_check_request_id(call, req->request_id) < 0 ||
        store_stop_turn(sessions->store, call->arena, &asked, req->turn_id, &turn_id, &changes,
                        &call->err) < 0)
        return -1;
    resp->turn_id = (char *)turn_id;
    return done(call, &changes);
}

static int sleep_session(struct kndl_call *call, const V1(SleepSessionRequest) *req,
                         V1(SleepSessionResponse) *resp)
{
    struct sessions *sessions = call->state;
    const struct asked asked = asked_by(call, req->session_id, req->request_id);
    struct changes changes = {0};
    struct session session;

    if (kndl_call_check_request_id(call, req->request_id) < 0 ||
        store_sleep_session(sessions->store, call->arena, &asked, &session, &changes, &call->err) <
            0)
        return -1;
    resp->session = present_session(call->arena, &session, call->actor.id);
    return done(call, &changes);
}

static int wake_session(struct kndl_call *call, const V1(WakeSessionRequest) *req,
                        V1(WakeSessionResponse) *resp)
{
    struct sessions *sessions = call->state;
    const struct asked asked = asked_by(call, req->session_id, req->request_id);
    struct changes changes = {0};
    struct session session;
    bool has_token;

    if (kndl_call_check_request_id(call, req->request_id) < 0 ||
        peers_check_setup_token(sessions->bus, call, call->actor.id, &has_token) < 0)
        return -1;
    if (store_wake_session(sessions->store, call->arena, &asked, has_token, &session, &changes,
                           &call->err) < 0)
        return -1;
    resp->session = present_session(call->arena, &session, call->actor.id);
    return done(call, &changes);
}

KNDL_PUBLIC(V1, SessionsService, CreateSession, create_session, stand)
KNDL_PUBLIC(V1, SessionsService, ListSessions, list_sessions, stand)
KNDL_PUBLIC(V1, SessionsService, GetSession, get_session, stand)
KNDL_PUBLIC(V1, SessionsService, SendPrompt, send_prompt, stand)
KNDL_PUBLIC(V1, SessionsService, CancelPrompt, cancel_prompt, stand)
KNDL_PUBLIC(V1, SessionsService, ResumeQueue, resume_queue, stand)
KNDL_PUBLIC(V1, SessionsService, AnswerQuestion, answer_question, stand)
KNDL_PUBLIC(V1, SessionsService, StopTurn, stop_turn, stand)
KNDL_PUBLIC(V1, SessionsService, SleepSession, sleep_session, stand)
KNDL_PUBLIC(V1, SessionsService, WakeSession, wake_session, stand)
KNDL_PUBLIC(V1, SessionsService, ListEvents, list_events, stand)
KNDL_PUBLIC(V1, SessionsService, OpenView, open_view, stand)
KNDL_PUBLIC(V1, SessionsService, Heads, heads, stand)

static V1(SessionsService_Service) service = KNDL__SESSIONS__V1__SESSIONS_SERVICE__INIT(rpc_);

ProtobufCService *const sessions_service = &service.base;
