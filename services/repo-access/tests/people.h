#pragma once

/*
 * People who come in and go, on the stage: GitHub and the bus are fakes.c's, where a code
 * "code-grace" is grace's, and anybody else is a stranger.
 */

#include <stdbool.h>
#include <stddef.h>

#include "kndl/error.h"
#include "kndl/id.h"
#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "kndl/testing.h"
#include "rpc.h"

#define V1(name) Kndl__RepoAccess__V1__##name
#define KIND(name) KNDL__REPO_ACCESS__V1__AUTHENTICATE_REQUEST__KIND__KIND_##name

#define MINUTE_MS (INT64_C(60) * 1000)
#define DAY_MS (24 * 60 * MINUTE_MS)

enum { TOKEN_SIZE = 128 };

struct fixture {
    struct repo_access repo_access;
    struct kndl_error err;     /* of the last call */
    char link_file[64];        /* HUB_SETUP_LINK_FILE */
    char person[KNDL_ID_SIZE]; /* whom the last sign-in let in */
    bool is_owner;
    char token[TOKEN_SIZE]; /* what they got */
    char return_to[64];
};

/* A browser that went to GitHub. */
struct browser {
    char secret[TOKEN_SIZE];
    char state[TOKEN_SIZE + 8];
};

/* The stage, with a Setup link's file that is not there yet. */
int set_up(void **state);
int tear_down(void **state);

/* Asks as that person, or as the gateway where that is "". f->err has the answer's code. */
struct kndl_test_answer ask(struct fixture *f, const char *person, const char *method,
                            const ProtobufCMessage *request);
/* The same where the answer has nothing to say. */
enum kndl_code does(struct fixture *f, const char *person, const char *method,
                    const ProtobufCMessage *request);
struct browser goes_to_github(struct fixture *f, const char *return_to);
/* With GitHub's code; `replaces`: the token that the browser had; NULL: none. f->person, f->token,
 * f->is_owner and f->return_to are what it got. */
enum kndl_code comes_back_with(struct fixture *f, const struct browser *browser, const char *code,
                               const char *admission, const char *replaces);
enum kndl_code signs_in(struct fixture *f, const char *login, const char *admission);
bool is_signed_in(struct fixture *f, const char *token, V1(AuthenticateRequest__Kind) kind);
/* The service starts anew: what its task does first. */
void starts(struct fixture *f);
/* The Setup link's secret, as whoever runs the Hub reads it; "" if there is no file. */
void read_setup_link(struct fixture *f, char ret_secret[TOKEN_SIZE]);
/* ada comes in by the Setup link. Their id. */
void make_owner(struct fixture *f, char ret_person[KNDL_ID_SIZE]);
/* The secret of a new Invite. */
enum kndl_code invites(struct fixture *f, const char *person, const char *login,
                       const char *request_id, char ret_secret[TOKEN_SIZE]);
/* grace comes in by an Invite. Their id. */
void add_grace(struct fixture *f, const char *owner, char ret_person[KNDL_ID_SIZE]);
enum kndl_code removes(struct fixture *f, const char *actor, const char *person,
                       const char *request_id);
size_t count_invites(struct fixture *f, const char *owner);
