/* The table of public methods. */

#include "methods.h"

#include <string.h>

#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "kndl/secrets/v1/secrets_service.pb-c.h"
#include "kndl/sessions/v1/runners_service.pb-c.h"
#include "kndl/sessions/v1/sessions_service.pb-c.h"

static const struct method sessions_methods[] = {
    {"CreateSession", METHOD_BOTH, METHOD_CHANGES},
    {"ListSessions", METHOD_BOTH, 0},
    {"GetSession", METHOD_BOTH, 0},
    {"SendPrompt", METHOD_BOTH, METHOD_CHANGES},
    {"CancelPrompt", METHOD_BOTH, METHOD_CHANGES},
    {"ResumeQueue", METHOD_BOTH, METHOD_CHANGES},
    {"AnswerQuestion", METHOD_BOTH, METHOD_CHANGES},
    {"StopTurn", METHOD_BOTH, METHOD_CHANGES},
    {"SleepSession", METHOD_BOTH, METHOD_CHANGES},
    {"WakeSession", METHOD_BOTH, METHOD_CHANGES},
    {"ListEvents", METHOD_BOTH, METHOD_WAITS},
    {"OpenView", METHOD_BOTH, 0},
    {"Heads", METHOD_BOTH, 0},
};

/* Runners are administered in the browser; the CLI looks at them. */
static const struct method runners_methods[] = {
    {"ListRunners", METHOD_BOTH, 0},
    {"RegisterRunner", METHOD_WEB, METHOD_CHANGES},
    {"RenameRunner", METHOD_WEB, METHOD_CHANGES},
    {"RotateRunnerToken", METHOD_WEB, METHOD_CHANGES},
    {"RemoveRunner", METHOD_WEB, METHOD_CHANGES},
};

/* A CLI token lies on a disk; what spends another's money is set in the browser alone. */
static const struct method secrets_methods[] = {
    {"SetSetupToken", METHOD_WEB, METHOD_CHANGES},
    {"RemoveSetupToken", METHOD_WEB, METHOD_CHANGES},
    {"GetSetupToken", METHOD_BOTH, 0},
    {"ListVariables", METHOD_BOTH, 0},
    {"SetVariables", METHOD_BOTH, METHOD_CHANGES},
    {"RemoveVariable", METHOD_BOTH, METHOD_CHANGES},
    {"ListSharedVariables", METHOD_BOTH, 0},
    {"SetSharedVariable", METHOD_BOTH, METHOD_CHANGES},
    {"RemoveSharedVariable", METHOD_BOTH, METHOD_CHANGES},
    {"LinkSharedVariable", METHOD_BOTH, METHOD_CHANGES},
    {"GetSessionVariables", METHOD_BOTH, 0},
};

/* Who may come in, and with what, is decided in the browser alone, too. */
static const struct method repo_access_methods[] = {
    {"WhoAmI", METHOD_BOTH, 0},
    {"ListRepos", METHOD_BOTH, 0},
    {"SignOut", METHOD_BOTH, METHOD_CHANGES | METHOD_NAMES_CREDENTIAL},
    {"ListSignIns", METHOD_BOTH, METHOD_NAMES_CREDENTIAL}, /* a CLI sees itself alone */
    {"EndSignIn", METHOD_WEB, METHOD_CHANGES},
    {"EndAllSignIns", METHOD_WEB, METHOD_CHANGES},
    {"FindDevice", METHOD_WEB, METHOD_GUESSES},
    {"DecideDevice", METHOD_WEB, METHOD_CHANGES | METHOD_GUESSES},
    {"ListMembers", METHOD_WEB, 0},
    {"ListInvites", METHOD_WEB, 0},
    {"InviteMember", METHOD_WEB, METHOD_CHANGES | METHOD_INVITES},
    {"RevokeInvite", METHOD_WEB, METHOD_CHANGES},
    {"RemoveMember", METHOD_WEB, METHOD_CHANGES},
    {"HandOverOwnership", METHOD_WEB, METHOD_CHANGES},
};

#define COUNT(rows) (sizeof rows / sizeof *rows)

/* protobuf-c's struct of a service is its base and a pointer for each method. */
#define EACH_METHOD_HAS_ITS_ROW(Service, rows)                                                     \
    _Static_assert((sizeof(Service) - sizeof(ProtobufCService)) / sizeof(void (*)(void)) ==        \
                       COUNT(rows),                                                                \
                   "a public method is missing from the table, or is gone")

EACH_METHOD_HAS_ITS_ROW(Kndl__Sessions__V1__SessionsService_Service, sessions_methods);
EACH_METHOD_HAS_ITS_ROW(Kndl__Sessions__V1__RunnersService_Service, runners_methods);
EACH_METHOD_HAS_ITS_ROW(Kndl__Secrets__V1__SecretsService_Service, secrets_methods);
EACH_METHOD_HAS_ITS_ROW(Kndl__RepoAccess__V1__RepoAccessService_Service, repo_access_methods);

const struct method_service method_services[] = {
    {&kndl__sessions__v1__sessions_service__descriptor, sessions_methods, COUNT(sessions_methods)},
    {&kndl__sessions__v1__runners_service__descriptor, runners_methods, COUNT(runners_methods)},
    {&kndl__secrets__v1__secrets_service__descriptor, secrets_methods, COUNT(secrets_methods)},
    {&kndl__repo_access__v1__repo_access_service__descriptor, repo_access_methods,
     COUNT(repo_access_methods)},
    {NULL, NULL, 0},
};

bool method_is_path(const char *path)
{
    return strncmp(path, "/kndl.", 6) == 0;
}

const struct method *method_find(const char *path, const ProtobufCServiceDescriptor **ret_service,
                                 const ProtobufCMethodDescriptor **ret_method)
{
    const char *slash = path[0] == '/' ? strchr(path + 1, '/') : NULL;

    if (slash == NULL)
        return NULL;
    size_t length = (size_t)(slash - path - 1);
    for (const struct method_service *service = method_services; service->descriptor != NULL;
         service++) {
        const char *name = service->descriptor->name;

        if (strncmp(name, path + 1, length) != 0 || name[length] != '\0')
            continue;
        for (size_t i = 0; i < service->count; i++) {
            if (strcmp(service->methods[i].name, slash + 1) != 0)
                continue;
            *ret_service = service->descriptor;
            *ret_method =
                protobuf_c_service_descriptor_get_method_by_name(service->descriptor, slash + 1);
            return *ret_method == NULL ? NULL : &service->methods[i];
        }
        return NULL;
    }
    return NULL;
}
