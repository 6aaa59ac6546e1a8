/* Answers: a packed response, or an error in the headers that stock NATS tools know. */

#include "answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kndl/guard.h"
#include "kndl/log.h"
#include "kndl/mem.h"

/* One line without control characters: a header's value. */
static void write_line(char *line, size_t room, const char *text)
{
    size_t size = 0;

    for (; text[size] != '\0' && size + 1 < room; size++)
        line[size] = (unsigned char)text[size] < 0x20 || text[size] == 0x7f ? ' ' : text[size];
    line[size] = '\0';
}

static void send_message(struct kndl_bus *bus, natsMsg *message, const char *trace,
                         const struct kndl_error *err)
{
    char line[sizeof err->message];
    char code[16];
    natsStatus s = natsMsgHeader_Set(message, KNDL_HEADER_TRACE, trace);

    if (s == NATS_OK && err != NULL) {
        snprintf(code, sizeof code, "%d", (int)err->code);
        write_line(line, sizeof line, err->message);
        s = natsMsgHeader_Set(message, KNDL_HEADER_CODE, code);
        if (s == NATS_OK)
            s = natsMsgHeader_Set(message, KNDL_HEADER_ERROR, line);
    }
    if (s == NATS_OK)
        s = natsConnection_PublishMsg(bus->nats, message);
    if (s != NATS_OK)
        kndl_log(KNDL_WARNING, "an answer could not be sent",
                 KNDL_STR("status", natsStatus_GetText(s)));
    kndl_message_done(message);
}

static void send_error(struct kndl_bus *bus, const char *to, const char *trace,
                       const struct kndl_error *err)
{
    struct kndl_error outside = *err;
    natsMsg *message = NULL;

    if (err->code == KNDL_INTERNAL || err->code == KNDL_UNKNOWN || err->code == KNDL_DATA_LOSS ||
        err->code == KNDL_OK) {
        kndl_log(KNDL_ERROR, "internal error", KNDL_STR("why", err->message));
        kndl_fail(&outside, KNDL_INTERNAL, "internal error");
    }
    if (natsMsg_Create(&message, to, NULL, NULL, 0) != NATS_OK)
        abort();
    send_message(bus, message, trace, &outside);
}

void kndl_answer_send(struct kndl_bus *bus, const char *to, const char *trace,
                      const ProtobufCMessage *response, const struct kndl_error *err)
{
    natsMsg *message = NULL;
    struct kndl_error too_large;

    if (response == NULL) {
        send_error(bus, to, trace, err);
        return;
    }
    size_t size = protobuf_c_message_get_packed_size(response);
    if (size > KNDL_MESSAGE_BYTES_MAX) {
        kndl_fail(&too_large, KNDL_RESOURCE_EXHAUSTED, "the answer has %zu bytes; the most is %d",
                  size, KNDL_MESSAGE_BYTES_MAX);
        send_error(bus, to, trace, &too_large);
        return;
    }
    uint8_t *bytes = kndl_alloc(size + 1, 1);
    protobuf_c_message_pack(response, bytes);
    if (natsMsg_Create(&message, to, NULL, (const char *)bytes, (int)size) != NATS_OK)
        abort();
    explicit_bzero(bytes, size);
    free(bytes);
    send_message(bus, message, trace, NULL);
}
