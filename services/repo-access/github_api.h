#pragma once

/*
 * How to talk with GitHub's API: signs in, follows one redirect, tells a failure of GitHub's from
 * an answer, minds its rate limits. What is asked is github.c's.
 */

#include <stdbool.h>
#include <stdint.h>

#include "kndl/buf.h"
#include "kndl/error.h"
#include "kndl/json.h"
#include "kndl/secret.h"

struct github_api;

int github_api_open(struct github_api **ret_api, struct kndl_error *err);
void github_api_close(struct github_api *api);
bool github_api_has_app(const struct github_api *api);

struct github_question {
    const char *method;
    const char *path;                /* below the API's address, with its query */
    bool as_app;                     /* signed with the App's key */
    const struct kndl_secret *token; /* an installation's, where it is not as_app */
    const char *body;                /* JSON, or NULL */
    bool stay;                       /* a redirect is an answer */
};

struct github_answer {
    int status;
    struct kndl_json *json; /* NULL: no body, or it is no JSON */
    bool has_next;          /* the list goes on */
};

/*
 * Asks. An answer of 2xx, 3xx or 4xx is one, but 429 and those of 403 that are a rate limit.
 * Anything else fails with KNDL_UNAVAILABLE. While a rate limit lasts it fails without asking.
 */
int github_api_ask(struct github_api *api, const struct github_question *question,
                   struct github_answer *ret_answer, struct kndl_error *err);
void github_answer_done(struct github_answer *answer);

/* GitHub's own sentence in an answer, "" if there is none. Not for people: it may quote names. */
const char *github_answer_message(const struct github_answer *answer);
