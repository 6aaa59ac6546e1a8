/*
 * redactor: raw in, masked out. It keeps nothing.
 *
 * Answers the services of kndl.redactor.v1: TestRedaction for people, Mask for services, Open for
 * Runners, and the raw subjects of those that opened a stream at this copy.
 */

#include <pthread.h>
#include <stdlib.h>

#include "blocks.h"
#include "hits.h"
#include "kndl/bus.h"
#include "kndl/guard.h"
#include "kndl/log.h"
#include "kndl/mem.h"
#include "kndl/secret.h"
#include "kndl/service.h"
#include "kndl/sessions/v1/sessions_internal_service.pb-c.h"
#include "rpc.h"
#include "sets.h"

/* Made before any worker, read by each of them when it opens; they live as long as the process. */
static struct sets *sets;
static struct blocks *blocks;
static struct hits *hits;

static int prepare(struct kndl_error *err)
{
    if (kndl_secret_guard_process(err) < 0)
        return -1;
    sets = sets_new();
    blocks = blocks_new();
    hits = hits_new();
    return 0;
}

static void on_masks_changed(const char *subject, struct kndl_slice data, void *user_data)
{
    (void)subject;
    (void)data;
    (void)user_data;
    sets_doubt(sets);
}

/* On a thread of the bus. What it opened before is not taken any more; secrets grants it nothing.
 */
static void on_removal(const char *subject, struct kndl_slice data, void *user_data)
{
    Kndl__Sessions__V1__RunnerRemoved *fact;
    struct kndl_error ignored;

    (void)subject;
    (void)user_data;
    if (kndl_guard_check(&kndl__sessions__v1__runner_removed__descriptor, data, &ignored) < 0)
        return;
    fact = kndl__sessions__v1__runner_removed__unpack(NULL, data.size, (const uint8_t *)data.data);
    if (fact == NULL)
        return;
    kndl_log(KNDL_INFO, "a Runner was removed", KNDL_STR("runner", fact->runner_id));
    sets_drop_runner(sets, fact->runner_id);
    kndl__sessions__v1__runner_removed__free_unpacked(fact, NULL);
}

/* Once for the process, which ends with it: by the first worker, since before there is no bus. */
static void subscribe(struct kndl_bus *bus)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct kndl_subscription *facts, *removals;
    struct kndl_error err;

    pthread_mutex_lock(&lock);
    if (facts == NULL &&
        kndl_bus_subscribe_fact(bus, "secrets", "masks", on_masks_changed, NULL, &facts, &err) < 0)
        kndl_log(KNDL_WARNING, "facts cannot be subscribed to", KNDL_STR("why", err.message));
    if (removals == NULL && kndl_bus_subscribe_fact(bus, "sessions", "runner_removed", on_removal,
                                                    NULL, &removals, &err) < 0)
        kndl_log(KNDL_WARNING, "facts cannot be subscribed to", KNDL_STR("why", err.message));
    pthread_mutex_unlock(&lock);
}

static int open_worker(struct kndl_bus *bus, void **ret_state, struct kndl_error *err)
{
    struct redactor *redactor = kndl_new0(struct redactor);

    (void)err;
    if (bus != NULL) /* NULL: --check */
        subscribe(bus);
    *redactor = (struct redactor){bus, sets, blocks, hits};
    *ret_state = redactor;
    return 0;
}

static void close_worker(void *state)
{
    free(state);
}

static const struct kndl_env env[] = {
    {NULL, NULL, NULL},
};

static ProtobufCService *const *const answers[] = {
    &redactor_service,
    &redactor_internal_service,
    &redactor_runner_service,
    NULL,
};

static const struct kndl_task *const tasks[] = {&expire_task, &count_task, NULL};

static const struct kndl_service service = {
    .name = "redactor",
    .env = env,
    .answers = answers,
    .tasks = tasks,
    .arena = KNDL_ARENA_SECRET,
    .pin_token = 5, /* kndl.raw.<instance>.<runner>.<session> */
    .raw = &redactor_raw_service,
    .prepare = prepare,
    .open = open_worker,
    .close = close_worker,
};

int main(int argc, char **argv)
{
    return kndl_service_main(&service, argc, argv);
}
