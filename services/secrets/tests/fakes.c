/* Peers, and a Hub's environment. */

#include "fakes.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kndl/access.h"
#include "kndl/arena.h"
#include "kndl/env.h"
#include "kndl/rpc.h"
#include "kndl/secret.h"
#include "kndl/testing.h"

struct kndl_bus fake_bus;
static char key_file[] = "/tmp/kndl-secrets-XXXXXX";

int peers_tell_token_changed(struct kndl_bus *bus, struct kndl_call *call,
                             const struct token_change *change)
{
    if (bus->is_away)
        return kndl_fail(&call->err, KNDL_UNAVAILABLE, "nobody serves it");
    bus->count++;
    bus->last = *change;
    return 0;
}

static bool is_seen(const struct kndl_bus *bus, int64_t repo_id)
{
    for (size_t i = 0; i < FAKE_REPOS_MAX && bus->repos[i] != 0; i++)
        if (bus->repos[i] == repo_id)
            return true;
    return false;
}

int kndl_access_resolve_repo(struct kndl_bus *bus, struct kndl_call *call, int64_t repo_id,
                             const char *name, int64_t *ret_id, const char **ret_name)
{
    (void)name;
    if (!is_seen(bus, repo_id))
        return kndl_fail(&call->err, KNDL_NOT_FOUND, "Repo %lld does not exist",
                         (long long)repo_id);
    *ret_id = repo_id;
    *ret_name = "demo/hello";
    return 0;
}

int kndl_access_check(struct kndl_bus *bus, struct kndl_call *call, const int64_t *repo_ids,
                      size_t count, struct kndl_access *ret_access)
{
    struct kndl_access access = {
        .allowed = kndl_arena_alloc(call->arena, (count + 1) * sizeof(bool)),
        .repo_ids = kndl_arena_alloc(call->arena, (count + 1) * sizeof(int64_t)),
    };

    for (size_t i = 0; i < count; i++)
        if ((access.allowed[i] = is_seen(bus, repo_ids[i])))
            access.repo_ids[access.count++] = repo_ids[i];
    *ret_access = access;
    return 0;
}

void peers_say_masks_changed(struct kndl_bus *bus)
{
    bus->masks_changed++;
}

void fake_keys(const char *lines)
{
    int fd = open(key_file, O_WRONLY | O_TRUNC | O_CLOEXEC);

    if (fd < 0 || write(fd, lines, strlen(lines)) != (ssize_t)strlen(lines))
        abort();
    close(fd);
}

int fake_hub_open(void **state)
{
    static const struct kndl_env env[] = {
        {"HUB_DATABASE_URL", NULL, ""}, {"HUB_SECRETS_KEY_FILE", NULL, ""}, {NULL, NULL, NULL}};
    struct kndl_error err = {0};
    int fd = mkstemp(key_file);

    (void)state;
    if (fd < 0)
        abort();
    close(fd);
    fake_keys(FAKE_KEY_7 FAKE_KEY_8);
    setenv("HUB_DATABASE_URL", kndl_test_database(), 1);
    setenv("HUB_SECRETS_KEY_FILE", key_file, 1);
    if (kndl_env_load(env, &err) < 0 || kndl_secret_guard_process(&err) < 0 ||
        store_migrate(&err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        abort();
    }
    return 0;
}

int fake_hub_close(void **state)
{
    (void)state;
    return unlink(key_file);
}

struct kndl_db *fake_connect(const struct kndl_statement *statements)
{
    struct kndl_error err = {0};
    struct kndl_db *db;

    if (kndl_db_open(kndl_env_get("HUB_DATABASE_URL"), "secrets", statements, &db, &err) < 0)
        fail_msg("%s", err.message);
    return db;
}
