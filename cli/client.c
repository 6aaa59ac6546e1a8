/* Connect's unary calls over libs/http. */

#include "client.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kndl/code.h"
#include "kndl/guard.h"
#include "kndl/http.h"
#include "kndl/json.h"
#include "kndl/mem.h"
#include "pause.h"

enum { TIMEOUT_MS = 30000, ANSWER_BYTES_MAX = 4 * 1024 * 1024, TRIES = 3, PAUSE_MS = 200 };

/* What takes longer is said instead of waited for. */
enum { SOON_MS_MAX = 5000, DAY_S = 24 * 3600 };

struct client {
    struct kndl_http *http;
    const struct config *config;
    struct kndl_secret confirmation; /* none: calls carry the config's token */
};

int client_misread(struct kndl_error *err)
{
    return kndl_fail(err, KNDL_INTERNAL,
                     "the Hub's answer is not understood; is this kndl of the Hub's version?");
}

struct client *client_new(const struct config *config)
{
    struct client *client = kndl_new0(struct client);

    client->http = kndl_http_new("kndl-cli");
    client->config = config;
    return client;
}

void client_free(struct client *client)
{
    if (client == NULL)
        return;
    kndl_http_free(client->http);
    kndl_secret_done(&client->confirmation);
    free(client);
}

void client_carry(struct client *client, struct kndl_slice confirmation)
{
    kndl_secret_done(&client->confirmation);
    kndl_secret_copy(&client->confirmation, confirmation);
}

/* Whoever answered without Connect's body was not our gateway. */
static int fail_by_status(int status, struct kndl_error *err)
{
    switch (status) {
    case 429:
    case 502:
    case 503:
    case 504:
        return kndl_fail(err, KNDL_UNAVAILABLE, "the Hub cannot be reached (HTTP %d)", status);
    default:
        return kndl_fail(err, KNDL_UNKNOWN, "what answered is no kndl Hub (HTTP %d)", status);
    }
}

/* When the Hub says that it makes sense to come back; 0: it does not say. */
static uint32_t read_retry_ms(const struct kndl_http_response *response)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf value = {0};
    const char *text = kndl_http_header(response, "retry-after", &value);
    long seconds = text == NULL ? 0 : strtol(text, NULL, 10);

    return seconds > 0 && seconds <= DAY_S ? (uint32_t)seconds * 1000 : 0;
}

static int fail_by_answer(const struct kndl_http_response *response, struct kndl_error *err)
{
    struct kndl_json *json;

    if (kndl_json_parse(kndl_buf_slice(&response->body), 64 * 1024, &json, NULL) < 0)
        return fail_by_status(response->status, err);
    const struct kndl_value *root = kndl_json_root(json);
    const char *word = kndl_json_text(kndl_json_get(root, "code"), "");
    const char *message = kndl_json_text(kndl_json_get(root, "message"), "");
    int result = word[0] == '\0' ? fail_by_status(response->status, err)
                                 : kndl_fail(err, kndl_code_of_word(word), "%s",
                                             message[0] != '\0' ? message : word);
    err->retry_ms = read_retry_ms(response);
    kndl_json_free(json);
    return result;
}

/* One POST; an answer of 200 fills *ret_response. */
static int post(struct client *client, const struct kndl_http_request *request,
                struct kndl_http_response *ret_response, struct kndl_error *err)
{
    struct kndl_http_response response = {0};
    struct kndl_error cause = {0};

    if (kndl_http_do(client->http, request, &response, &cause) < 0)
        return kndl_fail(err, cause.code, "the Hub at %s cannot be reached: %s",
                         client->config->url, cause.message);
    if (response.status != 200) {
        (void)fail_by_answer(&response, err);
        kndl_http_response_done(&response);
        return -1;
    }
    *ret_response = response;
    return 0;
}

static int post_again(struct client *client, const struct kndl_http_request *request,
                      struct kndl_http_response *ret_response, struct kndl_error *err)
{
    struct kndl_error cause = {0};

