/* Tokens for git, against the stand-in for GitHub. */

#include <stdlib.h>
#include <string.h>

#include "kndl/mem.h"
#include "kndl/secret.h"
#include "peer.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(gi_06_a_refused_token_is_never_taken_for_a_hub_without_an_app),
        TEST(ac_07_a_403_without_a_suspension_decides_nothing),
        TEST(gi_01_a_git_token_is_for_one_repo_and_only_one_that_the_app_is_on),
        TEST(gi_06_a_clone_token_is_kept_until_5_minutes_before_its_end_a_sandboxs_is_not),
        TEST(a_clock_that_differs_from_githubs_is_learned),
    };

    return cmocka_run_group_tests(tests, peer_start, peer_stop);
}
