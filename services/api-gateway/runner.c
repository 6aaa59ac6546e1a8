/* A Runner's token for an hour on NATS, or for what its newer release is made of. */

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
#include "release.h"
#include "request_data.h"

#define V1(name) Kndl__Sessions__V1__##name

static const char files_path[] = "/runner/release/";

enum { ASK_MS = 10000, BODY_BYTES_MAX = 4096, BAD_TOKEN_MS = 1000 };

struct runner_request {
    struct request_data base;
    struct gateway *gateway;
    struct kndl_web_request *request;
    enum kndl_path_id path;
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
    if (rate_take(asked->gateway, RATE_BAD_TOKEN, kndl_web_peer(asked->request), NULL) == 0) {
        fail_now(asked);
        return;
    }
    asked->delay = kndl_timer_new(asked->gateway->loop, fail_now, asked);
    kndl_timer_start(asked->delay, BAD_TOKEN_MS, 0);
}

/* What sessions says against it is answered: false. */
static bool is_allowed(struct runner_request *asked, const struct kndl_reply *reply)
{
    struct kndl_error err = reply->err;

    asked->ask = NULL;
    if (err.code == KNDL_OK)
        return true;
    if (err.code == KNDL_UNAUTHENTICATED)
        refuse(asked);
    else
        fail(asked, &err);
    return false;
}

static void on_minted(const struct kndl_reply *reply, void *data)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf body = {0};
    struct runner_request *asked = data;
    ProtobufCMessage *message;
    struct kndl_error err;

    if (!is_allowed(asked, reply))
        return;
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

static void on_checked(const struct kndl_reply *reply, void *data)
{
    struct runner_request *asked = data;
    struct answer answer = {.status = 200, .is_static = true, .trace = asked->trace};
    struct kndl_error err;

    if (!is_allowed(asked, reply))
        return;
    if (asked->path == KNDL_PATH_RUNNER_RELEASE_FILE) {
        answer.type = "application/octet-stream";
        answer.body =
            release_file(asked->gateway, kndl_web_path(asked->request) + strlen(files_path));
    } else {
        answer.type = "application/json";
        answer.body = release_manifest(asked->gateway);
    }
    if (answer.body.data == NULL) {
        kndl_fail(&err, KNDL_NOT_FOUND, "this Hub has no such file of a Runner's release");
        fail(asked, &err);
        return;
    }
    answer_with(asked->gateway, asked->request, &answer);
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

static struct kndl_slice pack(struct runner_request *asked, const ProtobufCMessage *message)
{
    uint8_t *bytes =
        kndl_arena_alloc(asked->gateway->arena, protobuf_c_message_get_packed_size(message) + 1);

    return kndl_slice(bytes, protobuf_c_message_pack(message, bytes));
}

static void ask(struct runner_request *asked, const char *method, const ProtobufCMessage *message,
                ask_fn fn)
{
    asked->ask = ask_send(asked->gateway,
                          &(struct kndl_request){
                              .service = &kndl__sessions__v1__sessions_internal_service__descriptor,
                              .method = method,
                              .actor = {KNDL_SERVICE, "api_gateway"},
                              .trace = asked->trace,
                              .timeout_ms = ASK_MS,
                              .data = pack(asked, message),
                          },
                          fn, asked);
}

static void free_json(struct kndl_json **json)
{
    kndl_json_free(*json);
}

static char *copy_text(struct runner_request *asked, const struct kndl_value *body, const char *key)
{
    return kndl_arena_copy(asked->gateway->arena, kndl_json_text(kndl_json_get(body, key), ""));
}

static int read_body(struct runner_request *asked, V1(MintRunnerCredentialRequest) *ret_request,
                     struct kndl_error *err)
{
    KNDL_CLEANUP(free_json) struct kndl_json *json = NULL;
    const char *type = kndl_web_header(asked->request, "content-type");

    if (type == NULL || strncasecmp(type, "application/json", 16) != 0)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "the Content-Type is application/json");
    if (kndl_json_parse(kndl_web_body(asked->request), BODY_BYTES_MAX, &json, err) < 0)
        return -1;
    const struct kndl_value *body = kndl_json_root(json);
    int64_t protocol = kndl_json_i64(kndl_json_get(body, "protocol"), 0);
    if (protocol < 0 || protocol > INT32_MAX)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "the protocol is no number of ours");
    ret_request->user_public = copy_text(asked, body, "userPublic");
    ret_request->protocol = (int32_t)protocol;
    ret_request->version = copy_text(asked, body, "version");
    ret_request->update_note = copy_text(asked, body, "updateNote");
    return 0;
}

static void mint(struct runner_request *asked, uint8_t hash[KNDL_HASH_BYTES])
{
    V1(MintRunnerCredentialRequest) request =
        KNDL__SESSIONS__V1__MINT_RUNNER_CREDENTIAL_REQUEST__INIT;
    struct kndl_error err;

    request.token_hash = (ProtobufCBinaryData){KNDL_HASH_BYTES, hash};
    if (read_body(asked, &request, &err) < 0) {
        fail(asked, &err);
        return;
    }
    ask(asked, "MintRunnerCredential", &request.base, on_minted);
}

static void check(struct runner_request *asked, uint8_t hash[KNDL_HASH_BYTES])
{
    V1(CheckRunnerTokenRequest) request = KNDL__SESSIONS__V1__CHECK_RUNNER_TOKEN_REQUEST__INIT;

    request.token_hash = (ProtobufCBinaryData){KNDL_HASH_BYTES, hash};
    ask(asked, "CheckRunnerToken", &request.base, on_checked);
}

void runner_begin(struct gateway *gateway, struct kndl_web_request *request, enum kndl_path_id path,
                  const char *trace)
{
    struct runner_request *asked = kndl_new0(struct runner_request);
    uint8_t hash[KNDL_HASH_BYTES];

    asked->base.kind = REQUEST_RUNNER;
    asked->gateway = gateway;
    asked->request = request;
    asked->path = path;
    memcpy(asked->trace, trace, sizeof asked->trace);
    gateway->calls++;
    kndl_web_set_data(request, asked);
    kndl_arena_reset(gateway->arena);
    if (!read_token(request, hash))
        refuse(asked);
    else if (path == KNDL_PATH_RUNNER_CREDENTIAL)
        mint(asked, hash);
    else
        check(asked, hash);
}
