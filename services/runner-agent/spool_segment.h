#pragma once

/*
 * The spool's files: segments, named after the number of their first Event, of records
 * {size, checksum, n, m, more, epoch, packed Event}. What was appended together counts together:
 * all of it is there, or none. Only spool*.c include it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "kndl/buf.h"
#include "kndl/error.h"
#include "kndl/event/v1/event.pb-c.h"
#include "spool.h"

struct spool_segment {
    int64_t first_n;
    int64_t last_n; /* first_n - 1: empty */
    size_t size;
    int64_t rows_at_ms; /* when the newest row up to its end arrived; 0: none had */
};

void spool_segment_path(const char *directory, int64_t first_n, struct kndl_buf *out);

/* Appends an Event as a record. `mark` may be NULL. `is_more`: the next record belongs to it. */
void spool_record_append(struct kndl_buf *out, int64_t n, const struct spool_mark *mark,
                         bool is_more, const Kndl__Event__V1__Event *event);

/* A record that was read. */
struct spool_record {
    int64_t n;
    struct spool_mark mark; /* "" and 0: it has none */
    size_t size;            /* of all of it, on the disk */
    struct kndl_slice event;
};

/* Called with each record; false: enough. Borrowed for the length of the call. */
typedef bool (*spool_record_fn)(void *data, const struct spool_record *record);

/*
 * Goes through the records of a segment of segment->size bytes from `from` on (less than that are
 * skipped unread), and returns whether fn took all of them.
 */
bool spool_segment_read(const char *directory, const struct spool_segment *segment, int64_t from,
                        spool_record_fn fn, void *data);

/* Goes through all that is there, cuts off the torn tail, and sets last_n and size. Fails with
 * KNDL_INTERNAL, naming the file. */
int spool_segment_scan(const char *directory, struct spool_segment *segment, spool_record_fn fn,
                       void *data, struct kndl_error *err);

/* What is written at a place of a segment's file, which may be new; fsynced. On the disk's thread.
 * RESOURCE_EXHAUSTED: the disk is full, and nothing of it is kept. */
int spool_segment_write(const char *directory, int64_t first_n, off_t at, bool is_new,
                        struct kndl_slice bytes, struct kndl_error *err);
