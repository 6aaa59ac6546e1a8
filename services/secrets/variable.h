#pragma once

/* What a Variable may be: its name, its value, how many there are. Pure. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kndl/error.h"

enum {
    VARIABLE_NAME_CHARS_MAX = 256,
    VARIABLE_VALUE_BYTES_MAX = 16 * 1024,
    VARIABLES_MAX = 50,              /* of a Repo; and linked to a Repo */
    VARIABLES_BYTES_MAX = 64 * 1024, /* of their values; less than 64 bytes of each are let off */
    VARIABLE_LINKS_MAX = 200,        /* Repos of one Shared variable */
};

/* What somebody sets; all borrowed. */
struct new_variable {
    const char *name;
    const char *value; /* secret */
    bool is_sensitive;
    bool at_build;
};

/*
 * Fails with KNDL_INVALID_ARGUMENT, naming the Variable and saying why, never quoting its value.
 * *ret_warning is NULL, or a sentence: why a Sensitive value is a weak one to mask.
 */
int variable_check(const struct new_variable *variable, const char **ret_warning,
                   struct kndl_error *err);

/* Do so many Variables of so many sealed bytes fit? Fails with KNDL_RESOURCE_EXHAUSTED; `whose`
 * says in the message which they are. */
int variable_check_scope(int64_t count, int64_t sealed_bytes, const char *whose,
                         struct kndl_error *err);
