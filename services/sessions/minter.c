/* Users of Runners. */

#include "minter.h"

#include <stdlib.h>

#include "kndl/env.h"
#include "kndl/error.h"
#include "kndl/mem.h"
#include "kndl/nkey.h"
#include "kndl/secret.h"

enum { FILE_BYTES_MAX = 256 };

struct minter {
    struct kndl_nkey signer;
    char *account; /* its public key */
};

static int read_lasts(int64_t *ret_lasts_ms, struct kndl_error *err)
{
    return kndl_env_get_i64("HUB_RUNNER_JWT_MS", MINTER_LASTS_MS_LEAST, MINTER_LASTS_MS_MOST,
                            ret_lasts_ms, err);
}

int64_t minter_lasts_ms(void)
{
    int64_t lasts_ms = 0;

    (void)read_lasts(&lasts_ms, NULL);
    return lasts_ms;
}

int minter_open(const char *key_file, const char *account, struct minter **ret_minter,
                struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_secret_done) struct kndl_secret seed = {0};
    struct minter *minter;
    int64_t lasts_ms;

    if (read_lasts(&lasts_ms, err) < 0)
        return -1;
    if (!kndl_nkey_is_public(KNDL_NKEY_ACCOUNT, kndl_slice_of(account)))
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "%s is no account's public key", account);
    if (kndl_secret_read_file(key_file, FILE_BYTES_MAX, &seed, err) < 0)
        return -1;
    minter = kndl_new0(struct minter);
    minter->account = kndl_strdup(account);
    if (kndl_nkey_from_seed(kndl_slice(seed.data, seed.size), &minter->signer, err) < 0) {
        minter_close(minter);
        return kndl_wrap(err, "%s", key_file);
    }
    *ret_minter = minter;
    return 0;
}

void minter_close(struct minter *minter)
{
    if (minter == NULL)
        return;
    kndl_nkey_done(&minter->signer);
    free(minter->account);
    free(minter);
}

void minter_mint(const struct minter *minter, const char *runner_id, const char *user_public,
                 int64_t expires_at_ms, struct kndl_buf *out)
{
    const struct kndl_user_claims claims = {
        .name = runner_id,
        .user_public = user_public,
        .issuer_account = minter->account,
        .expires_at_ms = expires_at_ms,
    };

    kndl_jwt_user(&minter->signer, &claims, out);
}
