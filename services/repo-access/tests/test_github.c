/* github.c and oauth.c against the stand-in for GitHub, which speaks its REST API over HTTP. */

#include "github.h"

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kndl/clock.h"
#include "kndl/env.h"
#include "kndl/http.h"
#include "kndl/mem.h"
#include "kndl/testing.h"
#include "kndl/token.h"
#include "oauth.h"
#include "settings.h"

static char folder[] = "/tmp/kndl-github-XXXXXX";
static char control[64]; /* http://127.0.0.1:<port> */
static pid_t server;

static pid_t start(char *const argv[], int out)
{
    char *const clean[] = {"PATH=/usr/local/bin:/usr/bin:/bin", NULL};
    pid_t child = fork();

    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(out, 1);
        execvpe(argv[0], argv, clean);
        _exit(127);
    }
    return child;
}

static void run(char *const argv[])
{
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    int status;

    waitpid(start(argv, null), &status, 0);
    close(null);
    if (status != 0) {
        fprintf(stderr, "%s failed\n", argv[0]);
        exit(1);
    }
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status;
    (void)kind;
    (void)walk;
    return remove(path);
}

static void stop_server(void)
{
    kill(server, SIGTERM);
    waitpid(server, NULL, 0);
    nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void write_secret(void)
{
    char path[64];

    snprintf(path, sizeof path, "%s/client-secret", folder);
    FILE *file = fopen(path, "w");
    if (file == NULL || fputs("demo-client-secret-that-opens-nothing\n", file) < 0 ||
        fclose(file) != 0)
        abort();
    setenv("GITHUB_CLIENT_SECRET_FILE", path, 1);
}

/* Key, state and server; returns once it listens. */
static void start_server(void)
{
    char key[64], pub[64], state[64], git[64], line[256];
    int out[2];

    if (mkdtemp(folder) == NULL || pipe2(out, O_CLOEXEC) < 0)
        abort();
    umask(077);
    snprintf(key, sizeof key, "%s/app.pem", folder);
    snprintf(pub, sizeof pub, "%s/app.pub", folder);
    snprintf(state, sizeof state, "%s/state.json", folder);
    snprintf(git, sizeof git, "%s/git", folder);
    run((char *[]){"openssl", "genrsa", "-out", key, "2048", NULL});
    run((char *[]){"openssl", "rsa", "-in", key, "-pubout", "-out", pub, NULL});
    run((char *[]){"cp", PEER "/demo.json", state, NULL});
    server = start((char *[]){"node", PEER "/server.js", "--state", state, "--git", git,
                              "--public-key", pub, "--port", "0", NULL},
                   out[1]);
    close(out[1]);
    FILE *said = fdopen(out[0], "r");
    if (fgets(line, sizeof line, said) == NULL || strrchr(line, ':') == NULL)
        abort();
    fclose(said);
    snprintf(control, sizeof control, "http://127.0.0.1:%ld",
             strtol(strrchr(line, ':') + 1, NULL, 10));
    snprintf(line, sizeof line, "%s/api/v3", control);
    setenv("HUB_GITHUB_API_URL", line, 1);
    setenv("HUB_GITHUB_URL", control, 1);
    setenv("GITHUB_CLIENT_ID", "Iv1.kndldemo", 1);
    write_secret();
    setenv("GITHUB_APP_ID", "1001", 1);
    setenv("GITHUB_APP_KEY_FILE", key, 1);
}

static void ask_control(const char *method, const char *path, const char *body)
{
    struct kndl_http *http = kndl_http_new("test");
    struct kndl_http_response response;
    struct kndl_error err = {0};
    char url[128];

    snprintf(url, sizeof url, "%s/__fake/%s", control, path);
    const struct kndl_http_request request = {.method = method,
                                              .url = url,
                                              .body = kndl_slice_of(body),
                                              .timeout_ms = 10000,
                                              .response_bytes_max = 1 << 20};
    assert_int_equal(kndl_http_do(http, &request, &response, &err), 0);
    assert_int_equal(response.status, 200);
    kndl_http_response_done(&response);
    kndl_http_free(http);
}

static void fault(const char *faults)
{
    ask_control("PUT", "faults", faults);
}

static void change(const char *patch)
{
    ask_control("PATCH", "state", patch);
}

struct fixture {
    int64_t moved_ms; /* the clock, by move_clock() */
    struct github *github;
    struct kndl_arena *arena;
    struct kndl_error err;
};

static void move_clock(struct fixture *f, int64_t ms)
{
    kndl_clock_shift(ms);
    f->moved_ms += ms;
}

static struct repo hello = {.id = 3001, .name = "demo/hello", .installation_id = 2001};

static int set_up(void **state)
{
    struct fixture *f = kndl_new0(struct fixture);

    fault("[]");
    f->arena = kndl_arena_new(KNDL_ARENA_PLAIN);
    assert_int_equal(github_open(&f->github, &f->err), 0);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    kndl_clock_shift(-f->moved_ms); /* also after a failure: the stand-in's clock stays */
    github_close(f->github);
    kndl_arena_free(f->arena);
    free(f);
    return 0;
}

/* 1 and 0 are GitHub's yes and no, -1 that it could not answer. */
static int check(struct fixture *f, const char *login)
{
    bool yes = false;

    f->err = (struct kndl_error){0};
    return github_check_collaborator(f->github, &hello, login, &yes, &f->err) < 0 ? -1 : yes;
}

static int mint(struct fixture *f, int64_t repo_id, bool write)
{
    struct github_token token = {0};
    struct repo repo = hello;

    repo.id = repo_id;
    f->err = (struct kndl_error){0};
    int result = github_mint(f->github, &repo, write, f->arena, &token, &f->err);
    if (result == 0) {
        assert_true(token.token.size > 10);
        assert_true(token.expires_at_ms > kndl_clock_wall_ms() + 50 * 60 * 1000);
        assert_string_equal(token.repo_name, "demo/hello");
        kndl_secret_done(&token.token);
    }
    return result;
}

static void an_account_is_found_by_its_login_in_any_case(void **state)
{
    struct fixture *f = *state;
    struct github_user user;

    assert_int_equal(github_find_user(f->github, "ada", f->arena, &user, &f->err), 0);
    assert_int_equal(user.id, 501);
    assert_string_equal(user.login, "ada");
    assert_string_equal(user.name, "Ada");
    assert_int_equal(github_find_user(f->github, "nobody-1", f->arena, &user, &f->err), -1);
    assert_int_equal(f->err.code, KNDL_NOT_FOUND);
    assert_int_equal(github_find_user(f->github, "../app", f->arena, &user, &f->err), -1);
    assert_int_equal(f->err.code, KNDL_NOT_FOUND);
}

static void an_account_keeps_its_id_whatever_it_is_called(void **state)
{
    struct fixture *f = *state;
    const char *login;

    assert_int_equal(github_find_login(f->github, &hello, 502, f->arena, &login, &f->err), 0);
    assert_string_equal(login, "grace");
    assert_int_equal(github_find_login(f->github, &hello, 9999, f->arena, &login, &f->err), -1);
    assert_int_equal(f->err.code, KNDL_NOT_FOUND);
    fault("[{\"path\":\"/user/502$\",\"status\":502,\"body\":\"<html>Unicorn!</html>\"}]");
    f->err = (struct kndl_error){0};
    assert_int_equal(github_find_login(f->github, &hello, 502, f->arena, &login, &f->err), -1);
    assert_int_equal(f->err.code, KNDL_UNAVAILABLE);
}

static void the_repos_of_every_installation_are_listed(void **state)
{
    struct fixture *f = *state;
    struct listing listing;

    assert_int_equal(github_list_repos(f->github, f->arena, &listing, &f->err), 0);
    assert_int_equal(listing.repo_count, 3);
    assert_int_equal(listing.installation_count, 1);
    assert_string_equal(listing.installations[0].account, "demo");
    assert_false(listing.installations[0].is_suspended);
    const struct repo *repos = listing.repos;
    assert_int_equal(repos[0].id, 3001);
    assert_string_equal(repos[0].name, "demo/hello");
    assert_string_equal(repos[0].description, "Says hello");
    assert_string_equal(repos[0].default_branch, "main");
    assert_int_equal(repos[0].installation_id, 2001);
    assert_true(repos[0].is_private);
}

/* AC-05 */
static void ac_05_a_collaborator_is_one_and_a_stranger_is_not(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(check(f, "ada"), 1);
    assert_int_equal(check(f, "grace"), 1);
    assert_int_equal(check(f, "stranger"), 0);
    change("{\"repos\":{\"3001\":{\"private\":false}}}");
    assert_int_equal(check(f, "stranger"), 0); /* readers of a public Repo do not count */
    change("{\"repos\":{\"3001\":{\"private\":null}}}");
    change("{\"repos\":{\"3001\":{\"collaborators\":{\"grace\":null}}}}");
    assert_int_equal(check(f, "grace"), 0);
    change("{\"repos\":{\"3001\":{\"collaborators\":{\"grace\":\"write\"}}}}");
}

/* AC-07 */
static void ac_07_failures_of_github_decide_nothing(void **state)
{
    struct fixture *f = *state;
    static const char *const faults[] = {
        "[{\"path\":\"collaborators\",\"status\":500,\"body\":\"<html>oops</html>\"}]",
        "[{\"path\":\"collaborators\",\"status\":502}]",
        "[{\"path\":\"collaborators\",\"status\":403,\"body\":"
        "{\"message\":\"Resource not accessible by integration\"}}]",
        "[{\"path\":\"collaborators\",\"status\":200,\"body\":\"not JSON\"}]",
        "[{\"path\":\"collaborators\",\"status\":301,\"headers\":"
        "{\"location\":\"http://127.0.0.1:1/steal\"}}]",
        "[{\"path\":\"collaborators\",\"status\":401,\"body\":{\"message\":\"Bad credentials\"}}]",
    };

    assert_int_equal(check(f, "ada"), 1);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        fault(faults[i]);
        assert_int_equal(check(f, "ada"), -1);
        assert_true(f->err.code == KNDL_UNAVAILABLE || f->err.code == KNDL_ABORTED);
        assert_int_equal(check(f, "stranger"), -1);
    }
    fault("[]");
    assert_int_equal(check(f, "ada"), 1);
    assert_int_equal(check(f, "stranger"), 0);
}

