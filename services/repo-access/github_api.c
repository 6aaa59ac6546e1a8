/* One question to GitHub and what its answer is worth. */

#include "github_api.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kndl/clock.h"
#include "kndl/env.h"
#include "kndl/http.h"
#include "kndl/jwt.h"
#include "kndl/log.h"
#include "kndl/mem.h"

enum {
    TIMEOUT_MS = 8000,
    ANSWER_BYTES_MAX = 4 * 1024 * 1024,
    SECONDARY_PAUSE_MS = 60 * 1000, /* where GitHub doesn't say how long */
    PAUSE_MS_MAX = 60 * 60 * 1000,
};

struct github_api {
    struct kndl_http *http;
    struct kndl_rsa_key *key; /* NULL: there is no App */
    const char *url;
    int64_t skew_ms;        /* GitHub's clock less ours, once it complained */
    int64_t quiet_until_ms; /* kndl_clock_ms(): a rate limit lasts until then; 0: none was */
};

int github_api_open(struct github_api **ret_api, struct kndl_error *err)
{
    struct github_api *api = kndl_new0(struct github_api);

    api->url = kndl_env_get("HUB_GITHUB_API_URL");
    if (kndl_env_get("GITHUB_APP_ID")[0] != '\0' &&
        kndl_rsa_key_open(kndl_env_get("GITHUB_APP_KEY_FILE"), &api->key, err) < 0) {
        github_api_close(api);
        return -1;
    }
    api->http = kndl_http_new("kndl");
    *ret_api = api;
    return 0;
}

void github_api_close(struct github_api *api)
{
    if (api == NULL)
        return;
    kndl_http_free(api->http);
    if (api->key != NULL)
        kndl_rsa_key_close(api->key);
    free(api);
}

bool github_api_has_app(const struct github_api *api)
{
    return api->key != NULL;
}

void github_answer_done(struct github_answer *answer)
{
    kndl_json_free(answer->json);
    *answer = (struct github_answer){0};
}

const char *github_answer_message(const struct github_answer *answer)
{
    if (answer->json == NULL)
        return "";
    return kndl_json_text(kndl_json_get(kndl_json_root(answer->json), "message"), "");
}

static int sign(struct github_api *api, struct kndl_secret *ret_jwt, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf jwt = {0};

    if (api->key == NULL)
        return kndl_fail(err, KNDL_FAILED_PRECONDITION, "this kndl has no GitHub App");
    if (kndl_jwt_app(api->key, kndl_env_get("GITHUB_APP_ID"), kndl_clock_wall_ms() + api->skew_ms,
                     &jwt, err) < 0)
        return -1;
    kndl_secret_copy(ret_jwt, kndl_buf_slice(&jwt));
    explicit_bzero(jwt.data, jwt.size);
    return 0;
}

static int64_t number_header(const struct kndl_http_response *response, const char *name)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf value = {0};

    return kndl_http_header(response, name, &value) == NULL
               ? -1
               : strtoll(kndl_buf_text(&value), NULL, 10);
}

/* Both of GitHub's limits come as 403 or 429; the second kind may say so in words alone. */
static bool is_limited(const struct github_api *api, const struct kndl_http_response *response,
                       const struct github_answer *answer, int64_t *ret_pause_ms)
{
    int64_t retry_after = number_header(response, "retry-after");
    int64_t reset = number_header(response, "x-ratelimit-reset");
    bool is_primary = number_header(response, "x-ratelimit-remaining") == 0;
    bool is_secondary = strstr(github_answer_message(answer), "secondary rate limit") != NULL;

    if (response->status != 429 &&
        (response->status != 403 || (!is_primary && !is_secondary && retry_after < 0)))
        return false;
    *ret_pause_ms = SECONDARY_PAUSE_MS;
    if (retry_after >= 0)
        *ret_pause_ms = retry_after < PAUSE_MS_MAX / 1000 ? retry_after * 1000 : PAUSE_MS_MAX;
    else if (is_primary && reset > 0 && reset < INT64_MAX / 1000)
        *ret_pause_ms = reset * 1000 - kndl_clock_wall_ms() - api->skew_ms;
    if (*ret_pause_ms < 0)
        *ret_pause_ms = SECONDARY_PAUSE_MS;
    if (*ret_pause_ms > PAUSE_MS_MAX)
        *ret_pause_ms = PAUSE_MS_MAX;
    return true;
}

/* A redirect goes to the same API, or nowhere. */
static const char *redirect_of(const struct github_api *api,
                               const struct kndl_http_response *response, struct kndl_buf *url)
{
    size_t size = strlen(api->url);
    const char *to;

    if (response->status != 301 && response->status != 302 && response->status != 307 &&
        response->status != 308)
        return NULL;
    to = kndl_http_header(response, "location", url);
    if (to == NULL || strncmp(to, api->url, size) != 0 || to[size] != '/')
        return NULL;
    return to;
}

