/* Granted streams: a table of lists, by the Session's hash. */

#include "sets.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kndl/clock.h"
#include "kndl/mem.h"
#include "masks.h"

enum { BUCKETS = 256 };
static const int64_t idle_us = 3600LL * 1000 * 1000;

/* A fact that says that values changed may be lost. */
static const int64_t fresh_us = 10LL * 1000 * 1000;

struct grant {
    struct grant *next;
    char *session_id;
    char *runner_id;
    int64_t run;
    int64_t used_us;
    int64_t asked_us;
    struct masks *masks;
};

struct sets {
    pthread_mutex_t lock;
    struct grant *buckets[BUCKETS]; /* under the lock, with all that hangs on it */
    int64_t doubted_us;             /* and this */
};

struct sets *sets_new(void)
{
    struct sets *sets = kndl_new0(struct sets);

    pthread_mutex_init(&sets->lock, NULL);
    return sets;
}

static void grant_free(struct grant *grant)
{
    masks_unref(grant->masks);
    free(grant->session_id);
    free(grant->runner_id);
    free(grant);
}

void sets_free(struct sets *sets)
{
    if (sets == NULL)
        return;
    for (size_t i = 0; i < BUCKETS; i++)
        while (sets->buckets[i] != NULL) {
            struct grant *grant = sets->buckets[i];
            sets->buckets[i] = grant->next;
            grant_free(grant);
        }
    pthread_mutex_destroy(&sets->lock);
    free(sets);
}

/* Where the Session's grant hangs, or would. */
static struct grant **place_of(struct sets *sets, const char *session_id)
{
    uint32_t hash = 2166136261u;
    struct grant **place;

    for (const char *c = session_id; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    place = &sets->buckets[hash % BUCKETS];
    while (*place != NULL && strcmp((*place)->session_id, session_id) != 0)
        place = &(*place)->next;
    return place;
}

void sets_grant(struct sets *sets, const char *session_id, int64_t run, const char *runner_id,
                struct masks *masks, int64_t asked_us)
{
    struct grant *grant = kndl_new0(struct grant);
    struct grant *old;
    struct grant **place;

    grant->session_id = kndl_strdup(session_id);
    grant->runner_id = kndl_strdup(runner_id);
    grant->run = run;
    grant->used_us = kndl_clock_us();
    grant->asked_us = asked_us;
    grant->masks = masks_ref(masks);

    pthread_mutex_lock(&sets->lock);
    place = place_of(sets, session_id);
    old = *place;
    grant->next = old == NULL ? NULL : old->next;
    *place = grant;
    pthread_mutex_unlock(&sets->lock);
    if (old != NULL)
        grant_free(old);
}

struct masks *sets_find(struct sets *sets, const char *session_id, int64_t run,
                        const char *runner_id, bool *ret_is_fresh)
{
    struct masks *masks = NULL;
    struct grant *grant;

    pthread_mutex_lock(&sets->lock);
    grant = *place_of(sets, session_id);
    if (grant != NULL && grant->run == run && strcmp(grant->runner_id, runner_id) == 0) {
        masks = masks_ref(grant->masks);
        grant->used_us = kndl_clock_us();
        *ret_is_fresh =
            grant->used_us - grant->asked_us < fresh_us && grant->asked_us > sets->doubted_us;
    }
    pthread_mutex_unlock(&sets->lock);
    return masks;
}

void sets_doubt(struct sets *sets)
{
    pthread_mutex_lock(&sets->lock);
    sets->doubted_us = kndl_clock_us();
    pthread_mutex_unlock(&sets->lock);
}

void sets_count(struct sets *sets)
{
    pthread_mutex_lock(&sets->lock);
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct grant *grant = sets->buckets[i]; grant != NULL; grant = grant->next)
            masks_count(grant->masks);
    pthread_mutex_unlock(&sets->lock);
}

/* Takes out what was not used since, or what is this Runner's, and frees it without the lock. */
static void drop(struct sets *sets, int64_t since_us, const char *runner_id)
{
    struct grant *gone = NULL;

    pthread_mutex_lock(&sets->lock);
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct grant **at = &sets->buckets[i]; *at != NULL;) {
            struct grant *grant = *at;

            if (grant->used_us > since_us &&
                (runner_id == NULL || strcmp(grant->runner_id, runner_id) != 0)) {
                at = &grant->next;
                continue;
            }
            *at = grant->next;
            grant->next = gone;
            gone = grant;
        }
    pthread_mutex_unlock(&sets->lock);
    while (gone != NULL) {
        struct grant *next = gone->next;
        grant_free(gone);
        gone = next;
    }
}

void sets_expire(struct sets *sets, int64_t now_us)
{
    drop(sets, now_us - idle_us, NULL);
}

void sets_drop_runner(struct sets *sets, const char *runner_id)
{
    drop(sets, INT64_MIN, runner_id);
}
