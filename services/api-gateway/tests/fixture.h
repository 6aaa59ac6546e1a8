#pragma once

/* A gateway on a loop and thread of its own, with a bus that tests play, and a client of it. */

#include <pthread.h>

#include "fakes.h"
#include "gateway.h"

/* Two people, whose tokens the fake repo-access knows, and one that it does not. */
extern char fixture_web_token[80]; /* of ada */
extern char fixture_cli_token[80]; /* of ada */
extern char fixture_bob_token[80]; /* a browser's, of bob */
extern char fixture_unknown_token[80];
extern char fixture_confirmed_token[80]; /* of ada's CLI, for the purpose that was set */

/* What ada said yes to; a number of kndl.repo_access.v1.Purpose. */
void fixture_set_purpose(int purpose);

struct fixture {
    struct gateway *gateway;
    pthread_t thread;
    int port;
    char host[64];      /* 127.0.0.1:port */
    char origin[64];    /* http://127.0.0.1:port */
    const char *cookie; /* the names of the cookies */
    const char *sign_in_cookie;
};

/* As a cmocka setup: *state is a fixture that runs. `answer` answers what is no Authenticate, which
 * the fixture answers itself. */
int fixture_open(void **state, fake_answer_fn answer);
/* A cmocka teardown. */
int fixture_close(void **state);

/* For fixture_open(): each answer is there, with nothing in it. */
bool fixture_answer_nothing(const struct fake_request *request, struct kndl_buf *out,
                            struct kndl_error *err);

/* How often repo-access was asked who somebody is; and whether it answers. */
void fixture_set_repo_access(bool is_there);

/* Waits until what was posted to the loop has happened, and what that posted, and that again. */
void fixture_sync(struct fixture *f);
void fixture_shift(struct fixture *f, int64_t ms);

/* Waits until the method was asked so often; fails the test after 20 s. */
void fixture_wait_asked(const char *method, int times);

/* What a request says; NULL: left out. */
struct ask_options {
    const char *method; /* NULL: POST */
    const char *path;
    const char *host;   /* NULL: the right one */
    const char *origin; /* NULL: none; "own": the Hub's */
    const char *cookie; /* a token */
    const char *bearer; /* a token */
    const char *type;   /* NULL: application/json */
    const char *extra;  /* lines that end in CRLF */
    struct kndl_slice body;
};

/* Asks and reads the answer; its status. head and body are the caller's. */
int fixture_ask(struct fixture *f, const struct ask_options *options, struct kndl_buf *head,
                struct kndl_buf *body);

/* The same where the status says it all: FIXTURE_STATUS(f, .path = "/", .origin = "own"). */
int fixture_status(struct fixture *f, const struct ask_options *options);
#define FIXTURE_STATUS(f, ...) fixture_status(f, &(struct ask_options){__VA_ARGS__})

/* Asks, and leaves the connection open without reading. */
int fixture_send(struct fixture *f, const struct ask_options *options);

/* Does an answer set this cookie, with all of what follows its name and =? */
bool fixture_is_set(const struct kndl_buf *head, const char *cookie, const char *rest);

/* A public method in JSON, as ada in her browser; the status, and the body. */
int fixture_call(struct fixture *f, const char *method, const char *json, struct kndl_buf *body);
