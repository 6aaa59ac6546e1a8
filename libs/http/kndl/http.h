#pragma once

/*
 * HTTP as a client: one request in, one response out, with limits. The only door to libcurl.
 *
 * A kndl_http holds connections for reuse: one thread at a time. No redirects, no proxies from
 * the environment, TLS verified, http and https alone. (Streaming, for the MCP gateway: later.)
 */

#include <stddef.h>
#include <stdint.h>

#include "kndl/buf.h"
#include "kndl/error.h"
#include "kndl/secret.h"
#include "kndl/slice.h"

struct kndl_http;

struct kndl_http *kndl_http_new(const char *user_agent);
void kndl_http_free(struct kndl_http *http);

struct kndl_http_request {
    const char *method;               /* GET, POST … */
    const char *url;                  /* never with a secret in it */
    const char *const *headers;       /* "name: value", ends with NULL; may be NULL */
    const struct kndl_secret *bearer; /* NULL, or sent as Authorization: Bearer */
    struct kndl_slice body;
    uint32_t timeout_ms;       /* whole; 10 s to connect at most */
    size_t response_bytes_max; /* a longer one fails with KNDL_OUT_OF_RANGE */
};

struct kndl_http_response {
    int status;
    struct kndl_buf headers; /* as they came, a line each, names in lower case */
    struct kndl_buf body;
};

/*
 * Fails with KNDL_UNAVAILABLE if no whole answer came (not resolved, refused, reset, TLS),
 * KNDL_DEADLINE_EXCEEDED on the timeout; a status of 400 and over is no failure.
 */
int kndl_http_do(struct kndl_http *http, const struct kndl_http_request *request,
                 struct kndl_http_response *ret_response, struct kndl_error *err);
void kndl_http_response_done(struct kndl_http_response *response);

/* The value of a header of the response, copied into `out`; NULL if it is not there. */
const char *kndl_http_header(const struct kndl_http_response *response, const char *name,
                             struct kndl_buf *out);
