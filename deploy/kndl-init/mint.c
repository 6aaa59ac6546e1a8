/* Keys, accounts, users and nats.conf. Keys are kept once made; all else is written anew. */

#include "mint.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "kndl/mem.h"
#include "kndl/nkey.h"
#include "kndl/permissions.h"

enum { SEED_BYTES_MAX = 64, PATH_BYTES = 4096, RESPONSES_MAX = 1 };

struct keys {
    struct kndl_nkey operator_key, system_account, account, runner_signer;
};

static void done_keys(struct keys *keys)
{
    kndl_nkey_done(&keys->operator_key);
    kndl_nkey_done(&keys->system_account);
    kndl_nkey_done(&keys->account);
    kndl_nkey_done(&keys->runner_signer);
}

static uid_t owner_of(const struct plan *plan, const char *user)
{
    for (size_t i = 0; i < plan->owner_count; i++)
        if (strcmp(plan->owners[i].user, user) == 0)
            return plan->owners[i].uid;
    return (uid_t)-1;
}

__attribute__((format(printf, 3, 4))) static const char *
path_of(const struct plan *plan, char path[PATH_BYTES], const char *format, ...)
{
    va_list args;
    int size = snprintf(path, PATH_BYTES, "%s/", plan->dir);

    va_start(args, format);
    vsnprintf(path + size, (size_t)(PATH_BYTES - size), format, args);
    va_end(args);
    return path;
}

/* Reads a key, or makes it where there is none. */
static int keep_key(const char *path, uid_t uid, enum kndl_nkey_kind kind,
                    struct kndl_nkey *ret_key, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_secret_done) struct kndl_secret seed = {0};

    if (access(path, F_OK) < 0) {
        kndl_nkey_new(kind, ret_key);
        return files_write(path, 0600, uid, kndl_slice(ret_key->seed.data, ret_key->seed.size),
                           err);
    }
    if (kndl_secret_read_file(path, SEED_BYTES_MAX, &seed, err) < 0)
        return -1;
    if (kndl_nkey_from_seed(kndl_slice(seed.data, seed.size), ret_key, err) < 0)
        return kndl_wrap(err, "%s", path);
    if (ret_key->kind != kind)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "%s is a key of another kind", path);
    if (uid != (uid_t)-1 && chown(path, uid, (gid_t)-1) < 0)
        return kndl_fail(err, KNDL_FAILED_PRECONDITION, "%s cannot be given away", path);
    return 0;
}

static int keep_keys(const struct plan *plan, struct keys *ret_keys, struct kndl_error *err)
{
    const uid_t own = (uid_t)-1;
    char path[PATH_BYTES];

    if (keep_key(path_of(plan, path, "keys/operator.seed"), own, KNDL_NKEY_OPERATOR,
                 &ret_keys->operator_key, err) < 0 ||
        keep_key(path_of(plan, path, "keys/system.seed"), own, KNDL_NKEY_ACCOUNT,
                 &ret_keys->system_account, err) < 0 ||
        keep_key(path_of(plan, path, "keys/account.seed"), own, KNDL_NKEY_ACCOUNT,
                 &ret_keys->account, err) < 0 ||
        keep_key(path_of(plan, path, "creds/runner-signing.seed"), owner_of(plan, "sessions"),
                 KNDL_NKEY_ACCOUNT, &ret_keys->runner_signer, err) < 0)
        return -1;
    return files_write(path_of(plan, path, "account"), 0644, own,
                       kndl_slice_of(ret_keys->account.public), err);
}

static int write_account(const struct plan *plan, const struct keys *keys,
                         const struct kndl_nkey *account, const char *name,
                         const struct kndl_scope *scopes, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf jwt = {0};
    char path[PATH_BYTES];

    kndl_jwt_account(&keys->operator_key, account->public, name, scopes, &jwt);
    return files_write(path_of(plan, path, "jwt/%s.jwt", account->public), 0600,
                       owner_of(plan, "nats"), kndl_buf_slice(&jwt), err);
}

