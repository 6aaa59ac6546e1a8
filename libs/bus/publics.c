/* The table of who may do what. Nothing but rows: publics_find.c looks them up. */

#include "kndl/publics.h"

#include <stddef.h>

#include "kndl/redactor/v1/redactor_service.pb-c.h"
#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "kndl/secrets/v1/secrets_service.pb-c.h"
#include "kndl/sessions/v1/runners_service.pb-c.h"
#include "kndl/sessions/v1/sessions_runner_service.pb-c.h"
#include "kndl/sessions/v1/sessions_service.pb-c.h"

#define NOTHING KNDL_ABOUT_NOTHING
#define SEEN KNDL_ABOUT_SEEN
#define REPO KNDL_ABOUT_REPO
#define SESSION KNDL_ABOUT_SESSION
#define SHARED KNDL_ABOUT_SHARED

#define MEMBER KNDL_WHO_MEMBER
#define PARTICIPANT KNDL_WHO_PARTICIPANT
#define CREATOR KNDL_WHO_CREATOR
#define KEEPER KNDL_WHO_KEEPER
#define OWNER KNDL_WHO_OWNER

#define BROWSER KNDL_BY_BROWSER
#define CLI KNDL_BY_CLI
#define BOTH KNDL_BY_BOTH

/* What a CLI token, which lies on a disk, may not: in the browser, or confirmed there. */
#define SEE_MEMBERS (BROWSER | KNDL_BY_CONFIRMED_SEE_MEMBERS | KNDL_BY_CONFIRMED_CHANGE_MEMBERS)
#define CHANGE_MEMBERS (BROWSER | KNDL_BY_CONFIRMED_CHANGE_MEMBERS)
#define SETUP_TOKEN (BROWSER | KNDL_BY_CONFIRMED_SETUP_TOKEN)
#define RUNNERS (BROWSER | KNDL_BY_CONFIRMED_RUNNERS)

#define CHANGES KNDL_CHANGES

/* ---- methods of people ---- */

/* The Owner drives nobody else's Session. */
static const struct kndl_public sessions[] = {
    {"CreateSession", REPO, PARTICIPANT, BOTH, CHANGES}, /* they become its Creator */
    {"ListSessions", SEEN, MEMBER, BOTH, 0},
    {"GetSession", SESSION, PARTICIPANT, BOTH, 0},
    {"SendPrompt", SESSION, CREATOR, BOTH, CHANGES},
    {"CancelPrompt", SESSION, CREATOR, BOTH, CHANGES},
    {"ResumeQueue", SESSION, CREATOR, BOTH, CHANGES},
    {"AnswerQuestion", SESSION, CREATOR, BOTH, CHANGES},
    {"StopTurn", SESSION, CREATOR, BOTH, CHANGES},
    {"SleepSession", SESSION, CREATOR, BOTH, CHANGES},
    {"WakeSession", SESSION, CREATOR, BOTH, CHANGES},
    {"ListEvents", SESSION, PARTICIPANT, BOTH, KNDL_WAITS},
    {"OpenView", SESSION, PARTICIPANT, BOTH, 0},
    {"Heads", SEEN, MEMBER, BOTH, 0},
};

static const struct kndl_public runners[] = {
    {"ListRunners", NOTHING, MEMBER, BOTH, 0},
    {"RegisterRunner", NOTHING, OWNER, RUNNERS, CHANGES},
    {"RenameRunner", NOTHING, OWNER, RUNNERS, CHANGES},
    {"RotateRunnerToken", NOTHING, OWNER, RUNNERS, CHANGES},
    {"RemoveRunner", NOTHING, OWNER, RUNNERS, CHANGES},
};

static const struct kndl_public secrets[] = {
    {"SetSetupToken", NOTHING, MEMBER, SETUP_TOKEN, CHANGES},
    {"RemoveSetupToken", NOTHING, MEMBER, SETUP_TOKEN, CHANGES},
    {"GetSetupToken", NOTHING, MEMBER, BOTH, 0}, /* that there is one, never its value */
    {"ListVariables", REPO, PARTICIPANT, BOTH, 0},
    {"SetVariables", REPO, PARTICIPANT, BOTH, CHANGES},
    {"RemoveVariable", REPO, PARTICIPANT, BOTH, CHANGES},
    {"ListSharedVariables", SEEN, MEMBER, BOTH, 0},
    {"SetSharedVariable", SHARED, KEEPER, BOTH, CHANGES | KNDL_MAKES},
    {"RemoveSharedVariable", SHARED, KEEPER, BOTH, CHANGES},
    {"LinkSharedVariable", SHARED, KEEPER, BOTH, CHANGES}, /* and who sees that Repo */
    {"GetSessionVariables", SESSION, PARTICIPANT, BOTH, 0},
};

