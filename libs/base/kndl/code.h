#pragma once

/*
 * What a code is called elsewhere: one table for Connect's word, the HTTP status and the exit
 * status of the CLI. Pure; any thread.
 */

#include <stdbool.h>

#include "kndl/error.h"

struct kndl_code_names {
    const char *word; /* Connect's, such as not_found */
    int http;         /* as Connect maps it: a conflict of state is ABORTED, 409 */
    int exit; /* 0 ok, 1 failed, 2 usage, 3 not found or no access, 4 conflict, 5 Hub away */
};

/* Never NULL; a number that is no code is called unknown. */
const struct kndl_code_names *kndl_code_names(enum kndl_code code);

/* The code of Connect's word; KNDL_UNKNOWN for any other. */
enum kndl_code kndl_code_of_word(const char *word);