static void a_rate_limit_is_minded_until_it_ends(void **state)
{
    struct fixture *f = *state;
    static const char *const faults[] = {
        "[{\"path\":\"collaborators\",\"times\":1,\"status\":429,\"headers\":"
        "{\"retry-after\":\"30\"}}]",
        "[{\"path\":\"collaborators\",\"times\":1,\"status\":403,\"body\":"
        "{\"message\":\"You have exceeded a secondary rate limit.\"}}]",
        "[{\"path\":\"collaborators\",\"times\":1,\"status\":403,\"headers\":"
        "{\"x-ratelimit-remaining\":\"0\",\"x-ratelimit-reset\":\"1\"},\"body\":{}}]",
    };

    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        fault(faults[i]);
        assert_int_equal(check(f, "ada"), -1);
        assert_int_equal(f->err.code, KNDL_UNAVAILABLE);
        assert_int_equal(check(f, "ada"), -1); /* not asked: the fault is over */
        move_clock(f, 61 * 1000);
        assert_int_equal(check(f, "ada"), 1);
    }
}

static void a_token_that_github_dropped_is_made_anew_once(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(check(f, "ada"), 1);
    fault("[{\"path\":\"collaborators\",\"times\":1,\"status\":401,\"body\":"
          "{\"message\":\"Bad credentials\"}}]");
    assert_int_equal(check(f, "ada"), 1);
}

