/* Who a person is to the Session, the Repo or the Hub that their request names. */

#include <string.h>

#include "handlers.h"
#include "kndl/access.h"
#include "kndl/id.h"
#include "peers.h"
#include "rpc.h"

static int stand_to_session(struct kndl_call *call, const char *session_id, unsigned *ret_who)
{
    struct sessions *sessions = call->state;
    struct named_session *named = kndl_arena_alloc(call->arena, sizeof *named);
    struct kndl_access access;

    if (!kndl_id_is_valid(session_id))
        return 0;
    if (store_read_session(sessions->store, call->arena, session_id, &named->session, &call->err) <
        0)
        return kndl_stand_absent(call);
    if (kndl_access_check(sessions->bus, call, &named->session.repo_id, 1, &access) < 0)
        return -1;
    if (access.count == 0)
        return 0;
    named->access_until_ms = access.valid_until_ms;
    call->found = named;
    *ret_who |= KNDL_WHO_PARTICIPANT;
    if (strcmp(named->session.creator_id, call->actor.id) == 0)
        *ret_who |= KNDL_WHO_CREATOR;
    return 0;
}

static int stand_to_repo(struct kndl_call *call, int64_t repo_id, const char *name,
                         unsigned *ret_who)
{
    struct sessions *sessions = call->state;
    struct named_repo *named = kndl_arena_alloc(call->arena, sizeof *named);

    if (repo_id <= 0 && name[0] == '\0')
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT, "name a Repo, as owner/name");
    if (kndl_access_resolve_repo(sessions->bus, call, repo_id, name, &named->id, &named->name) < 0)
        return kndl_stand_absent(call);
    call->found = named;
    *ret_who |= KNDL_WHO_PARTICIPANT;
    return 0;
}

static int stand_to_hub(struct kndl_call *call, unsigned *ret_who)
{
    struct sessions *sessions = call->state;
    struct person person;

    if (peers_get_person(sessions->bus, call, &person) < 0)
        return -1;
    if (person.is_owner)
        *ret_who |= KNDL_WHO_OWNER;
    return 0;
}

int stand(struct kndl_call *call, const struct kndl_public *row, const ProtobufCMessage *request,
          unsigned *ret_who)
{
    *ret_who = KNDL_WHO_MEMBER; /* the gateway has asked repo-access, and so does what follows */
    if (row->about == KNDL_ABOUT_SESSION)
        return stand_to_session(call, kndl_request_text(request, "session_id"), ret_who);
    if (row->about == KNDL_ABOUT_REPO)
        return stand_to_repo(call, kndl_request_number(request, "repo_id"),
                             kndl_request_text(request, "repo_name"), ret_who);
    return row->who == KNDL_WHO_OWNER ? stand_to_hub(call, ret_who) : 0;
}

const struct named_session *named_session(const struct kndl_call *call)
{
    return call->found;
}

const struct named_repo *named_repo(const struct kndl_call *call)
{
    return call->found;
}
