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

/* What every command to a Session carries: which one, and a request id of its own. */
struct session_ids {
    char session[KNDL_ID_SIZE];
    char request[KNDL_ID_SIZE];
};

/* Reads the first word as session_id_read() does, and makes the request id. */
int session_ids_read(struct cli *cli, const struct args *args, struct session_ids *ret_ids,
                     struct kndl_error *err);
