/*
 * The spool: which segments there are, what waits to be written, who waits for it. One write is in
 * flight; what comes meanwhile waits and goes with the next, so that one fsync serves many.
 */

#include "spool.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "disk.h"
#include "kndl/buf.h"
#include "kndl/mem.h"
#include "spool_marks.h"
#include "spool_segment.h"

enum { SEGMENT_BYTES = 4 * 1024 * 1024, SEGMENTS_MAX = 1024 };

struct waiter {
    spool_fn fn;
    void *data;
    struct waiter *next;
};

/* One write, on the disk's thread. */
struct write_job {
    struct spool *spool; /* NULL: closed meanwhile */
    char *directory;
    int64_t first_n; /* of its segment */
    bool is_new;
    off_t at;
    struct kndl_buf bytes;
    int64_t last_n;
    struct spool_marks_point marks; /* as they are once it is written */
    struct waiter *waiters;
};

struct spool {
    struct disk *disk;
    char *directory;
    size_t bytes_most;
    size_t bytes; /* of all segments */
    struct spool_segment segments[SEGMENTS_MAX];
    size_t segment_count;
    int64_t last_n;       /* on the disk */
    struct kndl_buf next; /* records that wait for the write in flight */
    int64_t next_last_n;
    struct waiter *next_waiters, **next_tail;
    struct write_job *job;
    struct spool_marks marks;
    struct spool_marks_point marks_on_disk;
};

uint64_t spool_mark_of(const struct spool *spool, const char *epoch)
{
    return spool_marks_of(&spool->marks, epoch);
}

bool spool_has_source(const struct spool *spool, const char *source_id)
{
    return spool_marks_has_source(&spool->marks, source_id);
}

int64_t spool_rows_at_ms(const struct spool *spool)
{
    return spool->marks.now.sources_at_ms;
}

/* ------------------------------------------------------------------------- reading */

/* What a record brings back at the opening. */
static bool take_record(void *data, const struct spool_record *record)
{
    struct spool *spool = data;
    Kndl__Event__V1__Event *event =
        kndl__event__v1__event__unpack(NULL, record->event.size, record->event.data);

    if (event == NULL)
        return false;
    spool_marks_take_source(&spool->marks, event->source_id, event->runner_at_ms);
    kndl__event__v1__event__free_unpacked(event, NULL);
    spool_marks_take(&spool->marks, record->mark.epoch, record->mark.m);
    return true;
}

static int by_first_n(const void *a, const void *b)
{
    const struct spool_segment *x = a, *y = b;

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
        struct spool_segment *segment = &spool->segments[i];

        if (spool_segment_scan(spool->directory, segment, take_record, spool, err) < 0)
            return -1;
        segment->rows_at_ms = spool->marks.now.sources_at_ms;
        spool->bytes += segment->size;
        spool->last_n = segment->last_n;
    }
    spool->next_last_n = spool->last_n;
    spool->marks_on_disk = spool->marks.now;
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
    spool_marks_init(&spool->marks);
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
    spool_marks_done(&spool->marks);
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

struct reading {
    size_t count_most;
    size_t bytes_most;
    struct kndl_arena *arena;
    Kndl__Event__V1__Event **events;
    size_t count;
    size_t bytes;
};

/* False when the reading is full, or the Event cannot be read. */
static bool read_event(void *data, const struct spool_record *record)
{
    struct reading *r = data;
    ProtobufCAllocator allocator = kndl_arena_allocator(r->arena);

    if (r->count == r->count_most || (r->count > 0 && r->bytes + record->size > r->bytes_most))
        return false;
    r->events[r->count] =
        kndl__event__v1__event__unpack(&allocator, record->event.size, record->event.data);
    if (r->events[r->count] == NULL)
        return false;
    r->count++;
    r->bytes += record->size;
    return true;
}

int spool_read(struct spool *spool, int64_t from, size_t count_most, size_t bytes_most,
               struct kndl_arena *arena, Kndl__Event__V1__Event ***ret_events, size_t *ret_count,
               struct kndl_error *err)
{
    struct reading reading = {
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
        const struct spool_segment *segment = &spool->segments[i];

        if (segment->last_n >= from &&
            !spool_segment_read(spool->directory, segment, from, read_event, &reading))
            break;
    }
    if (reading.count == 0)
        return kndl_fail(err, KNDL_DATA_LOSS, "Event %lld cannot be read in %s", (long long)from,
                         spool->directory);
    *ret_events = reading.events;
    *ret_count = reading.count;
    return 0;
}

