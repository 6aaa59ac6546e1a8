#pragma once

/* Which Session a person means, and how it is. */

#include "kndl/id.h"
#include "kndl/sessions/v1/sessions_service.pb-c.h"
#include "verb.h"

/*
 * A whole id is taken as it is; anything shorter must begin exactly one of the Sessions that the
 * person may see. Fails with KNDL_NOT_FOUND, or KNDL_INVALID_ARGUMENT if it begins several.
 */
int session_id_read(struct cli *cli, const char *text, char ret_id[KNDL_ID_SIZE],
                    struct kndl_error *err);

/* The Session as it is now; lives as long as the command. */
int session_look(struct cli *cli, const char *session_id,
                 Kndl__Sessions__V1__GetSessionResponse **ret_view, struct kndl_error *err);
