/* Headers and error bodies. */

#include "answer.h"

#include <string.h>

#include "kndl/buf.h"
#include "kndl/code.h"
#include "kndl/json.h"
#include "kndl/mem.h"

enum { HEADERS_MAX = 20 };

static const char csp[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data: https://avatars.githubusercontent.com; font-src 'self'; "
    "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; "
    "require-trusted-types-for 'script'";

/* Of every answer, whatever it is. */
static const struct kndl_web_header security[] = {
    {"Content-Security-Policy", csp},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Permissions-Policy", "camera=(), microphone=(), geolocation=()"},
};

static const char *cache_control(enum answer_cache cache)
{
    switch (cache) {
    case ANSWER_NO_STORE:
        return "no-store";
    case ANSWER_REVALIDATE:
        return "no-cache";
    case ANSWER_IMMUTABLE:
        return "public, max-age=31536000, immutable";
    }
    return "no-store";
}

struct header_list {
    struct kndl_web_header headers[HEADERS_MAX];
    size_t count;
};

/* Leaves room for the NULL name that ends the list. */
static void add(struct header_list *list, const char *name, const char *value)
{
    if (value != NULL && list->count < HEADERS_MAX - 1)
        list->headers[list->count++] = (struct kndl_web_header){name, value};
}

static void add_security(struct header_list *list, const struct gateway *gateway)
{
    memcpy(list->headers, security, sizeof security);
    list->count = sizeof security / sizeof *security;
    if (gateway->settings.is_https)
        add(list, "Strict-Transport-Security", "max-age=31536000");
}

void answer_with(struct gateway *gateway, struct kndl_web_request *request,
                 const struct answer *answer)
{
    struct header_list list = {0};
    char retry_s[16];

    snprintf(retry_s, sizeof retry_s, "%u", (unsigned)((answer->retry_ms + 999) / 1000));
    add_security(&list, gateway);
    add(&list, "Cache-Control", cache_control(answer->cache));
    add(&list, "Content-Type", answer->type);
    add(&list, "Kndl-Trace", answer->trace);
    add(&list, "ETag", answer->etag);
    add(&list, "Content-Encoding", answer->encoding);
    add(&list, "Vary", answer->etag == NULL ? NULL : "Accept-Encoding");
    add(&list, "Set-Cookie", answer->cookies[0]);
    add(&list, "Set-Cookie", answer->cookies[1]);
    add(&list, "Location", answer->location);
    add(&list, "Retry-After", answer->retry_ms > 0 ? retry_s : NULL);
    if (answer->is_static)
        kndl_web_answer_static(request, answer->status, list.headers, answer->body);
    else
        kndl_web_answer(request, answer->status, list.headers, answer->body);
}

static void write_error(struct kndl_buf *out, const struct kndl_error *err)
{
    kndl_buf_printf(out, "{\"code\":\"%s\",\"message\":", kndl_code_names(err->code)->word);
    kndl_json_append_string(out, err->message);
    kndl_buf_append_char(out, '}');
}

/* What is away comes back within seconds; what was too much comes when the limit says so, if ever:
 * a queue that is full of somebody's prompts does not empty by waiting. */
static uint32_t retry_of(int status, const struct kndl_error *err)
{
    if (err->retry_ms > 0)
        return err->retry_ms;
    return status == 503 ? 1000 : 0;
}

void answer_error_as(struct gateway *gateway, struct kndl_web_request *request, int status,
                     const struct kndl_error *err, const char *trace)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf body = {0};

    write_error(&body, err);
    answer_with(gateway, request,
                &(struct answer){
                    .status = status,
                    .type = "application/json",
                    .body = kndl_buf_slice(&body),
                    .trace = trace,
                    .retry_ms = retry_of(status, err),
                });
}

void answer_error(struct gateway *gateway, struct kndl_web_request *request,
                  const struct kndl_error *err, const char *trace)
{
    answer_error_as(gateway, request, kndl_code_names(err->code)->http, err, trace);
}

static enum kndl_code code_of_status(int status)
{
    switch (status) {
    case 408:
        return KNDL_DEADLINE_EXCEEDED;
    case 413:
    case 431:
        return KNDL_RESOURCE_EXHAUSTED;
    case 501:
    case 505:
        return KNDL_UNIMPLEMENTED;
    default:
        return KNDL_INVALID_ARGUMENT;
    }
}

void answer_refusal(int status, const char *why, struct kndl_web_refusal *ret, void *gateway)
{
    static struct header_list list; /* borrowed until the next call, on the loop's thread */
    static char text[400];
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf body = {0};
    struct kndl_error err;

    kndl_fail(&err, code_of_status(status), "%s", why);
    write_error(&body, &err);
    strncpy(text, kndl_buf_text(&body), sizeof text - 1);
    memset(&list, 0, sizeof list);
    add_security(&list, gateway);
    add(&list, "Cache-Control", "no-store");
    add(&list, "Content-Type", "application/json");
    ret->headers = list.headers;
    ret->body = kndl_slice_of(text);
}
