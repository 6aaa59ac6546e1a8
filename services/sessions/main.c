/*
 * sessions: who talks to which Claude, and what was said.
 *
 * Answers the services of kndl.sessions.v1, commands the Runners, owns the database
 * schema "sessions".
 */

#include <stdlib.h>

#include "dispatch.h"
#include "kndl/clock.h"
#include "kndl/env.h"
#include "kndl/mem.h"
#include "kndl/secret.h"
#include "kndl/service.h"
#include "minter.h"
#include "rpc.h"
#include "store.h"

static void close_worker(void *state)
{
    struct sessions *sessions = state;

    minter_close(sessions->minter);
    store_close(sessions->store);
    free(sessions);
}

static int open_worker(struct kndl_bus *bus, void **ret_state, struct kndl_error *err)
{
    struct sessions *sessions = kndl_new0(struct sessions);

    sessions->opened_at_ms = kndl_clock_ms();
    sessions->bus = bus;
    if (store_open(&sessions->store, err) < 0 ||
        minter_open(kndl_env_get("HUB_RUNNER_SIGNING_KEY_FILE"), kndl_env_get("HUB_NATS_ACCOUNT"),
                    &sessions->minter, err) < 0) {
        close_worker(sessions);
        return -1;
    }
    *ret_state = sessions;
    return 0;
}

/* Prompts, answers and tokens pass through. */
static int prepare(struct kndl_error *err)
{
    if (kndl_secret_guard_process(err) < 0)
        return -1;
    return store_migrate(err);
}

static const struct kndl_env env[] = {
    {"HUB_DATABASE_URL", NULL, "PostgreSQL, as the role that owns schema sessions"},
    {"HUB_RUNNER_SIGNING_KEY_FILE", NULL, "signs Runners' users on NATS, as kndl-init made it"},
    {"HUB_NATS_ACCOUNT", NULL, "the public key of NATS's account KNDL: kndl-init's file `account`"},
    {"HUB_RUNNER_JWT_MS", "3600000", "how long a Runner's user on NATS lasts; from 5000 on"},
    {NULL, NULL, NULL},
};

static ProtobufCService *const *const answers[] = {
    &sessions_service, &runners_service, &sessions_internal_service, &sessions_runner_service, NULL,
};

static const struct kndl_task *const tasks[] = {&dispatch_task, &deadlines_task, &upgrade_task,
                                                &repos_task, NULL};

static const struct kndl_service service = {
    .name = "sessions",
    .env = env,
    .answers = answers,
    .tasks = tasks,
    .arena = KNDL_ARENA_SECRET,
    .prepare = prepare,
    .open = open_worker,
    .close = close_worker,
};

int main(int argc, char **argv)
{
    return kndl_service_main(&service, argc, argv);
}
