/* A Runner's commands, for a process that works on a loop and answers later. */

#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "kndl/guard.h"
#include "kndl/id.h"
#include "kndl/log.h"
#include "kndl/mem.h"
#include "subject.h"

/* What serves them; lives as long as the bus. */
struct commands {
    struct kndl_bus *bus;
    const ProtobufCServiceDescriptor *service;
    kndl_command_fn fn;
    void *data;
};

struct command_reply {
    char to[KNDL_SUBJECT_BYTES_MAX];
    char trace[KNDL_TOKEN_CHARS_MAX + 1];
};

static void refuse(struct kndl_bus *bus, const struct command_reply *reply, enum kndl_code code,
                   const char *why)
{
    struct kndl_error err;

    kndl_fail(&err, code, "%s", why);
    kndl_answer_send(bus, reply->to, reply->trace, NULL, &err);
}

static bool read_reply(natsMsg *message, struct command_reply *reply)
{
    const char *subject = natsMsg_GetSubject(message);
    const char *to = natsMsg_GetReply(message);
    const char *trace = kndl_message_header(message, KNDL_HEADER_TRACE);

    if (to == NULL || strlen(to) >= sizeof reply->to || !kndl_reply_is_allowed(subject, to)) {
        kndl_log(KNDL_WARNING, "dropped a command whose answer would go astray",
                 KNDL_STR("subject", subject));
        return false;
    }
    memcpy(reply->to, to, strlen(to) + 1);
    if (kndl_token_is_plain(trace))
        memcpy(reply->trace, trace, strlen(trace) + 1);
    else
        kndl_id_new(reply->trace);
    return true;
}

static void take(natsConnection *nats, natsSubscription *sub, natsMsg *message, void *data)
{
    struct commands *commands = data;
    struct command_reply reply;
    struct kndl_error err;
    ProtobufCMessage *request;

    (void)nats;
    (void)sub;
    if (!read_reply(message, &reply)) {
        kndl_message_done(message);
        return;
    }
    const char *name = strrchr(natsMsg_GetSubject(message), '.') + 1;
    const ProtobufCMethodDescriptor *method =
        protobuf_c_service_descriptor_get_method_by_name(commands->service, name);
    if (method == NULL) {
        refuse(commands->bus, &reply, KNDL_UNIMPLEMENTED, "this Runner knows no such command");
    } else if (kndl_guard_unpack(method->input, kndl_message_data(message), NULL, &request, &err) <
               0) {
        refuse(commands->bus, &reply, err.code, err.message);
    } else {
        struct kndl_command *command = kndl_new0(struct kndl_command);
        command->method = method;
        command->request = request;
        command->reply = kndl_memdup(&reply, sizeof reply);
        commands->fn(command, commands->data);
    }
    kndl_message_done(message);
}

int kndl_bus_serve_commands(struct kndl_bus *bus, const ProtobufCServiceDescriptor *service,
                            kndl_command_fn fn, void *data, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf subject = {0};
    const struct kndl_route route = {.method = "*", .runner_id = bus->runner_id};

    if (bus->runner_id == NULL || kndl_family_of(service) != KNDL_FAMILY_COMMAND ||
        bus->commands != NULL)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "only a Runner takes commands, and once");
    struct commands *commands = kndl_new0(struct commands);
    *commands = (struct commands){bus, service, fn, data};
    kndl_subject_write(&subject, service, &route);
    natsStatus s = natsConnection_Subscribe(&bus->commands, bus->nats, kndl_buf_text(&subject),
                                            take, commands);
    if (s != NATS_OK) {
        free(commands);
        return kndl_nats_fail(err, s, kndl_buf_text(&subject));
    }
    if (natsSubscription_SetOnCompleteCB(bus->commands, free, commands) != NATS_OK)
        abort();
    return 0;
}

void kndl_bus_answer(struct kndl_bus *bus, struct kndl_command *command,
                     const ProtobufCMessage *response)
{
    struct command_reply *reply = command->reply;

    if (response == NULL && command->err.code == KNDL_OK)
        kndl_fail(&command->err, KNDL_INTERNAL, "a command was answered with nothing");
    kndl_answer_send(bus, reply->to, reply->trace, response, &command->err);
    protobuf_c_message_free_unpacked(command->request, NULL);
    free(reply);
    free(command);
}