static void a_suspended_installation_gives_access_to_nothing(void **state)
{
    struct fixture *f = *state;
    struct listing listing;

    change("{\"installations\":{\"2001\":{\"suspended_at\":\"2026-01-01T00:00:00Z\"}}}");
    assert_int_equal(check(f, "ada"), 0);
    assert_int_equal(github_list_repos(f->github, f->arena, &listing, &f->err), 0);
    assert_int_equal(listing.repo_count, 0);
    assert_int_equal(listing.installation_count, 1);
    assert_true(listing.installations[0].is_suspended);
    assert_int_equal(mint(f, 3001, false), -1);
    assert_int_equal(f->err.code, KNDL_PERMISSION_DENIED);
    assert_non_null(strstr(f->err.message, "kndl may not read demo/hello: the GitHub App is susp"));
    change("{\"installations\":{\"2001\":{\"suspended_at\":null}}}");
    assert_int_equal(mint(f, 3001, false), 0);
}

/* GI-06: with an App no Runner may fall back on its host's credentials, whatever GitHub says. */
static void gi_06_a_refused_token_is_never_taken_for_a_hub_without_an_app(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *change, *undo, *says;
    } cases[] = {
        {"{\"installations\":{\"2001\":{\"suspended_at\":\"2026-01-01T00:00:00Z\"}}}",
         "{\"installations\":{\"2001\":{\"suspended_at\":null}}}", "suspended"},
        {"{\"installations\":{\"2001\":{\"repositories\":[3002]}}}",
         "{\"installations\":{\"2001\":{\"repositories\":[3001,3002,3003]}}}",
         "not installed on it"},
        {"{\"installations\":{\"2001\":{\"permissions\":{\"contents\":null}}}}",
         "{\"installations\":{\"2001\":{\"permissions\":{\"contents\":\"write\"}}}}",
         "lacks the permission Contents"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        change(cases[i].change);
        assert_int_equal(mint(f, 3001, false), -1);
        assert_int_equal(f->err.code, KNDL_PERMISSION_DENIED);
        assert_non_null(strstr(f->err.message, cases[i].says));
        change(cases[i].undo);
    }
    struct github_token token = {0};
    struct repo elsewhere = hello;
    elsewhere.installation_id = 2999;
    assert_int_equal(github_mint(f->github, &elsewhere, false, f->arena, &token, &f->err), -1);
    assert_int_equal(f->err.code, KNDL_PERMISSION_DENIED);
    assert_non_null(strstr(f->err.message, "not installed there any more"));
}

