#pragma once

/*
 * What the spool has taken, so that nothing is taken twice: of the mod's newest loads (epochs) the
 * highest number m, and the newest few thousand rows of the transcript (source ids). In memory; the
 * records that lie on the disk bring it back. Only spool*.c include it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SPOOL_EPOCH_BYTES_MAX = 32 };

enum { SPOOL_EPOCHS_KEPT = 8, SPOOL_SOURCES_KEPT = 4096, SPOOL_SOURCE_BYTES_MAX = 64 };

/* What a failed write takes back to. */
struct spool_marks_point {
    struct {
        char name[SPOOL_EPOCH_BYTES_MAX + 1];
        uint64_t m;
    } epochs[SPOOL_EPOCHS_KEPT];
    size_t epoch_at;
    size_t source_at;
    int64_t sources_at_ms; /* when the newest of the rows arrived */
};

struct spool_marks {
    struct spool_marks_point now;
    char (*sources)[SPOOL_SOURCE_BYTES_MAX];
};

void spool_marks_init(struct spool_marks *marks);
void spool_marks_done(struct spool_marks *marks);

/* The highest m taken of that epoch; 0: none. */
uint64_t spool_marks_of(const struct spool_marks *marks, const char *epoch);
/* "" is no epoch, and no source. */
void spool_marks_take(struct spool_marks *marks, const char *epoch, uint64_t m);
void spool_marks_take_source(struct spool_marks *marks, const char *source_id, int64_t at_ms);
bool spool_marks_has_source(const struct spool_marks *marks, const char *source_id);

/* Forgets what was taken since that point. */
void spool_marks_go_back(struct spool_marks *marks, const struct spool_marks_point *point);
