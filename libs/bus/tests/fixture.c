/* A redactor that answers as its test says. */

#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kndl/mem.h"

struct server redactor;

/* What tests and workers share; all under the lock. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned busy;
    bool is_released;
    unsigned task_runs;
    unsigned task_again; /* so often it asks to be run again at once */
    unsigned open_failures;
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static int run_task(struct kndl_call *call)
{
    pthread_mutex_lock(&shared.lock);
    shared.task_runs++;
    if (shared.task_again > 0) {
        shared.task_again--;
        call->again_ms = 1;
    }
    pthread_cond_broadcast(&shared.changed);
    pthread_mutex_unlock(&shared.lock);
    return 0;
}

static const struct kndl_task task = {.name = "count", .period_ms = 600000, .run = run_task};

unsigned task_runs(void)
{
    pthread_mutex_lock(&shared.lock);
    unsigned runs = shared.task_runs;
    pthread_mutex_unlock(&shared.lock);
    return runs;
}

void task_asks_again(unsigned times)
{
    pthread_mutex_lock(&shared.lock);
    shared.task_again = times;
    pthread_mutex_unlock(&shared.lock);
}

static void wait_released(void)
{
    pthread_mutex_lock(&shared.lock);
    shared.busy++;
    pthread_cond_broadcast(&shared.changed);
    while (!shared.is_released)
        pthread_cond_wait(&shared.changed, &shared.lock);
    shared.busy--;
    pthread_mutex_unlock(&shared.lock);
}

void wait_for_busy(unsigned workers)
{
    pthread_mutex_lock(&shared.lock);
    while (shared.busy < workers)
        pthread_cond_wait(&shared.changed, &shared.lock);
    pthread_mutex_unlock(&shared.lock);
}

void release_workers(void)
{
    pthread_mutex_lock(&shared.lock);
    shared.is_released = true;
    pthread_cond_broadcast(&shared.changed);
    pthread_mutex_unlock(&shared.lock);
}

static void *keep_later(void *promise)
{
    V1(MaskResponse) response;
    char text[] = "kept";
    char *texts[] = {text};

    kndl__redactor__v1__mask_response__init(&response);
    response.texts = texts;
    response.n_texts = 1;
    kndl_promise_keep(promise, &response.base, NULL);
    return NULL;
}

static int answer_deferred(struct kndl_call *call)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, keep_later, kndl_call_defer(call)) != 0)
        abort();
    pthread_detach(thread);
    return 0;
}

static int mask_texts(struct kndl_call *call, const V1(MaskRequest) *req, V1(MaskResponse) *resp)
{
    const char *text = req->n_texts > 0 ? req->texts[0] : "";
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf answer = {0};

    if (strcmp(text, TEXT_FAIL) == 0)
        return kndl_fail(&call->err, KNDL_NOT_FOUND, "not\r\nNats-Evil: 1");
    if (strcmp(text, TEXT_BREAK) == 0)
        return kndl_fail(&call->err, KNDL_INTERNAL, "the table people is locked");
    if (strcmp(text, TEXT_DEFER) == 0)
        return answer_deferred(call);
    if (strcmp(text, TEXT_WAIT) == 0)
        wait_released();
    if (strcmp(text, TEXT_WAKE) == 0)
        call->wake = &task;
    if (strcmp(text, TEXT_ACTOR) == 0)
        kndl_buf_printf(&answer, "%d %s", (int)call->actor.kind, call->actor.id);
    else
        kndl_buf_append_text(&answer, text);
    resp->n_texts = 1;
    resp->texts = kndl_arena_alloc(call->arena, sizeof *resp->texts);
    resp->texts[0] = kndl_arena_copy(call->arena, kndl_buf_text(&answer));
    return 0;
}

static int open_stream(struct kndl_call *call, const V1(OpenRequest) *req, V1(OpenResponse) *resp)
{
    if (call->actor.kind != KNDL_RUNNER || strcmp(call->actor.id, call->runner_id) != 0)
        return kndl_fail(&call->err, KNDL_INTERNAL, "a Runner's call has another actor");
    if (strcmp(req->session_id, "who") == 0)
        resp->instance_id = kndl_arena_copy(call->arena, call->runner_id);
    else
        resp->instance_id = (char *)kndl_service_instance();
    return 0;
}

/* Answers with the worker that it ran on, in a number. */
static int put_batch(struct kndl_call *call, const V1(PutRequest) *req, V1(PutResponse) *resp)
{
    if (call->session_id == NULL || call->runner_id == NULL)
        return kndl_fail(&call->err, KNDL_INTERNAL, "a raw batch without its Session");
    resp->expected_n = req->first_n + (int64_t)(intptr_t)call->state;
    return 0;
}

KNDL_RPC(V1, RedactorInternalService, Mask, mask_texts)
KNDL_RPC(V1, RedactorRunnerService, Open, open_stream)
KNDL_RPC(V1, RedactorRawService, Put, put_batch)

static V1(RedactorInternalService_Service) internal = {
    .base = {.descriptor = &kndl__redactor__v1__redactor_internal_service__descriptor,
             .invoke = protobuf_c_service_invoke_internal},
    .mask = rpc_mask_texts,
};
static V1(RedactorRunnerService_Service) runner = {
    .base = {.descriptor = &kndl__redactor__v1__redactor_runner_service__descriptor,
             .invoke = protobuf_c_service_invoke_internal},
    .open = rpc_open_stream,
};
static V1(RedactorRawService_Service) raw = {
    .base = {.descriptor = &kndl__redactor__v1__redactor_raw_service__descriptor,
             .invoke = protobuf_c_service_invoke_internal},
    .put = rpc_put_batch,
};

