/* Who is in and who goes: Members, their sign-ins and machines, what is heard of their access. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "departures.h"
#include "fakes.h"
#include "kndl/clock.h"
#include "people.h"
#include "recheck.h"
#include "stage.h"

/* ---- Members ---- */

static void ac_09_only_the_owner_administers(void **state)
{
    V1(HandOverOwnershipRequest) hand = KNDL__REPO_ACCESS__V1__HAND_OVER_OWNERSHIP_REQUEST__INIT;
    V1(RevokeInviteRequest) revoke = KNDL__REPO_ACCESS__V1__REVOKE_INVITE_REQUEST__INIT;
    V1(ListInvitesRequest) list = KNDL__REPO_ACCESS__V1__LIST_INVITES_REQUEST__INIT;
    V1(ListMembersRequest) members = KNDL__REPO_ACCESS__V1__LIST_MEMBERS_REQUEST__INIT;
    struct fixture *f = *state;
    char ada[KNDL_ID_SIZE], grace[KNDL_ID_SIZE], secret[TOKEN_SIZE];

    make_owner(f, ada);
    add_grace(f, ada, grace);
    hand.request_id = revoke.request_id = (char *)"g1";
    hand.person_id = grace;
    revoke.invite_id = (char *)"any";
    assert_int_equal(invites(f, grace, "linus", "g1", secret), KNDL_PERMISSION_DENIED);
    assert_int_equal(does(f, grace, "ListInvites", &list.base), KNDL_PERMISSION_DENIED);
    assert_int_equal(does(f, grace, "RevokeInvite", &revoke.base), KNDL_PERMISSION_DENIED);
    assert_int_equal(removes(f, grace, ada, "g1"), KNDL_PERMISSION_DENIED);
    assert_int_equal(does(f, grace, "HandOverOwnership", &hand.base), KNDL_PERMISSION_DENIED);
    assert_int_equal(does(f, grace, "ListMembers", &members.base), KNDL_OK);
    assert_int_equal(removes(f, ada, ada, "r1"), KNDL_ABORTED);
    assert_int_equal(removes(f, ada, "nobody", "r2"), KNDL_NOT_FOUND);
}

/* Decision 52: never two, never none. */
static void ownership_is_handed_over_and_never_shared(void **state)
{
    V1(HandOverOwnershipRequest) hand = KNDL__REPO_ACCESS__V1__HAND_OVER_OWNERSHIP_REQUEST__INIT;
    struct fixture *f = *state;
    char ada[KNDL_ID_SIZE], grace[KNDL_ID_SIZE];

    make_owner(f, ada);
    add_grace(f, ada, grace);
    hand.request_id = (char *)"h1";
    hand.person_id = (char *)"nobody";
    assert_int_equal(does(f, ada, "HandOverOwnership", &hand.base), KNDL_NOT_FOUND);
    hand.person_id = grace;
    assert_int_equal(does(f, ada, "HandOverOwnership", &hand.base), KNDL_OK);
    assert_int_equal(does(f, ada, "HandOverOwnership", &hand.base), KNDL_OK); /* a repeat */
    assert_int_equal(signs_in(f, "grace", ""), KNDL_OK);
    assert_true(f->is_owner);
    assert_int_equal(signs_in(f, "ada", ""), KNDL_OK);
    assert_false(f->is_owner);
    assert_int_equal(removes(f, grace, ada, "r1"), KNDL_OK);
}

