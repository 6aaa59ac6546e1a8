/*
 * What a CLI with its person's yes may call, from the edge: the methods of its one purpose and
 * nothing else, by the rules of a token. CL-01, CR-01, AC-04, AC-09.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fixture.h"
#include "kndl/mem.h"
#include "kndl/publics.h"
#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "kndl/token.h"

#define V1(name) Kndl__RepoAccess__V1__##name
#define PURPOSE(name) KNDL__REPO_ACCESS__V1__PURPOSE__PURPOSE_##name
#define BUF KNDL_CLEANUP(kndl_buf_done) struct kndl_buf

#define REPO_ACCESS "/kndl.repo_access.v1.RepoAccessService/"

static int set_up(void **state)
{
    fixture_open(state, fixture_answer_nothing);
    fixture_set_purpose(PURPOSE(CHANGE_MEMBERS));
    return 0;
}

static int by_token(struct fixture *f, const char *path, const char *token, struct kndl_buf *body)
{
    BUF head = {0};

    kndl_buf_clear(body);
    return fixture_ask(
        f, &(struct ask_options){.path = path, .bearer = token, .body = kndl_slice_of("{}")}, &head,
        body);
}

/* The methods that a purpose opens, joined by blanks; each of the others is refused alike. */
static void collect(struct fixture *f, int purpose, struct kndl_buf *opened)
{
    BUF body = {0};

    fixture_set_purpose(purpose);
    for (size_t s = 0; kndl_public_services[s].service != NULL; s++) {
        const ProtobufCServiceDescriptor *service = kndl_public_services[s].service;

        for (unsigned i = 0; i < service->n_methods; i++) {
            int before = fake_count(service->methods[i].name);
            char path[256];

            snprintf(path, sizeof path, "/%s/%s", service->name, service->methods[i].name);
            fixture_shift(f, 6000); /* what is kept of who they are is forgotten, rates refill */
            if (by_token(f, path, fixture_confirmed_token, &body) == 200) {
                kndl_buf_printf(opened, "%s%s", opened->size > 0 ? " " : "",
                                service->methods[i].name);
                continue;
            }
            assert_string_equal(body.data, "{\"code\":\"permission_denied\",\"message\":\"this is "
                                           "not what was confirmed\"}");
            assert_int_equal(fake_count(service->methods[i].name), before);
        }
    }
}

static void cl_01_a_confirmation_opens_the_methods_of_its_purpose_and_no_other(void **state)
{
    static const struct {
        int purpose;
        const char *methods;
    } rows[] = {
        {PURPOSE(UNSPECIFIED), ""},
        {PURPOSE(SEE_MEMBERS), "ListMembers ListInvites"},
        {PURPOSE(SETUP_TOKEN), "SetSetupToken RemoveSetupToken"},
        {PURPOSE(RUNNERS), "RegisterRunner RenameRunner RotateRunnerToken RemoveRunner"},
        {99, ""},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        BUF opened = {0};

        collect(f, rows[i].purpose, &opened);
        assert_string_equal(kndl_buf_text(&opened), rows[i].methods);
    }
}

static void ac_09_to_change_members_is_to_see_them_and_hands_nothing_over(void **state)
{
    struct fixture *f = *state;
    BUF opened = {0};

    collect(f, PURPOSE(CHANGE_MEMBERS), &opened);
    assert_string_equal(kndl_buf_text(&opened),
                        "ListMembers ListInvites InviteMember RevokeInvite RemoveMember");
}

