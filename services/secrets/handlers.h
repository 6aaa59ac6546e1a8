#pragma once

/* Handlers of SecretsService that have a file of their own; rpc.c registers them. */

#include "kndl/permit.h"
#include "kndl/rpc.h"
#include "kndl/secrets/v1/secrets_service.pb-c.h"
#include "store.h"

#define HANDLER(name, Method)                                                                      \
    int name(struct kndl_call *call, const Kndl__Secrets__V1__##Method##Request *req,              \
             Kndl__Secrets__V1__##Method##Response *resp)

/* variables.c: of a Repo. */
HANDLER(list_variables, ListVariables);
HANDLER(set_variables, SetVariables);
HANDLER(remove_variable, RemoveVariable);
HANDLER(get_session_variables, GetSessionVariables);

/* shared.c: Shared variables. */
HANDLER(list_shared_variables, ListSharedVariables);
HANDLER(set_shared_variable, SetSharedVariable);
HANDLER(remove_shared_variable, RemoveSharedVariable);
HANDLER(link_shared_variable, LinkSharedVariable);

#undef HANDLER

/* present.c: a kept Variable as people see it. */
Kndl__Secrets__V1__Variable *present_variable(const struct variable *variable,
                                              struct kndl_arena *arena);
Kndl__Secrets__V1__Masked *present_masked(const struct masked *masked, struct kndl_arena *arena);
Kndl__Secrets__V1__VariableWarning *present_warning(const char *name, const char *text,
                                                    struct kndl_arena *arena);
Kndl__Secrets__V1__VariableChange *present_change(const struct variable_change *change,
                                                  struct kndl_arena *arena);

/* What a person's request names, as it was found before the handler ran: stand.c. */
struct named {
    int64_t repo_id; /* 0: none is named */
    const char *repo_name;
    bool has_variables;            /* of a Session: as store_find_session_repo() says it */
    const struct variable *shared; /* NULL: none is named, or a new one */
};

/* kndl_stand_fn of this service's methods of people. */
int stand(struct kndl_call *call, const struct kndl_public *row, const ProtobufCMessage *request,
          unsigned *ret_who);

/* It lives as long as the call. */
const struct named *named(const struct kndl_call *call);

/* shared.c: who the caller is to a Shared variable, as bits of enum kndl_who, of which
 * PARTICIPANT's and KEEPER's are set. */
int stand_to_shared(struct kndl_call *call, const struct variable *variable, unsigned *ret_who);

/* rpc.c: who asks for a change and for what; `message` is the request. Fails as
 * kndl_call_check_request_id(). */
int read_request(struct kndl_call *call, const char *request_id, const ProtobufCMessage *message,
                 struct request *ret_request);
