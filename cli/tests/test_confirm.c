/*
 * What a CLI's token may not do: which confirmation each verb asks for, that the calls after it and
 * no others carry it, and that nothing of it stays. CL-01, CR-01, AC-09.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake_hub.h"
#include "kndl/clock.h"
#include "kndl/id.h"
#include "kndl/mem.h"
#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "kndl/secrets/v1/secrets_service.pb-c.h"
#include "kndl/sessions/v1/runners_service.pb-c.h"
#include "kndl/testing.h"
#include "verb.h"

#define V1(name) Kndl__RepoAccess__V1__##name
#define PURPOSE(name) KNDL__REPO_ACCESS__V1__PURPOSE__PURPOSE_##name

#define CONFIRMATION "kndl_cnf_secret"

struct fixture {
    struct hub hub;
    char shown[2048]; /* on standard error */
    int purpose;      /* that was asked for */

    V1(BeginConfirmationResponse) begun;
    V1(TakeConfirmationResponse) taken;
    V1(Person) people[2];
    V1(Member) members[2];
    V1(Member) *member_list[2];
    V1(ListMembersResponse) listed;
    Kndl__Sessions__V1__Runner runner;
    Kndl__Sessions__V1__Runner *runner_list[1];
    Kndl__Sessions__V1__ListRunnersResponse runners;
};

static int set_up(void **state)
{
    struct fixture *f = kndl_new0(struct fixture);

    f->begun =
        (V1(BeginConfirmationResponse))KNDL__REPO_ACCESS__V1__BEGIN_CONFIRMATION_RESPONSE__INIT;
    f->begun.device_code = (char *)"kndl_dev_secret";
    f->begun.user_code = (char *)"BCDF-GHJK";
    f->begun.url = (char *)"https://hub.test/device";
    f->taken =
        (V1(TakeConfirmationResponse))KNDL__REPO_ACCESS__V1__TAKE_CONFIRMATION_RESPONSE__INIT;
    f->taken.token = (char *)CONFIRMATION;
    f->listed = (V1(ListMembersResponse))KNDL__REPO_ACCESS__V1__LIST_MEMBERS_RESPONSE__INIT;
    for (int i = 0; i < 2; i++) {
        f->people[i] = (V1(Person))KNDL__REPO_ACCESS__V1__PERSON__INIT;
        f->people[i].id = (char *)(i == 0 ? "p-ada" : "p-grace");
        f->people[i].login = (char *)(i == 0 ? "ada" : "grace");
        f->people[i].is_owner = i == 0;
        f->members[i] = (V1(Member))KNDL__REPO_ACCESS__V1__MEMBER__INIT;
        f->members[i].person = &f->people[i];
        f->member_list[i] = &f->members[i];
    }
    f->listed.members = f->member_list;
    f->listed.n_members = 2;
    f->runner = (Kndl__Sessions__V1__Runner)KNDL__SESSIONS__V1__RUNNER__INIT;
    f->runner.id = (char *)"r1";
    f->runner.name = (char *)"Big box";
    f->runner_list[0] = &f->runner;
    f->runners =
        (Kndl__Sessions__V1__ListRunnersResponse)KNDL__SESSIONS__V1__LIST_RUNNERS_RESPONSE__INIT;
    f->runners.runners = f->runner_list;
    f->runners.n_runners = 1;
    *state = f;
    return 0;
}

static void hub_will_confirm(struct fixture *f)
{
    hub_will_answer(&f->hub, "/BeginConfirmation", &f->begun.base);
    hub_will_answer(&f->hub, "/TakeConfirmation", &f->taken.base);
}

/* Which token a request carried. */
static bool carries(const struct fixture *f, size_t n, const char *token)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf line = {0};

    kndl_buf_printf(&line, "Authorization: Bearer %s\r\n", token);
    return strstr(f->hub.heads[n], kndl_buf_text(&line)) != NULL;
}

