/* The command that moves every kept value to the current key. */

#include "rotate.h"

#include <stdio.h>

#include "kndl/env.h"
#include "kndl/log.h"
#include "kndl/secret.h"
#include "store.h"

static int run(const struct kndl_env *env, struct rotation *ret_rotation, struct kndl_error *err)
{
    struct store *store;

    if (kndl_env_load(env, err) < 0 || kndl_secret_guard_process(err) < 0 ||
        store_migrate(err) < 0 || store_open(&store, err) < 0)
        return -1;
    int result = store_rotate(store, ret_rotation, err);
    store_close(store);
    return result;
}

int rotate(const struct kndl_env *env)
{
    struct rotation rotation;
    struct kndl_error err = {0};

    kndl_log_open("secrets", KNDL_INFO);
    if (run(env, &rotation, &err) < 0) {
        fprintf(stderr, "secrets: %s\n", err.message);
        return 1;
    }
    printf("%lld values were sealed anew under the current key.\n",
           (long long)rotation.sealed_anew);
    if (rotation.unreadable > 0)
        printf("%lld cannot be read; the log names them. Keep the old key.\n",
               (long long)rotation.unreadable);
    if (rotation.in_use > 0)
        printf("%lld are left, since others use them at the moment. Keep the old key, and run this "
               "again.\n",
               (long long)rotation.in_use);
    return rotation.unreadable > 0 || rotation.in_use > 0;
}
