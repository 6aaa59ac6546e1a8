/* Questions to the Hub: packed on the loop, answered on a thread of the bus, posted back. */

#include "hub.h"

#include <stdlib.h>
#include <string.h>

#include "kndl/bus.h"
#include "kndl/guard.h"
#include "kndl/loop.h"
#include "kndl/mem.h"
#include "kndl/slice.h"

enum { TIMEOUT_MS = 5000, PAUSE_MS_LEAST = 100, PAUSE_MS_MOST = 5000 };

struct hub {
    struct kndl_loop *loop;
    struct kndl_bus *bus;
    char *runner_id;
};

/* Between hub_ask's send and the posted answer, the bus's thread writes err and answer alone. */
struct hub_ask {
    struct hub *hub;
    const ProtobufCServiceDescriptor *service;
    const char *method;
    const ProtobufCMessageDescriptor *response_type;
    char *instance_id;
    char *session_id;
    uint32_t timeout_ms;
    bool repeat;
    uint8_t *request;
    size_t request_size;
    hub_fn fn; /* NULL: dropped */
    void *data;
    bool is_out; /* the bus has it */
    uint32_t pause_ms;
    struct kndl_timer *timer;
    struct kndl_error err;
    uint8_t *answer;
    size_t answer_size;
};

struct hub *hub_new(struct kndl_loop *loop, struct kndl_bus *bus, const char *runner_id)
{
    struct hub *hub = kndl_new0(struct hub);

    hub->loop = loop;
    hub->bus = bus;
    hub->runner_id = kndl_strdup(runner_id);
    return hub;
}

void hub_free(struct hub *hub)
{
    if (hub == NULL)
        return;
    free(hub->runner_id);
    free(hub);
}

/* protobuf-c's memory with its size before it, so that it can be wiped. */
static void *wiped_alloc(void *unused, size_t size)
{
    size_t *memory = kndl_alloc(1, sizeof(max_align_t) + size);

    (void)unused;
    *memory = size;
    return (char *)memory + sizeof(max_align_t);
}

static void wiped_free(void *unused, void *memory)
{
    size_t *start = memory == NULL ? NULL : (void *)((char *)memory - sizeof(max_align_t));

    (void)unused;
    if (start == NULL)
        return;
    explicit_bzero(memory, *start);
    free(start);
}

static ProtobufCAllocator wiped = {.alloc = wiped_alloc, .free = wiped_free};

static void free_bytes(uint8_t **bytes, size_t size)
{
    if (*bytes != NULL)
        explicit_bzero(*bytes, size);
    free(kndl_steal(bytes));
}

static void free_ask(struct hub_ask *ask)
{
    kndl_timer_free(ask->timer);
    free_bytes(&ask->request, ask->request_size);
    free_bytes(&ask->answer, ask->answer_size);
    free(ask->instance_id);
    free(ask->session_id);
    free(ask);
}

static bool is_passing(enum kndl_code code)
{
    return code == KNDL_UNAVAILABLE || code == KNDL_DEADLINE_EXCEEDED ||
           code == KNDL_RESOURCE_EXHAUSTED || code == KNDL_INTERNAL || code == KNDL_UNKNOWN ||
           code == KNDL_CANCELLED;
}

static void send_again(void *data);

static void deliver(void *data)
{
    struct hub_ask *ask = data;
    ProtobufCMessage *response = NULL;

    ask->is_out = false;
    if (ask->fn != NULL && ask->err.code != KNDL_OK && ask->repeat && is_passing(ask->err.code)) {
        ask->pause_ms = ask->pause_ms == 0 ? PAUSE_MS_LEAST : 2 * ask->pause_ms;
        if (ask->pause_ms > PAUSE_MS_MOST)
            ask->pause_ms = PAUSE_MS_MOST;
        if (ask->timer == NULL)
            ask->timer = kndl_timer_new(ask->hub->loop, send_again, ask);
        kndl_timer_start(ask->timer, ask->pause_ms, 0);
        return;
    }
    if (ask->fn != NULL) {
        if (ask->err.code == KNDL_OK &&
            kndl_guard_unpack(ask->response_type, kndl_slice(ask->answer, ask->answer_size), &wiped,
                              &response, &ask->err) < 0)
            response = NULL;
        ask->fn(ask->data, &ask->err, response);
        if (response != NULL)
            protobuf_c_message_free_unpacked(response, &wiped);
    }
    free_ask(ask);
}

static void on_reply(const struct kndl_reply *reply, void *data)
{
    struct hub_ask *ask = data;

    ask->err = reply->err;
    if (reply->err.code == KNDL_OK) {
        ask->answer = (uint8_t *)kndl_memdup(reply->data.data, reply->data.size);
        ask->answer_size = reply->data.size;
    }
    kndl_loop_post(ask->hub->loop, deliver, ask);
}

static struct kndl_request request_of(const struct hub_ask *ask)
{
    return (struct kndl_request){
        .service = ask->service,
        .method = ask->method,
        .instance_id = ask->instance_id,
        .session_id = ask->session_id,
        .actor = {.kind = KNDL_RUNNER, .id = ask->hub->runner_id},
        .timeout_ms = ask->timeout_ms,
        .data = kndl_slice(ask->request, ask->request_size),
    };
}

static void send_again(void *data)
{
    struct hub_ask *ask = data;
    struct kndl_request request = request_of(ask);

    free_bytes(&ask->answer, ask->answer_size);
    ask->err = (struct kndl_error){0};
    ask->is_out = true;
    if (kndl_bus_send(ask->hub->bus, &request, on_reply, ask, &ask->err) < 0)
        kndl_loop_post(ask->hub->loop, deliver, ask);
}

static struct hub_ask *make_ask(struct hub *hub, const struct hub_question *question)
{
    struct hub_ask *ask = kndl_new0(struct hub_ask);
    const ProtobufCMethodDescriptor *method =
        protobuf_c_service_descriptor_get_method_by_name(question->service, question->method);

    if (method == NULL || method->input != question->request->descriptor)
        abort();
    ask->hub = hub;
    ask->service = question->service;
    ask->method = question->method;
    ask->response_type = method->output;
    ask->instance_id = kndl_strdup(question->instance_id);
    ask->session_id = kndl_strdup(question->session_id);
    ask->timeout_ms = question->timeout_ms == 0 ? TIMEOUT_MS : question->timeout_ms;
    ask->repeat = question->repeat;
    ask->request_size = protobuf_c_message_get_packed_size(question->request);
    ask->request = kndl_alloc(1, ask->request_size + 1);
    protobuf_c_message_pack(question->request, ask->request);
    return ask;
}

struct hub_ask *hub_ask(struct hub *hub, const struct hub_question *question, hub_fn fn, void *data)
{
    struct hub_ask *ask = make_ask(hub, question);

    ask->fn = fn;
    ask->data = data;
    send_again(ask);
    return ask;
}

void hub_drop(struct hub_ask *ask)
{
    if (ask == NULL)
        return;
    ask->fn = NULL;
    if (!ask->is_out)
        free_ask(ask);
}

void hub_post(struct hub *hub, const struct hub_question *question)
{
    struct hub_ask *ask = make_ask(hub, question);
    struct kndl_request request = request_of(ask);

    (void)kndl_bus_post(hub->bus, &request, NULL);
    free_ask(ask);
}
