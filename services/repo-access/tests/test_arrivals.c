/* Who comes in: the Setup link, Invites, the way to GitHub and back. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fakes.h"
#include "kndl/buf.h"
#include "kndl/clock.h"
#include "people.h"
#include "stage.h"

/* ---- the Setup link ---- */

/* AC-01, AC-02 */
static void ac_01_the_setup_link_makes_the_first_the_owner_and_nobody_else(void **state)
{
    struct fixture *f = *state;
    char secret[TOKEN_SIZE];
    struct stat status;

    starts(f);
    assert_int_equal(stat(f->link_file, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    read_setup_link(f, secret);
    assert_int_equal(signs_in(f, "ada", ""), KNDL_UNAUTHENTICATED);
    assert_int_equal(signs_in(f, "ada", secret), KNDL_OK);
    assert_true(f->is_owner);
    assert_int_equal(access(f->link_file, F_OK), -1);

    /* Once, and never again while there is an Owner. */
    assert_int_equal(signs_in(f, "grace", secret), KNDL_UNAUTHENTICATED);
    starts(f);
    assert_int_equal(access(f->link_file, F_OK), -1);
    assert_int_equal(signs_in(f, "ada", ""), KNDL_OK);
    assert_true(f->is_owner);
}

static void a_setup_link_stays_over_restarts_and_ends_after_a_day(void **state)
{
    struct fixture *f = *state;
    char first[TOKEN_SIZE], second[TOKEN_SIZE];

    starts(f);
    read_setup_link(f, first);
    starts(f);
    read_setup_link(f, second);
    assert_string_equal(first, second);

    kndl_clock_shift(DAY_MS);
    assert_int_equal(signs_in(f, "ada", first), KNDL_UNAUTHENTICATED);
    starts(f);
    read_setup_link(f, second);
    assert_string_not_equal(first, second);

    /* A file that was lost is a link that was lost. */
    unlink(f->link_file);
    starts(f);
    read_setup_link(f, first);
    assert_int_equal(signs_in(f, "ada", second), KNDL_UNAUTHENTICATED);
    assert_int_equal(signs_in(f, "ada", first), KNDL_OK);
}

/* ---- Invites ---- */

static void ac_01_an_invite_lets_its_login_in_once_and_for_seven_days(void **state)
{
    struct fixture *f = *state;
    char ada[KNDL_ID_SIZE], secret[TOKEN_SIZE], other[TOKEN_SIZE];

    make_owner(f, ada);
    assert_int_equal(invites(f, ada, "@Grace", "i1", secret), KNDL_OK);
    assert_int_equal(count_invites(f, ada), 1);
    assert_int_equal(signs_in(f, "stranger", secret), KNDL_UNAUTHENTICATED);
    assert_int_equal(signs_in(f, "grace", ""), KNDL_UNAUTHENTICATED);
    kndl_clock_shift(7 * DAY_MS);
    assert_int_equal(signs_in(f, "grace", secret), KNDL_UNAUTHENTICATED);
    assert_int_equal(count_invites(f, ada), 0);

    assert_int_equal(invites(f, ada, "grace", "i2", secret), KNDL_OK);
    kndl_clock_shift(6 * DAY_MS);
    assert_int_equal(signs_in(f, "grace", secret), KNDL_OK);
    assert_false(f->is_owner);
    assert_int_equal(invites(f, ada, "GRACE", "i3", other), KNDL_ALREADY_EXISTS);
    assert_int_equal(signs_in(f, "stranger", secret), KNDL_UNAUTHENTICATED);
    assert_int_equal(invites(f, ada, "no/login", "i4", other), KNDL_INVALID_ARGUMENT);
}

static void an_invite_is_one_for_a_login_and_ends_when_it_is_revoked(void **state)
{
    V1(RevokeInviteRequest) revoke = KNDL__REPO_ACCESS__V1__REVOKE_INVITE_REQUEST__INIT;
    V1(ListInvitesRequest) list = KNDL__REPO_ACCESS__V1__LIST_INVITES_REQUEST__INIT;
    struct fixture *f = *state;
    char ada[KNDL_ID_SIZE], first[TOKEN_SIZE], second[TOKEN_SIZE], third[TOKEN_SIZE];
    char id[KNDL_ID_SIZE];

    make_owner(f, ada);
    assert_int_equal(invites(f, ada, "grace", "i1", first), KNDL_OK);
    assert_int_equal(invites(f, ada, "grace", "i1", second), KNDL_OK); /* a repeat */
    assert_string_not_equal(first, second);
    assert_int_equal(invites(f, ada, "grace", "i2", third), KNDL_OK);
    assert_int_equal(count_invites(f, ada), 1);
    assert_int_equal(signs_in(f, "grace", first), KNDL_UNAUTHENTICATED);
    assert_int_equal(signs_in(f, "grace", second), KNDL_UNAUTHENTICATED);

    struct kndl_test_answer answer = ask(f, ada, "ListInvites", &list.base);
    const V1(ListInvitesResponse) *invites_now = (const void *)answer.response;
    snprintf(id, sizeof id, "%s", invites_now->invites[0]->id);
    kndl_test_done(&answer);
    revoke.request_id = (char *)"r1";
    revoke.invite_id = id;
    assert_int_equal(does(f, ada, "RevokeInvite", &revoke.base), KNDL_OK);
    assert_int_equal(does(f, ada, "RevokeInvite", &revoke.base), KNDL_OK);
    assert_int_equal(signs_in(f, "grace", third), KNDL_UNAUTHENTICATED);
}

/* AC-01 */
static void ac_01_everybody_else_is_refused_word_for_word_alike_and_nothing_is_kept(void **state)
{
    struct fixture *f = *state;
    char ada[KNDL_ID_SIZE], grace[KNDL_ID_SIZE], used[TOKEN_SIZE], invite[TOKEN_SIZE];
    struct kndl_secret forged = {0};
    V1(GetPeopleRequest) people = KNDL__REPO_ACCESS__V1__GET_PEOPLE_REQUEST__INIT;

    make_owner(f, ada);
    assert_int_equal(invites(f, ada, "grace", "i1", used), KNDL_OK);
    assert_int_equal(signs_in(f, "grace", used), KNDL_OK);
    strcpy(grace, f->person);
    assert_int_equal(invites(f, ada, "linus", "i2", invite), KNDL_OK);
    kndl_token_new(KNDL_TOKEN_INV, &forged);

    const char *const brought[] = {"", "nonsense", used, invite, (const char *)forged.data};
    for (size_t i = 0; i < sizeof brought / sizeof *brought; i++) {
        assert_int_equal(signs_in(f, "stranger", brought[i]), KNDL_UNAUTHENTICATED);
        assert_string_equal(f->err.message, "this Hub is invite-only");
    }
    kndl_secret_done(&forged);

    /* The removed Member, the same. */
    assert_int_equal(removes(f, ada, grace, "r1"), KNDL_OK);
    assert_int_equal(signs_in(f, "grace", used), KNDL_UNAUTHENTICATED);
    assert_string_equal(f->err.message, "this Hub is invite-only");

    /* There are two people, ada and grace. */
    V1(ListMembersRequest) list = KNDL__REPO_ACCESS__V1__LIST_MEMBERS_REQUEST__INIT;
    struct kndl_test_answer answer = ask(f, ada, "ListMembers", &list.base);
    assert_int_equal(((const V1(ListMembersResponse) *)(const void *)answer.response)->n_members,
                     1);
    kndl_test_done(&answer);
    people.person_ids = (char *[]){ada, grace, (char *)"stranger"};
    people.n_person_ids = 3;
    answer = ask(f, "", "GetPeople", &people.base);
    assert_int_equal(((const V1(GetPeopleResponse) *)(const void *)answer.response)->n_people, 2);
    kndl_test_done(&answer);
}

/* ---- the way to GitHub and back (faults.md 34) ---- */

static void ac_01_a_way_back_is_good_once_for_ten_minutes_and_for_its_own_browser(void **state)
{
    struct fixture *f = *state;
    char ada[KNDL_ID_SIZE];

    make_owner(f, ada);
    struct browser mine = goes_to_github(f, "/sessions/x#y");
    struct browser other = goes_to_github(f, "");
    struct browser crossed = mine;
    strcpy(crossed.state, other.state);
    int exchanges = the_oauth.exchanges;
    assert_int_equal(comes_back_with(f, &crossed, "code-ada", "", NULL), KNDL_UNAUTHENTICATED);
    assert_int_equal(the_oauth.exchanges, exchanges);

    assert_int_equal(comes_back_with(f, &mine, "code-ada", "", NULL), KNDL_OK);
    assert_string_equal(f->return_to, "/sessions/x#y");
    assert_int_equal(comes_back_with(f, &mine, "code-ada", "", NULL), KNDL_UNAUTHENTICATED);

    kndl_clock_shift(10 * MINUTE_MS);
    exchanges = the_oauth.exchanges;
    assert_int_equal(comes_back_with(f, &other, "code-ada", "", NULL), KNDL_UNAUTHENTICATED);
    assert_int_equal(the_oauth.exchanges, exchanges);
    assert_string_equal(f->err.message, "this Hub is invite-only");
}

static void a_sign_in_takes_the_place_of_what_the_browser_had(void **state)
{
    struct fixture *f = *state;
    char ada[KNDL_ID_SIZE], planted[TOKEN_SIZE], fresh[TOKEN_SIZE];

    make_owner(f, ada);
    strcpy(planted, f->token);
    struct browser browser = goes_to_github(f, "");
    assert_int_equal(comes_back_with(f, &browser, "code-ada", "", planted), KNDL_OK);
    strcpy(fresh, f->token);
    assert_string_not_equal(planted, fresh);
    assert_false(is_signed_in(f, planted, KIND(WEB)));
    assert_true(is_signed_in(f, fresh, KIND(WEB)));
    assert_false(is_signed_in(f, fresh, KIND(CLI)));
}

static void one_returns_to_this_hub_alone(void **state)
{
    static const char *const elsewhere[] = {
        "//evil.example",  "https://evil.example", "evil",
        "/\\evil.example", "/\t/evil.example",     "javascript:x"};
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++) {
        (void)goes_to_github(f, elsewhere[i]);
        assert_int_equal(f->err.code, KNDL_INVALID_ARGUMENT);
    }
    the_oauth.is_off = true;
    (void)goes_to_github(f, "");
    assert_int_equal(f->err.code, KNDL_FAILED_PRECONDITION);
}

static void a_github_that_is_away_uses_nothing_up(void **state)
{
    struct fixture *f = *state;
    char secret[TOKEN_SIZE];

    starts(f);
    read_setup_link(f, secret);
    the_oauth.is_away = true;
    assert_int_equal(signs_in(f, "ada", secret), KNDL_UNAVAILABLE);
    the_oauth.is_away = false;
    assert_int_equal(signs_in(f, "ada", secret), KNDL_OK);
}
int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(ac_01_the_setup_link_makes_the_first_the_owner_and_nobody_else),
        TEST(a_setup_link_stays_over_restarts_and_ends_after_a_day),
        TEST(ac_01_an_invite_lets_its_login_in_once_and_for_seven_days),
        TEST(an_invite_is_one_for_a_login_and_ends_when_it_is_revoked),
        TEST(ac_01_everybody_else_is_refused_word_for_word_alike_and_nothing_is_kept),
        TEST(ac_01_a_way_back_is_good_once_for_ten_minutes_and_for_its_own_browser),
        TEST(a_sign_in_takes_the_place_of_what_the_browser_had),
        TEST(one_returns_to_this_hub_alone),
        TEST(a_github_that_is_away_uses_nothing_up),
    };

    return stage_prepare(false) ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
