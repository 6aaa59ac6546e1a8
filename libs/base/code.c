/* The table of codes. */

#include "kndl/code.h"

#include <stddef.h>
#include <string.h>

static const struct kndl_code_names table[] = {
    [KNDL_OK] = {"ok", 200, 0},
    [KNDL_CANCELLED] = {"canceled", 499, 1},
    [KNDL_UNKNOWN] = {"unknown", 500, 1},
    [KNDL_INVALID_ARGUMENT] = {"invalid_argument", 400, 2},
    [KNDL_DEADLINE_EXCEEDED] = {"deadline_exceeded", 504, 5},
    [KNDL_NOT_FOUND] = {"not_found", 404, 3},
    [KNDL_ALREADY_EXISTS] = {"already_exists", 409, 4},
    [KNDL_PERMISSION_DENIED] = {"permission_denied", 403, 3},
    [KNDL_RESOURCE_EXHAUSTED] = {"resource_exhausted", 429, 1},
    [KNDL_FAILED_PRECONDITION] = {"failed_precondition", 400, 4},
    [KNDL_ABORTED] = {"aborted", 409, 4},
    [KNDL_OUT_OF_RANGE] = {"out_of_range", 400, 2},
    [KNDL_UNIMPLEMENTED] = {"unimplemented", 501, 1},
    [KNDL_INTERNAL] = {"internal", 500, 1},
    [KNDL_UNAVAILABLE] = {"unavailable", 503, 5},
    [KNDL_DATA_LOSS] = {"data_loss", 500, 1},
    [KNDL_UNAUTHENTICATED] = {"unauthenticated", 401, 3},
};

enum { CODES = sizeof table / sizeof table[0] };

const struct kndl_code_names *kndl_code_names(enum kndl_code code)
{
    return &table[(unsigned)code < CODES ? code : KNDL_UNKNOWN];
}

enum kndl_code kndl_code_of_word(const char *word)
{
    for (size_t i = 1; i < CODES; i++)
        if (strcmp(table[i].word, word) == 0)
            return (enum kndl_code)i;
    return KNDL_UNKNOWN;
}