/* Faults 16 */
static void a_request_id_that_was_used_for_something_else_is_refused(void **state)
{
    V1(HandOverOwnershipRequest) hand = KNDL__REPO_ACCESS__V1__HAND_OVER_OWNERSHIP_REQUEST__INIT;
    V1(RevokeInviteRequest) revoke = KNDL__REPO_ACCESS__V1__REVOKE_INVITE_REQUEST__INIT;
    V1(EndSignInRequest) end = KNDL__REPO_ACCESS__V1__END_SIGN_IN_REQUEST__INIT;
    V1(EndAllSignInsRequest) end_all = KNDL__REPO_ACCESS__V1__END_ALL_SIGN_INS_REQUEST__INIT;
    struct fixture *f = *state;
    char ada[KNDL_ID_SIZE], grace[KNDL_ID_SIZE], secret[TOKEN_SIZE], token[TOKEN_SIZE];

    make_owner(f, ada);
    strcpy(token, f->token);
    add_grace(f, ada, grace);
    assert_int_equal(removes(f, ada, grace, "r1"), KNDL_OK);
    assert_int_equal(removes(f, ada, grace, "r1"), KNDL_OK); /* a repeat */
    assert_int_equal(removes(f, ada, "somebody", "r1"), KNDL_INVALID_ARGUMENT);
    hand.request_id = (char *)"r1";
    hand.person_id = grace;
    assert_int_equal(does(f, ada, "HandOverOwnership", &hand.base), KNDL_INVALID_ARGUMENT);

    assert_int_equal(invites(f, ada, "linus", "r2", secret), KNDL_OK);
    assert_int_equal(invites(f, ada, "linus", "r2", secret), KNDL_OK);
    assert_int_equal(invites(f, ada, "barbara", "r2", secret), KNDL_INVALID_ARGUMENT);
    assert_int_equal(invites(f, ada, "barbara", "r1", secret), KNDL_INVALID_ARGUMENT);
    revoke.request_id = (char *)"r3";
    revoke.invite_id = (char *)"one";
    assert_int_equal(does(f, ada, "RevokeInvite", &revoke.base), KNDL_OK);
    assert_int_equal(does(f, ada, "RevokeInvite", &revoke.base), KNDL_OK);
    revoke.invite_id = (char *)"another";
    assert_int_equal(does(f, ada, "RevokeInvite", &revoke.base), KNDL_INVALID_ARGUMENT);

    end.request_id = (char *)"r4";
    end.sign_in_id = (char *)"one";
    assert_int_equal(does(f, ada, "EndSignIn", &end.base), KNDL_OK);
    assert_int_equal(does(f, ada, "EndSignIn", &end.base), KNDL_OK);
    end.sign_in_id = (char *)"another";
    assert_int_equal(does(f, ada, "EndSignIn", &end.base), KNDL_INVALID_ARGUMENT);
    end_all.request_id = (char *)"r4";
    assert_int_equal(does(f, ada, "EndAllSignIns", &end_all.base), KNDL_INVALID_ARGUMENT);
    assert_true(is_signed_in(f, token, KIND(WEB)));
}

/* Faults 16: what was meant to end what there was then does not end what came after it. */
static void a_late_repeat_of_signing_out_everywhere_changes_nothing(void **state)
{
    V1(EndAllSignInsRequest) end_all = KNDL__REPO_ACCESS__V1__END_ALL_SIGN_INS_REQUEST__INIT;
    struct fixture *f = *state;
    char ada[KNDL_ID_SIZE];

    make_owner(f, ada);
    end_all.request_id = (char *)"r1";
    assert_int_equal(does(f, ada, "EndAllSignIns", &end_all.base), KNDL_OK);
    assert_int_equal(signs_in(f, "ada", ""), KNDL_OK);
    assert_int_equal(does(f, ada, "EndAllSignIns", &end_all.base), KNDL_OK);
    assert_true(is_signed_in(f, f->token, KIND(WEB)));
}

/* AC-09, CR-04, decision 53, faults.md 36 */
static void cr_04_a_removed_member_is_out_at_once_and_the_others_hear_of_it(void **state)
{
    struct fixture *f = *state;
    char ada[KNDL_ID_SIZE], grace[KNDL_ID_SIZE], token[TOKEN_SIZE], secret[TOKEN_SIZE];
    char expected[256];
    V1(CheckAccessRequest) check = KNDL__REPO_ACCESS__V1__CHECK_ACCESS_REQUEST__INIT;

    make_owner(f, ada);
    add_grace(f, ada, grace);
    strcpy(token, f->token);
    the_bus.is_away = true;
    assert_int_equal(removes(f, ada, grace, "r1"), KNDL_OK);
    snprintf(expected, sizeof expected, "people:%s", grace);
    assert_string_equal(the_bus.told, expected);
    assert_false(is_signed_in(f, token, KIND(WEB)));
    check.person_id = grace;
    check.repo_ids = (int64_t[]){3001};
    check.n_repo_ids = 1;
    struct kndl_test_answer answer = ask(f, "", "CheckAccess", &check.base);
    assert_int_equal(
        ((const V1(CheckAccessResponse) *)(const void *)answer.response)->n_allowed_repo_ids, 0);
    kndl_test_done(&answer);

    /* The rows wait for those who are away, and say it once more when no gateway errs any more. */
    the_bus.told[0] = '\0';
    assert_int_equal(kndl_test_task(&departures_task, &f->repo_access).code, KNDL_OK);
    assert_string_equal(the_bus.told, "");
    the_bus.is_away = false;
    kndl_clock_shift(MINUTE_MS);
    assert_int_equal(kndl_test_task(&departures_task, &f->repo_access).code, KNDL_OK);
    snprintf(expected, sizeof expected, "sessions:%s secrets:%s", grace, grace);
    assert_string_equal(the_bus.told, expected);
    kndl_clock_shift(10 * 1000);
    the_bus.told[0] = '\0';
    assert_int_equal(kndl_test_task(&departures_task, &f->repo_access).code, KNDL_OK);
    assert_string_equal(the_bus.told, expected);
    kndl_clock_shift(MINUTE_MS);
    the_bus.told[0] = '\0';
    assert_int_equal(kndl_test_task(&departures_task, &f->repo_access).code, KNDL_OK);
    assert_string_equal(the_bus.told, "");

    /* A fresh Invite, and nothing else, lets them in again. */
    assert_int_equal(signs_in(f, "grace", ""), KNDL_UNAUTHENTICATED);
    assert_int_equal(invites(f, ada, "grace", "again", secret), KNDL_OK);
    assert_int_equal(signs_in(f, "grace", secret), KNDL_OK);
    assert_string_equal(f->person, grace);
    assert_false(is_signed_in(f, token, KIND(WEB)));
}

