/* github.c against the stand-in: who somebody is, which Repos there are, and who may see one. What
 * git may do there is in test_git_token.c. */

#include "github.h"

#include <stdio.h>
#include <string.h>

#include "kndl/buf.h"
#include "kndl/mem.h"
#include "peer.h"

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
        TEST(ac_05_more_than_a_page_of_installations_and_of_repos_is_listed),
        TEST(ac_07_an_answer_that_is_no_list_of_repos_decides_nothing),
        TEST(a_renamed_repo_says_so),
        TEST(a_rate_limit_is_minded_until_it_ends),
    };

    return cmocka_run_group_tests(tests, peer_start, peer_stop);
}