/* It says how many values there are: for who may see their names. */
static const struct kndl_public redactor[] = {
    {"TestRedaction", REPO, PARTICIPANT, BOTH, CHANGES}, /* changes nothing, and costs */
};

static const struct kndl_public repo_access[] = {
    {"WhoAmI", NOTHING, MEMBER, BOTH, 0},
    {"ListRepos", SEEN, MEMBER, BOTH, 0},
    {"SignOut", NOTHING, MEMBER, BOTH, CHANGES | KNDL_NAMES_CREDENTIAL},
    {"ListSignIns", NOTHING, MEMBER, BOTH, KNDL_NAMES_CREDENTIAL}, /* a CLI sees itself alone */
    {"EndSignIn", NOTHING, MEMBER, BROWSER, CHANGES},
    {"EndAllSignIns", NOTHING, MEMBER, BROWSER, CHANGES},
    {"FindDevice", NOTHING, MEMBER, BROWSER, KNDL_GUESSES},
    {"DecideDevice", NOTHING, MEMBER, BROWSER, CHANGES | KNDL_GUESSES},
    {"BeginConfirmation", NOTHING, MEMBER, CLI, CHANGES | KNDL_NAMES_CREDENTIAL | KNDL_CONFIRMS},
    {"TakeConfirmation", NOTHING, MEMBER, CLI, CHANGES | KNDL_NAMES_CREDENTIAL | KNDL_POLLS},
    {"ListMembers", NOTHING, MEMBER, SEE_MEMBERS, 0},
    {"ListInvites", NOTHING, OWNER, SEE_MEMBERS, 0},
    {"InviteMember", NOTHING, OWNER, CHANGE_MEMBERS, CHANGES | KNDL_INVITES},
    {"RevokeInvite", NOTHING, OWNER, CHANGE_MEMBERS, CHANGES},
    {"RemoveMember", NOTHING, OWNER, CHANGE_MEMBERS, CHANGES},
    {"HandOverOwnership", NOTHING, OWNER, BROWSER, CHANGES},
};

/* ---- methods of Runners ---- */

#define OF_RUNNER(method)                                                                          \
    {                                                                                              \
        method, SESSION, KNDL_WHO_RUNNER, 0, 0                                                     \
    }

/* Whose Session it is, in which run and phase, is looked at in the row of the run. */
static const struct kndl_public sessions_runner[] = {
    {"Attend", NOTHING, KNDL_WHO_RUNNER, 0, 0}, /* what it has itself */
    OF_RUNNER("ReportStep"),
    OF_RUNNER("ReportRunning"),
    OF_RUNNER("ReportEnded"),
    OF_RUNNER("ReportPrompt"),
    OF_RUNNER("ReportCommand"),
    OF_RUNNER("ReportWaiting"),
    OF_RUNNER("IssueModToken"),
    OF_RUNNER("MintGitToken"),
};

static const struct kndl_public secrets_runner[] = {
    OF_RUNNER("FetchSetupToken"), /* while it starts, and its Creator is a Member and has one */
    OF_RUNNER("FetchVariables"),
    OF_RUNNER("PutSessionToken"),
};

static const struct kndl_public redactor_runner[] = {OF_RUNNER("Open")};
static const struct kndl_public redactor_raw[] = {OF_RUNNER("Put")};

#define COUNT(rows) (sizeof rows / sizeof *rows)

