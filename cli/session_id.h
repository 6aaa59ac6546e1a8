#pragma once

/* Which Session a person means. */

#include "kndl/id.h"
#include "verb.h"

/*
 * A whole id is taken as it is; anything shorter must begin exactly one of the Sessions that the
 * person may see. Fails with KNDL_NOT_FOUND, or KNDL_INVALID_ARGUMENT if it begins several.
 */
int session_id_read(struct cli *cli, const char *text, char ret_id[KNDL_ID_SIZE],
                    struct kndl_error *err);