/* With standard error kept, and standard input from `input` if it is not NULL. */
static int run(struct fixture *f, const struct verb *verb, const char *input, char **words)
{
    FILE *shown = tmpfile();
    FILE *typed = tmpfile();
    int old_error = dup(STDERR_FILENO), old_input = dup(STDIN_FILENO);

    assert_true(shown != NULL && typed != NULL && old_error >= 0 && old_input >= 0);
    fputs(input == NULL ? "" : input, typed);
    rewind(typed);
    dup2(fileno(typed), STDIN_FILENO);
    fflush(stderr);
    dup2(fileno(shown), STDERR_FILENO);
    int result = hub_run(&f->hub, verb, words);
    fflush(stderr);
    dup2(old_error, STDERR_FILENO);
    dup2(old_input, STDIN_FILENO);
    close(old_error);
    close(old_input);
    rewind(shown);
    f->shown[fread(f->shown, 1, sizeof f->shown - 1, shown)] = '\0';
    fclose(shown);
    fclose(typed);

    for (size_t i = 0; i < f->hub.asked; i++) {
        if (strstr(f->hub.heads[i], "/BeginConfirmation") == NULL)
            continue;
        V1(BeginConfirmationRequest) *request =
            hub_asked(&f->hub, i, &kndl__repo_access__v1__begin_confirmation_request__descriptor);
        f->purpose = (int)request->purpose;
        protobuf_c_message_free_unpacked(&request->base, NULL);
        assert_true(carries(f, i, "kndl_cli_x"));
        assert_true(i + 1 >= f->hub.asked || carries(f, i + 1, "kndl_cli_x"));
    }
    return result;
}

#define RUN(f, verb, ...) run(f, verb, NULL, (char *[]){__VA_ARGS__, NULL})

static void cl_01_the_page_is_shown_on_standard_error_and_no_secret_anywhere(void **state)
{
    struct fixture *f = *state;

    hub_will_confirm(f);
    hub_will_answer(&f->hub, "/ListMembers", &f->listed.base);
    assert_int_equal(run(f, &verb_members, NULL, (char *[]){"--json", NULL}), 0);
    assert_int_equal(f->purpose, PURPOSE(SEE_MEMBERS));
    assert_non_null(strstr(f->shown, "To see the Members and Invites, kndl needs your yes."));
    assert_non_null(strstr(f->shown, "https://hub.test/device#BCDF-GHJK\n"));
    assert_null(strstr(f->shown, "secret"));
    assert_null(strstr(f->hub.text, "secret"));
    assert_null(strstr(f->hub.text, "device"));
    assert_int_equal(f->hub.text[0], '{');
    assert_true(carries(f, 2, CONFIRMATION));
    assert_false(carries(f, 2, "kndl_cli_x"));
}

static void ac_09_members_are_listed_with_login_role_and_since(void **state)
{
    struct fixture *f = *state;

    hub_will_confirm(f);
    hub_will_answer(&f->hub, "/ListMembers", &f->listed.base);
    assert_int_equal(run(f, &verb_members, NULL, (char *[]){NULL}), 0);
    assert_non_null(strstr(f->hub.text, "ada  Owner   since "));
    assert_non_null(strstr(f->hub.text, "\ngrace  Member  since "));
}

static void ac_09_a_member_is_removed_by_login(void **state)
{
    V1(RemoveMemberResponse) removed = KNDL__REPO_ACCESS__V1__REMOVE_MEMBER_RESPONSE__INIT;
    struct fixture *f = *state;

    hub_will_confirm(f);
    hub_will_answer(&f->hub, "/ListMembers", &f->listed.base);
    hub_will_answer(&f->hub, "/RemoveMember", &removed.base);
    assert_int_equal(RUN(f, &verb_members, "remove", "Grace"), 0);
    assert_int_equal(f->purpose, PURPOSE(CHANGE_MEMBERS));
    V1(RemoveMemberRequest) *request =
        hub_asked(&f->hub, 3, &kndl__repo_access__v1__remove_member_request__descriptor);
    assert_string_equal(request->person_id, "p-grace");
    assert_true(kndl_id_is_valid(request->request_id));
    protobuf_c_message_free_unpacked(&request->base, NULL);
    assert_true(carries(f, 3, CONFIRMATION));
}