/* AC-07: a 403 that is none of ours to understand says nothing of the installation. */
static void ac_07_a_403_without_a_suspension_decides_nothing(void **state)
{
    struct fixture *f = *state;

    fault(
        "[{\"path\":\"access_tokens\",\"status\":403,\"body\":{\"message\":"
        "\"Although you appear to have the correct authorization credentials, the organization has "
        "an IP allow list enabled\"}}]");
    assert_int_equal(mint(f, 3001, false), -1);
    assert_int_equal(f->err.code, KNDL_UNAVAILABLE);
    assert_int_equal(check(f, "ada"), -1);
}

/* AC-05: both lists come in pages, and every page is read. */
static void ac_05_more_than_a_page_of_installations_and_of_repos_is_listed(void **state)
{
    struct fixture *f = *state;
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf patch = {0};
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf undo = {0};
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf ids = {0};
    struct listing listing;

    for (int i = 0; i < 205; i++)
        kndl_buf_append_text(&ids, i > 0 ? ",3002" : "3002");
    kndl_buf_append_text(&patch, "{\"installations\":{");
    kndl_buf_append_text(&undo, "{\"installations\":{");
    for (int i = 0; i < 120; i++) {
        kndl_buf_printf(&patch,
                        "%s\"%d\":{\"account\":\"demo\",\"permissions\":{\"metadata\":\"read\"},"
                        "\"repositories\":[%s]}",
                        i > 0 ? "," : "", 7000 + i, i == 119 ? kndl_buf_text(&ids) : "");
        kndl_buf_printf(&undo, "%s\"%d\":null", i > 0 ? "," : "", 7000 + i);
    }
    kndl_buf_append_text(&patch, "}}");
    kndl_buf_append_text(&undo, "}}");
    change(kndl_buf_text(&patch));
    assert_int_equal(github_list_repos(f->github, f->arena, &listing, &f->err), 0);
    assert_int_equal(listing.installation_count, 121);
    assert_int_equal(listing.repo_count, 208);
    change(kndl_buf_text(&undo));
}

