/* What becomes of Repos whose App, name or owner changes; GitHub and the bus are fakes.c's. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "fakes.h"
#include "kndl/clock.h"
#include "kndl/mem.h"
#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "kndl/testing.h"
#include "rpc.h"
#include "stage.h"
#include "store.h"

#define V1(name) Kndl__RepoAccess__V1__##name
#define PRESENCE(name) KNDL__REPO_ACCESS__V1__GET_REPOS_RESPONSE__PRESENCE__PRESENCE_##name

enum { TTL_MS = 300000 };

struct fixture {
    struct repo_access repo_access;
    struct kndl_error err; /* of the last call */
    char ada[32];          /* the Owner */
    char grace[32];
    char text[512]; /* what the last call answered */
};

static void sign_in(struct fixture *f, const char *login, char ret_id[32])
{
    V1(DevLoginRequest) req = KNDL__REPO_ACCESS__V1__DEV_LOGIN_REQUEST__INIT;

    req.login = (char *)login;
    req.kind = KNDL__REPO_ACCESS__V1__AUTHENTICATE_REQUEST__KIND__KIND_CLI;
    struct kndl_test_answer answer =
        kndl_test_call(repo_access_internal_service, &f->repo_access, "", "DevLogin", &req.base);
    assert_int_equal(answer.err.code, KNDL_OK);
    snprintf(ret_id, 32, "%s", ((V1(DevLoginResponse) *)answer.response)->person->id);
    kndl_test_done(&answer);
}

static int set_up(void **state)
{
    struct fixture *f = kndl_new0(struct fixture);

    stage_open(&f->repo_access);
    sign_in(f, "ada", f->ada);
    sign_in(f, "grace", f->grace);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    stage_close(&f->repo_access);
    free(f);
    return 0;
}

/* What ListRepos says beside the Repos, into f->text. */
static const char *notices(struct fixture *f, const char *person)
{
    V1(ListReposRequest) req = KNDL__REPO_ACCESS__V1__LIST_REPOS_REQUEST__INIT;
    struct kndl_test_answer answer =
        kndl_test_call(repo_access_service, &f->repo_access, person, "ListRepos", &req.base);
    const V1(ListReposResponse) *resp = (V1(ListReposResponse) *)answer.response;

    assert_non_null(resp);
    f->text[0] = '\0';
    for (size_t i = 0; i < resp->n_notices; i++) {
        size_t used = strlen(f->text);
        snprintf(f->text + used, sizeof f->text - used, "%s\n", resp->notices[i]);
    }
    kndl_test_done(&answer);
    return f->text;
}

/* What sessions hears of a Repo: its name into f->text. */
static V1(GetReposResponse__Presence) presence(struct fixture *f, int64_t repo_id)
{
    V1(GetReposRequest) req = KNDL__REPO_ACCESS__V1__GET_REPOS_REQUEST__INIT;
    int64_t ids[] = {repo_id, 4711};
    V1(GetReposResponse__Presence) found = PRESENCE(UNSPECIFIED);

    req.repo_ids = ids;
    req.n_repo_ids = 2;
    struct kndl_test_answer answer =
        kndl_test_call(repo_access_internal_service, &f->repo_access, "", "GetRepos", &req.base);
    const V1(GetReposResponse) *resp = (V1(GetReposResponse) *)answer.response;
    f->err = answer.err;
    if (resp != NULL && resp->n_repos > 0) {
        assert_int_equal(resp->n_repos, 1); /* one that was never seen is left out */
        found = resp->repos[0]->presence;
        snprintf(f->text, sizeof f->text, "%s", resp->repos[0]->name);
    }
    kndl_test_done(&answer);
    return found;
}

static bool check(struct fixture *f, const char *person, int64_t repo_id)
{
    V1(CheckAccessRequest) req = KNDL__REPO_ACCESS__V1__CHECK_ACCESS_REQUEST__INIT;

    req.person_id = (char *)person;
    req.repo_ids = &repo_id;
    req.n_repo_ids = 1;
    struct kndl_test_answer answer =
        kndl_test_call(repo_access_internal_service, &f->repo_access, "", "CheckAccess", &req.base);
    assert_int_equal(answer.err.code, KNDL_OK);
    bool may = ((V1(CheckAccessResponse) *)answer.response)->n_allowed_repo_ids == 1;
    kndl_test_done(&answer);
    return may;
}

static enum kndl_code mint(struct fixture *f, int64_t repo_id)
{
    V1(MintGitTokenRequest) req = KNDL__REPO_ACCESS__V1__MINT_GIT_TOKEN_REQUEST__INIT;