static void a_login_that_no_member_has_is_not_found(void **state)
{
    struct fixture *f = *state;

    hub_will_confirm(f);
    hub_will_answer(&f->hub, "/ListMembers", &f->listed.base);
    assert_int_equal(RUN(f, &verb_members, "remove", "linus"), -1);
    assert_int_equal(f->hub.err.code, KNDL_NOT_FOUND);
}

static void ac_09_an_invites_link_is_printed(void **state)
{
    V1(InviteMemberResponse) invited = KNDL__REPO_ACCESS__V1__INVITE_MEMBER_RESPONSE__INIT;
    struct fixture *f = *state;

    invited.link = (char *)"https://hub.test/#invite=kndl_inv_x";
    hub_will_confirm(f);
    hub_will_answer(&f->hub, "/InviteMember", &invited.base);
    assert_int_equal(RUN(f, &verb_invite, "linus"), 0);
    assert_int_equal(f->purpose, PURPOSE(CHANGE_MEMBERS));
    assert_string_equal(f->hub.text, "For linus alone, once and within seven days:\n"
                                     "    https://hub.test/#invite=kndl_inv_x\n");
}

static void ac_09_an_invite_is_revoked_by_login(void **state)
{
    V1(ListInvitesResponse) invites = KNDL__REPO_ACCESS__V1__LIST_INVITES_RESPONSE__INIT;
    V1(RevokeInviteResponse) revoked = KNDL__REPO_ACCESS__V1__REVOKE_INVITE_RESPONSE__INIT;
    V1(Invite) invite = KNDL__REPO_ACCESS__V1__INVITE__INIT;
    struct fixture *f = *state;

    invite.id = (char *)"i1";
    invite.login = (char *)"linus";
    invites.invites = (V1(Invite) *[]){&invite};
    invites.n_invites = 1;
    hub_will_confirm(f);
    hub_will_answer(&f->hub, "/ListInvites", &invites.base);
    hub_will_answer(&f->hub, "/RevokeInvite", &revoked.base);
    assert_int_equal(RUN(f, &verb_invites, "revoke", "@Linus"), 0);
    assert_int_equal(f->purpose, PURPOSE(CHANGE_MEMBERS));
    V1(RevokeInviteRequest) *request =
        hub_asked(&f->hub, 3, &kndl__repo_access__v1__revoke_invite_request__descriptor);
    assert_string_equal(request->invite_id, "i1");
    protobuf_c_message_free_unpacked(&request->base, NULL);
}

static void cr_01_the_setup_token_comes_from_standard_input(void **state)
{
    Kndl__Secrets__V1__SetSetupTokenResponse set =
        KNDL__SECRETS__V1__SET_SETUP_TOKEN_RESPONSE__INIT;
    struct fixture *f = *state;

    hub_will_confirm(f);
    hub_will_answer(&f->hub, "/SetSetupToken", &set.base);
    assert_int_equal(run(f, &verb_token, "sk-ant-oat01-confirmed-token\n", (char *[]){"set", NULL}),
                     0);
    assert_int_equal(f->purpose, PURPOSE(SETUP_TOKEN));
    Kndl__Secrets__V1__SetSetupTokenRequest *request =
        hub_asked(&f->hub, 2, &kndl__secrets__v1__set_setup_token_request__descriptor);
    assert_string_equal(request->token, "sk-ant-oat01-confirmed-token");
    protobuf_c_message_free_unpacked(&request->base, NULL);
    assert_true(carries(f, 2, CONFIRMATION));
}

static void cr_01_whether_there_is_a_setup_token_needs_no_yes(void **state)
{
    Kndl__Secrets__V1__GetSetupTokenResponse none =
        KNDL__SECRETS__V1__GET_SETUP_TOKEN_RESPONSE__INIT;
    struct fixture *f = *state;

    hub_will_answer(&f->hub, "/GetSetupToken", &none.base);
    assert_int_equal(RUN(f, &verb_token, "show"), 0);
    assert_true(carries(f, 0, "kndl_cli_x"));
}

