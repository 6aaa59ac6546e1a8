/* Two files, each a checksum of what follows, the turn, and a packed message. */

#include "blocks_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kndl/buf.h"
#include "kndl/mem.h"
#include "kndl/token.h"
#include "write_at.h"

#define RV1(name) Kndl__Runner__V1__##name

enum { FILES = 2, FILE_BYTES_MAX = 8 * 1024 * 1024 };

struct head {
    uint8_t hash[KNDL_HASH_BYTES];
    uint64_t turn;
};

static void path_of(const char *directory, uint64_t turn, struct kndl_buf *out)
{
    kndl_buf_printf(out, "%s/blocks-%d", directory, (int)(turn % FILES));
}

static void hash_rest(struct kndl_slice file, uint8_t ret_hash[KNDL_HASH_BYTES])
{
    kndl_hash(kndl_slice(file.data + KNDL_HASH_BYTES, file.size - KNDL_HASH_BYTES), ret_hash);
}

/* ----------------------------------------------------------------------------------- writing */

struct write_job {
    struct kndl_buf path, bytes;
    disk_done_fn done;
    void *data;
};

static int put(int fd, struct kndl_slice bytes)
{
    return write_at(fd, bytes, 0) < 0 ? -1 : ftruncate(fd, (off_t)bytes.size);
}

/* In place: a new file for each would be written out at once by some file systems. */
static int write_file(void *data, struct kndl_error *err)
{
    struct write_job *job = data;
    const char *path = kndl_buf_text(&job->path);
    KNDL_CLEANUP(kndl_close)
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    hash_rest(kndl_buf_slice(&job->bytes), (uint8_t *)job->bytes.data);
    if (fd >= 0 && put(fd, kndl_buf_slice(&job->bytes)) == 0)
        return 0;
    (void)kndl_fail(err,
                    errno == ENOSPC || errno == EDQUOT ? KNDL_RESOURCE_EXHAUSTED : KNDL_INTERNAL,
                    "cannot write %s: %s", path, strerror(errno));
    unlink(path); /* what room there is is the spool's */
    return -1;
}

static void file_written(void *data, const struct kndl_error *err)
{
    struct write_job *job = data;

    if (job->done != NULL)
        job->done(job->data, err);
    kndl_buf_done(&job->path);
    kndl_buf_done(&job->bytes);
    free(job);
}

size_t blocks_file_write(struct disk *disk, const char *directory, uint64_t turn,
                         const RV1(OpenBlocks) * blocks, disk_done_fn done, void *data)
{
    struct write_job *job = kndl_new0(struct write_job);
    struct head head = {.turn = turn};
    size_t size = protobuf_c_message_get_packed_size(&blocks->base);

    job->done = done;
    job->data = data;
    path_of(directory, turn, &job->path);
    kndl_buf_append(&job->bytes, &head, sizeof head);
    protobuf_c_message_pack(&blocks->base, (uint8_t *)kndl_buf_reserve(&job->bytes, size));
    job->bytes.size += size;
    size = job->bytes.size;
    disk_do(disk, write_file, file_written, job);
    return size;
}

void blocks_file_remove(struct disk *disk, const char *directory)
{
    for (uint64_t turn = 0; turn < FILES; turn++) {
        KNDL_CLEANUP(kndl_buf_done) struct kndl_buf path = {0};

        path_of(directory, turn, &path);
        disk_remove_file(disk, kndl_buf_text(&path), NULL, NULL);
    }
}

/* ----------------------------------------------------------------------------------- reading */

/* NULL: there is none, or it is torn. */
static RV1(OpenBlocks) * read_file(const char *path, uint64_t *ret_turn)
{
    KNDL_CLEANUP(kndl_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf bytes = {0};
    uint8_t hash[KNDL_HASH_BYTES];
    struct head head;
    ssize_t size;

    if (fd < 0)
        return NULL;
    size = pread(fd, kndl_buf_reserve(&bytes, FILE_BYTES_MAX), FILE_BYTES_MAX, 0);
    if (size < (ssize_t)sizeof head)
        return NULL;
    bytes.size = (size_t)size;
    memcpy(&head, bytes.data, sizeof head);
    hash_rest(kndl_buf_slice(&bytes), hash);
    if (!kndl_hash_equal(hash, head.hash))
        return NULL;
    *ret_turn = head.turn;
    return kndl__runner__v1__open_blocks__unpack(NULL, bytes.size - sizeof head,
                                                 (const uint8_t *)bytes.data + sizeof head);
}

RV1(OpenBlocks) * blocks_file_read(const char *directory, uint64_t *ret_turn)
{
    RV1(OpenBlocks) *newest = NULL;

    for (uint64_t at = 0; at < FILES; at++) {
        KNDL_CLEANUP(kndl_buf_done) struct kndl_buf path = {0};
        uint64_t turn = 0;

        path_of(directory, at, &path);
        RV1(OpenBlocks) *found = read_file(kndl_buf_text(&path), &turn);
        if (found == NULL)
            continue;
        if (newest != NULL && turn < *ret_turn) {
            kndl__runner__v1__open_blocks__free_unpacked(found, NULL);
            continue;
        }
        if (newest != NULL)
            kndl__runner__v1__open_blocks__free_unpacked(newest, NULL);
        newest = found;
        *ret_turn = turn;
    }
    return newest;
}
