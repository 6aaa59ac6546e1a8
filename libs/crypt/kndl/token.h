#pragma once

/*
 * Credentials of ours: kndl_<kind>_<43 base62 characters = 256 bits>_<6 base62 of CRC32>.
 *
 * The prefix lets scanners find a leaked one, the checksum lets us refuse nonsense before any
 * look-up. At rest only SHA-256 of the whole text is kept; it is looked up by that.
 */

#include <stdbool.h>
#include <stdint.h>

#include "kndl/secret.h"
#include "kndl/slice.h"

enum kndl_token_kind {
    KNDL_TOKEN_WEB, /* a browser's sign-in */
    KNDL_TOKEN_CLI,
    KNDL_TOKEN_RUN, /* RUNNER_TOKEN */
    KNDL_TOKEN_MOD,
    KNDL_TOKEN_SES, /* Session token */
    KNDL_TOKEN_INV,
    KNDL_TOKEN_SET,
    KNDL_TOKEN_SGN, /* a browser that is at GitHub to sign in */
    KNDL_TOKEN_DEV, /* a machine that waits for a yes */
    KNDL_TOKEN_CNF, /* what a CLI got for its person's yes: a confirmation */
};

enum { KNDL_TOKEN_CHARS = 5 + 3 + 1 + 43 + 1 + 6, KNDL_HASH_BYTES = 32 };

void kndl_token_new(enum kndl_token_kind kind, struct kndl_secret *ret_token);

/* Well formed, of that kind, checksum right. Says nothing of whether anybody knows it. */
bool kndl_token_is_valid(enum kndl_token_kind kind, struct kndl_slice text);

void kndl_hash(struct kndl_slice bytes, uint8_t ret_hash[KNDL_HASH_BYTES]);

/* In constant time. */
bool kndl_hash_equal(const uint8_t a[KNDL_HASH_BYTES], const uint8_t b[KNDL_HASH_BYTES]);

/* CSPRNG bytes. */
void kndl_random(void *ret_bytes, size_t size);