static void a_runner_is_added_and_its_token_printed(void **state)
{
    Kndl__Sessions__V1__RegisterRunnerResponse added =
        KNDL__SESSIONS__V1__REGISTER_RUNNER_RESPONSE__INIT;
    struct fixture *f = *state;

    added.runner = &f->runner;
    added.token = (char *)"kndl_run_x";
    hub_will_confirm(f);
    hub_will_answer(&f->hub, "/RegisterRunner", &added.base);
    assert_int_equal(RUN(f, &verb_runners, "add", "Big box"), 0);
    assert_int_equal(f->purpose, PURPOSE(RUNNERS));
    assert_string_equal(f->hub.text,
                        "The token of Big box, for its RUNNER_TOKEN_FILE, shown this once:\n"
                        "    kndl_run_x\n");
    assert_true(carries(f, 2, CONFIRMATION));
}

static void a_runner_is_found_by_its_name_before_anybody_is_asked(void **state)
{
    Kndl__Sessions__V1__RenameRunnerResponse renamed =
        KNDL__SESSIONS__V1__RENAME_RUNNER_RESPONSE__INIT;
    struct fixture *f = *state;

    hub_will_answer(&f->hub, "/ListRunners", &f->runners.base);
    hub_will_confirm(f);
    hub_will_answer(&f->hub, "/RenameRunner", &renamed.base);
    assert_int_equal(RUN(f, &verb_runners, "rename", "big BOX", "small"), 0);
    Kndl__Sessions__V1__RenameRunnerRequest *request =
        hub_asked(&f->hub, 3, &kndl__sessions__v1__rename_runner_request__descriptor);
    assert_string_equal(request->runner_id, "r1");
    assert_string_equal(request->name, "small");
    protobuf_c_message_free_unpacked(&request->base, NULL);
    assert_true(carries(f, 0, "kndl_cli_x"));
}

static void a_runner_that_is_not_there_asks_nobody(void **state)
{
    static char *const verbs[] = {"remove", "rotate"};

    for (size_t i = 0; i < 2; i++) {
        struct fixture *f = *state;

        hub_forget(&f->hub);
        hub_will_answer(&f->hub, "/ListRunners", &f->runners.base);
        assert_int_equal(RUN(f, &verb_runners, verbs[i], "nobody"), -1);
        assert_int_equal(f->hub.err.code, KNDL_NOT_FOUND);
        f->hub.err = (struct kndl_error){0};
    }
}

/* Wrong words are usage, and nobody is asked for anything. */
static void what_is_no_command_asks_the_hub_nothing(void **state)
{
    static const struct {
        const struct verb *verb;
        char *words[5];
    } tries[] = {
        {&verb_members, {"remove", NULL}},
        {&verb_members, {"add", "linus", NULL}},
        {&verb_invite, {"no login!", NULL}},
        {&verb_invites, {"revoke", NULL}},
        {&verb_invites, {"revoke", "!", NULL}},
        {&verb_runners, {"add", NULL}},
        {&verb_runners, {"rename", "a", NULL}},
        {&verb_runners, {"remove", "a", "b", NULL}},
        {&verb_token, {"steal", NULL}},
        {&verb_token, {"set", NULL}}, /* of nothing */
        {&verb_runners, {"add", "a/b", NULL}},
        {&verb_runners, {"add", "", NULL}},
        {&verb_runners, {"rename", "Big box", "a/b", NULL}},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof tries / sizeof tries[0]; i++) {
        assert_int_equal(run(f, tries[i].verb, NULL, (char **)tries[i].words), -1);
        assert_int_equal(f->hub.err.code, KNDL_INVALID_ARGUMENT);
        f->hub.err = (struct kndl_error){0};
    }
}

