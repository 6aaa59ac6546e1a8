#pragma once

/* What kndl-init makes, in its order. One thread. */

#include <stddef.h>
#include <sys/types.h>

#include "kndl/error.h"

enum { OWNERS_MAX = 16, RUNNERS_MAX = 64 };

/* What the command line says; strings are borrowed. */
struct plan {
    char dir[3072]; /* absolute */
    const char *listen;
    struct owner {
        const char *user;
        uid_t uid;
    } owners[OWNERS_MAX];
    size_t owner_count;
    const char *runners[RUNNERS_MAX]; /* of --runner-creds */
    size_t runner_count;
};

int mint_all(const struct plan *plan, struct kndl_error *err);
