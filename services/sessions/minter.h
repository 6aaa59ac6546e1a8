#pragma once

/*
 * Mints Runners' users on NATS with the account's signing key, which is scoped: whatever it signs
 * has a Runner's subjects and no others. One for each worker.
 */

#include <stdint.h>

struct kndl_buf;
struct kndl_error;
struct minter;

/* The signing key's seed, and the public key of the account that it signs for. */
int minter_open(const char *key_file, const char *account, struct minter **ret_minter,
                struct kndl_error *err);
void minter_close(struct minter *minter);

/*
 * HUB_RUNNER_JWT_MS: how long one lasts, within these bounds (minter_open() checks it). A Runner
 * that was removed is cut off when its JWT ends, at the latest.
 */
enum { MINTER_LASTS_MS_LEAST = 5000, MINTER_LASTS_MS_MOST = 24 * 60 * 60 * 1000 };
int64_t minter_lasts_ms(void);

/* The JWT of a Runner, for the nkey whose public half it gave (which must be one). */
void minter_mint(const struct minter *minter, const char *runner_id, const char *user_public,
                 int64_t expires_at_ms, struct kndl_buf *out);
