#pragma once

/* A person, two Repos that they see, and their Session on the first one; Variables of those. From
 * the handlers to a real PostgreSQL. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fakes.h"
#include "kndl/id.h"
#include "kndl/secrets/v1/secrets_service.pb-c.h"
#include "kndl/testing.h"
#include "rpc.h"

#define V1(name) Kndl__Secrets__V1__##name
#define PHASE(name) KNDL__SECRETS__V1__PUT_ASSIGNMENT_REQUEST__PHASE__PHASE_##name

/* The Runner that the Session's runs are assigned to. */
extern const char *const runner;

struct fixture {
    struct secrets secrets;
    char person[KNDL_ID_SIZE];
    char session[KNDL_ID_SIZE];
    char shared_id[KNDL_ID_SIZE]; /* of the last one that was made */
    int64_t repo, other;
    struct kndl_error err; /* of the last call */
    int64_t version;       /* a mask version that it answered */
    char text[512];        /* what it answered, "NAME=value NAME=value" */
    size_t warnings;
    const struct kndl_task *wake; /* of the last call, where note() was told of it */
};

int set_up(void **state);
int tear_down(void **state);

/* What came of a call: into f->err and f->wake. */
void note(struct fixture *f, const struct kndl_test_answer *answer);

bool set_as(struct fixture *f, const char *id, const char *name, const char *value, bool sensitive);
bool set(struct fixture *f, const char *name, const char *value, bool sensitive);
bool remove_as(struct fixture *f, const char *id, const char *name);
bool remove_one(struct fixture *f, const char *name);
/* Into f->text; an overridden one in brackets. */
bool list(struct fixture *f, int64_t repo);
bool set_shared_as(struct fixture *f, const char *request, const char *id, const char *name,
                   const char *value, bool sensitive);
bool set_shared(struct fixture *f, const char *id, const char *name, const char *value,
                bool sensitive);
bool link_as(struct fixture *f, const char *request, int64_t repo, bool linked);
bool link_shared(struct fixture *f, int64_t repo, bool linked);
bool remove_shared(struct fixture *f);
/* How many Shared variables the caller sees of this test's Repos; *ret_more: of the last one. */
size_t count_shared(struct fixture *f, bool *ret_more);
void assign(struct fixture *f, int64_t run, V1(PutAssignmentRequest__Phase) phase);
bool fetch(struct fixture *f, const char *by, int64_t run);
bool masks(struct fixture *f, const char *value);
/* How goes into f->text. */
bool is_changed(struct fixture *f);