/* AC-07: what is not there in an answer that is no list was not taken away. */
static void ac_07_an_answer_that_is_no_list_of_repos_decides_nothing(void **state)
{
    struct fixture *f = *state;
    struct listing listing;
    static const char *const faults[] = {
        "[{\"path\":\"installation/repositories$\",\"status\":200,\"body\":{}}]",
        "[{\"path\":\"installation/repositories$\",\"status\":200,\"body\":[]}]",
        "[{\"path\":\"installation/repositories$\",\"status\":200,\"body\":"
        "{\"total_count\":3,\"repositories\":null}}]",
        "[{\"path\":\"installation/repositories$\",\"status\":200,\"body\":"
        "{\"repositories\":[{\"id\":\"3001\"}]}}]",
        "[{\"path\":\"app/installations$\",\"status\":200,\"body\":{\"message\":\"maintenance\"}}]",
        "[{\"path\":\"app/installations$\",\"status\":200,\"body\":[{}]}]",
        "[{\"path\":\"app/installations$\",\"status\":200,\"body\":\"[{\\\"id\\\":20\"}]",
        "[{\"path\":\"app/installations$\",\"status\":401,\"body\":"
        "{\"message\":\"A JSON web token could not be decoded\"}}]",
        "[{\"path\":\"app/installations$\",\"status\":302,\"headers\":"
        "{\"location\":\"http://127.0.0.1:1/app/installations\"}}]",
        /* pages without an end */
        "[{\"path\":\"installation/repositories$\",\"status\":200,\"headers\":"
        "{\"link\":\"<http://x/>; rel=\\\"next\\\"\"},\"body\":{\"repositories\":[]}}]",
        "[{\"path\":\"app/installations$\",\"status\":200,\"headers\":"
        "{\"link\":\"<http://x/>; rel=\\\"next\\\"\"},\"body\":[]}]",
    };

    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        fault(faults[i]);
        assert_int_equal(github_list_repos(f->github, f->arena, &listing, &f->err), -1);
        assert_int_equal(f->err.code, KNDL_UNAVAILABLE);
    }
    fault("[]");
    assert_int_equal(github_list_repos(f->github, f->arena, &listing, &f->err), 0);
    assert_int_equal(listing.repo_count, 3);
}

static void a_renamed_repo_says_so(void **state)
{
    struct fixture *f = *state;

    change("{\"repos\":{\"3001\":{\"full_name\":\"demo/hi\",\"old_names\":[\"demo/hello\"]}}}");
    assert_int_equal(check(f, "ada"), -1);
    assert_int_equal(f->err.code, KNDL_ABORTED);
    hello.name = "demo/hi";
    assert_int_equal(check(f, "ada"), 1);
    hello.name = "demo/hello";
    change("{\"repos\":{\"3001\":{\"full_name\":\"demo/hello\",\"old_names\":null}}}");
}

/* GI-01 */
static void gi_01_a_git_token_is_for_one_repo_and_only_one_that_the_app_is_on(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(mint(f, 4711, false), -1);
    assert_int_equal(f->err.code, KNDL_PERMISSION_DENIED);
    fault("[{\"path\":\"access_tokens\",\"status\":201,\"body\":{\"token\":\"ghs_wide\","
          "\"expires_at\":\"2099-01-01T00:00:00Z\",\"permissions\":{\"contents\":\"read\"},"
          "\"repositories\":[{\"id\":3001},{\"id\":3002}]}}]");
    assert_int_equal(mint(f, 3001, false), -1);
    fault("[{\"path\":\"access_tokens\",\"status\":201,\"body\":{\"token\":\"ghs_strong\","
          "\"expires_at\":\"2099-01-01T00:00:00Z\",\"permissions\":{\"contents\":\"write\"},"
          "\"repositories\":[{\"id\":3001}]}}]");
    assert_int_equal(mint(f, 3001, false), -1);
    assert_int_equal(f->err.code, KNDL_UNAVAILABLE);
    fault("[]");
    assert_int_equal(mint(f, 3001, false), 0);
    assert_int_equal(mint(f, 3001, true), 0);
}

