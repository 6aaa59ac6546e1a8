/* The NATS service protocol, $SRV.PING, INFO and STATS, so that stock tools see us. */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kndl/log.h"
#include "kndl/mem.h"
#include "server.h"

/* All values below are of our own making: none needs escaping. */
static void append_identity(struct server *server, struct kndl_buf *out, const char *type)
{
    kndl_buf_printf(out,
                    "{\"type\":\"io.nats.micro.v1.%s_response\",\"name\":\"%s\",\"id\":\"%s\","
                    "\"version\":\"" KNDL_VERSION "\",\"metadata\":{}",
                    type, server->service->name, kndl_service_instance());
}

static void append_endpoint(const struct family *family, const ProtobufCMethodDescriptor *method,
                            struct kndl_buf *out)
{
    const char *star = strrchr(family->subject, '*');
    bool is_named = family->kind != KNDL_FAMILY_RAW && star != NULL;

    kndl_buf_printf(out, "{\"name\":\"%s-%s\",\"subject\":\"",
                    family->service->descriptor->short_name, method->name);
    if (is_named)
        kndl_buf_append(out, family->subject, (size_t)(star - family->subject));
    kndl_buf_printf(out, "%s\",\"queue_group\":\"%s\"", is_named ? method->name : family->subject,
                    family->server->user);
}

static void append_stats(const struct method_stats *stats, struct kndl_buf *out)
{
    unsigned long long requests = atomic_load(&stats->requests);
    unsigned long long busy_ns = atomic_load(&stats->busy_us) * 1000;
    int code = atomic_load(&stats->last_code);

    kndl_buf_printf(out,
                    ",\"num_requests\":%llu,\"num_errors\":%llu,\"processing_time\":%llu,"
                    "\"average_processing_time\":%llu,\"last_error\":\"",
                    requests, (unsigned long long)atomic_load(&stats->errors), busy_ns,
                    requests == 0 ? 0 : busy_ns / requests);
    if (code != 0)
        kndl_buf_printf(out, "%d", code);
    kndl_buf_append_text(out, "\"}");
}

static void append_endpoints(struct server *server, struct kndl_buf *out, bool with_stats)
{
    const char *comma = "";

    kndl_buf_append_text(out, ",\"endpoints\":[");
    for (size_t i = 0; i < server->family_count; i++) {
        const struct family *family = &server->families[i];
        const ProtobufCServiceDescriptor *service = family->service->descriptor;
        for (unsigned m = 0; m < service->n_methods; m++) {
            kndl_buf_append_text(out, comma);
            append_endpoint(family, &service->methods[m], out);
            if (with_stats)
                append_stats(&family->stats[m], out);
            else
                kndl_buf_printf(out, ",\"metadata\":{\"request\":\"%s\",\"response\":\"%s\"}}",
                                service->methods[m].input->name, service->methods[m].output->name);
            comma = ",";
        }
    }
    kndl_buf_append_text(out, "]");
}

static void append_started(struct server *server, struct kndl_buf *out)
{
    time_t seconds = (time_t)(server->started_wall_ms / 1000);
    char text[32];
    struct tm tm;

    gmtime_r(&seconds, &tm);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
    kndl_buf_printf(out, ",\"started\":\"%s.%03dZ\"", text, (int)(server->started_wall_ms % 1000));
}

static bool write_answer(struct server *server, const char *verb, struct kndl_buf *out)
{
    if (strcmp(verb, "PING") == 0) {
        append_identity(server, out, "ping");
    } else if (strcmp(verb, "INFO") == 0) {
        append_identity(server, out, "info");
        kndl_buf_printf(out, ",\"description\":\"kndl %s\"", server->service->name);
        append_endpoints(server, out, false);
    } else if (strcmp(verb, "STATS") == 0) {
        append_identity(server, out, "stats");
        append_started(server, out);
        append_endpoints(server, out, true);
    } else {
        return false;
    }
    kndl_buf_append_char(out, '}');
    return true;
}

/* $SRV.<verb>[.<name>[.<id>]]: is it for us? */
static bool is_for_us(struct server *server, const char *subject)
{
    char token[KNDL_TOKEN_CHARS_MAX + 1];

    if (kndl_subject_token(subject, 2, token) && strcmp(token, server->service->name) != 0)
        return false;
    return !kndl_subject_token(subject, 3, token) || strcmp(token, kndl_service_instance()) == 0;
}

static void take(natsConnection *nats, natsSubscription *sub, natsMsg *message, void *data)
{
    struct server *server = data;
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf answer = {0};
    const char *subject = natsMsg_GetSubject(message);
    const char *to = natsMsg_GetReply(message);
    char verb[KNDL_TOKEN_CHARS_MAX + 1];

    (void)nats;
    (void)sub;
    if (to != NULL && kndl_reply_is_allowed(subject, to) && is_for_us(server, subject) &&
        kndl_subject_token(subject, 1, verb) && write_answer(server, verb, &answer) &&
        natsConnection_Publish(server->bus->nats, to, answer.data, (int)answer.size) != NATS_OK)
        kndl_log(KNDL_WARNING, "an answer to inspect could not be sent");
    natsMsg_Destroy(message);
}

int inspect_open(struct server *server, struct kndl_error *err)
{
    natsStatus s =
        natsConnection_Subscribe(&server->inspect, server->bus->nats, "$SRV.>", take, server);

    return s == NATS_OK ? 0 : kndl_nats_fail(err, s, "$SRV.>");
}
