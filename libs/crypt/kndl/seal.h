#pragma once

/*
 * Sealed values: what only a Runner can open (prompts, answers), and what only `secrets` can
 * (columns). Thread-safe where keys are not being changed.
 */

#include <stdbool.h>
#include <stdint.h>

#include "kndl/buf.h"
#include "kndl/error.h"
#include "kndl/secret.h"
#include "kndl/slice.h"

enum { KNDL_SEAL_PUBLIC_BYTES = 32, KNDL_SEAL_OVERHEAD_BYTES = 48 };

/* A Runner's key pair; the secret half is one kndl_secret that holds both. */
void kndl_seal_keypair(struct kndl_secret *ret_pair, uint8_t ret_public[KNDL_SEAL_PUBLIC_BYTES]);

/* crypto_box_seal: anybody can, nobody but the pair's holder opens it. Appends to `out`. */
void kndl_seal(const uint8_t public_key[KNDL_SEAL_PUBLIC_BYTES], struct kndl_slice plain,
               struct kndl_buf *out);
/* Fails with KNDL_DATA_LOSS if it was sealed to another key or changed. */
int kndl_seal_open(const struct kndl_secret *pair, struct kndl_slice sealed,
                   struct kndl_secret *ret_plain, struct kndl_error *err);

/*
 * Column encryption (secrets-and-web.md 1): 0x01 | key id u32be | nonce 24 | XChaCha20-Poly1305,
 * padded to 64-byte steps, bound by its AAD to the place it is kept in.
 */
struct kndl_keyring;

/*
 * HUB_SECRETS_KEY_FILE: lines `<id> <64 hex digits>`, the first is the current one; the others
 * only open. Fails naming the line, never its content.
 */
int kndl_keyring_open(const char *path, struct kndl_keyring **ret_ring, struct kndl_error *err);
void kndl_keyring_close(struct kndl_keyring *ring);
uint32_t kndl_keyring_current(const struct kndl_keyring *ring);
bool kndl_keyring_has(const struct kndl_keyring *ring, uint32_t id);

/* The place of a value. Each is length-prefixed into the AAD. */
struct kndl_place {
    const char *table;
    const char *column;
    const char *owner; /* such as person/<id> or repo/<id> */
    const char *name;
    int64_t version; /* of the row, so that an old value cannot be put back */
};

void kndl_column_seal(const struct kndl_keyring *ring, const struct kndl_place *place,
                      struct kndl_slice plain, struct kndl_buf *out);
/* Fails with KNDL_DATA_LOSS, alike for a flipped byte, another place and an unknown key. */
int kndl_column_open(const struct kndl_keyring *ring, const struct kndl_place *place,
                     struct kndl_slice sealed, struct kndl_secret *ret_plain,
                     struct kndl_error *err);
/* The key id that a sealed column names, 0 if it is none. */
uint32_t kndl_column_key(struct kndl_slice sealed);
