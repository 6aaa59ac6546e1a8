/* What a Session is told to do: each is checked, kept if it must not be lost, and taken. */

#include "session_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "kndl/log.h"
#include "kndl/mem.h"

/* A start that is being written down. */
struct taking {
    struct session *session;
    session_fn fn;
    void *data;
};

static void nobody_waits(void *data, const struct kndl_error *err, const ProtobufCMessage *response)
{
    (void)data;
    (void)err;
    (void)response;
}

/*
 * There is no room even to write down that a run begins. It is taken all the same, and told as
 * failed: refusing it would only have it commanded again and again.
 */
static void fail_without_room(struct runner *runner, const Kndl__Runner__V1__StartRunRequest *start)
{
    SV1(ReportEndedRequest) request = KNDL__SESSIONS__V1__REPORT_ENDED_REQUEST__INIT;
    struct hub_question question = {
        .service = &kndl__sessions__v1__sessions_runner_service__descriptor,
        .method = "ReportEnded",
        .request = &request.base,
        .repeat = true,
    };

    kndl_log(KNDL_ERROR, "no room for a run", KNDL_STR("session", start->session_id));
    request.session_id = start->session_id;
    request.run = start->run;
    request.cause = KNDL__SESSIONS__V1__REPORT_ENDED_REQUEST__CAUSE__CAUSE_FAILED;
    request.reason_code = (char *)"disk_full";
    request.reason =
        (char *)"The disk of this Session's Runner is full. Make room on it, then Retry.";
    request.conversation_exists = start->resume;
    (void)hub_ask(runner->hub, &question, nobody_waits, NULL);
}

static void start_is_kept(void *data, const struct kndl_error *err)
{
    struct taking taking = *(struct taking *)data;
    struct kndl_error done = *err;

    free(data);
    if (!session_leave(taking.session))
        return;
    if (err->code == KNDL_RESOURCE_EXHAUSTED) {
        fail_without_room(taking.session->runner, taking.session->start);
        done = (struct kndl_error){0};
    }
    taking.fn(taking.data, &done);
    if (err->code == KNDL_OK)
        session_begin(taking.session);
    else
        session_forget(taking.session);
}

static Kndl__Runner__V1__StartRunRequest *
copy_start(const Kndl__Runner__V1__StartRunRequest *request)
{
    size_t size = protobuf_c_message_get_packed_size(&request->base);
    KNDL_CLEANUP(kndl_free) uint8_t *bytes = kndl_alloc(1, size + 1);

    protobuf_c_message_pack(&request->base, bytes);
    return kndl__runner__v1__start_run_request__unpack(NULL, size, bytes);
}

static int make_directory(const struct session *session, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf all = {0};

    kndl_buf_printf(&all, "%s/sessions", session->runner->home);
    if ((mkdir(kndl_buf_text(&all), 0700) < 0 && errno != EEXIST) ||
        (mkdir(session->directory, 0700) < 0 && errno != EEXIST))
        return kndl_fail(err, errno == ENOSPC ? KNDL_RESOURCE_EXHAUSTED : KNDL_INTERNAL,
                         "cannot make %s: %s", session->directory, strerror(errno));
    return 0;
}

static int check_start(const struct session *known,
                       const Kndl__Runner__V1__StartRunRequest *request, struct kndl_error *err)
{
    if (!kndl_id_is_valid(request->session_id) || request->run < 1 ||
        !claude_is_uuid(request->claude_session_id))
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "session_id, run or claude_session_id is none");
    if (known == NULL || known->start->run == request->run)
        return 0;
    if (known->start->run > request->run || known->phase != SESSION_ENDED ||
        !forward_is_drained(known->forward))
        return kndl_fail(err, KNDL_ABORTED, "run %lld of that Session is here",
                         (long long)known->start->run);
    return 0;
}

void session_start(struct runner *runner, const Kndl__Runner__V1__StartRunRequest *request,
                   session_fn fn, void *data)
{
    struct session *session = session_find(runner, request->session_id);
    struct kndl_error err = {0};
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf path = {0};
    struct taking *taking;

    if (check_start(session, request, &err) < 0 ||
        (session != NULL && session->start->run == request->run)) {
        fn(data, &err);
        return;
    }
    /* The Hub has all of the run before, or it would not start another. */
    if (session != NULL)
        session_forget(session);
    session = session_new(runner, request->session_id);
    session->start = copy_start(request);
    if (make_directory(session, &err) < 0 || session_open_parts(session, &err) < 0) {
        session_forget(session);
        if (err.code == KNDL_RESOURCE_EXHAUSTED) {
            fail_without_room(runner, request);
            err = (struct kndl_error){0};
        }
        fn(data, &err);
        return;
    }
    taking = kndl_new0(struct taking);
    *taking = (struct taking){session, fn, data};
    session_path(session, "state", &path);
    session_enter(session);
    run_file_write(runner->disk, kndl_buf_text(&path),
                   &(struct run_file){.phase = RUN_STARTING, .start = session->start},
                   start_is_kept, taking);
}

