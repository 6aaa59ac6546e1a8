/* A Runner's token for an hour on NATS. */

#include "runner.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "answer.h"
#include "ask.h"
#include "kndl/guard.h"
#include "kndl/json.h"
#include "kndl/log.h"
#include "kndl/mem.h"
#include "kndl/sessions/v1/sessions_internal_service.pb-c.h"
#include "kndl/token.h"
#include "rate.h"
#include "request_data.h"

#define V1(name) Kndl__Sessions__V1__##name

enum { ASK_MS = 10000, BODY_BYTES_MAX = 4096, BAD_TOKEN_MS = 1000 };

struct runner_request {
    struct request_data base;
    struct gateway *gateway;
    struct kndl_web_request *request;
    char trace[KNDL_ID_SIZE];
    struct ask *ask;
    struct kndl_timer *delay;
    struct kndl_error refusal; /* answered after the delay */
};

static void end(struct runner_request *asked)
{
    ask_cancel(asked->ask);
    kndl_timer_free(asked->delay);
    asked->gateway->calls--;
    free(asked);
}

void runner_abort(struct runner_request *asked)
{
    end(asked);
}

static void fail(struct runner_request *asked, const struct kndl_error *err)
{
    answer_error(asked->gateway, asked->request, err, asked->trace);
    end(asked);
}

static void fail_now(void *data)
{
    struct runner_request *asked = data;
    struct kndl_error refusal = asked->refusal;

    fail(asked, &refusal);
}

/* One text for whatever was brought; who tries tokens gets slower answers. */
static void refuse(struct runner_request *asked)
{
    kndl_fail(&asked->refusal, KNDL_UNAUTHENTICATED,
              "the RUNNER_TOKEN is not known here: the Owner registers Runners");
    if (rate_take(asked->gateway, RATE_BAD_TOKEN, kndl_web_peer(asked->request))) {
        fail_now(asked);
        return;
    }
    asked->delay = kndl_timer_new(asked->gateway->loop, fail_now, asked);
    kndl_timer_start(asked->delay, BAD_TOKEN_MS, 0);
}

static void on_minted(const struct kndl_reply *reply, void *data)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf body = {0};
    struct runner_request *asked = data;
    struct kndl_error err = reply->err;
    ProtobufCMessage *message;

    asked->ask = NULL;
    if (err.code == KNDL_UNAUTHENTICATED) {
        refuse(asked);
        return;
    }
    if (err.code != KNDL_OK) {
        fail(asked, &err);
        return;
    }
    kndl_arena_reset(asked->gateway->arena);
    ProtobufCAllocator allocator = kndl_arena_allocator(asked->gateway->arena);
    if (kndl_guard_unpack(&kndl__sessions__v1__mint_runner_credential_response__descriptor,
                          reply->data, &allocator, &message, &err) < 0) {
        kndl_fail(&err, KNDL_INTERNAL, "internal error");
        fail(asked, &err);
        return;
    }
    kndl_json_from_message(message, &body);
    answer_with(asked->gateway, asked->request,
                &(struct answer){
                    .status = 200,
                    .type = "application/json",
                    .body = kndl_buf_slice(&body),
                    .trace = asked->trace,
                });
    end(asked);
}

/* The hash of the bearer; false unless it is a well-formed RUNNER_TOKEN that no page sent. */
static bool read_token(const struct kndl_web_request *request, uint8_t ret_hash[KNDL_HASH_BYTES])
{
    const char *authorization = kndl_web_header(request, "authorization");

    if (authorization == NULL || strncasecmp(authorization, "Bearer ", 7) != 0 ||
        kndl_web_header(request, "origin") != NULL)
        return false;
    struct kndl_slice token = kndl_slice_of(authorization + 7);
    if (!kndl_token_is_valid(KNDL_TOKEN_RUN, token))
        return false;
    kndl_hash(token, ret_hash);
    return true;
}

/* What sessions is asked, packed into the gateway's arena. */
static int read_body(struct runner_request *asked, uint8_t hash[KNDL_HASH_BYTES],
                     struct kndl_slice *ret_packed, struct kndl_error *err)
{
    struct kndl_slice body = kndl_web_body(asked->request);
    ProtobufCMessage *message;

    if (body.size > BODY_BYTES_MAX)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "the body is too long");
    kndl_arena_reset(asked->gateway->arena);
    if (kndl_json_to_message(body, &kndl__sessions__v1__mint_runner_credential_request__descriptor,
                             asked->gateway->arena, &message, err) < 0)
        return -1;
    V1(MintRunnerCredentialRequest) *request = (void *)message;
    request->token_hash = (ProtobufCBinaryData){KNDL_HASH_BYTES, hash};
    uint8_t *bytes =
        kndl_arena_alloc(asked->gateway->arena, protobuf_c_message_get_packed_size(message) + 1);
    *ret_packed = kndl_slice(bytes, protobuf_c_message_pack(message, bytes));
    return 0;
}

static void mint(struct runner_request *asked)
{
    const char *type = kndl_web_header(asked->request, "content-type");
    uint8_t hash[KNDL_HASH_BYTES];
    struct kndl_slice packed;
    struct kndl_error err;

    if (!read_token(asked->request, hash)) {
        refuse(asked);
        return;
    }
    if (type == NULL || strncasecmp(type, "application/json", 16) != 0) {
        kndl_fail(&err, KNDL_INVALID_ARGUMENT, "the Content-Type is application/json");
        fail(asked, &err);
        return;
    }
    if (read_body(asked, hash, &packed, &err) < 0) {
        fail(asked, &err);
        return;
    }
    asked->ask = ask_send(asked->gateway,
                          &(struct kndl_request){
                              .service = &kndl__sessions__v1__sessions_internal_service__descriptor,
                              .method = "MintRunnerCredential",
                              .actor = {KNDL_SERVICE, "api_gateway"},
                              .trace = asked->trace,
                              .timeout_ms = ASK_MS,
                              .data = packed,
                          },
                          on_minted, asked);
}

void runner_begin(struct gateway *gateway, struct kndl_web_request *request, const char *trace)
{
    struct runner_request *asked = kndl_new0(struct runner_request);

    asked->base.kind = REQUEST_RUNNER;
    asked->gateway = gateway;
    asked->request = request;
    memcpy(asked->trace, trace, sizeof asked->trace);
    gateway->calls++;
    kndl_web_set_data(request, asked);
    mint(asked);
}
