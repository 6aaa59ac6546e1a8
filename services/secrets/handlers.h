#pragma once

/* Handlers of SecretsService that have a file of their own; rpc.c registers them. */

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

/* rpc.c: 1 to 64 printable characters. */
int check_request_id(struct kndl_call *call, const char *request_id);
