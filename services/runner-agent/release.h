#pragma once

/*
 * A release of the Runner, as its Hub says what it is made of (GET /runner/release), and its way
 * onto this host's disk. Blocks, on the disk and in `get`; any thread but the loop's.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kndl/buf.h"
#include "kndl/error.h"
#include "kndl/slice.h"
#include "kndl/token.h"

enum {
    RELEASE_FILES_MAX = 64,
    RELEASE_BYTES_MAX = 128 * 1024 * 1024, /* of all files */
    RELEASE_MANIFEST_BYTES_MAX = 64 * 1024,
};

struct release_file {
    char *name; /* below the release's folder */
    size_t size;
    uint8_t hash[KNDL_HASH_BYTES]; /* SHA-256 */
    bool is_executable;
};

struct release {
    char *version;
    int64_t protocol;
    char *machine; /* as uname says it */
    struct release_file files[RELEASE_FILES_MAX];
    size_t count;
};

/*
 * Reads what the Hub says. What this release does not know of is ignored, so that later ones can be
 * read; fails with KNDL_INVALID_ARGUMENT, naming it, at whatever could do harm: a version or a name
 * that leaves its folder, sizes over the limits, a file twice, no runner-agent or run-claude.
 */
int release_read(struct kndl_slice manifest, struct release **ret_release, struct kndl_error *err);
/* NULL is allowed. */
void release_free(struct release *release);

/* May this text name a release's folder? */
bool release_is_version(const char *text);

/* Gets a file's bytes, `most` of them at most. */
typedef int (*release_get_fn)(void *data, const char *name, size_t most, struct kndl_buf *ret_bytes,
                              struct kndl_error *err);

/*
 * Puts it whole into <folder>/<version>/, with every file of the size and digest that `release`
 * says and on the disk, or leaves nothing of it. What lies there already and is right is kept.
 * KNDL_DATA_LOSS: a file is not what it should be; KNDL_RESOURCE_EXHAUSTED: there is no room.
 */
int release_install(const struct release *release, const char *folder, release_get_fn get,
                    void *data, struct kndl_error *err);
