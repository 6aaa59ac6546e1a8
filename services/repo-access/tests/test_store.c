/* repo-access from its handlers to a real PostgreSQL; GitHub and the bus are fakes.c's. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "fakes.h"
#include "kndl/clock.h"
#include "kndl/env.h"
#include "kndl/mem.h"
#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "kndl/testing.h"
#include "rpc.h"
#include "settings.h"
#include "stage.h"
#include "store.h"

#define V1(name) Kndl__RepoAccess__V1__##name
#define KIND(name) KNDL__REPO_ACCESS__V1__AUTHENTICATE_REQUEST__KIND__KIND_##name

#define DAY_MS (INT64_C(24) * 60 * 60 * 1000)

enum { TTL_MS = 300000 };

struct fixture {
    struct repo_access repo_access;
    struct kndl_error err; /* of the last call */
    char text[256];        /* what it answered, as text */
    char person[64];       /* whom it answered */
    bool is_owner;
    uint8_t hash[KNDL_HASH_BYTES]; /* of the last credential */
};

static int set_up(void **state)
{
    struct fixture *f = kndl_new0(struct fixture);

    stage_open(&f->repo_access);
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

static void take_person(struct fixture *f, const V1(Person) *person)
{
    snprintf(f->person, sizeof f->person, "%s", person->id);
    snprintf(f->text, sizeof f->text, "%s", person->login);
    f->is_owner = person->is_owner;
}

static bool dev_login(struct fixture *f, const char *login, V1(AuthenticateRequest__Kind) kind)
{
    V1(DevLoginRequest) req = KNDL__REPO_ACCESS__V1__DEV_LOGIN_REQUEST__INIT;

    req.login = (char *)login;
    req.kind = kind;
    req.machine = (char *)"laptop";
    struct kndl_test_answer answer =
        kndl_test_call(repo_access_internal_service, &f->repo_access, "", "DevLogin", &req.base);
    const V1(DevLoginResponse) *resp = (V1(DevLoginResponse) *)answer.response;
    f->err = answer.err;
    if (resp != NULL) {
        take_person(f, resp->person);
        kndl_hash(kndl_slice_of(resp->token), f->hash);
        assert_true(kndl_token_is_valid(kind == KIND(WEB) ? KNDL_TOKEN_WEB : KNDL_TOKEN_CLI,
                                        kndl_slice_of(resp->token)));
    }
    kndl_test_done(&answer);
    return f->err.code == KNDL_OK;
}

static bool authenticate(struct fixture *f, V1(AuthenticateRequest__Kind) kind)
{
    V1(AuthenticateRequest) req = KNDL__REPO_ACCESS__V1__AUTHENTICATE_REQUEST__INIT;

    req.credential_hash = (ProtobufCBinaryData){sizeof f->hash, f->hash};
    req.kind = kind;
    struct kndl_test_answer answer = kndl_test_call(repo_access_internal_service, &f->repo_access,
                                                    "", "Authenticate", &req.base);
    f->err = answer.err;
    if (answer.response != NULL)
        take_person(f, ((V1(AuthenticateResponse) *)answer.response)->person);
    kndl_test_done(&answer);
    return f->err.code == KNDL_OK;
}

static void sign_out(struct fixture *f, const char *person)
{
    V1(SignOutRequest) req = KNDL__REPO_ACCESS__V1__SIGN_OUT_REQUEST__INIT;

    req.credential_hash = (ProtobufCBinaryData){sizeof f->hash, f->hash};
    struct kndl_test_answer answer =
        kndl_test_call(repo_access_service, &f->repo_access, person, "SignOut", &req.base);
    assert_int_equal(answer.err.code, KNDL_OK);
    kndl_test_done(&answer);
}

/* The ids that the person may see, joined by blanks, into f->text; -1 asks for none of them. */
static bool check(struct fixture *f, const char *person, int64_t first, int64_t second)
{
    V1(CheckAccessRequest) req = KNDL__REPO_ACCESS__V1__CHECK_ACCESS_REQUEST__INIT;
    int64_t ids[] = {first, second};

    req.person_id = (char *)person;
    req.repo_ids = ids;
    req.n_repo_ids = second < 0 ? 1 : 2;
    struct kndl_test_answer answer =
        kndl_test_call(repo_access_internal_service, &f->repo_access, "", "CheckAccess", &req.base);
    const V1(CheckAccessResponse) *resp = (V1(CheckAccessResponse) *)answer.response;
    f->err = answer.err;
    f->text[0] = '\0';
    for (size_t i = 0; resp != NULL && i < resp->n_allowed_repo_ids; i++) {
        size_t used = strlen(f->text);
        snprintf(f->text + used, sizeof f->text - used, "%s%d", used > 0 ? " " : "",
                 (int)resp->allowed_repo_ids[i]);
    }
    kndl_test_done(&answer);
    return f->err.code == KNDL_OK;
}

/* The names of the caller's Repos, joined by blanks, into f->text. */
static bool list(struct fixture *f, const char *person)
{
    V1(ListReposRequest) req = KNDL__REPO_ACCESS__V1__LIST_REPOS_REQUEST__INIT;
    struct kndl_test_answer answer =
        kndl_test_call(repo_access_service, &f->repo_access, person, "ListRepos", &req.base);
    const V1(ListReposResponse) *resp = (V1(ListReposResponse) *)answer.response;

    f->err = answer.err;
    f->text[0] = '\0';
    for (size_t i = 0; resp != NULL && i < resp->n_repos; i++) {
        size_t used = strlen(f->text);
        snprintf(f->text + used, sizeof f->text - used, "%s%s", used > 0 ? " " : "",
                 resp->repos[i]->name);
    }
    kndl_test_done(&answer);
    return f->err.code == KNDL_OK;
}

static bool resolve(struct fixture *f, const char *person, const char *name, int64_t id)
{
    V1(ResolveRepoRequest) req = KNDL__REPO_ACCESS__V1__RESOLVE_REPO_REQUEST__INIT;

    req.person_id = (char *)person;
    req.name = (char *)name;
    req.repo_id = id;
    struct kndl_test_answer answer =
        kndl_test_call(repo_access_internal_service, &f->repo_access, "", "ResolveRepo", &req.base);
    f->err = answer.err;
    if (answer.response != NULL)
        snprintf(f->text, sizeof f->text, "%s",
                 ((V1(ResolveRepoResponse) *)answer.response)->repo->name);
    kndl_test_done(&answer);
    return f->err.code == KNDL_OK;
}

static const char *sign_in(struct fixture *f, const char *login, char ret_id[64])
{
    assert_true(dev_login(f, login, KIND(CLI)));
    memcpy(ret_id, f->person, sizeof f->person);
    return ret_id;
}

static void the_first_to_come_is_the_owner_and_the_next_is_not(void **state)
{
    struct fixture *f = *state;
    char ada[64];

    assert_true(dev_login(f, "Ada", KIND(WEB)));
    assert_true(f->is_owner);
    assert_string_equal(f->text, "ada");
    memcpy(ada, f->person, sizeof ada);
    assert_true(dev_login(f, "grace", KIND(CLI)));
    assert_false(f->is_owner);
    assert_string_not_equal(f->person, ada);
    assert_true(dev_login(f, "ada", KIND(CLI)));
    assert_true(f->is_owner);
    assert_string_equal(f->person, ada);
}

/* AC-04 */
static void ac_04_dev_login_is_refused_where_it_is_off_or_the_hub_is_public(void **state)
{
    struct fixture *f = *state;

    setenv("HUB_DEV_LOGIN", "", 1);
    assert_int_equal(kndl_env_load(settings, &f->err), 0);
    assert_false(dev_login(f, "ada", KIND(CLI)));
    assert_int_equal(f->err.code, KNDL_FAILED_PRECONDITION);

    setenv("HUB_DEV_LOGIN", "1", 1);
    setenv("HUB_PUBLIC_URL", "https://kndl.example.com", 1);
    assert_int_equal(kndl_env_load(settings, &f->err), 0);
    assert_int_equal(settings_check(&f->err), -1);
    setenv("HUB_PUBLIC_URL", "http://127.0.0.1.example.com", 1);
    assert_int_equal(kndl_env_load(settings, &f->err), 0);
    assert_int_equal(settings_check(&f->err), -1);
    setenv("HUB_PUBLIC_URL", "http://127.0.0.1:8080", 1);
    assert_int_equal(kndl_env_load(settings, &f->err), 0);
    assert_int_equal(settings_check(&f->err), 0);
}

static void who_github_does_not_know_does_not_come_in(void **state)
{
    struct fixture *f = *state;

    assert_false(dev_login(f, "nobody", KIND(CLI)));
    assert_int_equal(f->err.code, KNDL_NOT_FOUND);
    the_github.is_away = true;
    assert_false(dev_login(f, "ada", KIND(CLI)));
    assert_int_equal(f->err.code, KNDL_UNAVAILABLE);
}

/* CR-05, AC-03 */
static void cr_05_a_credential_is_known_by_its_hash_and_kind_alone(void **state)
{
    struct fixture *f = *state;

    assert_true(dev_login(f, "ada", KIND(CLI)));
    assert_true(authenticate(f, KIND(CLI)));
    assert_string_equal(f->text, "ada");
    assert_false(authenticate(f, KIND(WEB)));
    assert_int_equal(f->err.code, KNDL_UNAUTHENTICATED);
    struct kndl_error wrong_kind = f->err;
    f->hash[0] ^= 1;
    assert_false(authenticate(f, KIND(CLI)));
    assert_string_equal(f->err.message, wrong_kind.message);
}

/* ---- the path of a look-up; the linker puts this in front of the comparison ---- */

static int compared;
bool __real_kndl_hash_equal(const uint8_t a[KNDL_HASH_BYTES], const uint8_t b[KNDL_HASH_BYTES]);
bool __wrap_kndl_hash_equal(const uint8_t a[KNDL_HASH_BYTES], const uint8_t b[KNDL_HASH_BYTES]);

bool __wrap_kndl_hash_equal(const uint8_t a[KNDL_HASH_BYTES], const uint8_t b[KNDL_HASH_BYTES])
{
    compared++;
    return __real_kndl_hash_equal(a, b);
}

/* Whatever is brought, one row is asked for by its whole hash and one comparison in constant time
 * is made, so that nothing depends on how much of it is right. */
static void faults_35_a_token_is_looked_up_by_its_hash_and_compared_once_known_or_not(void **state)
{
    struct fixture *f = *state;

    assert_true(dev_login(f, "ada", KIND(CLI)));
    compared = 0;
    assert_true(authenticate(f, KIND(CLI)));
    assert_int_equal(compared, 1);
    for (size_t at = 0; at < KNDL_HASH_BYTES; at += KNDL_HASH_BYTES - 1) { /* the first, the last */
        f->hash[at] ^= 1;
        compared = 0;
        assert_false(authenticate(f, KIND(CLI)));
        assert_int_equal(compared, 1);
        f->hash[at] ^= 1;
    }
    assert_true(authenticate(f, KIND(CLI)));
}

static void a_credential_ends_30_days_after_its_last_use_and_90_after_its_making(void **state)
{
    struct fixture *f = *state;

    assert_true(dev_login(f, "ada", KIND(WEB)));
    for (int i = 0; i < 3; i++) {
        kndl_clock_shift(29 * DAY_MS);
        assert_true(authenticate(f, KIND(WEB)));
    }
    kndl_clock_shift(3 * DAY_MS + 1);
    assert_false(authenticate(f, KIND(WEB)));

    assert_true(dev_login(f, "ada", KIND(WEB)));
    kndl_clock_shift(30 * DAY_MS + 1);
    assert_false(authenticate(f, KIND(WEB)));
    assert_int_equal(f->err.code, KNDL_UNAUTHENTICATED);
}

static void signing_out_ends_ones_own_credential_alone(void **state)
{
    struct fixture *f = *state;
    char ada[64], grace[64];

    sign_in(f, "grace", grace);
    sign_in(f, "ada", ada);
    sign_out(f, grace);
    assert_true(authenticate(f, KIND(CLI)));
    sign_out(f, ada);
    assert_false(authenticate(f, KIND(CLI)));
    sign_out(f, ada);
}

/* AC-05 */
static void ac_05_a_person_sees_the_repos_on_which_github_calls_them_collaborator(void **state)
{
    struct fixture *f = *state;
    char ada[64], grace[64];

    sign_in(f, "ada", ada);
    sign_in(f, "grace", grace);
    assert_true(list(f, ada));
    assert_string_equal(f->text, "demo/hello demo/Notes");
    assert_true(list(f, grace));
    assert_string_equal(f->text, "demo/hello");
    assert_true(check(f, grace, 3002, 3001));
    assert_string_equal(f->text, "3001");
    assert_true(check(f, grace, 99, -1));
    assert_string_equal(f->text, "");
    assert_true(check(f, "nobody", 3001, -1));
    assert_string_equal(f->text, "");
}

/* AC-06 */
static void ac_06_a_repo_that_one_may_not_see_is_refused_like_one_that_is_not_there(void **state)
{
    struct fixture *f = *state;
    char grace[64];
    struct kndl_error foreign;

    sign_in(f, "grace", grace);
    assert_true(resolve(f, grace, "Demo/Hello", 0));
    assert_string_equal(f->text, "demo/hello");
    assert_true(resolve(f, grace, "", 3001));
    assert_false(resolve(f, grace, "demo/notes", 0));
    foreign = f->err;
    assert_int_equal(foreign.code, KNDL_NOT_FOUND);
    assert_false(resolve(f, grace, "demo/nope!", 0));
    assert_int_equal(f->err.code, KNDL_NOT_FOUND);
    const char *at = strstr(foreign.message, "notes");
    assert_non_null(at);
    memcpy((char *)at, "nope!", 5); /* but for the name that was asked for they are alike */
    assert_string_equal(f->err.message, foreign.message);
    assert_false(resolve(f, grace, "", 0));
    assert_int_equal(f->err.code, KNDL_INVALID_ARGUMENT);
}

/* AC-07 */
static void ac_07_an_answer_is_asked_for_again_after_the_ttl_and_a_refusal_after_30_s(void **state)
{
    struct fixture *f = *state;
    char grace[64];

    sign_in(f, "grace", grace);
    assert_true(check(f, grace, 3001, 3002));
    assert_int_equal(the_github.checks, 2);
    kndl_clock_shift(29 * 1000);
    assert_true(check(f, grace, 3001, 3002));
    assert_int_equal(the_github.checks, 2);
    kndl_clock_shift(2 * 1000);
    assert_true(check(f, grace, 3001, 3002));
    assert_int_equal(the_github.checks, 3);

    the_github.has_lost_grace = true;
    kndl_clock_shift(TTL_MS);
    assert_true(check(f, grace, 3001, -1));
    assert_string_equal(f->text, "");
}

/* AC-07 */
static void
ac_07_while_github_cannot_answer_people_keep_what_they_had_and_nobody_gains(void **state)
{
    struct fixture *f = *state;
    char ada[64], grace[64];

    sign_in(f, "ada", ada);
    sign_in(f, "grace", grace);
    assert_true(check(f, grace, 3001, 3002));
    the_github.is_away = true;
    kndl_clock_shift(2 * TTL_MS);
    assert_true(check(f, grace, 3001, 3002));
    assert_string_equal(f->text, "3001");
    assert_true(list(f, grace));
    assert_string_equal(f->text, "demo/hello");
    assert_false(check(f, ada, 3001, -1));
    assert_int_equal(f->err.code, KNDL_UNAVAILABLE);

    the_github.is_away = false;
    the_github.has_lost_grace = true;
    kndl_clock_shift(TTL_MS);
    assert_true(check(f, grace, 3001, 3002));
    assert_string_equal(f->text, "");
    assert_true(check(f, ada, 3001, -1));
    assert_string_equal(f->text, "3001");
}

/* AC-05 */
static void ac_05_a_repo_that_the_app_leaves_is_lost_within_the_ttl(void **state)
{
    struct fixture *f = *state;
    char ada[64];

    sign_in(f, "ada", ada);
    assert_true(check(f, ada, 3001, 3002));
    assert_string_equal(f->text, "3001 3002");
    the_github.is_uninstalled = true;
    kndl_clock_shift(TTL_MS + 1);
    assert_true(check(f, ada, 3001, 3002));
    assert_string_equal(f->text, "3001");
    assert_true(list(f, ada));
    assert_string_equal(f->text, "demo/hello");
}

static void a_renamed_repo_is_asked_for_by_its_new_name(void **state)
{
    struct fixture *f = *state;
    char ada[64];

    sign_in(f, "ada", ada);
    assert_true(list(f, ada));
    the_github.is_renamed = true;
    kndl_clock_shift(TTL_MS - 1000);
    assert_true(list(f, ada));
    kndl_clock_shift(1001);
    assert_true(check(f, ada, 3001, -1));
    assert_string_equal(f->text, "3001");
    assert_true(resolve(f, ada, "demo/hi", 0));
}

static void a_git_token_comes_with_the_address_to_clone_from(void **state)
{
    struct fixture *f = *state;
    V1(MintGitTokenRequest) req = KNDL__REPO_ACCESS__V1__MINT_GIT_TOKEN_REQUEST__INIT;
    char ada[64];

    sign_in(f, "ada", ada);
    assert_true(list(f, ada));
    the_github.is_renamed = true;
    req.repo_id = 3001;
    struct kndl_test_answer answer = kndl_test_call(repo_access_internal_service, &f->repo_access,
                                                    "", "MintGitToken", &req.base);
    const V1(MintGitTokenResponse) *resp = (V1(MintGitTokenResponse) *)answer.response;
    assert_non_null(resp);
    assert_string_equal(resp->token, "ghs_read");
    assert_string_equal(resp->repo_name, "demo/hi");
    assert_string_equal(resp->clone_url, "http://github.test/demo/hi.git");
    kndl_test_done(&answer);

    req.repo_id = 77;
    answer = kndl_test_call(repo_access_internal_service, &f->repo_access, "", "MintGitToken",
                            &req.base);
    assert_int_equal(answer.err.code, KNDL_NOT_FOUND);
    kndl_test_done(&answer);
}

static void people_are_found_by_their_ids_and_unknown_ones_left_out(void **state)
{
    struct fixture *f = *state;
    V1(GetPeopleRequest) req = KNDL__REPO_ACCESS__V1__GET_PEOPLE_REQUEST__INIT;
    char ada[64], grace[64];
    char *ids[] = {ada, (char *)"x','y", grace, (char *)"aaaaaaaaaaaaaaaaaaaaaaaaaa"};

    sign_in(f, "ada", ada);
    sign_in(f, "grace", grace);
    req.person_ids = ids;
    req.n_person_ids = 4;
    struct kndl_test_answer answer =
        kndl_test_call(repo_access_internal_service, &f->repo_access, "", "GetPeople", &req.base);
    assert_non_null(answer.response);
    assert_int_equal(((V1(GetPeopleResponse) *)answer.response)->n_people, 2);
    kndl_test_done(&answer);
}

static void who_am_i_is_answered_to_members_alone(void **state)
{
    struct fixture *f = *state;
    V1(WhoAmIRequest) req = KNDL__REPO_ACCESS__V1__WHO_AM_IREQUEST__INIT;
    char ada[64];

    sign_in(f, "ada", ada);
    struct kndl_test_answer answer =
        kndl_test_call(repo_access_service, &f->repo_access, ada, "WhoAmI", &req.base);
    assert_non_null(answer.response);
    take_person(f, ((V1(WhoAmIResponse) *)answer.response)->person);
    assert_string_equal(f->text, "ada");
    kndl_test_done(&answer);
    answer = kndl_test_call(repo_access_service, &f->repo_access, "nobody", "WhoAmI", &req.base);
    assert_int_equal(answer.err.code, KNDL_UNAUTHENTICATED);
    kndl_test_done(&answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(the_first_to_come_is_the_owner_and_the_next_is_not),
        TEST(ac_04_dev_login_is_refused_where_it_is_off_or_the_hub_is_public),
        TEST(who_github_does_not_know_does_not_come_in),
        TEST(cr_05_a_credential_is_known_by_its_hash_and_kind_alone),
        TEST(faults_35_a_token_is_looked_up_by_its_hash_and_compared_once_known_or_not),
        TEST(a_credential_ends_30_days_after_its_last_use_and_90_after_its_making),
        TEST(signing_out_ends_ones_own_credential_alone),
        TEST(ac_05_a_person_sees_the_repos_on_which_github_calls_them_collaborator),
        TEST(ac_06_a_repo_that_one_may_not_see_is_refused_like_one_that_is_not_there),
        TEST(ac_07_an_answer_is_asked_for_again_after_the_ttl_and_a_refusal_after_30_s),
        TEST(ac_07_while_github_cannot_answer_people_keep_what_they_had_and_nobody_gains),
        TEST(ac_05_a_repo_that_the_app_leaves_is_lost_within_the_ttl),
        TEST(a_renamed_repo_is_asked_for_by_its_new_name),
        TEST(a_git_token_comes_with_the_address_to_clone_from),
        TEST(people_are_found_by_their_ids_and_unknown_ones_left_out),
        TEST(who_am_i_is_answered_to_members_alone),
    };

    return stage_prepare(true) ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
