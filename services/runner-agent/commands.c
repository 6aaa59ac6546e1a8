/* Commands: taken on a thread of the bus, carried out on the loop, answered with "taken". */

#include "commands.h"

#include <stdlib.h>
#include <string.h>

#include "kndl/bus.h"
#include "kndl/log.h"
#include "kndl/loop.h"
#include "kndl/mem.h"
#include "kndl/runner/v1/runner_service.pb-c.h"
#include "runner.h"
#include "session.h"

#define RV1(name) Kndl__Runner__V1__##name

/* A command on its way to the loop, and to its answer. */
struct taken {
    struct runner *runner;
    struct kndl_command *command;
};

static void answer(struct taken *taken, const struct kndl_error *err)
{
    ProtobufCMessage *response = NULL;

    if (err->code == KNDL_OK) {
        response = kndl_alloc(1, taken->command->method->output->sizeof_message);
        protobuf_c_message_init(taken->command->method->output, response);
    } else {
        taken->command->err = *err;
        kndl_log(KNDL_INFO, "a command was not taken",
                 KNDL_STR("method", taken->command->method->name), KNDL_I64("code", err->code),
                 KNDL_STR("why", err->message));
    }
    kndl_bus_answer(taken->runner->bus, taken->command, response);
    free(response);
    free(taken);
}

static void done(void *data, const struct kndl_error *err)
{
    answer(data, err);
}

/* The Session the command names, or an answer that says so. */
static struct session *find(struct taken *taken, const char *session_id)
{
    struct session *session = session_find(taken->runner, session_id);
    struct kndl_error err;

    if (session == NULL) {
        kndl_fail(&err, KNDL_ABORTED, "Session %.64s has no run here", session_id);
        answer(taken, &err);
    }
    return session;
}

static void start_run(struct taken *taken)
{
    session_start(taken->runner, (const RV1(StartRunRequest) *)taken->command->request, done,
                  taken);
}

static void stop_run(struct taken *taken)
{
    const RV1(StopRunRequest) *request = (const void *)taken->command->request;
    struct session *session = find(taken, request->session_id);
    struct kndl_error err = {0};

    if (session == NULL)
        return;
    (void)session_stop(session, request->run, &err);
    answer(taken, &err);
}

static void hand_prompt(struct taken *taken)
{
    const RV1(HandPromptRequest) *request = (const void *)taken->command->request;
    struct session *session = find(taken, request->session_id);

    if (session != NULL)
        session_hand_prompt(session, request, done, taken);
}

static void stop_turn(struct taken *taken)
{
    const RV1(StopTurnRequest) *request = (const void *)taken->command->request;
    struct session *session = find(taken, request->session_id);
    struct kndl_error err = {0};

    if (session == NULL)
        return;
    (void)session_stop_turn(session, request, &err);
    answer(taken, &err);
}

static void give_answer(struct taken *taken)
{
    const RV1(GiveAnswerRequest) *request = (const void *)taken->command->request;
    struct session *session = find(taken, request->session_id);

    if (session != NULL)
        session_give_answer(session, request, done, taken);
}

static void renew_git_token(struct taken *taken)
{
    const RV1(RenewGitTokenRequest) *request = (const void *)taken->command->request;
    struct session *session = find(taken, request->session_id);
    struct kndl_error err = {0};

    if (session == NULL)
        return;
    (void)session_renew_git(session, request->run, &err);
    answer(taken, &err);
}

static void purge_session(struct taken *taken)
{
    const RV1(PurgeSessionRequest) *request = (const void *)taken->command->request;

    session_purge(taken->runner, request->session_id, done, taken);
}

static void carry_out(void *data)
{
    static const struct {
        const char *method;
        void (*carry_out)(struct taken *taken);
    } commands[] = {
        {"StartRun", start_run},         {"StopRun", stop_run},
        {"HandPrompt", hand_prompt},     {"StopTurn", stop_turn},
        {"GiveAnswer", give_answer},     {"RenewGitToken", renew_git_token},
        {"PurgeSession", purge_session},
    };
    struct taken *taken = data;
    struct kndl_error err;

    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(commands[i].method, taken->command->method->name) == 0) {
            commands[i].carry_out(taken);
            return;
        }
    kndl_fail(&err, KNDL_UNIMPLEMENTED, "this Runner does not know %s",
              taken->command->method->name);
    answer(taken, &err);
}

static void on_command(struct kndl_command *command, void *data)
{
    struct runner *runner = data;
    struct taken *taken = kndl_new0(struct taken);

    taken->runner = runner;
    taken->command = command;
    kndl_loop_post(runner->loop, carry_out, taken);
}

int commands_serve(struct runner *runner, struct kndl_error *err)
{
    return kndl_bus_serve_commands(runner->bus, &kndl__runner__v1__runner_service__descriptor,
                                   on_command, runner, err);
}
