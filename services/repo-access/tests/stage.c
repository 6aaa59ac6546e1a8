#include "stage.h"

#include <stdio.h>
#include <stdlib.h>

#include "fakes.h"
#include "kndl/env.h"
#include "kndl/secret.h"
#include "kndl/testing.h"
#include "settings.h"
#include "store.h"

bool stage_prepare(bool dev_login)
{
    struct kndl_error err = {0};

    setenv("HUB_PUBLIC_URL", "http://127.0.0.1:8080", 1);
    setenv("HUB_GITHUB_URL", "http://github.test", 1);
    setenv("HUB_REPO_ACCESS_TTL_MS", "300000", 1);
    setenv("HUB_DEV_LOGIN", dev_login ? "1" : "", 1);
    setenv("GITHUB_APP_ID", "", 1);
    if (kndl_secret_guard_process(&err) == 0)
        return true;
    fprintf(stderr, "%s\n", err.message);
    return false;
}

void stage_open(struct repo_access *ret_repo_access)
{
    struct kndl_error err = {0};

    fakes_reset();
    setenv("HUB_DATABASE_URL", kndl_test_database(), 1);
    assert_int_equal(kndl_env_load(settings, &err), 0);
    assert_int_equal(store_migrate(&err), 0);
    assert_int_equal(store_open(&ret_repo_access->store, &err), 0);
    ret_repo_access->github = &the_github;
    ret_repo_access->oauth = &the_oauth;
    ret_repo_access->bus = &the_bus;
}

void stage_close(struct repo_access *repo_access)
{
    store_close(repo_access->store);
}