/* "'Issued at' claim ('iat') …": our clocks differ. Learns by how much; false if that is not it. */
static bool learn_skew(struct github_api *api, const struct kndl_http_response *response,
                       const struct github_answer *answer)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf date = {0};
    const char *message = github_answer_message(answer);
    struct tm tm = {0};

    if (answer->status != 401 ||
        (strstr(message, "'iat'") == NULL && strstr(message, "'exp'") == NULL))
        return false;
    if (kndl_http_header(response, "date", &date) == NULL ||
        strptime(kndl_buf_text(&date), "%a, %d %b %Y %H:%M:%S GMT", &tm) == NULL)
        return false;
    api->skew_ms = (int64_t)timegm(&tm) * 1000 - kndl_clock_wall_ms();
    kndl_log(KNDL_WARNING, "clock differs from GitHub's", KNDL_I64("ms", api->skew_ms));
    return true;
}

static void read_answer(const struct kndl_http_response *response, struct github_answer *ret_answer)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf link = {0};

    *ret_answer = (struct github_answer){.status = response->status};
    if (kndl_http_header(response, "link", &link) != NULL)
        ret_answer->has_next = strstr(kndl_buf_text(&link), "rel=\"next\"") != NULL;
    if (kndl_json_parse(kndl_buf_slice(&response->body), ANSWER_BYTES_MAX, &ret_answer->json,
                        NULL) < 0)
        ret_answer->json = NULL;
}

static int ask_once(struct github_api *api, const struct github_question *question, const char *url,
                    struct kndl_http_response *ret_response, struct kndl_error *err)
{
    static const char *const headers[] = {"Accept: application/vnd.github+json",
                                          "X-GitHub-Api-Version: 2022-11-28",
                                          "Content-Type: application/json", NULL};
    KNDL_CLEANUP(kndl_secret_done) struct kndl_secret jwt = {0};

    if (question->as_app && sign(api, &jwt, err) < 0)
        return -1;
    const struct kndl_http_request request = {
        .method = question->method,
        .url = url,
        .headers = headers,
        .bearer = question->as_app ? &jwt : question->token,
        .body = question->body == NULL ? (struct kndl_slice){0} : kndl_slice_of(question->body),
        .timeout_ms = TIMEOUT_MS,
        .response_bytes_max = ANSWER_BYTES_MAX,
    };
    struct kndl_error cause = {0};
    if (kndl_http_do(api->http, &request, ret_response, &cause) < 0) {
        kndl_log(KNDL_WARNING, "GitHub did not answer", KNDL_STR("cause", cause.message));
        return kndl_fail(err, KNDL_UNAVAILABLE, "GitHub cannot be reached");
    }
    return 0;
}

static int fail_limited(const struct github_api *api, struct kndl_error *err)
{
    int64_t left_ms = api->quiet_until_ms - kndl_clock_ms();

    return kndl_fail(err, KNDL_UNAVAILABLE,
                     "GitHub limits how often kndl may ask it; it may again in %" PRId64 " s",
                     left_ms < 0 ? 0 : left_ms / 1000 + 1);
}

/* Turns the response into an answer, or into the failure that it stands for. */
static int judge(struct github_api *api, const struct kndl_http_response *response,
                 struct github_answer *answer, struct kndl_error *err)
{
    int64_t pause_ms;

    if (is_limited(api, response, answer, &pause_ms)) {
        api->quiet_until_ms = kndl_clock_ms() + pause_ms;
        kndl_log(KNDL_WARNING, "GitHub limits us", KNDL_I64("pause_ms", pause_ms));
        github_answer_done(answer);
        return fail_limited(api, err);
    }
    if (response->status >= 200 && response->status < 300 &&
        (response->status == 204 || answer->json != NULL))
        return 0;
    if (response->status >= 300 && response->status < 500)
        return 0;
    kndl_log(KNDL_WARNING, "GitHub cannot answer", KNDL_I64("status", response->status));
    github_answer_done(answer);
    return kndl_fail(err, KNDL_UNAVAILABLE, "GitHub cannot answer at the moment");
}

int github_api_ask(struct github_api *api, const struct github_question *question,
                   struct github_answer *ret_answer, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf url = {0};
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf moved = {0};
    KNDL_CLEANUP(kndl_http_response_done) struct kndl_http_response response = {0};

    if (api->quiet_until_ms != 0 && kndl_clock_ms() < api->quiet_until_ms)
        return fail_limited(api, err);
    kndl_buf_printf(&url, "%s%s", api->url, question->path);
    if (ask_once(api, question, kndl_buf_text(&url), &response, err) < 0)
        return -1;

    const char *to = question->stay ? NULL : redirect_of(api, &response, &moved);
    if (to != NULL && strcmp(question->method, "GET") == 0) {
        kndl_http_response_done(&response);
        if (ask_once(api, question, to, &response, err) < 0)
            return -1;
    }
    read_answer(&response, ret_answer);
    if (question->as_app && learn_skew(api, &response, ret_answer)) {
        github_answer_done(ret_answer);
        kndl_http_response_done(&response);
        if (ask_once(api, question, kndl_buf_text(&url), &response, err) < 0)
            return -1;
        read_answer(&response, ret_answer);
    }
    return judge(api, &response, ret_answer, err);
}