static ProtobufCService *const internal_service = &internal.base;
static ProtobufCService *const runner_service = &runner.base;
static ProtobufCService *const raw_service = &raw.base;

/* Each worker's state is another number. */
static int open_worker(struct kndl_bus *bus, void **ret_state, struct kndl_error *err)
{
    static atomic_int count;
    bool fails;

    (void)bus;
    pthread_mutex_lock(&shared.lock);
    fails = shared.open_failures > 0;
    shared.open_failures -= fails;
    pthread_mutex_unlock(&shared.lock);
    if (fails)
        return kndl_fail(err, KNDL_UNAVAILABLE, "the database is away");
    *ret_state = (void *)(intptr_t)(1000 * (atomic_fetch_add(&count, 1) + 1));
    return 0;
}

void open_fails(unsigned times)
{
    pthread_mutex_lock(&shared.lock);
    shared.open_failures = times;
    pthread_mutex_unlock(&shared.lock);
}

static ProtobufCService *const *const answers[] = {&internal_service, &runner_service, NULL};
static const struct kndl_task *const tasks[] = {&task, NULL};

static const struct kndl_service service = {
    .name = "redactor",
    .answers = answers,
    .tasks = tasks,
    .arena = KNDL_ARENA_SECRET,
    .pin_token = 5,
    .raw = &raw_service,
    .open = open_worker,
};

static void write_creds_path(char path[512], const char *user)
{
    bool is_runner = user[0] == 'r' && user[1] != '\0' && user[2] == '\0';

    snprintf(path, 512, "%s/creds/%s%s.creds", kndl_test_nats()->dir, is_runner ? "runner-" : "",
             user);
}

struct kndl_bus *open_bus(const char *user)
{
    bool is_runner = user[0] == 'r' && user[1] != '\0' && user[2] == '\0';
    char creds[512];
    struct kndl_error err = {0};
    struct kndl_bus *bus = NULL;

    write_creds_path(creds, user);
    const struct kndl_bus_options options = {
        .url = kndl_test_nats()->url,
        .creds_file = creds,
        .user = is_runner ? "runner" : user,
        .runner_id = is_runner ? user : NULL,
        .send_asap = true,
    };
    if (kndl_bus_open(&options, &bus, &err) < 0)
        fail_msg("%s", err.message);
    return bus;
}

natsConnection *open_plain(const char *user)
{
    natsOptions *options = NULL;
    natsConnection *nats = NULL;
    char creds[512];

    write_creds_path(creds, user);
    assert_int_equal(natsOptions_Create(&options), NATS_OK);
    assert_int_equal(natsOptions_SetURL(options, kndl_test_nats()->url), NATS_OK);
    assert_int_equal(natsOptions_SetUserCredentialsFromFiles(options, creds, NULL), NATS_OK);
    for (int tries = 0; tries < 4 && nats == NULL; tries++)
        (void)natsConnection_Connect(&nats, options); /* see SIGN_IN_TRIES */
    assert_non_null(nats);
    natsOptions_Destroy(options);
    return nats;
}

static struct kndl_bus *redactor_bus;

void start_redactor(void)
{
    struct kndl_error err = {0};

    pthread_mutex_lock(&shared.lock);
    shared.is_released = false;
    shared.task_runs = 0;
    pthread_mutex_unlock(&shared.lock);
    redactor_bus = open_bus("redactor");
    if (server_open(&redactor, &service, redactor_bus, &err) < 0)
        fail_msg("%s", err.message);
    server_start(&redactor);
    assert_int_equal(natsConnection_Flush(redactor_bus->nats), NATS_OK);
}

void stop_redactor(void)
{
    server_close(&redactor);
    kndl_bus_close(redactor_bus);
}

static void take(const struct kndl_reply *reply, void *data)
{
    struct asked *asked = data;
    V1(MaskResponse) *response = NULL;

    if (reply->err.code == KNDL_OK)
        response =
            kndl__redactor__v1__mask_response__unpack(NULL, reply->data.size, reply->data.data);
    pthread_mutex_lock(&shared.lock);
    asked->err = reply->err;
    if (response != NULL && response->n_texts > 0)
        snprintf(asked->text, sizeof asked->text, "%s", response->texts[0]);
    asked->is_done = true;
    pthread_cond_broadcast(&shared.changed);
    pthread_mutex_unlock(&shared.lock);
    if (response != NULL)
        kndl__redactor__v1__mask_response__free_unpacked(response, NULL);
}

void ask_mask(struct kndl_bus *bus, const char *text, uint32_t timeout_ms, struct asked *asked)
{
    V1(MaskRequest) message = KNDL__REDACTOR__V1__MASK_REQUEST__INIT;
    char *texts[] = {(char *)text};
    uint8_t bytes[512];
    struct kndl_request request = {
        .service = &kndl__redactor__v1__redactor_internal_service__descriptor,
        .method = "Mask",
        .timeout_ms = timeout_ms,
    };

    *asked = (struct asked){0};
    message.texts = texts;
    message.n_texts = 1;
    request.actor.kind = KNDL_PERSON;
    request.actor.id = "ada";
    request.data = kndl_slice(bytes, protobuf_c_message_pack(&message.base, bytes));
    if (kndl_bus_send(bus, &request, take, asked, &asked->err) < 0)
        asked->is_done = true;
}

void wait_asked(struct asked *asked)
{
    pthread_mutex_lock(&shared.lock);
    while (!asked->is_done)
        pthread_cond_wait(&shared.changed, &shared.lock);
    pthread_mutex_unlock(&shared.lock);
}

enum kndl_code mask(struct kndl_bus *bus, const char *text, struct asked *asked)
{
    ask_mask(bus, text, 10000, asked);
    wait_asked(asked);
    return asked->err.code;
}