    req.repo_id = repo_id;
    struct kndl_test_answer answer = kndl_test_call(repo_access_internal_service, &f->repo_access,
                                                    "", "MintGitToken", &req.base);
    enum kndl_code code = answer.err.code;
    kndl_test_done(&answer);
    return code;
}

/* AC-05 */
static void ac_05_a_suspended_app_is_told_to_the_owner_and_gives_access_to_nothing(void **state)
{
    struct fixture *f = *state;

    assert_string_equal(notices(f, f->ada), "");
    assert_true(check(f, f->grace, 3001));
    the_github.is_suspended = true;
    kndl_clock_shift(TTL_MS);
    assert_non_null(strstr(notices(f, f->ada), "suspended on demo"));
    assert_string_equal(notices(f, f->grace), "");
    assert_false(check(f, f->grace, 3001));
    assert_int_equal(presence(f, 3001), PRESENCE(SUSPENDED));
    assert_int_equal(mint(f, 3001), KNDL_PERMISSION_DENIED);

    the_github.is_suspended = false;
    kndl_clock_shift(TTL_MS);
    assert_string_equal(notices(f, f->ada), "");
    assert_true(check(f, f->grace, 3001));
    assert_int_equal(presence(f, 3001), PRESENCE(INSTALLED));
}

static void a_repo_that_is_gone_says_so_and_one_that_was_renamed_has_its_new_name(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(presence(f, 3002), PRESENCE(INSTALLED));
    the_github.is_uninstalled = true;
    the_github.is_renamed = true;
    kndl_clock_shift(TTL_MS);
    assert_int_equal(presence(f, 3002), PRESENCE(GONE));
    assert_string_equal(f->text, "demo/Notes");
    assert_int_equal(presence(f, 3001), PRESENCE(INSTALLED));
    assert_string_equal(f->text, "demo/hi");
}

/* AC-07 */
static void ac_07_while_github_cannot_answer_repos_stay_and_people_are_told(void **state)
{
    struct fixture *f = *state;

    the_github.is_away = true;
    assert_int_equal(presence(f, 3001), PRESENCE(UNSPECIFIED));
    assert_int_equal(f->err.code, KNDL_UNAVAILABLE);
    the_github.is_away = false;
    assert_int_equal(presence(f, 3001), PRESENCE(INSTALLED));
    assert_true(check(f, f->grace, 3001));

    the_github.is_away = true;
    the_github.is_suspended = true;
    kndl_clock_shift(TTL_MS);
    assert_int_equal(presence(f, 3001), PRESENCE(INSTALLED));
    assert_true(check(f, f->grace, 3001));
    assert_non_null(strstr(notices(f, f->grace), "GitHub does not answer"));
}

/* AC-05 */
static void ac_05_a_repo_given_to_another_owner_with_the_app_is_lost_for_nobody(void **state)
{
    struct fixture *f = *state;

    assert_true(check(f, f->grace, 3001));
    kndl_clock_shift(TTL_MS - 60 * 1000);
    assert_int_equal(presence(f, 3001), PRESENCE(INSTALLED)); /* listed anew: good for 5 minutes */
    the_github.is_given_away = true;
    kndl_clock_shift(60 * 1000);
    assert_true(check(f, f->grace, 3001));
    assert_int_equal(mint(f, 3001), KNDL_OK);
}

/* GI-01 */
static void gi_01_a_token_is_minted_by_the_installation_that_has_the_repo_now(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(presence(f, 3001), PRESENCE(INSTALLED));
    assert_int_equal(mint(f, 3001), KNDL_OK);
    the_github.is_given_away = true;
    kndl_clock_shift(10 * 1000);
    assert_int_equal(mint(f, 3001), KNDL_OK);
    the_github.is_suspended = true;
    int lists = the_github.lists;
    assert_int_equal(mint(f, 3001), KNDL_PERMISSION_DENIED);
    assert_int_equal(mint(f, 3001), KNDL_PERMISSION_DENIED);
    assert_int_equal(the_github.lists, lists); /* the listing is young: asked once, not each time */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(ac_05_a_suspended_app_is_told_to_the_owner_and_gives_access_to_nothing),
        TEST(a_repo_that_is_gone_says_so_and_one_that_was_renamed_has_its_new_name),
        TEST(ac_07_while_github_cannot_answer_repos_stay_and_people_are_told),
        TEST(ac_05_a_repo_given_to_another_owner_with_the_app_is_lost_for_nobody),
        TEST(gi_01_a_token_is_minted_by_the_installation_that_has_the_repo_now),
    };

    return stage_prepare(true) ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
