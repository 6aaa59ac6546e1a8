#pragma once

/*
 * What was masked here and is not counted at secrets yet, by the ids that secrets said. A report of
 * it is numbered and kept until it is answered, so that a repeat is known; the next waits for it.
 * When this copy ends, what it has not reported (a few seconds) is lost.
 *
 * Shared by all threads of the process, behind a lock that is held for moments.
 */

#include <stddef.h>
#include <stdint.h>

struct hits;

enum { HITS_REPORT_MAX = 1000 };

/* For what hits are counted (kndl.secrets.v1.Counted), and in which Repo's Sessions. */
struct counted {
    char *id;
    int64_t version;
    int64_t repo_id;
};

struct found {
    struct counted counted;
    int64_t count;
    int64_t last_at_ms; /* wall clock */
};

struct report {
    int64_t n; /* from 1 */
    const struct found *found;
    size_t count;
};

struct hits *hits_new(void);
void hits_free(struct hits *hits);

void hits_add(struct hits *hits, const struct counted *counted, int64_t count, int64_t at_ms);

/* What to report now: the report that was not answered yet, or a new one; NULL if there is nothing.
 * It stays as it is until hits_reported(). For one thread, the one that reports. */
const struct report *hits_report(struct hits *hits);

/* The report that hits_report() gave was answered. */
void hits_reported(struct hits *hits);