/* CR-01: the token on the disk is refused as ever. */
static void cr_01_the_clis_own_token_stays_refused(void **state)
{
    static const char *const methods[] = {
        "/kndl.secrets.v1.SecretsService/SetSetupToken",
        "/kndl.secrets.v1.SecretsService/RemoveSetupToken",
        "/kndl.sessions.v1.RunnersService/RegisterRunner",
        "/kndl.sessions.v1.RunnersService/RenameRunner",
        "/kndl.sessions.v1.RunnersService/RotateRunnerToken",
        "/kndl.sessions.v1.RunnersService/RemoveRunner",
        REPO_ACCESS "ListMembers",
        REPO_ACCESS "ListInvites",
        REPO_ACCESS "InviteMember",
        REPO_ACCESS "RevokeInvite",
        REPO_ACCESS "RemoveMember",
        REPO_ACCESS "HandOverOwnership",
        REPO_ACCESS "EndSignIn",
        REPO_ACCESS "EndAllSignIns",
        REPO_ACCESS "FindDevice",
        REPO_ACCESS "DecideDevice",
    };
    struct fixture *f = *state;
    BUF body = {0};

    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        assert_int_equal(by_token(f, methods[i], fixture_cli_token, &body), 403);
        assert_string_equal(
            body.data, "{\"code\":\"permission_denied\",\"message\":\"do this in the browser\"}");
        assert_int_equal(fake_count(strrchr(methods[i], '/') + 1), 0);
    }
}

/* AC-04: by the rules of a token. */
static void ac_04_it_is_for_no_page_and_no_cookie_and_no_socket(void **state)
{
    struct fixture *f = *state;
    struct ask_options options = {.path = REPO_ACCESS "ListMembers",
                                  .bearer = fixture_confirmed_token,
                                  .body = kndl_slice_of("{}")};
    BUF body = {0};

    options.origin = "own";
    assert_int_equal(fixture_status(f, &options), 403);
    options.origin = "https://evil.example";
    assert_int_equal(fixture_status(f, &options), 403);
    options.origin = NULL;
    options.cookie = fixture_bob_token; /* not looked at */
    assert_int_equal(fixture_status(f, &options), 200);
    assert_string_equal(fake_newest("ListMembers")->actor, "person/ada");

    /* As a cookie, to open a socket and to sign out it is unknown. */
    options = (struct ask_options){.path = REPO_ACCESS "ListMembers",
                                   .origin = "own",
                                   .cookie = fixture_confirmed_token,
                                   .body = kndl_slice_of("{}")};
    assert_int_equal(fixture_status(f, &options), 401);
    assert_int_equal(FIXTURE_STATUS(f, .method = "GET", .path = "/socket",
                                    .bearer = fixture_confirmed_token,
                                    .extra = "Connection: Upgrade\r\nUpgrade: websocket\r\n"
                                             "Sec-WebSocket-Version: 13\r\n"
                                             "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"),
                     401);
    assert_int_equal(by_token(f, "/auth/signout", fixture_confirmed_token, &body), 200);
    assert_int_equal(fake_count("SignOut"), 0);
}

/* A page that knows the code cannot say yes to it from elsewhere. */
static void ac_04_only_our_own_page_says_yes(void **state)
{
    static const char *const origins[] = {NULL, "null", "https://evil.example",
                                          "http://127.0.0.1:1"};
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof origins / sizeof origins[0]; i++)
        assert_int_equal(FIXTURE_STATUS(f, .path = REPO_ACCESS "DecideDevice", .origin = origins[i],
                                        .cookie = fixture_web_token, .body = kndl_slice_of("{}")),
                         403);
    assert_int_equal(fake_count("DecideDevice"), 0);
}

static void a_browser_begins_none(void **state)
{
    struct fixture *f = *state;
    BUF body = {0};

    assert_int_equal(fixture_call(f, REPO_ACCESS "BeginConfirmation", "{}", &body), 403);
    assert_int_equal(fixture_call(f, REPO_ACCESS "TakeConfirmation", "{}", &body), 403);
    assert_int_equal(fake_count("BeginConfirmation") + fake_count("TakeConfirmation"), 0);
}

