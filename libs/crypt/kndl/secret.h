#pragma once

/*
 * Secret bytes: locked in memory, left out of core dumps, wiped when freed. No form of it can be
 * printed. Owned by one thread at a time.
 */

#include <stddef.h>
#include <stdint.h>

#include "kndl/error.h"
#include "kndl/slice.h"

struct kndl_secret {
    uint8_t *data; /* followed by a NUL; NULL: none */
    size_t size;   /* bytes, without the NUL */
};

/*
 * Once per process, before any secret is read: core dumps off, not dumpable, no new privileges,
 * umask 077, and the check that memory can be locked at all. Fails with KNDL_FAILED_PRECONDITION,
 * saying which limit to raise. (runner-agent: kndl_crypt_init alone.)
 */
int kndl_secret_guard_process(struct kndl_error *err);

/* Readies libsodium; any process that uses libs/crypt calls it, or the one above, once. */
int kndl_crypt_init(struct kndl_error *err);

void kndl_secret_new(struct kndl_secret *secret, size_t size);
void kndl_secret_copy(struct kndl_secret *secret, struct kndl_slice bytes);
void kndl_secret_done(struct kndl_secret *secret);

/* A file of at most `most` bytes; one line break at its end is dropped. Refused unless it is a
 * regular file that only its owner may read. */
int kndl_secret_read_file(const char *path, size_t most, struct kndl_secret *ret_secret,
                          struct kndl_error *err);
