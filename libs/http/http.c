/* One request, one response, by libcurl's easy interface. */

#include "kndl/http.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

#include "kndl/mem.h"

enum { CONNECT_MS_MAX = 10000, HEADER_BYTES_MAX = 64 * 1024 };

struct kndl_http {
    CURL *curl;
    char *user_agent;
};

/* A response on its way in. */
struct transfer {
    struct kndl_http_response *response;
    size_t body_bytes_max;
    bool is_too_long;
};

static void __attribute__((constructor)) init_curl(void)
{
    /* Before there are threads, as libcurl asks for. */
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

struct kndl_http *kndl_http_new(const char *user_agent)
{
    struct kndl_http *http = kndl_new0(struct kndl_http);

    http->curl = curl_easy_init();
    if (http->curl == NULL)
        abort();
    http->user_agent = kndl_strdup(user_agent);
    return http;
}

void kndl_http_free(struct kndl_http *http)
{
    if (http == NULL)
        return;
    curl_easy_cleanup(http->curl);
    free(http->user_agent);
    free(http);
}

static size_t take_body(char *data, size_t one, size_t size, void *user_data)
{
    struct transfer *transfer = user_data;
    struct kndl_buf *body = &transfer->response->body;

    (void)one;
    if (size > transfer->body_bytes_max - body->size) {
        transfer->is_too_long = true;
        return 0;
    }
    kndl_buf_append(body, data, size);
    return size;
}

/* A header's line, its name in lower case. A status line (also of a 100) begins anew. */
static size_t take_header(char *line, size_t one, size_t size, void *user_data)
{
    struct transfer *transfer = user_data;
    struct kndl_buf *headers = &transfer->response->headers;
    size_t length = size;

    (void)one;
    if (size >= 5 && memcmp(line, "HTTP/", 5) == 0) {
        kndl_buf_clear(headers);
        return size;
    }
    while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r'))
        length--;
    if (length == 0)
        return size;
    if (length > HEADER_BYTES_MAX - headers->size) {
        transfer->is_too_long = true;
        return 0;
    }
    size_t start = headers->size;
    kndl_buf_append(headers, line, length);
    for (char *at = headers->data + start; *at != '\0' && *at != ':'; at++)
        if (*at >= 'A' && *at <= 'Z')
            *at = (char)(*at + ('a' - 'A'));
    kndl_buf_append_char(headers, '\n');
    return size;
}

/* The header lines of one request; the one with the bearer's secret is wiped. */
struct lines {
    struct curl_slist *list;
    char *secret;
};

static void lines_done(struct lines *lines)
{
    for (struct curl_slist *line = lines->list; line != NULL; line = line->next)
        explicit_bzero(line->data, strlen(line->data));
    curl_slist_free_all(lines->list);
    if (lines->secret != NULL)
        explicit_bzero(lines->secret, strlen(lines->secret));
    free(lines->secret);
}

static void add_line(struct lines *lines, const char *line)
{
    struct curl_slist *list = curl_slist_append(lines->list, line);

    if (list == NULL)
        abort();
    lines->list = list;
}

static int make_lines(const struct kndl_http_request *request, struct lines *lines,
                      struct kndl_error *err)
{
    add_line(lines, "Expect:"); /* no 100-continue: it costs a second where it is not known */
    for (size_t i = 0; request->headers != NULL && request->headers[i] != NULL; i++) {
        if (strpbrk(request->headers[i], "\r\n") != NULL)
            return kndl_fail(err, KNDL_INVALID_ARGUMENT, "a header has a line break");
        add_line(lines, request->headers[i]);
    }
    if (request->bearer == NULL)
        return 0;

    size_t size = sizeof "Authorization: Bearer " + request->bearer->size;
    const char *token = request->bearer->size > 0 ? (const char *)request->bearer->data : "";
    if (memchr(token, '\n', request->bearer->size) != NULL ||
        memchr(token, '\r', request->bearer->size) != NULL)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "a header has a line break");
    lines->secret = kndl_alloc(size, 1);
    snprintf(lines->secret, size, "Authorization: Bearer %.*s", (int)request->bearer->size, token);
    add_line(lines, lines->secret);
    return 0;
}

