/* The table of who may what. */

#include "kndl/publics.h"

#include <stdlib.h>
#include <string.h>

#include "kndl/buf.h"
#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "kndl/secrets/v1/secrets_service.pb-c.h"
#include "kndl/sessions/v1/runners_service.pb-c.h"
#include "kndl/sessions/v1/sessions_service.pb-c.h"

struct row {
    const char *method;
    enum kndl_who who;
};

/* The Owner drives nobody else's Session. */
static const struct row sessions[] = {
    {"CreateSession", KNDL_WHO_MEMBER}, /* in a Repo that they see; they become its Creator */
    {"ListSessions", KNDL_WHO_MEMBER},  /* those that they see */
    {"GetSession", KNDL_WHO_PARTICIPANT}, {"SendPrompt", KNDL_WHO_CREATOR},
    {"CancelPrompt", KNDL_WHO_CREATOR},   {"ResumeQueue", KNDL_WHO_CREATOR},
    {"AnswerQuestion", KNDL_WHO_CREATOR}, {"StopTurn", KNDL_WHO_CREATOR},
    {"SleepSession", KNDL_WHO_CREATOR},   {"WakeSession", KNDL_WHO_CREATOR},
    {"ListEvents", KNDL_WHO_PARTICIPANT}, {"OpenView", KNDL_WHO_PARTICIPANT},
    {"Heads", KNDL_WHO_MEMBER}, /* what they do not see is left out */
};

static const struct row runners[] = {
    {"ListRunners", KNDL_WHO_MEMBER}, {"RegisterRunner", KNDL_WHO_OWNER},
    {"RenameRunner", KNDL_WHO_OWNER}, {"RotateRunnerToken", KNDL_WHO_OWNER},
    {"RemoveRunner", KNDL_WHO_OWNER},
};

static const struct row secrets[] = {
    {"SetSetupToken", KNDL_WHO_MEMBER},
    {"RemoveSetupToken", KNDL_WHO_MEMBER},
    {"GetSetupToken", KNDL_WHO_MEMBER},
    {"ListVariables", KNDL_WHO_PARTICIPANT},
    {"SetVariables", KNDL_WHO_PARTICIPANT},
    {"RemoveVariable", KNDL_WHO_PARTICIPANT},
    {"ListSharedVariables", KNDL_WHO_MEMBER}, /* theirs, and those of Repos that they see */
    {"SetSharedVariable", KNDL_WHO_MEMBER},   /* who sees every Repo that it is linked to */
    {"RemoveSharedVariable", KNDL_WHO_MEMBER},
    {"LinkSharedVariable", KNDL_WHO_MEMBER},
    {"GetSessionVariables", KNDL_WHO_PARTICIPANT},
};

static const struct row repo_access[] = {
    {"WhoAmI", KNDL_WHO_MEMBER},      {"ListRepos", KNDL_WHO_MEMBER},
    {"SignOut", KNDL_WHO_MEMBER},     {"ListSignIns", KNDL_WHO_MEMBER},
    {"EndSignIn", KNDL_WHO_MEMBER},   {"EndAllSignIns", KNDL_WHO_MEMBER},
    {"FindDevice", KNDL_WHO_MEMBER},  {"DecideDevice", KNDL_WHO_MEMBER},
    {"ListMembers", KNDL_WHO_MEMBER}, {"ListInvites", KNDL_WHO_OWNER},
    {"InviteMember", KNDL_WHO_OWNER}, {"RevokeInvite", KNDL_WHO_OWNER},
    {"RemoveMember", KNDL_WHO_OWNER}, {"HandOverOwnership", KNDL_WHO_OWNER},
};

#define COUNT(rows) (sizeof rows / sizeof *rows)

/* protobuf-c's struct of a service is its base and a pointer for each method. */
#define EACH_METHOD_HAS_ITS_ROW(Service, rows)                                                     \
    _Static_assert((sizeof(Service) - sizeof(ProtobufCService)) / sizeof(void (*)(void)) ==        \
                       COUNT(rows),                                                                \
                   "a public method is missing from libs/bus/publics.c, or is gone")

EACH_METHOD_HAS_ITS_ROW(Kndl__Sessions__V1__SessionsService_Service, sessions);
EACH_METHOD_HAS_ITS_ROW(Kndl__Sessions__V1__RunnersService_Service, runners);
EACH_METHOD_HAS_ITS_ROW(Kndl__Secrets__V1__SecretsService_Service, secrets);
EACH_METHOD_HAS_ITS_ROW(Kndl__RepoAccess__V1__RepoAccessService_Service, repo_access);

/* In the order of kndl_public_services. */
static const struct {
    const struct row *rows;
    size_t count;
} tables[] = {
    {sessions, COUNT(sessions)},
    {runners, COUNT(runners)},
    {secrets, COUNT(secrets)},
    {repo_access, COUNT(repo_access)},
};

const ProtobufCServiceDescriptor *const kndl_public_services[] = {
    &kndl__sessions__v1__sessions_service__descriptor,
    &kndl__sessions__v1__runners_service__descriptor,
    &kndl__secrets__v1__secrets_service__descriptor,
    &kndl__repo_access__v1__repo_access_service__descriptor,
    NULL,
};

static const char *who_name(enum kndl_who who)
{
    switch (who) {
    case KNDL_WHO_MEMBER:
        return "Member";
    case KNDL_WHO_PARTICIPANT:
        return "Participant";
    case KNDL_WHO_CREATOR:
        return "Creator";
    case KNDL_WHO_OWNER:
        return "Owner";
    }
    abort();
}

static enum kndl_who find(size_t table, const char *method)
{
    for (size_t i = 0; i < tables[table].count; i++)
        if (strcmp(tables[table].rows[i].method, method) == 0)
            return tables[table].rows[i].who;
    abort();
}

enum kndl_who kndl_public_who(const ProtobufCMethodDescriptor *method)
{
    for (size_t i = 0; kndl_public_services[i] != NULL; i++) {
        const ProtobufCServiceDescriptor *service = kndl_public_services[i];

        if (method >= service->methods && method < service->methods + service->n_methods)
            return find(i, method->name);
    }
    abort();
}

void kndl_publics_print(struct kndl_buf *out)
{
    kndl_buf_append_text(
        out,
        "# Permissions\n\n"
        "Who may call each public method: made from `libs/bus/publics.c`; a test fails when this "
        "is stale, and\nanother tries every kind of caller on every row "
        "(`integration-tests/flows/matrix.flow.mjs`).\n\n"
        "Checked in this order: the credential (401, alike for all), the object and its Repo "
        "(404, alike for what is\nnot there and what one may not see), the row below (403), the "
        "state (409).\n\n"
        "*Member*: every one, for what is their own or all Members'. *Participant*: who sees the "
        "Session's Repo.\n*Creator*: of these, its Creator alone. *Owner*: the Owner, whatever "
        "it names.\n");
    for (size_t i = 0; kndl_public_services[i] != NULL; i++) {
        const ProtobufCServiceDescriptor *service = kndl_public_services[i];

        kndl_buf_printf(out, "\n## %s\n\n| method | who |\n|---|---|\n", service->name);
        for (unsigned m = 0; m < service->n_methods; m++)
            kndl_buf_printf(out, "| `%s` | %s |\n", service->methods[m].name,
                            who_name(find(i, service->methods[m].name)));
    }
}