/* Both accounts, straight into the resolver's folder, where the server finds them at its start. */
static int write_accounts(const struct plan *plan, const struct keys *keys, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_subjects_done) struct kndl_subjects runner = {0};

    kndl_permissions_of("runner", "{{name()}}", &runner);
    const struct kndl_scope scopes[] = {
        {.signing_key = keys->runner_signer.public,
         .role = "runner",
         .publish = (const char *const *)runner.publish,
         .subscribe = (const char *const *)runner.subscribe,
         .responses = runner.responds ? RESPONSES_MAX : 0},
        {0},
    };
    if (write_account(plan, keys, &keys->system_account, "SYS", NULL, err) < 0)
        return -1;
    return write_account(plan, keys, &keys->account, "KNDL", scopes, err);
}

static int write_creds(const struct plan *plan, const struct kndl_nkey *signer,
                       struct kndl_user_claims *claims, const char *file, const char *owner,
                       struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_nkey_done) struct kndl_nkey user = {0};
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf jwt = {0};
    KNDL_CLEANUP(kndl_secret_done) struct kndl_secret creds = {0};
    char path[PATH_BYTES];

    kndl_nkey_new(KNDL_NKEY_USER, &user);
    claims->user_public = user.public;
    kndl_jwt_user(signer, claims, &jwt);
    claims->user_public = NULL;
    kndl_nkey_creds(kndl_buf_text(&jwt), &user, &creds);
    return files_write(path_of(plan, path, "creds/%s.creds", file), 0600, owner_of(plan, owner),
                       kndl_slice(creds.data, creds.size), err);
}

static int write_service(const struct plan *plan, const struct keys *keys, const char *user,
                         struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_subjects_done) struct kndl_subjects subjects = {0};

    kndl_permissions_of(user, NULL, &subjects);
    struct kndl_user_claims claims = {
        .name = user,
        .publish = (const char *const *)subjects.publish,
        .subscribe = (const char *const *)subjects.subscribe,
        .responses = subjects.responds ? RESPONSES_MAX : 0,
    };
    return write_creds(plan, &keys->account, &claims, user, user, err);
}

static int write_runner(const struct plan *plan, const struct keys *keys, const char *runner_id,
                        const char *file, struct kndl_error *err)
{
    struct kndl_user_claims claims = {
        .name = runner_id,
        .issuer_account = keys->account.public,
    };

    return write_creds(plan, &keys->runner_signer, &claims, file, "runner", err);
}

static int write_users(const struct plan *plan, const struct keys *keys, struct kndl_error *err)
{
    char file[128];

    for (size_t i = 0; kndl_bus_users[i] != NULL; i++)
        if (write_service(plan, keys, kndl_bus_users[i], err) < 0)
            return -1;
    for (size_t i = 0; i < plan->runner_count; i++) {
        snprintf(file, sizeof file, "runner-%s", plan->runners[i]);
        if (write_runner(plan, keys, plan->runners[i], file, err) < 0)
            return -1;
    }
    return 0;
}

static int write_config(const struct plan *plan, const struct keys *keys, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf operator_jwt = {0};
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf config = {0};
    char path[PATH_BYTES];

    kndl_jwt_operator(&keys->operator_key, "kndl", keys->system_account.public, &operator_jwt);
    kndl_buf_printf(&config,
                    "# Made by kndl-init.\n"
                    "listen: \"%s\"\n"
                    "server_name: kndl\n"
                    "max_payload: 1048576\n"
                    "ping_interval: \"10s\"\n"
                    "ping_max: 2\n"
                    "operator: %s\n"
                    "system_account: %s\n"
                    "resolver: { type: full, dir: \"%s/jwt\", allow_delete: false, "
                    "interval: \"2m\" }\n",
                    plan->listen, kndl_buf_text(&operator_jwt), keys->system_account.public,
                    plan->dir);
    return files_write(path_of(plan, path, "nats.conf"), 0644, owner_of(plan, "nats"),
                       kndl_buf_slice(&config), err);
}

int mint_all(const struct plan *plan, struct kndl_error *err)
{
    KNDL_CLEANUP(done_keys) struct keys keys = {0};
    char path[PATH_BYTES];

    if (files_make_dir(path_of(plan, path, "keys"), 0700, (uid_t)-1, err) < 0 ||
        files_make_dir(path_of(plan, path, "creds"), 0755, (uid_t)-1, err) < 0 ||
        files_make_dir(path_of(plan, path, "jwt"), 0700, owner_of(plan, "nats"), err) < 0 ||
        keep_keys(plan, &keys, err) < 0 || write_accounts(plan, &keys, err) < 0 ||
        write_users(plan, &keys, err) < 0)
        return -1;
    return write_config(plan, &keys, err);
}
