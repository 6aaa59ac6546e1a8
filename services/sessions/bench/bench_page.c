/*
 * How long does the first page of a long Session take at the service (EV-08)? Appends 10,000
 * Events as a Runner's batches come, then asks for the newest page of 50 through the handler,
 * packed as on the bus. Prints p50 and p95 in microseconds, and p50's ratio to the smallest
 * question that the same database answers, measured in turns.
 */

#include <stdio.h>
#include <stdlib.h>

#include "fakes.h"
#include "kndl/clock.h"
#include "kndl/sessions/v1/sessions_service.pb-c.h"
#include "rpc.h"
#include "stage.h"

enum { EVENTS = 10000, BATCH = 50, ASKS = 500 };

static int compare(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;

    return left < right ? -1 : left > right;
}

/* Text like Claude's: some short, some of several KB. */
static int64_t append_all(struct stage *stage, const char *id)
{
    static char text[4096];
    int64_t began_us = kndl_clock_us();

    for (size_t i = 0; i < sizeof text - 1; i++)
        text[i] = (char)('a' + i % 26);
    for (int64_t n = 1; n <= EVENTS; n += BATCH) {
        Kndl__Event__V1__Event *events[BATCH];

        for (size_t i = 0; i < BATCH; i++)
            events[i] = stage_text(stage, text + (size_t)(n * 37 + (int64_t)i * 211) % 4000);
        stage_append(stage, "r1", id, n, events, BATCH);
    }
    return kndl_clock_us() - began_us;
}

static int64_t ask_page(struct sessions *sessions, const char *id)
{
    Kndl__Sessions__V1__ListEventsRequest req = KNDL__SESSIONS__V1__LIST_EVENTS_REQUEST__INIT;
    int64_t began_us = kndl_clock_us();

    req.session_id = (char *)id;
    struct kndl_test_answer answer =
        kndl_test_call(sessions_service, sessions, "ada", "ListEvents", &req.base);
    int64_t took_us = kndl_clock_us() - began_us;
    if (answer.response == NULL)
        abort();
    kndl_test_done(&answer);
    return took_us;
}

static int64_t ask_least(struct stage *stage)
{
    int64_t *ids, began_us = kndl_clock_us();
    size_t count;

    if (store_list_repos(stage->store, stage->arena, "nobody", &ids, &count, &stage->err) < 0)
        abort();
    return kndl_clock_us() - began_us;
}

int main(void)
{
    static int64_t pages[ASKS], least[ASKS];
    struct kndl_bus bus = {.peers = {.has_token = true}};
    struct stage *stage;

    stage_open((void **)&stage);
    struct sessions sessions = {.store = stage->store, .bus = &bus};
    stage_attend(stage, "r1", NULL, 0);
    const char *id = stage_make(stage, "ada", "r1", "");
    stage_run(stage, "r1", id);
    int64_t append_us = append_all(stage, id);
    for (size_t i = 0; i < ASKS; i++) {
        pages[i] = ask_page(&sessions, id);
        least[i] = ask_least(stage);
    }
    qsort(pages, ASKS, sizeof *pages, compare);
    qsort(least, ASKS, sizeof *least, compare);
    printf("first page of %d Events: p50 %lld us, p95 %lld us; p50 is %.1f times the smallest "
           "question (%lld us)\n",
           EVENTS, (long long)pages[ASKS / 2], (long long)pages[ASKS * 95 / 100],
           (double)pages[ASKS / 2] / (double)least[ASKS / 2], (long long)least[ASKS / 2]);
    printf("appending them in batches of %d: %lld us an Event\n", BATCH,
           (long long)append_us / EVENTS);
    stage_close((void **)&stage);
    return 0;
}
