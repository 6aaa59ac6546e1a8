#pragma once

/* A person's setup token and the runs of their Session, from the handlers to a real PostgreSQL. */

#include <stdbool.h>
#include <stdint.h>

#include "fakes.h"
#include "kndl/id.h"
#include "kndl/secrets/v1/secrets_service.pb-c.h"
#include "kndl/testing.h"
#include "rpc.h"

#define V1(name) Kndl__Secrets__V1__##name
#define PHASE(name) KNDL__SECRETS__V1__PUT_ASSIGNMENT_REQUEST__PHASE__PHASE_##name

#define TOKEN_A "sk-ant-oat01-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define TOKEN_B "sk-ant-oat01-bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

/* The Runner that the Session's runs are assigned to. */
extern const char *const runner;

struct fixture {
    struct secrets secrets;
    char person[KNDL_ID_SIZE];
    char session[KNDL_ID_SIZE];
    struct kndl_error err; /* of the last call */
    int64_t version;       /* what it answered, if that was a version */
    const struct kndl_task *wake;
    char text[256]; /* a value that it answered */
};

int set_up(void **state);
int tear_down(void **state);

/* A worker of another process, or the same after a restart: nothing but the rows is left. */
void restart(struct fixture *f);

/* For a helper that calls by itself: f->err and f->wake are the answer's. */
void note(struct fixture *f, struct kndl_test_answer *answer);

bool set_token(struct fixture *f, const char *request_id, const char *token);
bool remove_token(struct fixture *f, const char *request_id);
/* Its version goes into f->version. */
bool token_exists(struct fixture *f);
void assign(struct fixture *f, int64_t run, V1(PutAssignmentRequest__Phase) phase);
/* As that Runner, the setup token into f->text. */
bool fetch(struct fixture *f, const char *by, int64_t run);
