/*
 * secrets: the only one that decrypts what is kept.
 *
 * Answers the three services of kndl.secrets.v1, tells sessions of setup tokens that changed, owns
 * the database schema "secrets". It asks repo-access which Repos a person may see.
 *
 *   secrets            serves
 *   secrets --rotate   seals what is not under the current key anew, says how much, and ends
 */

#include <stdlib.h>
#include <string.h>

#include "changes.h"
#include "kndl/mem.h"
#include "kndl/secret.h"
#include "kndl/service.h"
#include "rotate.h"
#include "rpc.h"
#include "store.h"

static void close_worker(void *state)
{
    struct secrets *secrets = state;

    store_close(secrets->store);
    free(secrets);
}

static int open_worker(struct kndl_bus *bus, void **ret_state, struct kndl_error *err)
{
    struct secrets *secrets = kndl_new0(struct secrets);

    secrets->bus = bus;
    if (store_open(&secrets->store, err) < 0) {
        close_worker(secrets);
        return -1;
    }
    *ret_state = secrets;
    return 0;
}

static int prepare(struct kndl_error *err)
{
    struct store *store;

    if (kndl_secret_guard_process(err) < 0 || store_migrate(err) < 0 || store_open(&store, err) < 0)
        return -1;
    int result = store_check_keys(store, err);
    store_close(store);
    return result;
}

static const struct kndl_env env[] = {
    {"HUB_DATABASE_URL", NULL, "PostgreSQL, as the role that owns schema secrets"},
    {"HUB_SECRETS_KEY_FILE", NULL, "the keys that values are sealed with; the first one seals"},
    {NULL, NULL, NULL},
};

static ProtobufCService *const *const answers[] = {
    &secrets_service,
    &secrets_internal_service,
    &secrets_runner_service,
    NULL,
};

static const struct kndl_task *const tasks[] = {&changes_task, NULL};

static const struct kndl_service service = {
    .name = "secrets",
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
    if (argc == 2 && strcmp(argv[1], "--rotate") == 0)
        return rotate(env);
    return kndl_service_main(&service, argc, argv);
}
