/* The state file: a head, the packed start, the packed end. */

#include "run_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "disk.h"
#include "kndl/buf.h"
#include "kndl/mem.h"

enum { FILE_VERSION = 1, FILE_BYTES_MAX = 1024 * 1024 };

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

void run_file_write(struct disk *disk, const char *path, const struct run_file *file,
                    void (*done)(void *data, const struct kndl_error *err), void *data)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf bytes = {0};
    struct head head = {.version = FILE_VERSION, .phase = file->phase};

    head.start_bytes = (uint32_t)protobuf_c_message_get_packed_size(&file->start->base);
    if (file->ended != NULL)
        head.ended_bytes = (uint32_t)protobuf_c_message_get_packed_size(&file->ended->base);
    kndl_buf_append(&bytes, &head, sizeof head);
    append_message(&bytes, &file->start->base);
    if (file->ended != NULL)
        append_message(&bytes, &file->ended->base);
    disk_write_file(disk, path, bytes.data, bytes.size, done, data);
}

static int parse(const uint8_t *bytes, size_t size, struct run_file *file)
{
    struct head head;

    if (size < sizeof head)
        return -1;
    memcpy(&head, bytes, sizeof head);
    bytes += sizeof head;
    size -= sizeof head;
    if (head.version != FILE_VERSION || head.start_bytes > size ||
        head.ended_bytes != size - head.start_bytes || head.phase < RUN_STARTING ||
        head.phase > RUN_ENDED)
        return -1;
    file->phase = (enum run_phase)head.phase;
    file->start = kndl__runner__v1__start_run_request__unpack(NULL, head.start_bytes, bytes);
    if (head.ended_bytes > 0)
        file->ended = kndl__sessions__v1__report_ended_request__unpack(NULL, head.ended_bytes,
                                                                       bytes + head.start_bytes);
    if (file->start == NULL || (file->phase == RUN_ENDED && file->ended == NULL)) {
        run_file_done(file);
        return -1;
    }
    return 0;
}

int run_file_read(const char *path, struct run_file *ret_file, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    KNDL_CLEANUP(kndl_free) uint8_t *bytes = kndl_alloc(1, FILE_BYTES_MAX);
    struct run_file file = {0};
    ssize_t size;

    if (fd < 0)
        return kndl_fail(err, errno == ENOENT ? KNDL_NOT_FOUND : KNDL_INTERNAL,
                         "cannot open %s: %s", path, strerror(errno));
    size = read(fd, bytes, FILE_BYTES_MAX);
    if (size < 0 || parse(bytes, (size_t)size, &file) < 0)
        return kndl_fail(err, KNDL_DATA_LOSS, "%s is no state of a Session", path);
    *ret_file = file;
    return 0;
}

void run_file_done(struct run_file *file)
{
    if (file->start != NULL)
        kndl__runner__v1__start_run_request__free_unpacked(file->start, NULL);
    if (file->ended != NULL)
        kndl__sessions__v1__report_ended_request__free_unpacked(file->ended, NULL);
    *file = (struct run_file){0};
}
