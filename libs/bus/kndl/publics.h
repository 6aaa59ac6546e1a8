#pragma once

/*
 * Who may do what: one table in code (publics.c). The gateway routes and refuses by it, the owner
 * of each row decides by it, docs/permissions.md is made from it, and the flow `matrix` tries every
 * kind of caller on every row. What has no row cannot be called: a public method or a Runner's
 * without one does not compile, a message of the socket fails the unit test, a path is not routed.
 *
 * Checks come in this order, always: a credential of the right kind, else UNAUTHENTICATED, alike
 * for all; the object is there and the person sees its Repo, else NOT_FOUND, alike for both; who
 * they are to it, else PERMISSION_DENIED; the state, else ABORTED; the rest of the request.
 */

#include <stdbool.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

struct kndl_buf;

/* What its request names, whose Repo is to be seen. */
enum kndl_about {
    KNDL_ABOUT_NOTHING, /* it shows or changes what is the caller's own, or all Members' */
    KNDL_ABOUT_SEEN,    /* a list: what the caller does not see is left out */
    KNDL_ABOUT_REPO,    /* repo_id, or repo_name */
    KNDL_ABOUT_SESSION, /* session_id */
    KNDL_ABOUT_SHARED,  /* shared_id, a Shared variable */
};

/* Who somebody is to what a request names: bits, of which a row wants one. */
enum kndl_who {
    KNDL_WHO_MEMBER = 1,      /* every Member */
    KNDL_WHO_PARTICIPANT = 2, /* of these, who sees the Repo */
    KNDL_WHO_CREATOR = 4,     /* of these, who started the Session */
    KNDL_WHO_KEEPER = 8,      /* who sees each Repo that the Shared variable is linked to */
    KNDL_WHO_OWNER = 16,      /* the Owner, whatever it names */
    KNDL_WHO_RUNNER = 32,     /* the Runner of the Session that it names, in that run */
    KNDL_WHO_SANDBOX = 64,    /* what runs in a Sandbox, by its Session token */
    KNDL_WHO_ANYBODY = 128,   /* no credential is asked for */
};

/* Through which client, as its credential says: bits, of which a caller has one. */
enum kndl_client {
    KNDL_BY_BROWSER = 1, /* a cookie */
    KNDL_BY_CLI = 2,     /* a CLI token */
    KNDL_BY_BOTH = KNDL_BY_BROWSER | KNDL_BY_CLI,

    /* A CLI with its person's yes in the browser, for minutes and for one purpose. */
    KNDL_BY_CONFIRMED_SEE_MEMBERS = 4,
    KNDL_BY_CONFIRMED_CHANGE_MEMBERS = 8,
    KNDL_BY_CONFIRMED_SETUP_TOKEN = 16,
    KNDL_BY_CONFIRMED_RUNNERS = 32,
};

enum kndl_public_flag {
    KNDL_CHANGES = 1,          /* something; counted as a command by the rate limit */
    KNDL_WAITS = 2,            /* wait_ms is the gateway's */
    KNDL_NAMES_CREDENTIAL = 4, /* credential_hash is the gateway's: what the caller came with */
    KNDL_INVITES = 8,          /* 20 an hour */
    KNDL_GUESSES = 16,         /* takes a short code: 20 a minute */
    KNDL_MAKES = 32,           /* where its id is empty, a new one, which is its maker's */
    KNDL_CONFIRMS = 64,        /* shows one to its person: 10 a minute */
    KNDL_POLLS = 128,          /* 60 a minute */
};

/* A row: a method that people, or Runners, may call. */
struct kndl_public {
    const char *method;
    enum kndl_about about;
    enum kndl_who who;
    enum kndl_client clients; /* 0: a Runner's method */
    unsigned flags;           /* enum kndl_public_flag */
};

/* The rows of a service, in any order. */
struct kndl_public_service {
    const ProtobufCServiceDescriptor *service;
    const struct kndl_public *rows;
    unsigned count;
};

/* The services of people, and those of Runners; each ends with a NULL service. */
extern const struct kndl_public_service kndl_public_services[];
extern const struct kndl_public_service kndl_runner_services[];

/* NULL: the method is neither people's nor Runners'. */
const struct kndl_public *kndl_public_find(const ProtobufCMethodDescriptor *method);

/* A message that a client may send on an open socket, by its field's name in ClientFrame. */
struct kndl_public_message {
    const char *name;
    enum kndl_who who;
};

extern const struct kndl_public_message kndl_public_messages[];
extern const unsigned kndl_public_message_count;

/* What listens: the Hub, or a Sandbox's relay in the Runner. */
enum kndl_door { KNDL_DOOR_HUB, KNDL_DOOR_RELAY };

/* What is reached by a path. */
enum kndl_path_id {
    KNDL_PATH_NONE, /* nothing */
    KNDL_PATH_HEALTH,
    KNDL_PATH_METHOD,
    KNDL_PATH_SOCKET,
    KNDL_PATH_RUNNER_CREDENTIAL,
    KNDL_PATH_RUNNER_RELEASE,
    KNDL_PATH_RUNNER_RELEASE_FILE,
    KNDL_PATH_SIGN_IN_METHODS,
    KNDL_PATH_DEV_LOGIN,
    KNDL_PATH_GITHUB_BEGIN,
    KNDL_PATH_GITHUB_RETURN,
    KNDL_PATH_DEVICE_BEGIN,
    KNDL_PATH_DEVICE_POLL,
    KNDL_PATH_SIGN_OUT,
    KNDL_PATH_FILE,
    KNDL_PATH_MOD_HELLO,
    KNDL_PATH_MOD_EVENTS,
    KNDL_PATH_MOD_RESULTS,
    KNDL_PATH_MOD_COMMANDS,
    KNDL_PATH_MOD_ANSWER,
};

struct kndl_path {
    enum kndl_path_id id;
    enum kndl_door door;
    const char *method; /* HTTP's; "READ": GET or HEAD; "UPGRADE": to a WebSocket; "*": any */
    const char *path;   /* one that ends with * is whatever begins so */
    enum kndl_who who;
    const char *remark; /* for docs/permissions.md */
};

/* In the order in which they are looked at. */
extern const struct kndl_path kndl_paths[];
extern const unsigned kndl_path_count;

/* The first row that fits. */
enum kndl_path_id kndl_path_find(enum kndl_door door, const char *method, const char *path);

/* docs/permissions.md, made from the table. */
void kndl_publics_print(struct kndl_buf *out);
