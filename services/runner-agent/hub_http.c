/* The Hub's doors for Runners, over libs/http. */

#include "hub_http.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kndl/buf.h"
#include "kndl/mem.h"
#include "kndl/secret.h"
#include "kndl/version.h"

enum { TOKEN_FILE_BYTES_MAX = 512, FILE_MS = 5 * 60 * 1000 };

const struct kndl_env hub_http_env[] = {
    {"RUNNER_HUB_URL", NULL, "where the Hub is, as people reach it; http only on loopback"},
    {"RUNNER_TOKEN_FILE", "", "file with the RUNNER_TOKEN that the Owner was shown; mode 0600"},
    {"RUNNER_TOKEN", "", "the token itself, where there is no file"},
    {NULL, NULL, NULL},
};

struct hub_http {
    char *url;                /* of the Hub, without a slash at its end */
    struct kndl_secret token; /* RUNNER_TOKEN; empty: in a file */
    const char *token_file;
};

/* ---- settings ---- */

static bool begins(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static bool is_loopback(const char *url)
{
    const char *host = url + strlen("http://");
    size_t size = strcspn(host, ":/");

    if (!begins(url, "http://"))
        return false;
    return begins(host, "[::1]") || (size == strlen("localhost") && begins(host, "localhost")) ||
           (begins(host, "127.") && strspn(host, "0123456789.") == size);
}

/* A RUNNER_TOKEN travels in it, so it is TLS wherever others could listen. */
static int read_url(struct hub_http *http, struct kndl_error *err)
{
    const char *url = kndl_env_get("RUNNER_HUB_URL");
    struct kndl_buf whole = {0};
    size_t size = strlen(url);

    if (!begins(url, "https://") && !is_loopback(url))
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "RUNNER_HUB_URL is %s; it begins with https://, or is on loopback", url);
    while (size > 0 && url[size - 1] == '/')
        size--;
    kndl_buf_append(&whole, url, size);
    http->url = kndl_buf_take(&whole);
    return 0;
}

static int read_settings(struct hub_http *http, struct kndl_error *err)
{
    const char *token = kndl_env_get("RUNNER_TOKEN");

    http->token_file = kndl_env_get("RUNNER_TOKEN_FILE");
    if (http->token_file[0] == '\0' && token[0] == '\0')
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "RUNNER_TOKEN_FILE is not set: it names the file with the token that the "
                         "Owner was shown when registering this Runner");
    if (token[0] != '\0') {
        kndl_secret_copy(&http->token, kndl_slice_of(token));
        kndl_env_forget("RUNNER_TOKEN");
    }
    return read_url(http, err);
}

int hub_http_new(struct hub_http **ret_http, struct kndl_error *err)
{
    struct hub_http *http = kndl_new0(struct hub_http);

    if (read_settings(http, err) < 0) {
        hub_http_free(http);
        return -1;
    }
    *ret_http = http;
    return 0;
}

void hub_http_free(struct hub_http *http)
{
    if (http == NULL)
        return;
    kndl_secret_done(&http->token);
    free(http->url);
    free(http);
}

void hub_http_hand_on_token(const struct hub_http *http)
{
    if (http->token.size > 0)
        (void)setenv("RUNNER_TOKEN", (const char *)http->token.data, 1);
}

/* ---- requests ---- */

static int read_token(const struct hub_http *http, struct kndl_secret *ret_token,
                      struct kndl_error *err)
{
    if (http->token_file[0] != '\0')
        return kndl_secret_read_file(http->token_file, TOKEN_FILE_BYTES_MAX, ret_token, err);
    kndl_secret_copy(ret_token, kndl_slice(http->token.data, http->token.size));
    return 0;
}

int hub_http_ask(const struct hub_http *http, const char *path, struct kndl_slice body,
                 uint32_t timeout_ms, size_t most, struct kndl_http_response *ret_response,
                 struct kndl_error *err)
{
    static const char *const headers[] = {"Content-Type: application/json", NULL};
    KNDL_CLEANUP(kndl_secret_done) struct kndl_secret token = {0};
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf url = {0};

    if (read_token(http, &token, err) < 0)
        return -1;
    kndl_buf_printf(&url, "%s%s", http->url, path);
    struct kndl_http *client = kndl_http_new("kndl-runner/" KNDL_VERSION);
    const struct kndl_http_request request = {
        .method = body.size > 0 ? "POST" : "GET",
        .url = kndl_buf_text(&url),
        .headers = body.size > 0 ? headers : NULL,
        .bearer = &token,
        .body = body,
        .timeout_ms = timeout_ms,
        .response_bytes_max = most,
    };
    int result = kndl_http_do(client, &request, ret_response, err);
    kndl_http_free(client);
    return result;
}

int hub_http_get_file(void *data, const char *name, size_t most, struct kndl_buf *ret_bytes,
                      struct kndl_error *err)
{
    const struct hub_http *http = data;
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf path = {0};
    struct kndl_http_response response = {0};

    kndl_buf_printf(&path, "/runner/release%s%s", name[0] == '\0' ? "" : "/", name);
    if (hub_http_ask(http, kndl_buf_text(&path), kndl_slice(NULL, 0), FILE_MS, most, &response,
                     err) < 0)
        return -1;
    if (response.status == 200) {
        *ret_bytes = response.body;
        response.body = (struct kndl_buf){0};
        kndl_http_response_done(&response);
        return 0;
    }
    kndl_fail(err, response.status == 404 ? KNDL_NOT_FOUND : KNDL_UNAVAILABLE,
              response.status == 404 ? "the Hub has no release for Runners (HUB_RUNNER_DIR)"
                                     : "the Hub answers %d",
              response.status);
    kndl_http_response_done(&response);
    return -1;
}
