/* Who is asking GitHub what, in this process. */

#include "flight.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* All under `lock`; `ended` is signalled whenever a place becomes free. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static char asked[FLIGHT_WAITING_MAX][FLIGHT_KEY_SIZE]; /* "" is free */
static int waiting;                                     /* those who ask, and who wait for them */

static int find(const char *key)
{
    for (int i = 0; i < FLIGHT_WAITING_MAX; i++)
        if (strncmp(asked[i], key, FLIGHT_KEY_SIZE - 1) == 0)
            return i;
    return -1;
}

int flight_begin(const char *key, bool *ret_is_first, struct kndl_error *err)
{
    pthread_mutex_lock(&lock);
    if (waiting == FLIGHT_WAITING_MAX) {
        pthread_mutex_unlock(&lock);
        return kndl_fail(err, KNDL_RESOURCE_EXHAUSTED, "too many wait for GitHub; try again");
    }
    waiting++;
    *ret_is_first = find(key) < 0;
    if (*ret_is_first) {
        snprintf(asked[find("")], FLIGHT_KEY_SIZE, "%s", key);
    } else {
        while (find(key) >= 0)
            pthread_cond_wait(&ended, &lock);
        waiting--;
    }
    pthread_mutex_unlock(&lock);
    return 0;
}

void flight_end(const char *key)
{
    pthread_mutex_lock(&lock);
    asked[find(key)][0] = '\0';
    waiting--;
    pthread_cond_broadcast(&ended);
    pthread_mutex_unlock(&lock);
}
