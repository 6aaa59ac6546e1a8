/*
 * The spool. A record is {size, checksum, n, m, epoch, packed Event}; a segment is a file named
 * after its first n. One write is in flight; what comes meanwhile waits and goes with the next, so
 * that one fsync serves many.
 */

#include "spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "disk.h"
#include "kndl/buf.h"
#include "kndl/mem.h"

enum {
    SEGMENT_BYTES = 4 * 1024 * 1024,
    SEGMENTS_MAX = 1024,
    RECORD_BYTES_MAX = 8 * 1024 * 1024,
    EPOCH_BYTES_MAX = 32,
    EPOCHS_KEPT = 8,
    SOURCES_KEPT = 4096,
    SOURCE_BYTES_MAX = 64,
};

/* As it lies on the disk, in this host's byte order. */
struct head {
    uint32_t size;     /* of what follows the head */
    uint32_t checksum; /* of the rest of the head and what follows */
    int64_t n;
    uint64_t m;
    uint8_t epoch_bytes;
    uint8_t zero[7];
};

struct segment {
    int64_t first_n;
    int64_t last_n; /* first_n - 1: empty */
    size_t size;
};

struct waiter {
    spool_fn fn;
    void *data;
    struct waiter *next;
};

struct epoch {
    char name[EPOCH_BYTES_MAX + 1];
    uint64_t m;
};

/* What the records, with those that wait, have brought. */
struct marks {
    struct epoch epochs[EPOCHS_KEPT];
    size_t epoch_at;
    size_t source_at;
};

/* One write, on the disk's thread. */
struct write_job {
    struct spool *spool; /* NULL: closed meanwhile */
    char *path;
    char *directory;
    bool is_new;
    off_t at;
    struct kndl_buf bytes;
    int64_t last_n;
    struct marks marks; /* as they are once it is written */
    struct waiter *waiters;
};

