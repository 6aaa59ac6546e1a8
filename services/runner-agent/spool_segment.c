/* Records on the disk. */

#include "spool_segment.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "kndl/mem.h"
#include "spool_marks.h"
#include "write_at.h"

enum { RECORD_BYTES_MAX = 8 * 1024 * 1024 };

/* As it lies on the disk, in this host's byte order. */
struct head {
    uint32_t size;     /* of what follows the head */
    uint32_t checksum; /* of the rest of the head and what follows */
    int64_t n;
    uint64_t m;
    uint8_t epoch_bytes;
    uint8_t is_more; /* the record behind it was appended together with it */
    uint8_t zero[6];
};

static uint32_t checksum(const void *data, size_t size, uint32_t hash)
{
    const uint8_t *bytes = data;

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 16777619u;
    return hash;
}

static uint32_t checksum_of(const struct head *head, const void *rest)
{
    uint32_t hash = checksum(&head->n, sizeof *head - offsetof(struct head, n), 2166136261u);

    return checksum(rest, head->size, hash);
}

void spool_segment_path(const char *directory, int64_t first_n, struct kndl_buf *out)
{
    kndl_buf_printf(out, "%s/%019lld.seg", directory, (long long)first_n);
}

static int open_segment(const char *directory, int64_t first_n, int flags)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf path = {0};

    spool_segment_path(directory, first_n, &path);
    return open(kndl_buf_text(&path), flags | O_CLOEXEC | O_NOFOLLOW, 0600);
}

void spool_record_append(struct kndl_buf *out, int64_t n, const struct spool_mark *mark,
                         bool is_more, const Kndl__Event__V1__Event *event)
{
    size_t size = kndl__event__v1__event__get_packed_size(event);
    size_t epoch = mark == NULL ? 0 : strlen(mark->epoch);
    struct head head = {
        .size = (uint32_t)(epoch + size),
        .n = n,
        .m = mark == NULL ? 0 : mark->m,
        .epoch_bytes = (uint8_t)epoch,
        .is_more = is_more,
    };
    char *to = kndl_buf_reserve(out, sizeof head + epoch + size);
    char *rest = to + sizeof head;

    if (epoch > 0)
        memcpy(rest, mark->epoch, epoch);
    kndl__event__v1__event__pack(event, (uint8_t *)rest + epoch);
    head.checksum = checksum_of(&head, rest);
    memcpy(to, &head, sizeof head);
    out->size += sizeof head + epoch + size;
}

/* One record at `at`; false at the end, or where the rest is torn. */
static bool read_record(int fd, off_t at, struct kndl_buf *rest, struct head *head)
{
    if (pread(fd, head, sizeof *head, at) != (ssize_t)sizeof *head)
        return false;
    if (head->size > RECORD_BYTES_MAX || head->epoch_bytes > SPOOL_EPOCH_BYTES_MAX ||
        head->epoch_bytes > head->size)
        return false;
    kndl_buf_clear(rest);
    char *to = kndl_buf_reserve(rest, head->size);
    if (head->size > 0 &&
        pread(fd, to, head->size, at + (off_t)sizeof *head) != (ssize_t)head->size)
        return false;
    rest->size = head->size;
    return checksum_of(head, rest->data) == head->checksum;
}

static bool give_record(const struct head *head, const struct kndl_buf *rest, spool_record_fn fn,
                        void *data)
{
    char epoch[SPOOL_EPOCH_BYTES_MAX + 1] = "";
    struct spool_record record = {
        .n = head->n,
        .mark = {epoch, head->m},
        .size = sizeof *head + head->size,
        .event = kndl_slice(rest->data + head->epoch_bytes, head->size - head->epoch_bytes),
    };

    memcpy(epoch, rest->data, head->epoch_bytes);
    return fn(data, &record);
}

