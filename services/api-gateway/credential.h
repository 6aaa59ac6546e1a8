#pragma once

/*
 * What a request brings to say whose it is, and the rules of the browser around it: a cookie comes
 * with our own Origin, a token without any, and never both. Pure.
 */

#include <stdint.h>

#include <stdbool.h>

#include "gateway.h"
#include "kndl/token.h"

enum credential_kind {
    CREDENTIAL_WEB,
    CREDENTIAL_CLI,
    CREDENTIAL_CONFIRMED, /* a CLI's, with its person's yes */
};

struct credential {
    enum credential_kind kind;
    uint8_t hash[KNDL_HASH_BYTES];
};

/* Is the request for our public host? (else a page under another name could read us) */
bool credential_host_is_ours(const struct settings *settings,
                             const struct kndl_web_request *request);

/* Does it come from our own page, or from no page at all? */
bool credential_origin_is_ours(const struct settings *settings,
                               const struct kndl_web_request *request, bool may_be_absent);

/* May a foreign page have sent what would change something (any method but GET and HEAD)? It came
 * from another Origin than ours, or with our cookie and none. */
bool credential_page_is_foreign(const struct settings *settings,
                                const struct kndl_web_request *request);

/*
 * By a cookie it must bring our Origin. Fails with KNDL_UNAUTHENTICATED, alike for none and
 * malformed; with KNDL_PERMISSION_DENIED if the Origin is wrong. *ret_was_given (may be NULL):
 * there was something that looked like one.
 */
int credential_read(const struct settings *settings, const struct kndl_web_request *request,
                    struct credential *ret, bool *ret_was_given, struct kndl_error *err);

/* The same for what is no method: a confirmation is for methods alone, and unknown elsewhere. */
int credential_read_sign_in(const struct settings *settings, const struct kndl_web_request *request,
                            struct credential *ret, struct kndl_error *err);

/* A cookie's value; empty if it is not there, or there twice. Borrowed from the request. */
struct kndl_slice credential_find_cookie(const struct kndl_web_request *request, const char *name);

/* The hash of what a browser is signed in with, for what takes its place. False: with nothing. */
bool credential_of_browser(const struct settings *settings, const struct kndl_web_request *request,
                           uint8_t ret_hash[KNDL_HASH_BYTES]);

/* The one refusal for all that is not known, and for pages that are not ours. */
int credential_refuse(struct kndl_error *err);
int credential_refuse_page(struct kndl_error *err);
