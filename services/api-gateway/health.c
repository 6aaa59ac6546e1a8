/*
 * Asks each service something small and keeps what came of it for a second. Any answer will do:
 * a service that refuses is there. sessions also says what only it can see: whether redactor
 * answers it and whether a Runner is there.
 */

#include "health.h"

#include <stdlib.h>

#include "answer.h"
#include "ask.h"
#include "kndl/buf.h"
#include "kndl/clock.h"
#include "kndl/guard.h"
#include "kndl/json.h"
#include "kndl/mem.h"
#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "kndl/secrets/v1/secrets_service.pb-c.h"
#include "kndl/sessions/v1/sessions_internal_service.pb-c.h"
#include "request_data.h"

enum {
    KEPT_MS = 1000,
    PROBE_MS = 2000,
    WAITERS_MAX = 64,
};

static const struct {
    const char *name;
    const ProtobufCServiceDescriptor *service;
    const char *method;
} probes[] = {
    {"sessions", &kndl__sessions__v1__sessions_internal_service__descriptor, "GetHealth"},
    {"secrets", &kndl__secrets__v1__secrets_service__descriptor, "GetSetupToken"},
    {"repo-access", &kndl__repo_access__v1__repo_access_internal_service__descriptor,
     "CheckAccess"},
};

enum { SESSIONS = 0, PROBES = sizeof probes / sizeof *probes };

struct waiter {
    struct request_data base;
    struct kndl_web_request *request;
    char trace[KNDL_ID_SIZE];
    struct waiter *next; /* links health->waiters */
};

struct health {
    struct gateway *gateway;
    struct probe {
        struct health *health;
        struct ask *ask;
        bool is_there;
    } probes[PROBES];
    bool redactor_is_there; /* as sessions said; so is the next */
    bool has_runner;
    unsigned asking;
    int64_t known_until_ms;
    struct waiter *waiters;
    unsigned waiting;
};

static void add_reason(struct kndl_buf *out, const char *what, const char *says)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf reason = {0};

    if (out->size > 0)
        kndl_buf_append_char(out, ',');
    kndl_buf_printf(&reason, "%s %s", what, says);
    kndl_json_append_string(out, kndl_buf_text(&reason));
}

/* Adds why the Hub is not ready. */
static void write_reasons(const struct health *health, struct kndl_buf *out)
{
    if (health->gateway->is_draining)
        add_reason(out, "api-gateway", "is stopping");
    if (!kndl_bus_is_connected(health->gateway->bus)) {
        add_reason(out, "NATS", "is away");
        return;
    }
    for (int i = 0; i < PROBES; i++)
        if (!health->probes[i].is_there)
            add_reason(out, probes[i].name, "does not answer");
    if (health->probes[SESSIONS].is_there && !health->redactor_is_there)
        add_reason(out, "redactor", "does not answer");
}

static void write_health(const struct health *health, struct kndl_buf *out)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf reasons = {0};

    write_reasons(health, &reasons);
    bool is_ready = reasons.size == 0;
    /* A Hub without Runners is ready: people read what is there, and new Sessions are refused. */
    if (is_ready && !health->has_runner)
        add_reason(&reasons, "no Runner", "is there: Sessions neither start nor wake");
    kndl_buf_printf(out, "{\"alive\":true,\"ready\":%s,\"reasons\":[%s]}",
                    is_ready ? "true" : "false", kndl_buf_text(&reasons));
}

static void answer_one(struct health *health, struct kndl_web_request *request, const char *trace)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf body = {0};

    write_health(health, &body);
    answer_with(health->gateway, request,
                &(struct answer){
                    .status = 200,
                    .type = "application/json",
                    .body = kndl_buf_slice(&body),
                    .trace = trace,
                });
}

static void answer_all(struct health *health)
{
    struct waiter *waiter = health->waiters;

    health->waiters = NULL;
    health->waiting = 0;
    while (waiter != NULL) {
        struct waiter *next = waiter->next;

        answer_one(health, waiter->request, waiter->trace);
        free(waiter);
        waiter = next;
    }
}

static void read_sessions(struct health *health, const struct kndl_reply *reply)
{
    Kndl__Sessions__V1__GetHealthResponse *seen;
    ProtobufCMessage *message;

    health->redactor_is_there = health->has_runner = false;
    if (reply->err.code != KNDL_OK ||
        kndl_guard_unpack(&kndl__sessions__v1__get_health_response__descriptor, reply->data, NULL,
                          &message, NULL) < 0)
        return;
    seen = (Kndl__Sessions__V1__GetHealthResponse *)message;
    health->redactor_is_there = seen->redactor_answers;
    health->has_runner = seen->runners > 0;
    protobuf_c_message_free_unpacked(message, NULL);
}

static void on_probed(const struct kndl_reply *reply, void *data)
{
    struct probe *probe = data;
    struct health *health = probe->health;

    probe->ask = NULL;
    probe->is_there =
        reply->err.code != KNDL_UNAVAILABLE && reply->err.code != KNDL_DEADLINE_EXCEEDED;
    if (probe == &health->probes[SESSIONS])
        read_sessions(health, reply);
    if (--health->asking > 0)
        return;
    health->known_until_ms = kndl_clock_ms() + KEPT_MS;
    answer_all(health);
}

static void ask_all(struct health *health)
{
    health->asking = PROBES;
    for (int i = 0; i < PROBES; i++)
        health->probes[i].ask = ask_send(health->gateway,
                                         &(struct kndl_request){
                                             .service = probes[i].service,
                                             .method = probes[i].method,
                                             .actor = {KNDL_SERVICE, "api_gateway"},
                                             .timeout_ms = PROBE_MS,
                                         },
                                         on_probed, &health->probes[i]);
}

void health_begin(struct gateway *gateway, struct kndl_web_request *request, const char *trace)
{
    struct health *health = gateway->health;

    if (kndl_clock_ms() < health->known_until_ms || gateway->is_draining ||
        health->waiting >= WAITERS_MAX) {
        answer_one(health, request, trace);
        return;
    }
    struct waiter *waiter = kndl_new0(struct waiter);
    waiter->base.kind = REQUEST_HEALTH;
    waiter->request = request;
    memcpy(waiter->trace, trace, sizeof waiter->trace);
    waiter->next = health->waiters;
    health->waiters = waiter;
    health->waiting++;
    kndl_web_set_data(request, waiter);
    if (health->asking == 0)
        ask_all(health);
}

void health_abort(struct gateway *gateway, struct kndl_web_request *request)
{
    struct waiter **at = &gateway->health->waiters;

    while (*at != NULL && (*at)->request != request)
        at = &(*at)->next;
    if (*at == NULL)
        return;
    struct waiter *gone = *at;
    *at = gone->next;
    gateway->health->waiting--;
    free(gone);
}

void health_open(struct gateway *gateway)
{
    struct health *health = kndl_new0(struct health);

    health->gateway = gateway;
    for (int i = 0; i < PROBES; i++)
        health->probes[i].health = health;
    gateway->health = health;
}

void health_close(struct gateway *gateway)
{
    for (int i = 0; i < PROBES; i++)
        ask_cancel(gateway->health->probes[i].ask);
    free(gateway->health);
}