bool spool_segment_read(const char *directory, const struct spool_segment *segment, int64_t from,
                        spool_record_fn fn, void *data)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf rest = {0};
    KNDL_CLEANUP(kndl_close) int fd = open_segment(directory, segment->first_n, O_RDONLY);
    struct head head;

    for (off_t at = 0; fd >= 0 && (size_t)at < segment->size;
         at += (off_t)(sizeof head + head.size)) {
        if (pread(fd, &head, sizeof head, at) != (ssize_t)sizeof head)
            return false;
        if (head.n < from)
            continue;
        if (!read_record(fd, at, &rest, &head) || !give_record(&head, &rest, fn, data))
            return false;
    }
    return fd >= 0;
}

/* Where the append that begins at `at` ends; `at` itself if not all of it is there. */
static off_t find_end(int fd, off_t at, int64_t n, struct kndl_buf *rest)
{
    struct head head;

    for (off_t end = at; read_record(fd, end, rest, &head) && head.n == n; n++) {
        end += (off_t)(sizeof head + head.size);
        if (!head.is_more)
            return end;
    }
    return at;
}

/* Gives the records of one append, and so counts them; false: one was refused. */
static bool take_append(int fd, off_t end, struct spool_segment *segment, struct kndl_buf *rest,
                        spool_record_fn fn, void *data)
{
    struct head head;

    while ((off_t)segment->size < end) {
        if (!read_record(fd, (off_t)segment->size, rest, &head) ||
            !give_record(&head, rest, fn, data))
            return false;
        segment->last_n = head.n;
        segment->size += sizeof head + head.size;
    }
    return true;
}

int spool_segment_scan(const char *directory, struct spool_segment *segment, spool_record_fn fn,
                       void *data, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf rest = {0};
    KNDL_CLEANUP(kndl_close) int fd = open_segment(directory, segment->first_n, O_RDWR);
    off_t end;

    if (fd < 0)
        return kndl_fail(err, KNDL_INTERNAL, "cannot open segment %lld of %s: %s",
                         (long long)segment->first_n, directory, strerror(errno));
    segment->last_n = segment->first_n - 1;
    segment->size = 0;
    do
        end = find_end(fd, (off_t)segment->size, segment->last_n + 1, &rest);
    while (end > (off_t)segment->size && take_append(fd, end, segment, &rest, fn, data));
    if (ftruncate(fd, (off_t)segment->size) < 0)
        return kndl_fail(err, KNDL_INTERNAL, "cannot cut segment %lld of %s: %s",
                         (long long)segment->first_n, directory, strerror(errno));
    return 0;
}

static int put(int fd, off_t at, struct kndl_slice bytes)
{
    return write_at(fd, bytes, at) < 0 ? -1 : fdatasync(fd);
}

static int sync_folder(const char *directory)
{
    KNDL_CLEANUP(kndl_close) int folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return folder < 0 ? -1 : fsync(folder);
}

/* The folder knows the file, and its own folder knows it. */
static int sync_folders(const char *directory)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf parent = {0};

    kndl_buf_printf(&parent, "%s/..", directory);
    return sync_folder(directory) < 0 ? -1 : sync_folder(kndl_buf_text(&parent));
}

int spool_segment_write(const char *directory, int64_t first_n, off_t at, bool is_new,
                        struct kndl_slice bytes, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_close)
    int fd = open_segment(directory, first_n, O_WRONLY | (is_new ? O_CREAT | O_TRUNC : 0));

    if (fd >= 0 && put(fd, at, bytes) == 0 && (!is_new || sync_folders(directory) == 0))
        return 0;
    (void)kndl_fail(
        err, errno == ENOSPC || errno == EDQUOT ? KNDL_RESOURCE_EXHAUSTED : KNDL_INTERNAL,
        "cannot write segment %lld of %s: %s", (long long)first_n, directory, strerror(errno));
    if (fd >= 0 && ftruncate(fd, at) < 0)
        return -1; /* the next write starts at the same place anyway */
    return -1;
}