/* ---- sign-ins and machines ---- */

struct device {
    char secret[TOKEN_SIZE];
    char code[16];
};

static struct device begins(struct fixture *f, const char *machine)
{
    V1(BeginDeviceRequest) request = KNDL__REPO_ACCESS__V1__BEGIN_DEVICE_REQUEST__INIT;
    struct device device = {0};

    request.machine = (char *)machine;
    struct kndl_test_answer answer = ask(f, "", "BeginDevice", &request.base);
    const V1(BeginDeviceResponse) *begun = (const void *)answer.response;
    assert_non_null(begun);
    snprintf(device.secret, sizeof device.secret, "%s", begun->device_code);
    snprintf(device.code, sizeof device.code, "%s", begun->user_code);
    kndl_test_done(&answer);
    return device;
}

static enum kndl_code decides_as(struct fixture *f, const char *person, const char *request_id,
                                 const char *code, bool yes)
{
    V1(DecideDeviceRequest) request = KNDL__REPO_ACCESS__V1__DECIDE_DEVICE_REQUEST__INIT;

    request.request_id = (char *)request_id;
    request.user_code = (char *)code;
    request.is_approved = yes;
    return does(f, person, "DecideDevice", &request.base);
}

/* By a request of its own. */
static enum kndl_code decides(struct fixture *f, const char *person, const char *code, bool yes)
{
    char request_id[KNDL_ID_SIZE];

    kndl_id_new(request_id);
    return decides_as(f, person, request_id, code, yes);
}

/* f->token is what it got, "" if nobody has decided yet. */
static enum kndl_code polls(struct fixture *f, const char *secret)
{
    V1(PollDeviceRequest) request = KNDL__REPO_ACCESS__V1__POLL_DEVICE_REQUEST__INIT;

    request.device_code = (char *)secret;
    f->token[0] = '\0';
    struct kndl_test_answer answer = ask(f, "", "PollDevice", &request.base);
    const V1(PollDeviceResponse) *polled = (const void *)answer.response;
    if (polled != NULL)
        snprintf(f->token, sizeof f->token, "%s", polled->token);
    kndl_test_done(&answer);
    return f->err.code;
}

/* CL-01, decision 61 */
static void cl_01_a_machine_is_signed_in_once_by_who_says_yes_within_ten_minutes(void **state)
{
    V1(FindDeviceRequest) find = KNDL__REPO_ACCESS__V1__FIND_DEVICE_REQUEST__INIT;
    struct fixture *f = *state;
    char ada[KNDL_ID_SIZE], lower[16];

    make_owner(f, ada);
    struct device device = begins(f, "laptop");
    assert_int_equal(strlen(device.code), 9);
    assert_int_equal(device.code[4], '-');
    assert_int_equal(polls(f, device.secret), KNDL_OK);
    assert_string_equal(f->token, "");

    snprintf(lower, sizeof lower, "%.4s%s", device.code, device.code + 5);
    for (char *c = lower; *c != '\0'; c++)
        *c = (char)(*c - 'A' + 'a');
    find.user_code = lower;
    struct kndl_test_answer answer = ask(f, ada, "FindDevice", &find.base);
    assert_int_equal(f->err.code, KNDL_OK);
    assert_string_equal(((const V1(FindDeviceResponse) *)(const void *)answer.response)->machine,
                        "laptop");
    kndl_test_done(&answer);

    assert_int_equal(decides(f, ada, lower, true), KNDL_OK);
    assert_int_equal(decides(f, ada, lower, true), KNDL_NOT_FOUND);
    assert_int_equal(polls(f, device.secret), KNDL_OK);
    char token[TOKEN_SIZE];
    strcpy(token, f->token);
    assert_true(is_signed_in(f, token, KIND(CLI)));
    assert_false(is_signed_in(f, token, KIND(WEB)));
    assert_int_equal(polls(f, device.secret), KNDL_UNAUTHENTICATED);
    struct kndl_error over = f->err;

    device = begins(f, "laptop");
    assert_int_equal(decides(f, ada, device.code, false), KNDL_OK);
    assert_int_equal(polls(f, device.secret), KNDL_UNAUTHENTICATED);
    assert_string_equal(f->err.message, over.message);
    device = begins(f, "laptop");
    kndl_clock_shift(10 * MINUTE_MS);
    assert_int_equal(decides(f, ada, device.code, true), KNDL_NOT_FOUND);
    assert_int_equal(polls(f, device.secret), KNDL_UNAUTHENTICATED);
    assert_int_equal(polls(f, "kndl_dev_nonsense"), KNDL_UNAUTHENTICATED);
    assert_string_equal(f->err.message, over.message);
}