/* protobuf-c's struct of a service is its base and a pointer for each method. */
#define EACH_METHOD_HAS_ITS_ROW(Service, rows)                                                     \
    _Static_assert((sizeof(Kndl__##Service##_Service) - sizeof(ProtobufCService)) /                \
                           sizeof(void (*)(void)) ==                                               \
                       COUNT(rows),                                                                \
                   "a method is missing from libs/bus/publics.c, or is gone")

EACH_METHOD_HAS_ITS_ROW(Sessions__V1__SessionsService, sessions);
EACH_METHOD_HAS_ITS_ROW(Sessions__V1__RunnersService, runners);
EACH_METHOD_HAS_ITS_ROW(Secrets__V1__SecretsService, secrets);
EACH_METHOD_HAS_ITS_ROW(Redactor__V1__RedactorService, redactor);
EACH_METHOD_HAS_ITS_ROW(RepoAccess__V1__RepoAccessService, repo_access);
EACH_METHOD_HAS_ITS_ROW(Sessions__V1__SessionsRunnerService, sessions_runner);
EACH_METHOD_HAS_ITS_ROW(Secrets__V1__SecretsRunnerService, secrets_runner);
EACH_METHOD_HAS_ITS_ROW(Redactor__V1__RedactorRunnerService, redactor_runner);
EACH_METHOD_HAS_ITS_ROW(Redactor__V1__RedactorRawService, redactor_raw);

#define ROWS(name, rows)                                                                           \
    {                                                                                              \
        &kndl__##name##__descriptor, rows, COUNT(rows)                                             \
    }

const struct kndl_public_service kndl_public_services[] = {
    ROWS(sessions__v1__sessions_service, sessions),
    ROWS(sessions__v1__runners_service, runners),
    ROWS(secrets__v1__secrets_service, secrets),
    ROWS(redactor__v1__redactor_service, redactor),
    ROWS(repo_access__v1__repo_access_service, repo_access),
    {NULL, NULL, 0},
};

const struct kndl_public_service kndl_runner_services[] = {
    ROWS(sessions__v1__sessions_runner_service, sessions_runner),
    ROWS(secrets__v1__secrets_runner_service, secrets_runner),
    ROWS(redactor__v1__redactor_runner_service, redactor_runner),
    ROWS(redactor__v1__redactor_raw_service, redactor_raw),
    {NULL, NULL, 0},
};

/* ---- messages of the socket ---- */

const struct kndl_public_message kndl_public_messages[] = {
    {"open", PARTICIPANT}, /* what it shows is asked of OpenView and ListEvents, as the person */
    {"close", MEMBER},     /* a channel of its own */
    {"ping", MEMBER},
    {"watch", MEMBER}, /* what they do not see is left out */
};

const unsigned kndl_public_message_count = COUNT(kndl_public_messages);

/* ---- paths ---- */

#define HUB(id, method, path, who, remark)                                                         \
    {                                                                                              \
        KNDL_PATH_##id, KNDL_DOOR_HUB, method, path, who, remark                                   \
    }
#define MOD(id, method, path)                                                                      \
    {                                                                                              \
        KNDL_PATH_MOD_##id, KNDL_DOOR_RELAY, method, path, SANDBOX, OWN_RUN                        \
    }

#define ANYBODY KNDL_WHO_ANYBODY
#define SANDBOX KNDL_WHO_SANDBOX
#define OWN_RUN "the Session token of that Sandbox's run, on its own relay; any other 401"

const struct kndl_path kndl_paths[] = {
    HUB(HEALTH, "READ", "/health", ANYBODY, ""),
    HUB(METHOD, "*", "/kndl.*", ANYBODY, "by the method's own row"),
    HUB(SOCKET, "UPGRADE", "/socket", MEMBER, "then by the message's row"),
    HUB(RUNNER_CREDENTIAL, "POST", "/runner/credential", KNDL_WHO_RUNNER, "its RUNNER_TOKEN"),
    HUB(RUNNER_RELEASE, "GET", "/runner/release", KNDL_WHO_RUNNER, "its RUNNER_TOKEN"),
    HUB(RUNNER_RELEASE_FILE, "GET", "/runner/release/*", KNDL_WHO_RUNNER, "its RUNNER_TOKEN"),
    HUB(SIGN_IN_METHODS, "GET", "/auth/methods", ANYBODY, ""),
    HUB(DEV_LOGIN, "POST", "/auth/dev", ANYBODY,
        "a Hub on loopback that allows it, from loopback; a removed Member R"),
    HUB(GITHUB_BEGIN, "POST", "/auth/github", ANYBODY, "an Invite or the Setup link only if valid"),
    HUB(GITHUB_RETURN, "GET", "/auth/github/callback", ANYBODY,
        "the browser that began, once; who is no Member and has no Invite R"),
    HUB(DEVICE_BEGIN, "POST", "/auth/device", ANYBODY, ""),
    HUB(DEVICE_POLL, "POST", "/auth/device/token", ANYBODY, "who has its code"),
    HUB(SIGN_OUT, "POST", "/auth/signout", ANYBODY, "ends the caller's own"),
    HUB(NONE, "*", "/auth/*", 0, NULL),
    HUB(FILE, "READ", "/*", ANYBODY, "the web UI"),

    MOD(HELLO, "POST", "/mod/hello"),
    MOD(EVENTS, "POST", "/mod/events"),
    MOD(RESULTS, "POST", "/mod/results"),
    MOD(COMMANDS, "GET", "/mod/commands"),
    MOD(ANSWER, "GET", "/mod/answers/*"),
};

const unsigned kndl_path_count = COUNT(kndl_paths);