/* What a mint gave; the caller frees it. */
static char *minted(struct fixture *f, const struct repo *repo, bool write)
{
    struct github_token token = {0};

    assert_int_equal(github_mint(f->github, repo, write, f->arena, &token, &f->err), 0);
    char *text = kndl_strdup((const char *)token.token.data);
    kndl_secret_done(&token.token);
    return text;
}

static bool is_same(struct fixture *f, const struct repo *repo, bool write, const char *before)
{
    char *now = minted(f, repo, write);
    bool same = strcmp(now, before) == 0;

    free(now);
    return same;
}

/* GI-06, GI-01 */
static void
gi_06_a_clone_token_is_kept_until_5_minutes_before_its_end_a_sandboxs_is_not(void **state)
{
    struct fixture *f = *state;
    struct repo other_name = hello;
    char *clone = minted(f, &hello, false);
    char *sandbox = minted(f, &hello, true);

    assert_string_not_equal(clone, sandbox);
    assert_true(is_same(f, &hello, false, clone));
    assert_false(is_same(f, &hello, true, sandbox));
    move_clock(f, 54 * 60 * 1000);
    assert_true(is_same(f, &hello, false, clone));
    other_name.name = "demo/hi";
    assert_false(is_same(f, &other_name, false, clone));
    move_clock(f, 90 * 1000);
    assert_false(is_same(f, &hello, false, clone));
    free(clone);
    free(sandbox);
}

static void a_clock_that_differs_from_githubs_is_learned(void **state)
{
    struct fixture *f = *state;

    move_clock(f, -20 * 60 * 1000);
    assert_int_equal(mint(f, 3001, false), 0);
}

/* ---- oauth.c ---- */

/* Goes where the browser would, as grace; the query that GitHub sends it back with. */
static void go_to_github(const struct oauth *oauth, struct kndl_slice browser, char *ret_query,
                         size_t size)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf url = {0};
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf location = {0};
    KNDL_CLEANUP(kndl_http_response_done) struct kndl_http_response response = {0};
    struct kndl_http *http = kndl_http_new("test");
    struct kndl_error err = {0};

    oauth_write_url(oauth, browser, &url);
    kndl_buf_append_text(&url, "&as=grace");
    const struct kndl_http_request request = {.method = "GET",
                                              .url = kndl_buf_text(&url),
                                              .timeout_ms = 10000,
                                              .response_bytes_max = 1 << 20};
    assert_int_equal(kndl_http_do(http, &request, &response, &err), 0);
    assert_int_equal(response.status, 302);
    const char *back = kndl_http_header(&response, "location", &location);
    assert_non_null(back);
    assert_int_equal(strncmp(back, "http://127.0.0.1/auth/github/callback?", 38), 0);
    snprintf(ret_query, size, "%s", back + 38);
    kndl_http_free(http);
}

static void read_value(const char *query, const char *name, char *ret_value, size_t size)
{
    const char *at = strstr(query, name);

    assert_non_null(at);
    snprintf(ret_value, size, "%.*s", (int)strcspn(at + strlen(name), "&"), at + strlen(name));
}

