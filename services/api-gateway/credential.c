/* Cookies, bearer tokens, Origin and Host. */

#include "credential.h"

#include <string.h>
#include <strings.h>

int credential_refuse(struct kndl_error *err)
{
    return kndl_fail(err, KNDL_UNAUTHENTICATED, "sign in first");
}

int credential_refuse_page(struct kndl_error *err)
{
    return kndl_fail(err, KNDL_PERMISSION_DENIED,
                     "the request does not come from a page of this Hub: do it there");
}

bool credential_host_is_ours(const struct settings *settings,
                             const struct kndl_web_request *request)
{
    const char *host = kndl_web_header(request, "host");

    return host != NULL && strcasecmp(host, settings->host) == 0;
}

bool credential_origin_is_ours(const struct settings *settings,
                               const struct kndl_web_request *request, bool may_be_absent)
{
    const char *origin = kndl_web_header(request, "origin");
    const char *site = kndl_web_header(request, "sec-fetch-site");

    /* What browsers say besides. Of a WebSocket they do not agree what it is; its Origin tells. */
    if (site != NULL && !may_be_absent && kndl_web_header(request, "upgrade") == NULL &&
        strcmp(site, "same-origin") != 0)
        return false;
    if (origin == NULL)
        return may_be_absent;
    return strcmp(origin, settings->origin) == 0;
}

bool credential_page_is_foreign(const struct settings *settings,
                                const struct kndl_web_request *request)
{
    const char *method = kndl_web_method(request);
    struct kndl_slice cookie = credential_find_cookie(request, settings->cookie);
    bool is_by_cookie = kndl_web_header(request, "authorization") == NULL && cookie.size > 0;

    if (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0)
        return false;
    return !credential_origin_is_ours(settings, request, !is_by_cookie);
}

struct kndl_slice credential_find_cookie(const struct kndl_web_request *request, const char *name)
{
    const char *header = kndl_web_header(request, "cookie");
    size_t length = strlen(name);
    struct kndl_slice found = {0};

    while (header != NULL && *header != '\0') {
        header += strspn(header, "; ");
        size_t size = strcspn(header, ";");
        if (size > length && strncmp(header, name, length) == 0 && header[length] == '=') {
            if (found.size > 0)
                return (struct kndl_slice){0};
            found = kndl_slice(header + length + 1, size - length - 1);
        }
        header += size;
    }
    return found;
}

static int take(enum credential_kind kind, enum kndl_token_kind token_kind, struct kndl_slice text,
                struct credential *ret, struct kndl_error *err)
{
    if (!kndl_token_is_valid(token_kind, text))
        return credential_refuse(err);
    ret->kind = kind;
    kndl_hash(text, ret->hash);
    return 0;
}

int credential_read(const struct settings *settings, const struct kndl_web_request *request,
                    struct credential *ret, bool *ret_was_given, struct kndl_error *err)
{
    const char *authorization = kndl_web_header(request, "authorization");
    bool unused;

    if (ret_was_given == NULL)
        ret_was_given = &unused;
    *ret_was_given = authorization != NULL;
    if (authorization != NULL) {
        if (kndl_web_header(request, "origin") != NULL)
            return kndl_fail(err, KNDL_PERMISSION_DENIED, "a token is not for pages");
        if (strncasecmp(authorization, "Bearer ", 7) != 0)
            return credential_refuse(err);
        struct kndl_slice token = kndl_slice_of(authorization + 7);
        return kndl_token_is_valid(KNDL_TOKEN_CNF, token)
                   ? take(CREDENTIAL_CONFIRMED, KNDL_TOKEN_CNF, token, ret, err)
                   : take(CREDENTIAL_CLI, KNDL_TOKEN_CLI, token, ret, err);
    }

    struct kndl_slice cookie = credential_find_cookie(request, settings->cookie);
    *ret_was_given = cookie.size > 0;
    if (cookie.size == 0)
        return credential_refuse(err);
    if (!credential_origin_is_ours(settings, request, false))
        return credential_refuse_page(err);
    return take(CREDENTIAL_WEB, KNDL_TOKEN_WEB, cookie, ret, err);
}

int credential_read_sign_in(const struct settings *settings, const struct kndl_web_request *request,
                            struct credential *ret, struct kndl_error *err)
{
    struct credential credential;

    if (credential_read(settings, request, &credential, NULL, err) < 0)
        return -1;
    if (credential.kind == CREDENTIAL_CONFIRMED)
        return credential_refuse(err);
    *ret = credential;
    return 0;
}

bool credential_of_browser(const struct settings *settings, const struct kndl_web_request *request,
                           uint8_t ret_hash[KNDL_HASH_BYTES])
{
    struct kndl_slice cookie = credential_find_cookie(request, settings->cookie);

    if (!kndl_token_is_valid(KNDL_TOKEN_WEB, cookie))
        return false;
    kndl_hash(cookie, ret_hash);
    return true;
}
