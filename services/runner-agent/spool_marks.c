/* Which of the mod's events, and which rows, are in the spool. */

#include "spool_marks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kndl/mem.h"

void spool_marks_init(struct spool_marks *marks)
{
    *marks = (struct spool_marks){
        .sources = kndl_alloc(SPOOL_SOURCES_KEPT, SPOOL_SOURCE_BYTES_MAX),
    };
}

void spool_marks_done(struct spool_marks *marks)
{
    free(marks->sources);
    *marks = (struct spool_marks){0};
}

uint64_t spool_marks_of(const struct spool_marks *marks, const char *epoch)
{
    for (size_t i = 0; i < SPOOL_EPOCHS_KEPT; i++)
        if (strcmp(marks->now.epochs[i].name, epoch) == 0)
            return marks->now.epochs[i].m;
    return 0;
}

void spool_marks_take(struct spool_marks *marks, const char *epoch, uint64_t m)
{
    size_t at = 0;

    if (epoch[0] == '\0')
        return;
    while (at < SPOOL_EPOCHS_KEPT && strcmp(marks->now.epochs[at].name, epoch) != 0)
        at++;
    if (at == SPOOL_EPOCHS_KEPT) {
        at = marks->now.epoch_at++ % SPOOL_EPOCHS_KEPT;
        marks->now.epochs[at].m = 0;
        snprintf(marks->now.epochs[at].name, sizeof marks->now.epochs[at].name, "%s", epoch);
    }
    if (m > marks->now.epochs[at].m)
        marks->now.epochs[at].m = m;
}

void spool_marks_take_source(struct spool_marks *marks, const char *source_id, int64_t at_ms)
{
    if (source_id[0] == '\0')
        return;
    snprintf(marks->sources[marks->now.source_at++ % SPOOL_SOURCES_KEPT], SPOOL_SOURCE_BYTES_MAX,
             "%s", source_id);
    if (at_ms > marks->now.sources_at_ms)
        marks->now.sources_at_ms = at_ms;
}

bool spool_marks_has_source(const struct spool_marks *marks, const char *source_id)
{
    for (size_t i = 0; i < SPOOL_SOURCES_KEPT; i++)
        if (strcmp(marks->sources[i], source_id) == 0)
            return true;
    return false;
}

void spool_marks_go_back(struct spool_marks *marks, const struct spool_marks_point *point)
{
    size_t kept = point->source_at;

    for (size_t i = kept; i < marks->now.source_at && i < kept + SPOOL_SOURCES_KEPT; i++)
        marks->sources[i % SPOOL_SOURCES_KEPT][0] = '\0';
    marks->now = *point;
}
