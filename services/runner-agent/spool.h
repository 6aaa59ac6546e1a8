#pragma once

/*
 * The Events of one run on the Runner's disk until sessions has stored them.
 *
 * Append-only segments under one folder. An Event gets its number `n` (from 1, without gaps) as it
 * is appended, and counts from the moment its append was answered: then it is fsynced. A torn tail
 * is what was never answered, and is cut off at the next opening, with all that was appended
 * together with it: its mark says that all of it was taken. What sessions has is forgotten by whole
 * segments; the newest one always stays, so that `n` goes on after a restart.
 *
 * It also remembers which events of the mod (epoch, m) it has taken, and the rows of the transcript
 * (source ids) that are in it.
 *
 * Belongs to the loop's thread; writes run on the disk's.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kndl/arena.h"
#include "kndl/error.h"
#include "kndl/event/v1/event.pb-c.h"

struct disk;
struct spool;

struct spool_options {
    struct disk *disk;
    const char *directory; /* made if it is missing, its parent must be there */
    size_t bytes_most; /* of all segments; a fuller one refuses the mod's (RESOURCE_EXHAUSTED) */
};

/* Reads what is there. Fails with KNDL_INTERNAL, naming the file. */
int spool_open(const struct spool_options *options, struct spool **ret_spool,
               struct kndl_error *err);

/* Who waits is not called any more. */
void spool_close(struct spool *spool);

/* Where an Event came from: the mod's number of it. */
struct spool_mark {
    const char *epoch; /* at most 32 bytes */
    uint64_t m;
};

/* On the loop, once. RESOURCE_EXHAUSTED: full, or the disk is; nothing of it was kept and its
 * numbers are given again. */
typedef void (*spool_fn)(void *data, const struct kndl_error *err);

/*
 * Appends; fn is called when these and all before them are on the disk, never before this
 * returned. Without events it waits for those before it. `mark` is NULL for what the mod does not
 * keep: that is taken over the bound, too, for there is no more of it than a transcript's end.
 */
void spool_append(struct spool *spool, const struct spool_mark *mark,
                  Kndl__Event__V1__Event *const *events, size_t count, spool_fn fn, void *data);

/* The highest number that is on the disk; 0: none. */
int64_t spool_last_n(const struct spool *spool);

/* The lowest number that is still here; last_n + 1: none. */
int64_t spool_first_n(const struct spool *spool);

/*
 * Events from `from` on, at most so many and (but for the first) so many bytes, into the arena.
 * Fails with KNDL_OUT_OF_RANGE if `from` is forgotten or not there yet.
 */
int spool_read(struct spool *spool, int64_t from, size_t count_most, size_t bytes_most,
               struct kndl_arena *arena, Kndl__Event__V1__Event ***ret_events, size_t *ret_count,
               struct kndl_error *err);

/* A row's way from Claude Code to here: what was written before is known by its time. */
enum { SPOOL_ROW_MS_MAX = 5000 };

/* sessions has stored all up to here. The rows of the newest SPOOL_ROW_MS_MAX stay: after a restart
 * nothing else tells that they were told. */
void spool_forget(struct spool *spool, int64_t through);

bool spool_is_full(const struct spool *spool);

/* The highest m taken of that epoch, 0: none. */
uint64_t spool_mark_of(const struct spool *spool, const char *epoch);

/* Is that row among the newest few thousand? */
bool spool_has_source(const struct spool *spool, const char *source_id);

/* When the newest of the transcript's rows arrived here, by this host's clock; 0: none has. */
int64_t spool_rows_at_ms(const struct spool *spool);