static int check_run(const struct session *session, int64_t run, struct kndl_error *err)
{
    if (session->start->run != run)
        return kndl_fail(err, KNDL_ABORTED, "run %lld is here, not %lld",
                         (long long)session->start->run, (long long)run);
    return 0;
}

int session_stop(struct session *session, int64_t run, struct kndl_error *err)
{
    if (check_run(session, run, err) < 0)
        return -1;
    session_end_run(session, KNDL__SESSIONS__V1__REPORT_ENDED_REQUEST__CAUSE__CAUSE_COMMANDED, "",
                    "");
    return 0;
}

int session_renew_git(struct session *session, int64_t run, struct kndl_error *err)
{
    if (check_run(session, run, err) < 0)
        return -1;
    session_ask_git_again(session);
    return 0;
}

void session_stop_unwanted(struct session *session)
{
    session_end_run(session, KNDL__SESSIONS__V1__REPORT_ENDED_REQUEST__CAUSE__CAUSE_COMMANDED,
                    "unwanted", "");
}

/* The Runner checks whose commands they are, too. */
static int check_driving(const struct session *session, int64_t run, const char *creator_id,
                         struct kndl_error *err)
{
    if (check_run(session, run, err) < 0)
        return -1;
    if (strcmp(session->start->creator_id, creator_id) != 0)
        return kndl_fail(err, KNDL_PERMISSION_DENIED, "only the Creator may drive a Session");
    if (session->phase != SESSION_RUNNING)
        return kndl_fail(err, KNDL_ABORTED, "the Session's Claude Code is not running");
    return 0;
}

void session_hand_prompt(struct session *session,
                         const Kndl__Runner__V1__HandPromptRequest *request, session_fn fn,
                         void *data)
{
    struct kndl_error err = {0};

    if (check_driving(session, request->run, request->creator_id, &err) < 0)
        fn(data, &err);
    else
        prompts_hand(session->prompts, request, fn, data);
}

void session_give_answer(struct session *session,
                         const Kndl__Runner__V1__GiveAnswerRequest *request, session_fn fn,
                         void *data)
{
    struct kndl_error err = {0};

    if (check_driving(session, request->run, request->creator_id, &err) < 0)
        fn(data, &err);
    else
        answers_give(session->answers, request, fn, data);
}

static void turn_stopped(void *data, const char *command_id, const struct claude_result *result)
{
    session_report_command(data, command_id, result->outcome == CLAUDE_DONE, result->reason);
}

int session_stop_turn(struct session *session, const Kndl__Runner__V1__StopTurnRequest *request,
                      struct kndl_error *err)
{
    if (check_driving(session, request->run, request->creator_id, err) < 0)
        return -1;
    orders_add(session->orders, &(struct order){.id = request->command_id,
                                                .op = ORDER_STOP,
                                                .turn_id = request->turn_id,
                                                .fn = turn_stopped,
                                                .data = session});
    relay_wake(session->relay);
    return 0;
}

/* ---------------------------------------------------------------------------------- purging */

struct purging {
    struct runner *runner;
    char *directory;
    session_fn fn;
    void *data;
};

static void directory_removed(void *data, const struct sandbox_answer *answer)
{
    struct purging *purging = data;

    purging->fn(purging->data, &answer->err);
    free(purging->directory);
    free(purging);
}

static void sandbox_removed(void *data, const struct sandbox_answer *answer)
{
    struct purging *purging = data;

    if (answer->err.code != KNDL_OK && answer->err.code != KNDL_NOT_FOUND) {
        directory_removed(data, answer);
        return;
    }
    workspace_remove(purging->runner->sandboxes, purging->directory, directory_removed, purging);
}

void session_purge(struct runner *runner, const char *session_id, session_fn fn, void *data)
{
    struct session *session = session_find(runner, session_id);
    char name[SANDBOX_NAME_CHARS_MAX + 1];
    struct kndl_buf directory = {0};
    struct kndl_error err = {0};
    struct purging *purging;

    if (!kndl_id_is_valid(session_id)) {
        kndl_fail(&err, KNDL_INVALID_ARGUMENT, "session_id is no id");
        fn(data, &err);
        return;
    }
    if (session != NULL && session->phase != SESSION_ENDED) {
        kndl_fail(&err, KNDL_ABORTED, "the Session runs");
        fn(data, &err);
        return;
    }
    if (session != NULL)
        session_forget(session);
    kndl_buf_printf(&directory, "%s/sessions/%s", runner->home, session_id);
    purging = kndl_new0(struct purging);
    *purging = (struct purging){runner, kndl_buf_take(&directory), fn, data};
    sandbox_name(session_id, name);
    sandbox_remove(runner->sandboxes, name, sandbox_removed, purging);
}
