#pragma once

/*
 * What every answer has in common: the security headers, the trace, and the body of an error as
 * Connect wants it.
 */

#include "gateway.h"
#include "kndl/id.h"

/* How long browsers may keep it. */
enum answer_cache {
    ANSWER_NO_STORE,   /* the API */
    ANSWER_REVALIDATE, /* the page itself: asked again by its ETag */
    ANSWER_IMMUTABLE,  /* files with a hash in their names */
};

struct answer {
    int status;
    const char *type; /* NULL: no body */
    struct kndl_slice body;
    bool is_static; /* body outlives the server */
    enum answer_cache cache;
    const char *trace;      /* NULL: none */
    const char *etag;       /* NULL: none */
    const char *encoding;   /* NULL: none */
    const char *cookies[2]; /* Set-Cookie; NULL: none */
    const char *location;   /* where to go on; NULL: none */
    uint32_t retry_ms;      /* Retry-After, in whole seconds; 0: none */
};

void answer_with(struct gateway *gateway, struct kndl_web_request *request,
                 const struct answer *answer);

/* {"code": …, "message": …} with the status of the code. */
void answer_error(struct gateway *gateway, struct kndl_web_request *request,
                  const struct kndl_error *err, const char *trace);

/* The same with another status: 404, 405, 415. */
void answer_error_as(struct gateway *gateway, struct kndl_web_request *request, int status,
                     const struct kndl_error *err, const char *trace);

/* For struct kndl_web_options: the server's own refusals look like ours. */
void answer_refusal(int status, const char *why, struct kndl_web_refusal *ret, void *gateway);