static void a_setup_token_that_ends_soon_says_what_to_do(void **state)
{
    Kndl__Secrets__V1__GetSetupTokenResponse got =
        KNDL__SECRETS__V1__GET_SETUP_TOKEN_RESPONSE__INIT;
    Kndl__Secrets__V1__SetupToken token = KNDL__SECRETS__V1__SETUP_TOKEN__INIT;
    static const int64_t day_ms = INT64_C(24) * 3600 * 1000;
    static const struct {
        int days;
        const char *said; /* NULL: nothing of it */
    } cases[] = {{300, NULL}, {29, "It ends soon: "}, {-1, "It has probably ended: "}};
    struct fixture *f = *state;

    got.setup_token = &token;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hub_forget(&f->hub);
        token.expires_at_ms = kndl_clock_wall_ms() + cases[i].days * day_ms;
        hub_will_answer(&f->hub, "/GetSetupToken", &got.base);
        assert_int_equal(RUN(f, &verb_token, "show"), 0);
        assert_true((strstr(f->hub.text, "kndl token set") != NULL) == (cases[i].said != NULL));
        assert_true(cases[i].said == NULL || strstr(f->hub.text, cases[i].said) != NULL);
    }
}

/* What cannot be a setup token is told before anybody is asked for a yes. */
static void what_is_no_setup_token_asks_the_hub_nothing(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(run(f, &verb_token, "sk-ant-api03-x\n", (char *[]){"set", NULL}), -1);
    assert_int_equal(f->hub.err.code, KNDL_INVALID_ARGUMENT);
    assert_non_null(strstr(f->hub.err.message, "this is an API key"));
    assert_null(strstr(f->hub.err.message, "api03"));
}

static void a_no_in_the_browser_is_no_access(void **state)
{
    struct fixture *f = *state;

    hub_will_answer(&f->hub, "/BeginConfirmation", &f->begun.base);
    hub_will_fail(&f->hub, "/TakeConfirmation", 403,
                  "{\"code\":\"permission_denied\",\"message\":\"it was refused in the browser\"}");
    assert_int_equal(RUN(f, &verb_invite, "linus"), -1);
    assert_int_equal(f->hub.err.code, KNDL_PERMISSION_DENIED);
    assert_string_equal(f->hub.err.message, "it was refused in the browser");
}

static void a_confirmation_that_ended_meanwhile_says_to_run_it_again(void **state)
{
    struct fixture *f = *state;

    hub_will_confirm(f);
    hub_will_fail(&f->hub, "/InviteMember", 401,
                  "{\"code\":\"unauthenticated\",\"message\":\"sign in first\"}");
    assert_int_equal(RUN(f, &verb_invite, "linus"), -1);
    assert_int_equal(f->hub.err.code, KNDL_UNAUTHENTICATED);
    assert_string_equal(f->hub.err.message, "what you confirmed is over; run the command again");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, hub_tear_down)
        TEST(cl_01_the_page_is_shown_on_standard_error_and_no_secret_anywhere),
        TEST(ac_09_members_are_listed_with_login_role_and_since),
        TEST(ac_09_a_member_is_removed_by_login),
        TEST(a_login_that_no_member_has_is_not_found),
        TEST(ac_09_an_invites_link_is_printed),
        TEST(ac_09_an_invite_is_revoked_by_login),
        TEST(cr_01_the_setup_token_comes_from_standard_input),
        TEST(cr_01_whether_there_is_a_setup_token_needs_no_yes),
        TEST(a_runner_is_added_and_its_token_printed),
        TEST(a_runner_is_found_by_its_name_before_anybody_is_asked),
        TEST(a_runner_that_is_not_there_asks_nobody),
        TEST(what_is_no_command_asks_the_hub_nothing),
        TEST(what_is_no_setup_token_asks_the_hub_nothing),
        TEST(a_setup_token_that_ends_soon_says_what_to_do),
        TEST(a_no_in_the_browser_is_no_access),
        TEST(a_confirmation_that_ended_meanwhile_says_to_run_it_again),
    };
    struct kndl_error err = {0};

    if (kndl_crypt_init(&err) < 0)
        return 1;
    return cmocka_run_group_tests_name("confirm", tests, NULL, NULL);
}
