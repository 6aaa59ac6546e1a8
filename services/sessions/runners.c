/* Commands over the bus: kndl.runner.<runner>.cmd.<Method>. */

#include "runners.h"

#include "kndl/bus.h"
#include "kndl/clock.h"
#include "kndl/rpc.h"
#include "kndl/runner/v1/runner_service.pb-c.h"
#include "kndl/sessions/v1/sessions_internal_service.pb-c.h"
#include "store.h"

#define RUNNER(name) Kndl__Runner__V1__##name

enum { TAKEN_WITHIN_MS = 1000 };

static int command(struct kndl_bus *bus, struct kndl_call *call, const char *method,
                   const struct delivery *delivery, const ProtobufCMessage *request)
{
    ProtobufCMessage *response;

    call->deadline_ms = kndl_clock_ms() + TAKEN_WITHIN_MS;
    return kndl_bus_call(bus, call, &kndl__runner__v1__runner_service__descriptor, method,
                         delivery->runner_id, request, &response);
}

static int start_run(struct kndl_bus *bus, struct kndl_call *call, const struct delivery *delivery)
{
    RUNNER(StartRunRequest) req = KNDL__RUNNER__V1__START_RUN_REQUEST__INIT;

    req.session_id = (char *)delivery->session_id;
    req.run = delivery->run;
    req.creator_id = (char *)delivery->creator_id;
    req.repo_id = delivery->repo_id;
    req.repo_name = (char *)delivery->repo_name;
    req.claude_session_id = (char *)delivery->claude_session_id;
    req.resume = delivery->conversation_exists;
    req.model = (char *)delivery->model;
    req.effort = (char *)delivery->effort;
    req.stored_source_ids = delivery->sources;
    req.n_stored_source_ids = delivery->source_count;
    req.creator_name = (char *)delivery->creator_name;
    req.creator_email = (char *)delivery->creator_email;
    return command(bus, call, "StartRun", delivery, &req.base);
}

static int stop_run(struct kndl_bus *bus, struct kndl_call *call, const struct delivery *delivery)
{
    RUNNER(StopRunRequest) req = KNDL__RUNNER__V1__STOP_RUN_REQUEST__INIT;

    req.session_id = (char *)delivery->session_id;
    req.run = delivery->run;
    req.reason_code = (char *)delivery->reason_code;
    return command(bus, call, "StopRun", delivery, &req.base);
}

static int hand_prompt(struct kndl_bus *bus, struct kndl_call *call,
                       const struct delivery *delivery)
{
    RUNNER(HandPromptRequest) req = KNDL__RUNNER__V1__HAND_PROMPT_REQUEST__INIT;

    req.session_id = (char *)delivery->session_id;
    req.run = delivery->run;
    req.prompt_id = (char *)delivery->id;
    req.sealed_text.data = (uint8_t *)delivery->sealed.data;
    req.sealed_text.len = delivery->sealed.size;
    req.creator_id = (char *)delivery->creator_id;
    return command(bus, call, "HandPrompt", delivery, &req.base);
}

static int stop_turn(struct kndl_bus *bus, struct kndl_call *call, const struct delivery *delivery)
{
    RUNNER(StopTurnRequest) req = KNDL__RUNNER__V1__STOP_TURN_REQUEST__INIT;

    req.session_id = (char *)delivery->session_id;
    req.run = delivery->run;
    req.command_id = (char *)delivery->id;
    req.turn_id = (char *)delivery->target_id;
    req.creator_id = (char *)delivery->creator_id;
    return command(bus, call, "StopTurn", delivery, &req.base);
}

static int give_answer(struct kndl_bus *bus, struct kndl_call *call,
                       const struct delivery *delivery)
{
    RUNNER(GiveAnswerRequest) req = KNDL__RUNNER__V1__GIVE_ANSWER_REQUEST__INIT;

    req.session_id = (char *)delivery->session_id;
    req.run = delivery->run;
    req.command_id = (char *)delivery->id;
    req.question_id = (char *)delivery->target_id;
    req.sealed_answers.data = (uint8_t *)delivery->sealed.data;
    req.sealed_answers.len = delivery->sealed.size;
    req.creator_id = (char *)delivery->creator_id;
    return command(bus, call, "GiveAnswer", delivery, &req.base);
}

static int renew_git_token(struct kndl_bus *bus, struct kndl_call *call,
                           const struct delivery *delivery)
{
    RUNNER(RenewGitTokenRequest) req = KNDL__RUNNER__V1__RENEW_GIT_TOKEN_REQUEST__INIT;

    req.session_id = (char *)delivery->session_id;
    req.run = delivery->run;
    if (command(bus, call, "RenewGitToken", delivery, &req.base) == 0)
        return 0;

    /* An older Runner does not know it, and one without that run needs no token. */
    if (call->err.code != KNDL_UNIMPLEMENTED && call->err.code != KNDL_ABORTED)
        return -1;
    call->err = (struct kndl_error){0};
    return 0;
}

int runners_command(struct kndl_bus *bus, struct kndl_call *call, const struct delivery *delivery)
{
    switch (delivery->kind) {
    case DELIVER_START:
        return start_run(bus, call, delivery);
    case DELIVER_STOP_RUN:
        return stop_run(bus, call, delivery);
    case DELIVER_STOP_TURN:
        return stop_turn(bus, call, delivery);
    case DELIVER_ANSWER:
        return give_answer(bus, call, delivery);
    case DELIVER_RENEW_GIT:
        return renew_git_token(bus, call, delivery);
    case DELIVER_PROMPT:
        return hand_prompt(bus, call, delivery);
    case DELIVER_ASSIGNMENT:
        break;
    }
    return kndl_fail(&call->err, KNDL_INTERNAL, "an assignment is not a Runner's");
}

void runners_publish_removed(struct kndl_bus *bus, const char *runner_id)
{
    Kndl__Sessions__V1__RunnerRemoved fact = KNDL__SESSIONS__V1__RUNNER_REMOVED__INIT;
    struct kndl_error ignored;

    fact.runner_id = (char *)runner_id;
    (void)kndl_bus_publish_fact(bus, "runner_removed", &fact.base, &ignored);
}
