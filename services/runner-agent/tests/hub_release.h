#pragma once

/* A Hub's release in memory, for tests: its manifest, and its files one by one. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kndl/buf.h"
#include "release.h"

struct hub_file {
    const char *name;
    const char *text;
    bool is_executable;
    const char *served; /* in its place; NULL: the text */
};

struct hub_release {
    const char *version;
    int protocol;
    const char *machine; /* NULL: this host's */
    struct hub_file files[8];
    size_t count;
    unsigned manifests; /* asked for so far */
    unsigned gets;      /* of files */
    const char *breaks; /* the file at which the Hub goes away; NULL: none */
};

/* runner-agent, which prints `says` as its last line, run-claude and a file of the mod. */
struct hub_release hub_release_of(const char *version, const char *says);

void hub_release_manifest(const struct hub_release *hub, struct kndl_buf *out);

/* A release_get_fn of a struct hub_release. */
int hub_release_get(void *hub, const char *name, size_t most, struct kndl_buf *ret_bytes,
                    struct kndl_error *err);

/* A new folder below /tmp, and its end. */
void hub_release_folder(char path[64]);
void hub_release_remove(const char *path);

/* How many entries a folder has; 0 where there is none. */
size_t hub_release_entries(const char *path);
