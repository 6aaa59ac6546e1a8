/* The state file: a head, the packed start, the packed end. */

#include "state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "disk.h"
#include "kndl/buf.h"
#include "kndl/mem.h"

enum { STATE_VERSION = 1, STATE_BYTES_MAX = 1024 * 1024 };

struct head {
    uint32_t version;
    uint32_t phase;
    uint32_t start_bytes;
    uint32_t ended_bytes; /* 0: none */
};

static void append_message(struct kndl_buf *out, const ProtobufCMessage *message)
{
    size_t size = protobuf_c_message_get_packed_size(message);

    protobuf_c_message_pack(message, (uint8_t *)kndl_buf_reserve(out, size));
    out->size += size;
}

void state_write(struct disk *disk, const char *path, const struct state *state,
                 void (*done)(void *data, const struct kndl_error *err), void *data)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf file = {0};
    struct head head = {.version = STATE_VERSION, .phase = state->phase};

    head.start_bytes = (uint32_t)protobuf_c_message_get_packed_size(&state->start->base);
    if (state->ended != NULL)
        head.ended_bytes = (uint32_t)protobuf_c_message_get_packed_size(&state->ended->base);
    kndl_buf_append(&file, &head, sizeof head);
    append_message(&file, &state->start->base);
    if (state->ended != NULL)
        append_message(&file, &state->ended->base);
    disk_write_file(disk, path, file.data, file.size, done, data);
}

static int parse(const uint8_t *bytes, size_t size, struct state *state)
{
    struct head head;

    if (size < sizeof head)
        return -1;
    memcpy(&head, bytes, sizeof head);
    bytes += sizeof head;
    size -= sizeof head;
    if (head.version != STATE_VERSION || head.start_bytes > size ||
        head.ended_bytes != size - head.start_bytes || head.phase < STATE_STARTING ||
        head.phase > STATE_ENDED)
        return -1;
    state->phase = (enum state_phase)head.phase;
    state->start = kndl__runner__v1__start_run_request__unpack(NULL, head.start_bytes, bytes);
    if (head.ended_bytes > 0)
        state->ended = kndl__sessions__v1__report_ended_request__unpack(NULL, head.ended_bytes,
                                                                        bytes + head.start_bytes);
    if (state->start == NULL || (state->phase == STATE_ENDED && state->ended == NULL)) {
        state_done(state);
        return -1;
    }
    return 0;
}

int state_read(const char *path, struct state *ret_state, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    KNDL_CLEANUP(kndl_free) uint8_t *bytes = kndl_alloc(1, STATE_BYTES_MAX);
    struct state state = {0};
    ssize_t size;

    if (fd < 0)
        return kndl_fail(err, errno == ENOENT ? KNDL_NOT_FOUND : KNDL_INTERNAL,
                         "cannot open %s: %s", path, strerror(errno));
    size = read(fd, bytes, STATE_BYTES_MAX);
    if (size < 0 || parse(bytes, (size_t)size, &state) < 0)
        return kndl_fail(err, KNDL_DATA_LOSS, "%s is no state of a Session", path);
    *ret_state = state;
    return 0;
}

void state_done(struct state *state)
{
    if (state->start != NULL)
        kndl__runner__v1__start_run_request__free_unpacked(state->start, NULL);
    if (state->ended != NULL)
        kndl__sessions__v1__report_ended_request__free_unpacked(state->ended, NULL);
    *state = (struct state){0};
}
