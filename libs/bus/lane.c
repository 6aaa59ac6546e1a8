/* A bounded queue and its workers' bookkeeping. */

#include "lane.h"

#include "connection.h"

void lane_init(struct lane *lane)
{
    pthread_mutex_init(&lane->lock, NULL);
    kndl_cond_init(&lane->changed);
}

void lane_done(struct lane *lane)
{
    for (; lane->count > 0; lane->count--) {
        kndl_message_done(lane->jobs[lane->first].message);
        lane->first = (lane->first + 1) % KNDL_LANE_MAX;
    }
    pthread_cond_destroy(&lane->changed);
    pthread_mutex_destroy(&lane->lock);
}

/* Only for Runners' jobs: a service's never waits for this. */
static bool has_its_share(const struct lane *lane, const struct job *job)
{
    unsigned own = 0;

    if (job->runner == 0)
        return false;
    if (job->is_shared && lane->shared_count >= KNDL_LANE_RUNNERS_MAX)
        return true;
    for (unsigned i = 0; i < lane->count; i++)
        own += lane->jobs[(lane->first + i) % KNDL_LANE_MAX].runner == job->runner;
    return own >= KNDL_LANE_RUNNER_MAX;
}

enum lane_verdict lane_put(struct lane *lane, const struct job *job)
{
    enum lane_verdict verdict = LANE_TAKEN;

    pthread_mutex_lock(&lane->lock);
    if (lane->ready == 0) {
        verdict = LANE_NOT_READY;
    } else if (lane->count == KNDL_LANE_MAX || has_its_share(lane, job)) {
        verdict = LANE_FULL;
    } else {
        lane->shared_count += job->is_shared;
        lane->jobs[(lane->first + lane->count++) % KNDL_LANE_MAX] = *job;
        pthread_cond_broadcast(&lane->changed);
    }
    pthread_mutex_unlock(&lane->lock);
    return verdict;
}

void lane_ready(struct lane *lane)
{
    pthread_mutex_lock(&lane->lock);
    lane->ready++;
    pthread_mutex_unlock(&lane->lock);
}

bool lane_take(struct lane *lane, struct job *ret_job)
{
    bool is_taken = false;

    pthread_mutex_lock(&lane->lock);
    while (lane->count == 0 && !lane->stops)
        pthread_cond_wait(&lane->changed, &lane->lock);
    if (lane->count > 0) {
        *ret_job = lane->jobs[lane->first];
        lane->first = (lane->first + 1) % KNDL_LANE_MAX;
        lane->count--;
        lane->shared_count -= ret_job->is_shared;
        lane->busy++;
        is_taken = true;
    }
    pthread_mutex_unlock(&lane->lock);
    return is_taken;
}

void lane_finish(struct lane *lane)
{
    pthread_mutex_lock(&lane->lock);
    lane->busy--;
    pthread_cond_broadcast(&lane->changed);
    pthread_mutex_unlock(&lane->lock);
}

bool lane_wait_idle(struct lane *lane, int64_t ms)
{
    struct timespec until = kndl_wait_until(ms);
    bool is_idle;

    pthread_mutex_lock(&lane->lock);
    while (lane->count > 0 || lane->busy > 0)
        if (pthread_cond_timedwait(&lane->changed, &lane->lock, &until) != 0)
            break;
    is_idle = lane->count == 0 && lane->busy == 0;
    pthread_mutex_unlock(&lane->lock);
    return is_idle;
}

void lane_stop(struct lane *lane)
{
    pthread_mutex_lock(&lane->lock);
    lane->stops = true;
    pthread_cond_broadcast(&lane->changed);
    pthread_mutex_unlock(&lane->lock);
}