/* Faults 16 */
static void a_decision_that_is_repeated_stands_and_its_request_decides_nothing_else(void **state)
{
    struct fixture *f = *state;
    char ada[KNDL_ID_SIZE];

    make_owner(f, ada);
    struct device one = begins(f, "laptop"), other = begins(f, "desk");
    assert_int_equal(decides_as(f, ada, "d1", one.code, true), KNDL_OK);
    assert_int_equal(decides_as(f, ada, "d1", one.code, true), KNDL_OK);
    assert_int_equal(decides_as(f, ada, "d1", one.code, false), KNDL_INVALID_ARGUMENT);
    assert_int_equal(decides_as(f, ada, "d1", other.code, true), KNDL_INVALID_ARGUMENT);
    assert_int_equal(polls(f, other.secret), KNDL_OK);
    assert_string_equal(f->token, "");
    assert_int_equal(polls(f, one.secret), KNDL_OK);
    assert_true(is_signed_in(f, f->token, KIND(CLI)));
}

static size_t list_sign_ins(struct fixture *f, const char *person, const char *token,
                            char ret_first[KNDL_ID_SIZE])
{
    V1(ListSignInsRequest) request = KNDL__REPO_ACCESS__V1__LIST_SIGN_INS_REQUEST__INIT;
    uint8_t hash[KNDL_HASH_BYTES];

    kndl_hash(kndl_slice_of(token), hash);
    request.credential_hash = (ProtobufCBinaryData){sizeof hash, hash};
    struct kndl_test_answer answer = ask(f, person, "ListSignIns", &request.base);
    const V1(ListSignInsResponse) *list = (const void *)answer.response;
    assert_non_null(list);
    size_t count = list->n_sign_ins;
    for (size_t i = 0; i < count; i++)
        if (list->sign_ins[i]->is_current)
            snprintf(ret_first, KNDL_ID_SIZE, "%s", list->sign_ins[i]->id);
    kndl_test_done(&answer);
    return count;
}

/* Decision 54 */
static void one_sees_and_ends_ones_own_sign_ins_and_a_cli_sees_itself(void **state)
{
    V1(EndSignInRequest) end = KNDL__REPO_ACCESS__V1__END_SIGN_IN_REQUEST__INIT;
    V1(EndAllSignInsRequest) end_all = KNDL__REPO_ACCESS__V1__END_ALL_SIGN_INS_REQUEST__INIT;
    struct fixture *f = *state;
    char ada[KNDL_ID_SIZE], grace[KNDL_ID_SIZE], id[KNDL_ID_SIZE] = "";
    char web[TOKEN_SIZE], cli[TOKEN_SIZE];

    make_owner(f, ada);
    strcpy(web, f->token);
    struct device device = begins(f, "laptop");
    assert_int_equal(decides(f, ada, device.code, true), KNDL_OK);
    assert_int_equal(polls(f, device.secret), KNDL_OK);
    strcpy(cli, f->token);
    add_grace(f, ada, grace);

    assert_int_equal(list_sign_ins(f, ada, cli, id), 1);
    assert_int_equal(list_sign_ins(f, ada, web, id), 2);
    end.request_id = (char *)"e1";
    end.sign_in_id = id;
    assert_int_equal(does(f, grace, "EndSignIn", &end.base), KNDL_OK);
    assert_true(is_signed_in(f, web, KIND(WEB)));
    the_bus.told[0] = '\0';
    assert_int_equal(does(f, ada, "EndSignIn", &end.base), KNDL_OK);
    assert_false(is_signed_in(f, web, KIND(WEB)));
    assert_true(is_signed_in(f, cli, KIND(CLI)));
    assert_int_equal(strncmp(the_bus.told, "people:", 7), 0);
    end_all.request_id = (char *)"e2";
    assert_int_equal(does(f, ada, "EndAllSignIns", &end_all.base), KNDL_OK);
    assert_false(is_signed_in(f, cli, KIND(CLI)));
}