struct spool {
    struct disk *disk;
    char *directory;
    size_t bytes_most;
    size_t bytes; /* of all segments */
    struct segment segments[SEGMENTS_MAX];
    size_t segment_count;
    int64_t last_n;       /* on the disk */
    struct kndl_buf next; /* records that wait for the write in flight */
    int64_t next_last_n;
    struct waiter *next_waiters, **next_tail;
    struct write_job *job;
    struct marks marks;
    struct marks marks_on_disk;
    char (*sources)[SOURCE_BYTES_MAX];
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

static void segment_path(const struct spool *spool, int64_t first_n, struct kndl_buf *out)
{
    kndl_buf_printf(out, "%s/%019lld.seg", spool->directory, (long long)first_n);
}

/* ---------------------------------------------------------------- marks and sources */

static struct epoch *find_epoch(const struct spool *spool, const char *name)
{
    for (size_t i = 0; i < EPOCHS_KEPT; i++)
        if (strcmp(spool->marks.epochs[i].name, name) == 0)
            return (struct epoch *)&spool->marks.epochs[i];
    return NULL;
}

uint64_t spool_mark_of(const struct spool *spool, const char *epoch)
{
    const struct epoch *known = find_epoch(spool, epoch);

    return known == NULL ? 0 : known->m;
}

void spool_take_mark(struct spool *spool, const char *epoch, uint64_t m)
{
    struct epoch *known = find_epoch(spool, epoch);

    if (epoch[0] == '\0')
        return;
    if (known == NULL) {
        known = &spool->marks.epochs[spool->marks.epoch_at++ % EPOCHS_KEPT];
        *known = (struct epoch){0};
        snprintf(known->name, sizeof known->name, "%s", epoch);
    }
    if (m > known->m)
        known->m = m;
}

static void take_source(struct spool *spool, const char *source_id)
{
    if (source_id[0] == '\0')
        return;
    snprintf(spool->sources[spool->marks.source_at++ % SOURCES_KEPT], SOURCE_BYTES_MAX, "%s",
             source_id);
}

/* Forgets what a failed write would have brought. */
static void take_back_marks(struct spool *spool)
{
    size_t kept = spool->marks_on_disk.source_at;

    for (size_t i = kept; i < spool->marks.source_at && i < kept + SOURCES_KEPT; i++)
        spool->sources[i % SOURCES_KEPT][0] = '\0';
    spool->marks = spool->marks_on_disk;
}

bool spool_has_source(const struct spool *spool, const char *source_id)
{
    for (size_t i = 0; i < SOURCES_KEPT; i++)
        if (strcmp(spool->sources[i], source_id) == 0)
            return true;
    return false;
}

/* ------------------------------------------------------------------------- reading */

/* One record at `at`; false at the end, or where the rest is torn. */
static bool read_record(int fd, off_t at, struct kndl_buf *rest, struct head *head)
{
    if (pread(fd, head, sizeof *head, at) != (ssize_t)sizeof *head)
        return false;
    if (head->size > RECORD_BYTES_MAX || head->epoch_bytes > EPOCH_BYTES_MAX ||
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

static const uint8_t *event_bytes(const struct head *head, const struct kndl_buf *rest,
                                  size_t *ret_size)
{
    *ret_size = head->size - head->epoch_bytes;
    return (const uint8_t *)rest->data + head->epoch_bytes;
}

/* Takes what a segment holds and cuts off its torn tail. */
static int scan_segment(struct spool *spool, struct segment *segment, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf path = {0}, rest = {0};
    struct head head;

    segment_path(spool, segment->first_n, &path);
    KNDL_CLEANUP(kndl_close) int fd = open(kndl_buf_text(&path), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return kndl_fail(err, KNDL_INTERNAL, "cannot open %s: %s", kndl_buf_text(&path),
                         strerror(errno));
    segment->last_n = segment->first_n - 1;
    while (read_record(fd, (off_t)segment->size, &rest, &head)) {
        char epoch[EPOCH_BYTES_MAX + 1] = "";
        size_t size;
        const uint8_t *bytes = event_bytes(&head, &rest, &size);
        Kndl__Event__V1__Event *event;

        if (head.n != segment->last_n + 1)
            break;
        event = kndl__event__v1__event__unpack(NULL, size, bytes);
        if (event == NULL)
            break;
        take_source(spool, event->source_id);
        kndl__event__v1__event__free_unpacked(event, NULL);
        memcpy(epoch, rest.data, head.epoch_bytes);
        spool_take_mark(spool, epoch, head.m);
        segment->last_n = head.n;
        segment->size += sizeof head + head.size;
    }
    if (ftruncate(fd, (off_t)segment->size) < 0)
        return kndl_fail(err, KNDL_INTERNAL, "cannot cut %s: %s", kndl_buf_text(&path),
                         strerror(errno));
    return 0;
}

static int by_first_n(const void *a, const void *b)
{
    const struct segment *x = a, *y = b;

    return (x->first_n > y->first_n) - (x->first_n < y->first_n);
}

static int scan(struct spool *spool, struct kndl_error *err)
{
    DIR *folder = opendir(spool->directory);
    const struct dirent *entry;

    if (folder == NULL)
        return kndl_fail(err, KNDL_INTERNAL, "cannot open %s: %s", spool->directory,
                         strerror(errno));
    while ((entry = readdir(folder)) != NULL && spool->segment_count < SEGMENTS_MAX) {
        char *end;
        long long first_n = strtoll(entry->d_name, &end, 10);

        if (first_n > 0 && strcmp(end, ".seg") == 0)
            spool->segments[spool->segment_count++].first_n = first_n;
    }
    closedir(folder);
    qsort(spool->segments, spool->segment_count, sizeof spool->segments[0], by_first_n);

    for (size_t i = 0; i < spool->segment_count; i++) {
        struct segment *segment = &spool->segments[i];

        if (scan_segment(spool, segment, err) < 0)
            return -1;
        spool->bytes += segment->size;
        spool->last_n = segment->last_n;
    }
    spool->next_last_n = spool->last_n;
    spool->marks_on_disk = spool->marks;
    return 0;
}

int spool_open(const struct spool_options *options, struct spool **ret_spool,
               struct kndl_error *err)
{
    struct spool *spool;

    if (mkdir(options->directory, 0700) < 0 && errno != EEXIST)
        return kndl_fail(err, errno == ENOSPC ? KNDL_RESOURCE_EXHAUSTED : KNDL_INTERNAL,
                         "cannot make %s: %s", options->directory, strerror(errno));
    spool = kndl_new0(struct spool);
    spool->disk = options->disk;
    spool->directory = kndl_strdup(options->directory);
    spool->bytes_most = options->bytes_most;
    spool->sources = kndl_alloc(SOURCES_KEPT, SOURCE_BYTES_MAX);
    spool->next_tail = &spool->next_waiters;
    if (scan(spool, err) < 0) {
        spool_close(spool);
        return -1;
    }
    *ret_spool = spool;
    return 0;
}

static void free_waiters(struct waiter *waiter)
{
    while (waiter != NULL) {
        struct waiter *next = waiter->next;

        free(waiter);
        waiter = next;
    }
}

void spool_close(struct spool *spool)
{
    if (spool == NULL)
        return;
    if (spool->job != NULL)
        spool->job->spool = NULL;
    free_waiters(spool->next_waiters);
    kndl_buf_done(&spool->next);
    free(spool->sources);
    free(spool->directory);
    free(spool);
}

int64_t spool_last_n(const struct spool *spool)
{
    return spool->last_n;
}

int64_t spool_first_n(const struct spool *spool)
{
    for (size_t i = 0; i < spool->segment_count; i++)
        if (spool->segments[i].last_n >= spool->segments[i].first_n)
            return spool->segments[i].first_n;
    return spool->last_n + 1;
}

static Kndl__Event__V1__Event *unpack(const struct head *head, const struct kndl_buf *rest,
                                      struct kndl_arena *arena)
{
    ProtobufCAllocator allocator = kndl_arena_allocator(arena);
    size_t size;
    const uint8_t *bytes = event_bytes(head, rest, &size);

    return kndl__event__v1__event__unpack(&allocator, size, bytes);
}

struct reading {
    int64_t from;
    size_t count_most;
    size_t bytes_most;
    struct kndl_arena *arena;
    Kndl__Event__V1__Event **events;
    size_t count;
    size_t bytes;
};

/* False when the reading is full or the segment cannot be read. */
static bool read_segment(struct spool *spool, const struct segment *segment, struct reading *r)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf path = {0}, rest = {0};
    struct head head;

    segment_path(spool, segment->first_n, &path);
    KNDL_CLEANUP(kndl_close) int fd = open(kndl_buf_text(&path), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    for (off_t at = 0; fd >= 0 && (size_t)at < segment->size;
         at += (off_t)(sizeof head + head.size)) {
        if (pread(fd, &head, sizeof head, at) != (ssize_t)sizeof head)
            return false;
        if (head.n < r->from)
            continue;
        if (r->count == r->count_most || (r->count > 0 && r->bytes + head.size > r->bytes_most))
            return false;
        if (!read_record(fd, at, &rest, &head))
            return false;
        r->events[r->count] = unpack(&head, &rest, r->arena);
        if (r->events[r->count] == NULL)
            return false;
        r->count++;
        r->bytes += head.size;
    }
    return fd >= 0;
}

int spool_read(struct spool *spool, int64_t from, size_t count_most, size_t bytes_most,
               struct kndl_arena *arena, Kndl__Event__V1__Event ***ret_events, size_t *ret_count,
               struct kndl_error *err)
{
    struct reading reading = {
        .from = from,
        .count_most = count_most,
        .bytes_most = bytes_most,
        .arena = arena,
        .events = kndl_arena_alloc(arena, count_most * sizeof *reading.events),
    };

    if (from < spool_first_n(spool) || from > spool->last_n)
        return kndl_fail(err, KNDL_OUT_OF_RANGE, "Event %lld is not in the spool (%lld to %lld)",
                         (long long)from, (long long)spool_first_n(spool),
                         (long long)spool->last_n);
    for (size_t i = 0; i < spool->segment_count; i++) {
        const struct segment *segment = &spool->segments[i];

        if (segment->last_n >= from && !read_segment(spool, segment, &reading))
            break;
    }
    if (reading.count == 0)
        return kndl_fail(err, KNDL_DATA_LOSS, "Event %lld cannot be read in %s", (long long)from,
                         spool->directory);
    *ret_events = reading.events;
    *ret_count = reading.count;
    return 0;
}

void spool_forget(struct spool *spool, int64_t through)
{
    size_t gone = 0;

    while (gone + 1 < spool->segment_count && spool->segments[gone].last_n <= through) {
        KNDL_CLEANUP(kndl_buf_done) struct kndl_buf path = {0};

        segment_path(spool, spool->segments[gone].first_n, &path);
        disk_remove_file(spool->disk, kndl_buf_text(&path), NULL, NULL);
        spool->bytes -= spool->segments[gone].size;
        gone++;
    }
    spool->segment_count -= gone;
    memmove(spool->segments, spool->segments + gone,
            spool->segment_count * sizeof spool->segments[0]);
}

bool spool_is_full(const struct spool *spool)
{
    return spool->bytes + spool->next.size >= spool->bytes_most ||
           spool->segment_count + 1 >= SEGMENTS_MAX;
}

/* ------------------------------------------------------------------------- writing */

static int write_segment(void *data, struct kndl_error *err)
{
    struct write_job *job = data;
    int flags = O_WRONLY | O_CLOEXEC | O_NOFOLLOW | (job->is_new ? O_CREAT | O_TRUNC : 0);
    KNDL_CLEANUP(kndl_close) int fd = open(job->path, flags, 0600);
    size_t done = 0;

    if (fd < 0)
        goto failed;
    while (done < job->bytes.size) {
        ssize_t wrote =
            pwrite(fd, job->bytes.data + done, job->bytes.size - done, job->at + (off_t)done);

        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            goto failed;
        done += (size_t)wrote;
    }
    if (fdatasync(fd) < 0)
        goto failed;
    if (job->is_new) {
        KNDL_CLEANUP(kndl_close)
        int folder = open(job->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (folder < 0 || fsync(folder) < 0)
            goto failed;
    }
    return 0;

failed:
    kndl_fail(err, errno == ENOSPC || errno == EDQUOT ? KNDL_RESOURCE_EXHAUSTED : KNDL_INTERNAL,
              "cannot write %s: %s", job->path, strerror(errno));
    if (fd >= 0 && ftruncate(fd, job->at) < 0)
        return -1; /* the next write starts at the same place anyway */
    return -1;
}

static void start_write(struct spool *spool);

static void call_waiters(struct waiter *waiter, const struct kndl_error *err)
{
    while (waiter != NULL) {
        struct waiter *next = waiter->next;

        waiter->fn(waiter->data, err);
        free(waiter);
        waiter = next;
    }
}

static void written(void *data, const struct kndl_error *err)
{
    struct write_job *job = data;
    struct spool *spool = job->spool;
    struct waiter *waiters = kndl_steal(&job->waiters);

    if (spool == NULL) {
        free_waiters(waiters);
    } else {
        struct segment *last = &spool->segments[spool->segment_count - 1];
        struct waiter *more = NULL;

        spool->job = NULL;
        if (err->code == KNDL_OK) {
            last->size += job->bytes.size;
            last->last_n = job->last_n;
            spool->bytes += job->bytes.size;
            spool->last_n = job->last_n;
            spool->marks_on_disk = job->marks;
        } else {
            /* What waits behind it was numbered after it: it fails too. */
            if (job->is_new)
                spool->segment_count--;
            more = kndl_steal(&spool->next_waiters);
            spool->next_tail = &spool->next_waiters;
            kndl_buf_clear(&spool->next);
            spool->next_last_n = spool->last_n;
            take_back_marks(spool);
        }
        if (spool->next_waiters != NULL)
            start_write(spool);
        /* A callback may close the spool, so these come last. */
        call_waiters(waiters, err);
        call_waiters(more, err);
    }
    kndl_buf_done(&job->bytes);
    free(job->path);
    free(job->directory);
    free(job);
}

static int nothing_to_write(void *data, struct kndl_error *err)
{
    (void)data;
    (void)err;
    return 0;
}

static void start_write(struct spool *spool)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf path = {0};
    struct write_job *job = kndl_new0(struct write_job);
    struct segment *last =
        spool->segment_count == 0 ? NULL : &spool->segments[spool->segment_count - 1];

    job->spool = spool;
    job->waiters = kndl_steal(&spool->next_waiters);
    job->last_n = spool->next_last_n;
    job->bytes = spool->next;
    spool->next = (struct kndl_buf){0};
    job->marks = spool->marks;
    spool->next_tail = &spool->next_waiters;
    spool->job = job;
    if (last == NULL || (last->size >= SEGMENT_BYTES && job->bytes.size > 0)) {
        job->is_new = true;
        last = &spool->segments[spool->segment_count++];
        *last = (struct segment){.first_n = spool->last_n + 1, .last_n = spool->last_n};
    }
    segment_path(spool, last->first_n, &path);
    job->path = kndl_buf_take(&path);
    job->directory = kndl_strdup(spool->directory);
    job->at = (off_t)last->size;
    disk_do(spool->disk, job->bytes.size > 0 || job->is_new ? write_segment : nothing_to_write,
            written, job);
}

static void add_record(struct spool *spool, const struct spool_mark *mark,
                       const Kndl__Event__V1__Event *event)
{
    size_t size = kndl__event__v1__event__get_packed_size(event);
    size_t epoch = mark == NULL ? 0 : strlen(mark->epoch);
    struct head head = {
        .size = (uint32_t)(epoch + size),
        .n = ++spool->next_last_n,
        .m = mark == NULL ? 0 : mark->m,
        .epoch_bytes = (uint8_t)epoch,
    };
    char *to = kndl_buf_reserve(&spool->next, sizeof head + epoch + size);
    char *rest = to + sizeof head;

    if (epoch > 0)
        memcpy(rest, mark->epoch, epoch);
    kndl__event__v1__event__pack(event, (uint8_t *)rest + epoch);
    head.checksum = checksum_of(&head, rest);
    memcpy(to, &head, sizeof head);
    spool->next.size += sizeof head + epoch + size;
    take_source(spool, event->source_id);
}

/* An append that is refused answers later too, as every append does. */
struct refusal {
    spool_fn fn;
    void *data;
};

static int refuse(void *data, struct kndl_error *err)
{
    (void)data;
    return kndl_fail(err, KNDL_RESOURCE_EXHAUSTED,
                     "the spool is full: the Hub has not taken Events for too long");
}

static void refused(void *data, const struct kndl_error *err)
{
    struct refusal *refusal = data;

    refusal->fn(refusal->data, err);
    free(refusal);
}

void spool_append(struct spool *spool, const struct spool_mark *mark,
                  Kndl__Event__V1__Event *const *events, size_t count, spool_fn fn, void *data)
{
    struct waiter *waiter;

    if (count > 0 && spool_is_full(spool)) {
        struct refusal *refusal = kndl_new0(struct refusal);

        *refusal = (struct refusal){fn, data};
        disk_do(spool->disk, refuse, refused, refusal);
        return;
    }
    for (size_t i = 0; i < count; i++)
        add_record(spool, mark, events[i]);
    if (mark != NULL)
        spool_take_mark(spool, mark->epoch, mark->m);
    waiter = kndl_new0(struct waiter);
    *waiter = (struct waiter){.fn = fn, .data = data};
    *spool->next_tail = waiter;
    spool->next_tail = &waiter->next;
    if (spool->job == NULL)
        start_write(spool);
}