static void set_options(struct kndl_http *http, const struct kndl_http_request *request,
                        const struct lines *lines, struct transfer *transfer)
{
    CURL *curl = http->curl;

    curl_easy_reset(curl); /* keeps connections and names, forgets the last request */
    curl_easy_setopt(curl, CURLOPT_URL, request->url);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)request->timeout_ms);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS,
                     request->timeout_ms < CONNECT_MS_MAX ? (long)request->timeout_ms
                                                          : (long)CONNECT_MS_MAX);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, http->user_agent);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, lines->list);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, transfer);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, transfer);
    if (strcmp(request->method, "HEAD") == 0)
        curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
    if (request->body.size > 0 || strcmp(request->method, "POST") == 0) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS,
                         request->body.size > 0 ? (const char *)request->body.data : "");
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.size);
    }
}

/* libcurl's sentences, since its error buffer quotes URLs. */
static int fail(CURLcode code, const struct transfer *transfer,
                const struct kndl_http_request *request, struct kndl_error *err)
{
    if (transfer->is_too_long)
        return kndl_fail(err, KNDL_OUT_OF_RANGE, "the answer is longer than %zu bytes",
                         transfer->body_bytes_max);
    switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
        return kndl_fail(err, KNDL_DEADLINE_EXCEEDED, "no answer within %u ms",
                         request->timeout_ms);
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
        /* libcurl says so of an answer without a status line, too. */
        if (code == CURLE_UNSUPPORTED_PROTOCOL && strncmp(request->url, "http", 4) == 0)
            return kndl_fail(err, KNDL_UNAVAILABLE, "what answers there does not speak HTTP");
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "not an http or https address");
    default:
        return kndl_fail(err, KNDL_UNAVAILABLE, "%s", curl_easy_strerror(code));
    }
}

int kndl_http_do(struct kndl_http *http, const struct kndl_http_request *request,
                 struct kndl_http_response *ret_response, struct kndl_error *err)
{
    KNDL_CLEANUP(lines_done) struct lines lines = {0};
    KNDL_CLEANUP(kndl_http_response_done) struct kndl_http_response response = {0};
    struct transfer transfer = {.response = &response,
                                .body_bytes_max = request->response_bytes_max};
    long status;

    if (make_lines(request, &lines, err) < 0)
        return -1;
    set_options(http, request, &lines, &transfer);
    CURLcode code = curl_easy_perform(http->curl);
    curl_easy_getinfo(http->curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_setopt(http->curl, CURLOPT_HTTPHEADER, NULL); /* ours ends here */
    if (code != CURLE_OK)
        return fail(code, &transfer, request, err);

    response.status = (int)status;
    *ret_response = response;
    response = (struct kndl_http_response){0};
    return 0;
}

void kndl_http_response_done(struct kndl_http_response *response)
{
    /* An answer may carry a token. */
    if (response->body.data != NULL)
        explicit_bzero(response->body.data, response->body.capacity);
    kndl_buf_done(&response->headers);
    kndl_buf_done(&response->body);
    response->status = 0;
}

const char *kndl_http_header(const struct kndl_http_response *response, const char *name,
                             struct kndl_buf *out)
{
    size_t length = strlen(name);
    const char *line = kndl_buf_text(&response->headers);

    while (*line != '\0') {
        const char *end = strchr(line, '\n');

        if (strncmp(line, name, length) == 0 && line[length] == ':') {
            const char *value = line + length + 1;

            while (*value == ' ' || *value == '\t')
                value++;
            kndl_buf_clear(out);
            kndl_buf_append(out, value, (size_t)(end - value));
            return kndl_buf_text(out);
        }
        line = end + 1;
    }
    return NULL;
}
