/* Connect's unary protocol, authentication and forwarding. */

#include "call.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "answer.h"
#include "kndl/clock.h"
#include "kndl/code.h"
#include "kndl/guard.h"
#include "kndl/json.h"
#include "kndl/log.h"
#include "kndl/mem.h"
#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "rate.h"
#include "wait.h"

enum {
    CALL_MS_MAX = 30000, /* whatever the client would wait, and where it does not say */
    SERVICE_MS_MAX = 10000,
    BAD_TOKEN_MS = 1000,
};

static void end(struct call *call, enum kndl_code code)
{
    int64_t received_us = kndl_web_received_us(call->request);

    kndl_log_context(call->trace, NULL);
    kndl_log(KNDL_INFO, "call", KNDL_STR("method", call->descriptor->name),
             KNDL_STR("code", kndl_code_names(code)->word), KNDL_STR("person", call->principal.id),
             KNDL_I64("received_us", received_us),
             KNDL_I64("took_us", kndl_clock_us() - received_us));
    kndl_log_context(NULL, NULL);
}

static void free_call(struct call *call)
{
    ask_cancel(call->ask);
    wait_end(call);
    kndl_timer_free(call->delay);
    if (call->packed.data != NULL) /* it may hold a setup token */
        explicit_bzero(call->packed.data, call->packed.size);
    kndl_buf_done(&call->packed);
    call->gateway->calls--;
    free(call);
}

void call_abort(struct call *call)
{
    end(call, KNDL_CANCELLED);
    free_call(call);
}

static void fail(struct call *call, const struct kndl_error *err)
{
    struct kndl_error refusal = *err;

    end(call, refusal.code);
    answer_error(call->gateway, call->request, &refusal, call->trace);
    free_call(call);
}

/* The response's bytes as JSON; they are a service's, and still checked. */
static int write_json(struct call *call, struct kndl_slice response, struct kndl_buf *out,
                      struct kndl_error *err)
{
    ProtobufCMessage *message;

    kndl_arena_reset(call->gateway->arena);
    ProtobufCAllocator allocator = kndl_arena_allocator(call->gateway->arena);
    if (kndl_guard_unpack(call->descriptor->output, response, &allocator, &message, err) < 0)
        return kndl_fail(err, KNDL_INTERNAL, "internal error");
    kndl_json_from_message(message, out);
    return 0;
}

static void answer_call(struct call *call, struct kndl_slice response)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf json = {0};
    struct kndl_error err;
    struct answer answer = {
        .status = 200,
        .type = "application/proto",
        .body = response,
        .trace = call->trace,
    };

    if (call->is_json) {
        if (write_json(call, response, &json, &err) < 0) {
            fail(call, &err);
            return;
        }
        answer.type = "application/json";
        answer.body = kndl_buf_slice(&json);
    }
    end(call, KNDL_OK);
    answer_with(call->gateway, call->request, &answer);
    free_call(call);
}

/* It may have ended somebody's credential or standing. */
static bool changes_people(const struct call *call)
{
    return call->service == &kndl__repo_access__v1__repo_access_service__descriptor &&
           (call->row->flags & KNDL_CHANGES) != 0;
}

static void on_answer(const struct kndl_reply *reply, void *data)
{
    struct call *call = data;

    call->ask = NULL;
    if (changes_people(call))
        people_forget(call->gateway); /* other gateways learn it by the fact, a moment later */
    if (call->wait != NULL && wait_holds(call, reply))
        return;
    if (reply->err.code != KNDL_OK)
        fail(call, &reply->err);
    else
        answer_call(call, reply->data);
}

void call_forward(struct call *call)
{
    int64_t left_ms = call->deadline_ms - kndl_clock_ms();
    struct kndl_error err;

    if (left_ms <= 0) {
        kndl_fail(&err, KNDL_DEADLINE_EXCEEDED, "the time that you gave is over");
        fail(call, &err);
        return;
    }
    call->ask = ask_send(
        call->gateway,
        &(struct kndl_request){
            .service = call->service,
            .method = call->descriptor->name,
            .actor = {KNDL_PERSON, call->principal.id},
            .trace = call->trace,
            .timeout_ms = (uint32_t)(left_ms < SERVICE_MS_MAX ? left_ms : SERVICE_MS_MAX),
            .data = call->has_packed ? kndl_buf_slice(&call->packed) : kndl_web_body(call->request),
        },
        on_answer, call);
}