/* Are its rows so old that a transcript's reader knows without them what was told? */
static bool is_long_told(const struct spool *spool, const struct spool_segment *segment)
{
    return segment->rows_at_ms == 0 ||
           spool->marks_on_disk.sources_at_ms - segment->rows_at_ms >= SPOOL_ROW_MS_MAX;
}

void spool_forget(struct spool *spool, int64_t through)
{
    size_t gone = 0;

    while (gone + 1 < spool->segment_count && spool->segments[gone].last_n <= through &&
           is_long_told(spool, &spool->segments[gone])) {
        KNDL_CLEANUP(kndl_buf_done) struct kndl_buf path = {0};

        spool_segment_path(spool->directory, spool->segments[gone].first_n, &path);
        disk_remove_file(spool->disk, kndl_buf_text(&path), NULL, NULL);
        spool->bytes -= spool->segments[gone].size;
        gone++;
    }
    spool->segment_count -= gone;
    memmove(spool->segments, spool->segments + gone,
            spool->segment_count * sizeof spool->segments[0]);
}

static bool can_grow(const struct spool *spool)
{
    return spool->segment_count + 1 < SEGMENTS_MAX;
}

bool spool_is_full(const struct spool *spool)
{
    return spool->bytes + spool->next.size >= spool->bytes_most || !can_grow(spool);
}

/* ------------------------------------------------------------------------- writing */

static int write_segment(void *data, struct kndl_error *err)
{
    struct write_job *job = data;

    return spool_segment_write(job->directory, job->first_n, job->at, job->is_new,
                               kndl_buf_slice(&job->bytes), err);
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
        struct spool_segment *last = &spool->segments[spool->segment_count - 1];
        struct waiter *more = NULL;

        spool->job = NULL;
        if (err->code == KNDL_OK) {
            last->size += job->bytes.size;
            last->last_n = job->last_n;
            last->rows_at_ms = job->marks.sources_at_ms;
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
            spool_marks_go_back(&spool->marks, &spool->marks_on_disk);
        }
        if (spool->next_waiters != NULL)
            start_write(spool);
        /* A callback may close the spool, so these come last. */
        call_waiters(waiters, err);
        call_waiters(more, err);
    }
    kndl_buf_done(&job->bytes);
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
    struct write_job *job = kndl_new0(struct write_job);
    struct spool_segment *last =
        spool->segment_count == 0 ? NULL : &spool->segments[spool->segment_count - 1];

    job->spool = spool;
    job->waiters = kndl_steal(&spool->next_waiters);
    job->last_n = spool->next_last_n;
    job->bytes = spool->next;
    spool->next = (struct kndl_buf){0};
    job->marks = spool->marks.now;
    spool->next_tail = &spool->next_waiters;
    spool->job = job;
    if (last == NULL || (last->size >= SEGMENT_BYTES && job->bytes.size > 0)) {
        job->is_new = true;
        last = &spool->segments[spool->segment_count++];
        *last = (struct spool_segment){.first_n = spool->last_n + 1, .last_n = spool->last_n};
    }
    job->first_n = last->first_n;
    job->directory = kndl_strdup(spool->directory);
    job->at = (off_t)last->size;
    disk_do(spool->disk, job->bytes.size > 0 || job->is_new ? write_segment : nothing_to_write,
            written, job);
}

static void add_record(struct spool *spool, const struct spool_mark *mark, bool is_more,
                       const Kndl__Event__V1__Event *event)
{
    spool_record_append(&spool->next, ++spool->next_last_n, mark, is_more, event);
    spool_marks_take_source(&spool->marks, event->source_id, event->runner_at_ms);
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

    if (count > 0 && (mark == NULL ? !can_grow(spool) : spool_is_full(spool))) {
        struct refusal *refusal = kndl_new0(struct refusal);

        *refusal = (struct refusal){fn, data};
        disk_do(spool->disk, refuse, refused, refusal);
        return;
    }
    for (size_t i = 0; i < count; i++)
        add_record(spool, mark, i + 1 < count, events[i]);
    if (mark != NULL)
        spool_marks_take(&spool->marks, mark->epoch, mark->m);
    waiter = kndl_new0(struct waiter);
    *waiter = (struct waiter){.fn = fn, .data = data};
    *spool->next_tail = waiter;
    spool->next_tail = &waiter->next;
    if (spool->job == NULL)
        start_write(spool);
}
