#pragma once

/*
 * Handlers of SessionsService that have a file of their own (create.c, views.c; rpc.c registers
 * them), and what handlers check.
 */

#include <stdbool.h>
#include <stddef.h>

#include "kndl/permit.h"
#include "kndl/rpc.h"
#include "kndl/sessions/v1/sessions_service.pb-c.h"
#include "store.h"

struct masking;

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

/* What a person's request names, as it was found before the handler ran. */
struct named_session {
    struct session session;
    int64_t access_until_ms; /* when to ask again whether they see its Repo */
};

struct named_repo {
    int64_t id;
    const char *name; /* owner/name */
};

/* kndl_stand_fn of this service's methods of people: stand.c. */
int stand(struct kndl_call *call, const struct kndl_public *row, const ProtobufCMessage *request,
          unsigned *ret_who);

/* Of a call whose row is about a Session, or a Repo; it lives as long as the call. */
const struct named_session *named_session(const struct kndl_call *call);
const struct named_repo *named_repo(const struct kndl_call *call);

/* Printable ASCII without blanks, of that many bytes at most; "" too. */
bool is_graphic(const char *text, size_t most);

/*
 * INVALID_ARGUMENT unless it is a prompt that Claude Code takes as one: not blank, not too long,
 * and no command (its submit refuses what begins with a slash).
 */
int check_prompt(struct kndl_call *call, const char *text);

/*
 * peers_mask() of what the call's person wrote. Fails with KNDL_UNAVAILABLE, and that it was not
 * taken, while it cannot be masked; why is in the log, for it is no matter of theirs.
 */
int mask_written(struct kndl_call *call, const struct masking *masking, const char *const *texts,
                 size_t count, const char **ret_texts);
