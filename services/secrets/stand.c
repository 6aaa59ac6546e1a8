/* Who a person is to the Repo, the Session or the Shared variable that their request names. */

#include "handlers.h"
#include "kndl/access.h"
#include "kndl/id.h"
#include "rpc.h"
#include "variable.h"

static int stand_to_session(struct kndl_call *call, const char *session_id, struct named *named,
                            unsigned *ret_who)
{
    struct secrets *secrets = call->state;
    struct kndl_access access;

    if (!kndl_id_is_valid(session_id))
        return 0;
    if (store_find_session_repo(secrets->store, session_id, call->arena, &named->repo_id,
                                &named->has_variables, &call->err) < 0)
        return kndl_stand_absent(call);
    if (kndl_access_check(secrets->bus, call, &named->repo_id, 1, &access) < 0)
        return -1;
    if (access.count > 0)
        *ret_who |= KNDL_WHO_PARTICIPANT;
    return 0;
}

static int stand_to_repo(struct kndl_call *call, const ProtobufCMessage *request,
                         struct named *named, unsigned *ret_who)
{
    struct secrets *secrets = call->state;

    if (kndl_access_resolve_repo(secrets->bus, call, kndl_request_number(request, "repo_id"),
                                 kndl_request_text(request, "repo_name"), &named->repo_id,
                                 &named->repo_name) < 0)
        return kndl_stand_absent(call);
    *ret_who |= KNDL_WHO_PARTICIPANT;
    return 0;
}

/* A Repo that is named besides is what it is to be linked to, which they must see, too. */
static int stand_to_named_shared(struct kndl_call *call, const struct kndl_public *row,
                                 const ProtobufCMessage *request, struct named *named,
                                 unsigned *ret_who)
{
    struct secrets *secrets = call->state;
    const char *id = kndl_request_text(request, "shared_id");
    struct variable *shared = kndl_arena_alloc(call->arena, sizeof *shared);

    if (id[0] == '\0' && (row->flags & KNDL_MAKES)) {
        *ret_who |= KNDL_WHO_PARTICIPANT | KNDL_WHO_KEEPER;
        return 0;
    }
    if (store_find_shared(secrets->store, id, call->arena, shared, &call->err) < 0)
        return kndl_stand_absent(call);
    named->shared = shared;
    if (stand_to_shared(call, shared, ret_who) < 0)
        return -1;
    if (!(*ret_who & row->who) || kndl_request_number(request, "repo_id") == 0)
        return 0;
    return kndl_access_resolve_repo(secrets->bus, call, kndl_request_number(request, "repo_id"), "",
                                    &named->repo_id, &named->repo_name);
}

int stand(struct kndl_call *call, const struct kndl_public *row, const ProtobufCMessage *request,
          unsigned *ret_who)
{
    struct named *named = kndl_arena_alloc(call->arena, sizeof *named);

    *named = (struct named){0};
    call->found = named;
    *ret_who = KNDL_WHO_MEMBER; /* the gateway has asked repo-access, and so does what follows */
    switch (row->about) {
    case KNDL_ABOUT_SESSION:
        return stand_to_session(call, kndl_request_text(request, "session_id"), named, ret_who);
    case KNDL_ABOUT_REPO:
        return stand_to_repo(call, request, named, ret_who);
    case KNDL_ABOUT_SHARED:
        return stand_to_named_shared(call, row, request, named, ret_who);
    case KNDL_ABOUT_NOTHING:
    case KNDL_ABOUT_SEEN:
        return 0;
    }
    return 0;
}

const struct named *named(const struct kndl_call *call)
{
    return call->found;
}