/* AC-01, ASVS 10.2: state and PKCE are the browser's own. */
static void ac_01_a_code_is_for_the_browser_that_went_and_good_once(void **state)
{
    struct fixture *f = *state;
    struct kndl_slice mine = kndl_slice_of("kndl_sgn_mine");
    struct kndl_slice other = kndl_slice_of("kndl_sgn_other");
    char query[512], code[128], given[128];
    struct github_user user;
    struct oauth *oauth;

    assert_int_equal(oauth_open(&oauth, &f->err), 0);
    assert_true(oauth_is_on(oauth));
    go_to_github(oauth, mine, query, sizeof query);
    read_value(query, "code=", code, sizeof code);
    read_value(query, "state=", given, sizeof given);
    assert_true(oauth_is_state(mine, given));
    assert_false(oauth_is_state(other, given));
    assert_false(oauth_is_state(mine, ""));

    assert_int_equal(oauth_find_user(oauth, mine, code, f->arena, &user, &f->err), 0);
    assert_int_equal(user.id, 502);
    assert_string_equal(user.login, "grace");
    assert_int_equal(oauth_find_user(oauth, mine, code, f->arena, &user, &f->err), -1);
    assert_int_equal(f->err.code, KNDL_UNAUTHENTICATED);

    /* Another browser has another verifier: the code is of no use to it. */
    go_to_github(oauth, mine, query, sizeof query);
    read_value(query, "code=", code, sizeof code);
    assert_int_equal(oauth_find_user(oauth, other, code, f->arena, &user, &f->err), -1);
    assert_int_equal(f->err.code, KNDL_UNAUTHENTICATED);
    oauth_close(oauth);
}

static void a_github_that_cannot_say_who_it_is_lets_nobody_in(void **state)
{
    static const char *const faults[] = {
        "[{\"path\":\"access_token\",\"status\":502,\"body\":\"<html>Unicorn!</html>\"}]",
        "[{\"path\":\"access_token\",\"status\":200,\"body\":\"access_token=x\"}]",
        "[{\"path\":\"access_token\",\"status\":200,\"body\":{}}]",
        "[{\"path\":\"/user$\",\"status\":500,\"body\":\"<html>Unicorn!</html>\"}]",
        "[{\"path\":\"/user$\",\"status\":403,\"body\":{\"message\":\"API rate limit\"}}]",
        "[{\"path\":\"/user$\",\"status\":200,\"body\":{\"login\":\"ada\"}}]",
    };
    struct fixture *f = *state;
    struct kndl_slice browser = kndl_slice_of("kndl_sgn_mine");
    char query[512], code[128];
    struct github_user user;
    struct oauth *oauth;

    assert_int_equal(oauth_open(&oauth, &f->err), 0);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        fault("[]");
        go_to_github(oauth, browser, query, sizeof query);
        read_value(query, "code=", code, sizeof code);
        fault(faults[i]);
        f->err = (struct kndl_error){0};
        assert_int_equal(oauth_find_user(oauth, browser, code, f->arena, &user, &f->err), -1);
        assert_int_equal(f->err.code, KNDL_UNAVAILABLE);
    }
    oauth_close(oauth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(an_account_is_found_by_its_login_in_any_case),
        TEST(an_account_keeps_its_id_whatever_it_is_called),
        TEST(the_repos_of_every_installation_are_listed),
        TEST(ac_05_a_collaborator_is_one_and_a_stranger_is_not),
        TEST(ac_07_failures_of_github_decide_nothing),
        TEST(a_token_that_github_dropped_is_made_anew_once),
        TEST(a_suspended_installation_gives_access_to_nothing),
        TEST(gi_06_a_refused_token_is_never_taken_for_a_hub_without_an_app),
        TEST(ac_07_a_403_without_a_suspension_decides_nothing),
        TEST(ac_05_more_than_a_page_of_installations_and_of_repos_is_listed),
        TEST(ac_07_an_answer_that_is_no_list_of_repos_decides_nothing),
        TEST(a_renamed_repo_says_so),
        TEST(gi_01_a_git_token_is_for_one_repo_and_only_one_that_the_app_is_on),
        TEST(gi_06_a_clone_token_is_kept_until_5_minutes_before_its_end_a_sandboxs_is_not),
        TEST(a_clock_that_differs_from_githubs_is_learned),
        TEST(ac_01_a_code_is_for_the_browser_that_went_and_good_once),
        TEST(a_github_that_cannot_say_who_it_is_lets_nobody_in),
        TEST(a_rate_limit_is_minded_until_it_ends),
    };
    struct kndl_error err = {0};

    start_server();
    setenv("HUB_DATABASE_URL", "", 1);
    setenv("HUB_PUBLIC_URL", "http://127.0.0.1", 1);
    if (kndl_crypt_init(&err) < 0 || kndl_env_load(settings, &err) < 0)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    stop_server();
    return failed;
}