    for (int i = 0; i < TRIES; i++) {
        if (i > 0)
            pause_after(&cause, PAUSE_MS << i);
        cause = (struct kndl_error){0};
        if (post(client, request, ret_response, &cause) == 0)
            return 0;
        bool comes_back = cause.code == KNDL_UNAVAILABLE ||
                          (cause.code == KNDL_RESOURCE_EXHAUSTED && cause.retry_ms > 0);
        if (!comes_back || cause.retry_ms > SOON_MS_MAX)
            break;
    }
    *err = cause;
    return -1;
}

int client_call(struct client *client, const ProtobufCServiceDescriptor *service,
                const char *method, const ProtobufCMessage *request, uint32_t timeout_ms,
                struct kndl_arena *arena, ProtobufCMessage **ret_response, struct kndl_error *err)
{
    static const char *const headers[] = {"Content-Type: application/proto",
                                          "Connect-Protocol-Version: 1", NULL};
    KNDL_CLEANUP(kndl_http_response_done) struct kndl_http_response response = {0};
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf url = {0};
    ProtobufCAllocator allocator = kndl_arena_allocator(arena);
    const ProtobufCMethodDescriptor *found =
        protobuf_c_service_descriptor_get_method_by_name(service, method);
    size_t size = protobuf_c_message_get_packed_size(request);
    bool is_confirmed = client->confirmation.size > 0;

    if (found == NULL)
        abort();
    if (client->config->url[0] == '\0' || client->config->token.size == 0)
        return kndl_fail(err, KNDL_UNAUTHENTICATED,
                         "this machine is not signed in; see kndl login --help");

    /* A setup token may be in it. */
    uint8_t *body = kndl_alloc(size + 1, 1);
    protobuf_c_message_pack(request, body);
    kndl_buf_printf(&url, "%s/%s/%s", client->config->url, service->name, method);
    const struct kndl_http_request post = {
        .method = "POST",
        .url = kndl_buf_text(&url),
        .headers = headers,
        .bearer = is_confirmed ? &client->confirmation : &client->config->token,
        .body = kndl_slice(body, size),
        .timeout_ms = timeout_ms == 0 ? TIMEOUT_MS : timeout_ms,
        .response_bytes_max = ANSWER_BYTES_MAX,
    };
    int result = post_again(client, &post, &response, err);
    explicit_bzero(body, size);
    free(body);
    if (result < 0 && err->code == KNDL_UNAUTHENTICATED && is_confirmed)
        return kndl_fail(err, KNDL_UNAUTHENTICATED,
                         "what you confirmed is over; run the command again");
    if (result < 0 && err->code == KNDL_UNAUTHENTICATED)
        return kndl_fail(err, KNDL_UNAUTHENTICATED,
                         "the Hub at %s does not take this machine's token (any more); sign in "
                         "again with kndl login",
                         client->config->url);
    if (result < 0)
        return -1;
    if (kndl_guard_unpack(found->output, kndl_buf_slice(&response.body), &allocator, ret_response,
                          NULL) < 0)
        return client_misread(err);
    return 0;
}

int client_post_json(struct client *client, const char *path, const char *body,
                     struct kndl_buf *out, struct kndl_error *err)
{
    static const char *const headers[] = {"Content-Type: application/json", NULL};
    KNDL_CLEANUP(kndl_http_response_done) struct kndl_http_response response = {0};
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf url = {0};

    kndl_buf_printf(&url, "%s%s", client->config->url, path);
    const struct kndl_http_request request = {
        .method = "POST",
        .url = kndl_buf_text(&url),
        .headers = headers,
        .body = kndl_slice_of(body),
        .timeout_ms = TIMEOUT_MS,
        .response_bytes_max = 64 * 1024,
    };
    if (post_again(client, &request, &response, err) < 0)
        return -1;
    kndl_buf_append(out, response.body.data, response.body.size);
    return 0;
}