static void pack(struct call *call, const ProtobufCMessage *message)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    uint8_t *at = (uint8_t *)kndl_buf_reserve(&call->packed, size);

    protobuf_c_message_pack(message, at);
    call->packed.size = size;
    call->has_packed = true;
}

static int pack_json(struct call *call, struct kndl_slice body, struct kndl_error *err)
{
    ProtobufCMessage *message;

    if (body.size == 0)
        body = kndl_slice_of("{}");
    if (kndl_json_to_message(body, call->descriptor->input, call->gateway->arena, &message, err) <
        0)
        return -1;
    if (protobuf_c_message_get_packed_size(message) > KNDL_MESSAGE_BYTES_MAX)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "the request is too long");
    pack(call, message);
    return 0;
}

/* The credential is what the caller came with, whatever the request says. */
static int pack_credential(struct call *call, struct kndl_slice packed, struct kndl_error *err)
{
    ProtobufCAllocator allocator = kndl_arena_allocator(call->gateway->arena);
    ProtobufCMessage *message;

    if (kndl_guard_unpack(call->descriptor->input, packed, &allocator, &message, err) < 0)
        return -1;
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field_by_name(call->descriptor->input, "credential_hash");
    assert(field != NULL && field->type == PROTOBUF_C_TYPE_BYTES);
    *(ProtobufCBinaryData *)((char *)message + field->offset) = (ProtobufCBinaryData){
        sizeof call->principal.credential.hash, call->principal.credential.hash};
    kndl_buf_clear(&call->packed);
    pack(call, message);
    return 0;
}

/* Makes what is forwarded, and checks it. */
static int prepare(struct call *call, struct kndl_error *err)
{
    struct kndl_slice body = kndl_web_body(call->request);

    kndl_arena_reset(call->gateway->arena);
    if (call->is_json && pack_json(call, body, err) < 0)
        return -1;
    if (call->has_packed)
        body = kndl_buf_slice(&call->packed);
    if (kndl_guard_check(call->descriptor->input, body, err) < 0)
        return -1;
    if (call->row->flags & KNDL_NAMES_CREDENTIAL)
        return pack_credential(call, body, err);
    if (call->row->flags & KNDL_WAITS)
        return wait_begin(call, body, err);
    return 0;
}

/* What some methods are counted by besides, for their person. */
static const struct {
    enum kndl_public_flag flag;
    enum rate rate;
} limits[] = {
    {KNDL_INVITES, RATE_INVITE},
    {KNDL_GUESSES, RATE_GUESS},
    {KNDL_CONFIRMS, RATE_CONFIRM},
    {KNDL_POLLS, RATE_POLL},
};

static int check_client(const struct call *call, struct kndl_error *err)
{
    enum kndl_client client = call->principal.client;

    if (call->row->clients & client)
        return 0;
    if (client == KNDL_BY_BROWSER)
        return kndl_fail(err, KNDL_PERMISSION_DENIED, "this is for the kndl command alone");
    return client == KNDL_BY_CLI
               ? kndl_fail(err, KNDL_PERMISSION_DENIED, "do this in the browser")
               : kndl_fail(err, KNDL_PERMISSION_DENIED, "this is not what was confirmed");
}

static int admit(struct call *call, struct kndl_error *err)
{
    bool changes = (call->row->flags & KNDL_CHANGES) != 0;
    enum rate rate = changes ? RATE_COMMAND : RATE_READ;

    if (check_client(call, err) < 0 ||
        rate_take(call->gateway, rate, call->principal.id, err) < 0 ||
        (changes && rate_take(call->gateway, RATE_COMMAND_ADDRESS,
                              rate_address(call->gateway, call->request), err) < 0))
        return -1;
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        if ((call->row->flags & limits[i].flag) &&
            rate_take(call->gateway, limits[i].rate, call->principal.id, err) < 0)
            return -1;
    return 0;
}

static void run(struct call *call)
{
    struct kndl_error err;

    if (admit(call, &err) < 0 || prepare(call, &err) < 0)
        fail(call, &err);
    else
        call_forward(call);
}

static void fail_now(void *data)
{
    struct call *call = data;

    fail(call, &call->refusal);
}

/* Who tries tokens gets slower answers. */
static void fail_credential(struct call *call, const struct kndl_error *err)
{
    if (rate_take(call->gateway, RATE_BAD_TOKEN, rate_address(call->gateway, call->request),
                  NULL) == 0) {
        fail(call, err);
        return;
    }
    call->refusal = *err;
    call->delay = kndl_timer_new(call->gateway->loop, fail_now, call);
    kndl_timer_start(call->delay, BAD_TOKEN_MS, 0);
}