/* ---- access ---- */

/* AC-07 */
static void ac_07_who_is_here_is_asked_about_again_and_a_change_is_published(void **state)
{
    V1(CheckAccessRequest) check = KNDL__REPO_ACCESS__V1__CHECK_ACCESS_REQUEST__INIT;
    struct fixture *f = *state;
    char ada[KNDL_ID_SIZE], grace[KNDL_ID_SIZE], expected[64];

    make_owner(f, ada);
    add_grace(f, ada, grace);
    check.person_id = grace;
    check.repo_ids = (int64_t[]){3001};
    check.n_repo_ids = 1;
    assert_int_equal(does(f, "", "CheckAccess", &check.base), KNDL_OK);
    int checks = the_github.checks;

    /* Not before the TTL is over; then without anybody asking. GitHub away: nothing changes. */
    the_github.has_lost_grace = true;
    the_bus.told[0] = '\0';
    assert_int_equal(kndl_test_task(&recheck_task, &f->repo_access).code, KNDL_OK);
    assert_int_equal(the_github.checks, checks);
    kndl_clock_shift(5 * MINUTE_MS);
    assert_true(is_signed_in(f, f->token, KIND(WEB))); /* grace is here */
    the_github.is_away = true;
    assert_int_equal(kndl_test_task(&recheck_task, &f->repo_access).code, KNDL_OK);
    assert_string_equal(the_bus.told, "");
    the_github.is_away = false;
    kndl_clock_shift(10 * 1000);
    assert_int_equal(kndl_test_task(&recheck_task, &f->repo_access).code, KNDL_OK);
    assert_int_equal(the_github.checks, checks + 2); /* a no after a yes is asked twice */
    snprintf(expected, sizeof expected, "access:%s", grace);
    assert_string_equal(the_bus.told, expected);

    /* Who is not here costs GitHub nothing. */
    the_github.has_lost_grace = false;
    kndl_clock_shift(MINUTE_MS);
    assert_int_equal(does(f, "", "CheckAccess", &check.base), KNDL_OK);
    checks = the_github.checks;
    kndl_clock_shift(10 * MINUTE_MS);
    assert_int_equal(kndl_test_task(&recheck_task, &f->repo_access).code, KNDL_OK);
    assert_int_equal(the_github.checks, checks);
}

/* AC-05: the account counts, not who has its login by now. */
static void ac_05_a_login_that_changed_is_looked_up_by_the_account(void **state)
{
    V1(CheckAccessRequest) check = KNDL__REPO_ACCESS__V1__CHECK_ACCESS_REQUEST__INIT;
    struct fixture *f = *state;
    char ada[KNDL_ID_SIZE], grace[KNDL_ID_SIZE];

    make_owner(f, ada);
    add_grace(f, ada, grace);
    check.person_id = grace;
    check.repo_ids = (int64_t[]){3001, 3002};
    check.n_repo_ids = 2;
    assert_int_equal(does(f, "", "CheckAccess", &check.base), KNDL_OK);
    assert_int_equal(the_github.lookups, 1);
    the_github.grace_is_called = "hopper";
    kndl_clock_shift(5 * MINUTE_MS);
    struct kndl_test_answer answer = ask(f, "", "CheckAccess", &check.base);
    assert_int_equal(the_github.lookups, 2);
    assert_int_equal(
        ((const V1(CheckAccessResponse) *)(const void *)answer.response)->n_allowed_repo_ids, 1);
    kndl_test_done(&answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(ac_09_only_the_owner_administers),
        TEST(ownership_is_handed_over_and_never_shared),
        TEST(a_request_id_that_was_used_for_something_else_is_refused),
        TEST(a_late_repeat_of_signing_out_everywhere_changes_nothing),
        TEST(cr_04_a_removed_member_is_out_at_once_and_the_others_hear_of_it),
        TEST(cl_01_a_machine_is_signed_in_once_by_who_says_yes_within_ten_minutes),
        TEST(a_decision_that_is_repeated_stands_and_its_request_decides_nothing_else),
        TEST(one_sees_and_ends_ones_own_sign_ins_and_a_cli_sees_itself),
        TEST(ac_07_who_is_here_is_asked_about_again_and_a_change_is_published),
        TEST(ac_05_a_login_that_changed_is_looked_up_by_the_account),
    };

    return stage_prepare(false) ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
