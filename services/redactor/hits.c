/* Hits that wait: a table of lists, by the counted id's hash. */

#include "hits.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kndl/mem.h"

enum { BUCKETS = 64 };

struct waiting {
    struct waiting *next;
    struct found found;
};

struct hits {
    pthread_mutex_t lock;
    struct waiting *buckets[BUCKETS]; /* under the lock */

    /* The reporting thread's own. */
    struct found out[HITS_REPORT_MAX];
    struct report report; /* count 0: none waits for its answer */
};

struct hits *hits_new(void)
{
    struct hits *hits = kndl_new0(struct hits);

    pthread_mutex_init(&hits->lock, NULL);
    hits->report.found = hits->out;
    return hits;
}

void hits_free(struct hits *hits)
{
    if (hits == NULL)
        return;
    hits_reported(hits);
    for (size_t i = 0; i < BUCKETS; i++)
        while (hits->buckets[i] != NULL) {
            struct waiting *waiting = hits->buckets[i];

            hits->buckets[i] = waiting->next;
            free(waiting->found.counted.id);
            free(waiting);
        }
    pthread_mutex_destroy(&hits->lock);
    free(hits);
}

static bool is_of(const struct found *found, const struct counted *counted)
{
    return found->counted.version == counted->version &&
           found->counted.repo_id == counted->repo_id &&
           strcmp(found->counted.id, counted->id) == 0;
}

/* Where it hangs, or would. */
static struct waiting **place_of(struct hits *hits, const struct counted *counted)
{
    uint32_t hash = 2166136261u;
    struct waiting **place;

    for (const char *c = counted->id; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    place = &hits->buckets[hash % BUCKETS];
    while (*place != NULL && !is_of(&(*place)->found, counted))
        place = &(*place)->next;
    return place;
}

void hits_add(struct hits *hits, const struct counted *counted, int64_t count, int64_t at_ms)
{
    struct waiting **place;

    pthread_mutex_lock(&hits->lock);
    place = place_of(hits, counted);
    if (*place == NULL) {
        *place = kndl_new0(struct waiting);
        (*place)->found.counted = *counted;
        (*place)->found.counted.id = kndl_strdup(counted->id);
    }
    (*place)->found.count += count;
    (*place)->found.last_at_ms = at_ms;
    pthread_mutex_unlock(&hits->lock);
}

const struct report *hits_report(struct hits *hits)
{
    if (hits->report.count > 0)
        return &hits->report;
    pthread_mutex_lock(&hits->lock);
    for (size_t i = 0; i < BUCKETS; i++)
        while (hits->buckets[i] != NULL && hits->report.count < HITS_REPORT_MAX) {
            struct waiting *waiting = hits->buckets[i];

            hits->buckets[i] = waiting->next;
            hits->out[hits->report.count++] = waiting->found;
            free(waiting);
        }
    pthread_mutex_unlock(&hits->lock);
    if (hits->report.count == 0)
        return NULL;
    hits->report.n++;
    return &hits->report;
}

void hits_reported(struct hits *hits)
{
    for (size_t i = 0; i < hits->report.count; i++)
        free(hits->out[i].counted.id);
    hits->report.count = 0;
}