/* Which CLI begins is said by the gateway, whatever the request says. */
static void the_cli_that_begins_is_the_one_that_asks(void **state)
{
    struct fixture *f = *state;
    uint8_t hash[KNDL_HASH_BYTES];

    assert_int_equal(
        FIXTURE_STATUS(f, .path = REPO_ACCESS "BeginConfirmation", .bearer = fixture_cli_token,
                       .body = kndl_slice_of("{\"purpose\":2,\"credentialHash\":\"AAAA\"}")),
        200);
    const struct fake_request *request = fake_newest("BeginConfirmation");
    V1(BeginConfirmationRequest) *asked = kndl__repo_access__v1__begin_confirmation_request__unpack(
        NULL, request->data.size, (const uint8_t *)request->data.data);
    kndl_hash(kndl_slice_of(fixture_cli_token), hash);
    assert_int_equal(asked->purpose, PURPOSE(CHANGE_MEMBERS));
    assert_int_equal(asked->credential_hash.len, sizeof hash);
    assert_memory_equal(asked->credential_hash.data, hash, sizeof hash);
    kndl__repo_access__v1__begin_confirmation_request__free_unpacked(asked, NULL);
}

static void confirmations_have_rates(void **state)
{
    struct fixture *f = *state;
    BUF body = {0};

    for (int i = 0; i < 10; i++)
        assert_int_equal(by_token(f, REPO_ACCESS "BeginConfirmation", fixture_cli_token, &body),
                         200);
    assert_int_equal(by_token(f, REPO_ACCESS "BeginConfirmation", fixture_cli_token, &body), 429);
    fixture_shift(f, 7000);
    assert_int_equal(by_token(f, REPO_ACCESS "BeginConfirmation", fixture_cli_token, &body), 200);
    for (int i = 0; i < 60; i++) {
        assert_int_equal(by_token(f, REPO_ACCESS "TakeConfirmation", fixture_cli_token, &body),
                         200);
        if (i % 20 == 0)
            fixture_shift(f, 700); /* 30 commands a second, too */
    }
    for (int i = 0; i < 3; i++)
        (void)by_token(f, REPO_ACCESS "TakeConfirmation", fixture_cli_token, &body);
    assert_int_equal(by_token(f, REPO_ACCESS "TakeConfirmation", fixture_cli_token, &body), 429);
}

/* What ended is unknown as soon as repo-access says that something did. */
static void one_that_ended_is_refused_at_once(void **state)
{
    struct fixture *f = *state;
    BUF body = {0};

    assert_int_equal(by_token(f, REPO_ACCESS "ListMembers", fixture_confirmed_token, &body), 200);
    char was[80];
    strcpy(was, fixture_confirmed_token);
    strcpy(fixture_confirmed_token, fixture_unknown_token);
    fake_fact("repo_access", "people");
    fixture_sync(f);
    assert_int_equal(by_token(f, REPO_ACCESS "ListMembers", was, &body), 401);
}

/* The gateway that a machine signs out at waits for no fact of repo-access. */
static void one_whose_machine_signed_out_is_refused_at_once(void **state)
{
    struct fixture *f = *state;
    BUF body = {0};
    char was[80];

    assert_int_equal(by_token(f, REPO_ACCESS "ListMembers", fixture_confirmed_token, &body), 200);
    assert_int_equal(by_token(f, REPO_ACCESS "SignOut", fixture_cli_token, &body), 200);
    strcpy(was, fixture_confirmed_token);
    strcpy(fixture_confirmed_token, fixture_unknown_token);
    assert_int_equal(by_token(f, REPO_ACCESS "ListMembers", was, &body), 401);
}

#define WITH_GATEWAY(test) cmocka_unit_test_setup_teardown(test, set_up, fixture_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_GATEWAY(cl_01_a_confirmation_opens_the_methods_of_its_purpose_and_no_other),
        WITH_GATEWAY(ac_09_to_change_members_is_to_see_them_and_hands_nothing_over),
        WITH_GATEWAY(cr_01_the_clis_own_token_stays_refused),
        WITH_GATEWAY(ac_04_it_is_for_no_page_and_no_cookie_and_no_socket),
        WITH_GATEWAY(ac_04_only_our_own_page_says_yes),
        WITH_GATEWAY(a_browser_begins_none),
        WITH_GATEWAY(the_cli_that_begins_is_the_one_that_asks),
        WITH_GATEWAY(confirmations_have_rates),
        WITH_GATEWAY(one_that_ended_is_refused_at_once),
        WITH_GATEWAY(one_whose_machine_signed_out_is_refused_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
