#pragma once

/*
 * Handlers of SessionsService that have a file of their own (create.c, views.c; rpc.c registers
 * them), and what handlers check.
 */

#include <stdbool.h>
#include <stddef.h>

#include "kndl/rpc.h"
#include "kndl/sessions/v1/sessions_service.pb-c.h"
#include "store.h"

int create_session(struct kndl_call *call, const Kndl__Sessions__V1__CreateSessionRequest *req,
                   Kndl__Sessions__V1__CreateSessionResponse *resp);
int list_sessions(struct kndl_call *call, const Kndl__Sessions__V1__ListSessionsRequest *req,
                  Kndl__Sessions__V1__ListSessionsResponse *resp);
int get_session(struct kndl_call *call, const Kndl__Sessions__V1__GetSessionRequest *req,
                Kndl__Sessions__V1__GetSessionResponse *resp);
int list_events(struct kndl_call *call, const Kndl__Sessions__V1__ListEventsRequest *req,
                Kndl__Sessions__V1__ListEventsResponse *resp);
int open_view(struct kndl_call *call, const Kndl__Sessions__V1__OpenViewRequest *req,
              Kndl__Sessions__V1__OpenViewResponse *resp);
int heads(struct kndl_call *call, const Kndl__Sessions__V1__HeadsRequest *req,
          Kndl__Sessions__V1__HeadsResponse *resp);

/* Longer prompts belong in a file of the Workspace. */
enum { PROMPT_BYTES_MAX = 64 * 1024 };

/* The Session, if the person may see its Repo and the table (kndl/publics.h) lets them call this
 * method on it. Without access it answers as if it did not exist, word for word. ret_until may be
 * NULL: when to ask again. */
int check_access(struct kndl_call *call, const char *session_id, struct session *ret_session,
                 int64_t *ret_until_ms);

/* Printable ASCII without blanks, of that many bytes at most; "" too. */
bool is_graphic(const char *text, size_t most);

/* INVALID_ARGUMENT unless it is 1 to 64 printable characters. */
int check_request_id(struct kndl_call *call, const char *request_id);

/*
 * INVALID_ARGUMENT unless it is a prompt that Claude Code takes as one: not blank, not too long,
 * and no command (its submit refuses what begins with a slash).
 */
int check_prompt(struct kndl_call *call, const char *text);

/* Masks one text of a Session. */
int mask_one(struct kndl_call *call, const char *session_id, const char *text,
             const char **ret_masked);

/* The call's person as the one who asks. */
struct asked asked_by(const struct kndl_call *call, const char *session_id, const char *request_id);