static void on_authenticated(const struct kndl_reply *reply, void *data)
{
    struct call *call = data;
    struct credential credential = call->principal.credential;
    struct kndl_error err;

    call->ask = NULL;
    if (people_read(call->gateway, &credential, reply, &call->principal, &err) == 0)
        run(call);
    else if (err.code == KNDL_UNAUTHENTICATED)
        fail_credential(call, &err);
    else
        fail(call, &err);
}

static void authenticate(struct call *call)
{
    struct gateway *gateway = call->gateway;
    struct credential credential;
    struct kndl_error err;
    bool was_given;

    if (credential_read(&gateway->settings, call->request, &credential, &was_given, &err) < 0) {
        if (was_given && err.code == KNDL_UNAUTHENTICATED)
            fail_credential(call, &err);
        else
            fail(call, &err);
        return;
    }
    call->principal.credential = credential;
    if (people_find(gateway, &credential, &call->principal))
        run(call);
    else
        call->ask = people_ask(gateway, &credential, call->trace, on_authenticated, call);
}

/* A media type without its parameters, of which only charset=utf-8 would mean anything. */
static bool is_type(const char *value, const char *type)
{
    size_t length = strlen(type);

    return value != NULL && strncasecmp(value, type, length) == 0 &&
           (value[length] == '\0' || value[length] == ';' || value[length] == ' ');
}

/* Reads Connect's headers. 0, or the HTTP status to refuse with. */
static int read_protocol(struct call *call, struct kndl_error *err)
{
    struct kndl_web_request *request = call->request;
    const char *type = kndl_web_header(request, "content-type");
    const char *version = kndl_web_header(request, "connect-protocol-version");
    const char *encoding = kndl_web_header(request, "content-encoding");
    const char *timeout = kndl_web_header(request, "connect-timeout-ms");
    int64_t timeout_ms = CALL_MS_MAX;

    call->is_json = is_type(type, "application/json");
    if (!call->is_json && !is_type(type, "application/proto")) {
        kndl_fail(err, KNDL_INVALID_ARGUMENT,
                  "the Content-Type is application/proto or application/json");
        return 415;
    }
    if (version != NULL && strcmp(version, "1") != 0) {
        kndl_fail(err, KNDL_INVALID_ARGUMENT, "the Connect-Protocol-Version is 1");
        return 400;
    }
    if (encoding != NULL && strcasecmp(encoding, "identity") != 0) {
        kndl_fail(err, KNDL_UNIMPLEMENTED, "compressed requests are not taken");
        return 415;
    }
    if (timeout != NULL) {
        if (timeout[0] == '\0' || strlen(timeout) > 10 ||
            strspn(timeout, "0123456789") != strlen(timeout)) {
            kndl_fail(err, KNDL_INVALID_ARGUMENT, "the Connect-Timeout-Ms is malformed");
            return 400;
        }
        timeout_ms = strtoll(timeout, NULL, 10);
    }
    call->deadline_ms = kndl_clock_ms() + (timeout_ms < CALL_MS_MAX ? timeout_ms : CALL_MS_MAX);
    return 0;
}

void call_begin(struct gateway *gateway, struct kndl_web_request *request, const char *trace)
{
    const ProtobufCServiceDescriptor *service = NULL;
    const ProtobufCMethodDescriptor *descriptor = NULL;
    const struct kndl_public *row = method_find(kndl_web_path(request), &service, &descriptor);
    struct kndl_error err;
    int status;

    if (row == NULL) {
        kndl_fail(&err, KNDL_UNIMPLEMENTED, "there is no such method");
        answer_error_as(gateway, request, 404, &err, trace);
        return;
    }
    if (strcmp(kndl_web_method(request), "POST") != 0) {
        kndl_fail(&err, KNDL_UNIMPLEMENTED, "a method is called by POST");
        answer_error_as(gateway, request, 405, &err, trace);
        return;
    }

    struct call *call = kndl_new0(struct call);
    gateway->calls++;
    call->base.kind = REQUEST_CALL;
    call->gateway = gateway;
    call->request = request;
    call->service = service;
    call->descriptor = descriptor;
    call->row = row;
    memcpy(call->trace, trace, sizeof call->trace);
    kndl_web_set_data(request, call);
    if ((status = read_protocol(call, &err)) != 0) {
        end(call, err.code);
        answer_error_as(gateway, request, status, &err, trace);
        free_call(call);
        return;
    }
    authenticate(call);
}
