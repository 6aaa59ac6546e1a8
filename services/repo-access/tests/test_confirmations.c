/*
 * A CLI that wants more than its token may, from the handlers to a real PostgreSQL: whose yes
 * counts, what it is good for, and all that ends it. CL-01, AC-09.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doors.h"
#include "fakes.h"
#include "kndl/clock.h"
#include "kndl/id.h"
#include "kndl/mem.h"
#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "kndl/testing.h"
#include "kndl/token.h"
#include "rpc.h"
#include "stage.h"
#include "store.h"

#define V1(name) Kndl__RepoAccess__V1__##name
#define KIND(name) KNDL__REPO_ACCESS__V1__AUTHENTICATE_REQUEST__KIND__KIND_##name
#define PURPOSE(name) KNDL__REPO_ACCESS__V1__PURPOSE__PURPOSE_##name

#define MINUTE_MS (INT64_C(60) * 1000)

enum { TOKEN_SIZE = 128 };

/* Somebody's CLI, signed in. */
struct cli {
    char person[KNDL_ID_SIZE];
    char token[TOKEN_SIZE];
};

struct fixture {
    struct repo_access repo_access;
    struct kndl_error err; /* of the last call */
    struct cli ada;        /* the Owner */
    struct cli grace;

    /* What the last call answered. */
    char device_code[TOKEN_SIZE];
    char user_code[16];
    char token[TOKEN_SIZE];
    V1(Purpose) purpose;
    int64_t until_ms;
};

static struct kndl_test_answer ask(struct fixture *f, ProtobufCService *service, const char *person,
                                   const char *method, const ProtobufCMessage *request)
{
    struct kndl_test_answer answer =
        kndl_test_call(service, &f->repo_access, person, method, request);

    f->err = answer.err;
    return answer;
}

static ProtobufCBinaryData hash_of(const char *token, uint8_t hash[KNDL_HASH_BYTES])
{
    kndl_hash(kndl_slice_of(token), hash);
    return (ProtobufCBinaryData){KNDL_HASH_BYTES, hash};
}

static void signs_in(struct fixture *f, const char *login, struct cli *ret_cli)
{
    V1(DevLoginRequest) request = KNDL__REPO_ACCESS__V1__DEV_LOGIN_REQUEST__INIT;

    request.login = (char *)login;
    request.kind = KIND(CLI);
    request.machine = (char *)"laptop";
    struct kndl_test_answer answer =
        ask(f, repo_access_internal_service, "", "DevLogin", &request.base);
    const V1(DevLoginResponse) *signed_in = (const void *)answer.response;
    assert_non_null(signed_in);
    snprintf(ret_cli->person, sizeof ret_cli->person, "%s", signed_in->person->id);
    snprintf(ret_cli->token, sizeof ret_cli->token, "%s", signed_in->token);
    kndl_test_done(&answer);
}

static int set_up(void **state)
{
    struct fixture *f = kndl_new0(struct fixture);

    stage_open(&f->repo_access);
    signs_in(f, "ada", &f->ada);
    signs_in(f, "grace", &f->grace);
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

/* ---- what CLIs and people do ---- */

static enum kndl_code begins(struct fixture *f, const struct cli *cli, V1(Purpose) purpose)
{
    V1(BeginConfirmationRequest) request = KNDL__REPO_ACCESS__V1__BEGIN_CONFIRMATION_REQUEST__INIT;
    uint8_t hash[KNDL_HASH_BYTES];

    request.purpose = purpose;
    request.credential_hash = hash_of(cli->token, hash);
    struct kndl_test_answer answer =
        ask(f, repo_access_service, cli->person, "BeginConfirmation", &request.base);
    const V1(BeginConfirmationResponse) *begun = (const void *)answer.response;
    if (begun != NULL) {
        snprintf(f->device_code, sizeof f->device_code, "%s", begun->device_code);
        snprintf(f->user_code, sizeof f->user_code, "%s", begun->user_code);
        assert_non_null(strstr(begun->url, "/device"));
    }
    kndl_test_done(&answer);
    return f->err.code;
}

/* f->token is what it got, "" if nobody has decided yet. */
static enum kndl_code takes(struct fixture *f, const struct cli *cli)
{
    V1(TakeConfirmationRequest) request = KNDL__REPO_ACCESS__V1__TAKE_CONFIRMATION_REQUEST__INIT;
    uint8_t hash[KNDL_HASH_BYTES];

    request.device_code = f->device_code;
    request.credential_hash = hash_of(cli->token, hash);
    f->token[0] = '\0';
    struct kndl_test_answer answer =
        ask(f, repo_access_service, cli->person, "TakeConfirmation", &request.base);
    const V1(TakeConfirmationResponse) *taken = (const void *)answer.response;
    if (taken != NULL)
        snprintf(f->token, sizeof f->token, "%s", taken->token);
    kndl_test_done(&answer);
    return f->err.code;
}

static enum kndl_code finds(struct fixture *f, const char *person)
{
    V1(FindDeviceRequest) request = KNDL__REPO_ACCESS__V1__FIND_DEVICE_REQUEST__INIT;

    request.user_code = f->user_code;
    struct kndl_test_answer answer =
        ask(f, repo_access_service, person, "FindDevice", &request.base);
    const V1(FindDeviceResponse) *found = (const void *)answer.response;
    if (found != NULL) {
        assert_string_equal(found->machine, "laptop");
        f->purpose = found->purpose;
    }
    kndl_test_done(&answer);
    return f->err.code;
}

static enum kndl_code decides(struct fixture *f, const char *person, bool yes)
{
    char request_id[KNDL_ID_SIZE];
    V1(DecideDeviceRequest) request = KNDL__REPO_ACCESS__V1__DECIDE_DEVICE_REQUEST__INIT;

    kndl_id_new(request_id);
    request.request_id = request_id;
    request.user_code = f->user_code;
    request.is_approved = yes;
    struct kndl_test_answer answer =
        ask(f, repo_access_service, person, "DecideDevice", &request.base);
    kndl_test_done(&answer);
    return f->err.code;
}

/* Is it taken for one of that kind? f->purpose is what for. */
static bool is_taken(struct fixture *f, const char *token, V1(AuthenticateRequest__Kind) kind)
{
    V1(AuthenticateRequest) request = KNDL__REPO_ACCESS__V1__AUTHENTICATE_REQUEST__INIT;
    uint8_t hash[KNDL_HASH_BYTES];

    request.credential_hash = hash_of(token, hash);
    request.kind = kind;
    struct kndl_test_answer answer =
        ask(f, repo_access_internal_service, "", "Authenticate", &request.base);
    const V1(AuthenticateResponse) *known = (const void *)answer.response;
    if (known != NULL) {
        f->purpose = known->purpose;
        f->until_ms = known->valid_until_ms;
    }
    kndl_test_done(&answer);
    return f->err.code == KNDL_OK;
}

/* With a yes of its own person. */
static void is_confirmed(struct fixture *f, const struct cli *cli, V1(Purpose) purpose)
{
    assert_int_equal(begins(f, cli, purpose), KNDL_OK);
    assert_int_equal(decides(f, cli->person, true), KNDL_OK);
    assert_int_equal(takes(f, cli), KNDL_OK);
    assert_true(is_taken(f, f->token, KIND(CONFIRMED)));
}

static void signs_out(struct fixture *f, const struct cli *cli)
{
    V1(SignOutRequest) request = KNDL__REPO_ACCESS__V1__SIGN_OUT_REQUEST__INIT;
    uint8_t hash[KNDL_HASH_BYTES];

    request.request_id = (char *)"o";
    request.credential_hash = hash_of(cli->token, hash);
    struct kndl_test_answer answer =
        ask(f, repo_access_service, cli->person, "SignOut", &request.base);
    assert_int_equal(answer.err.code, KNDL_OK);
    kndl_test_done(&answer);
}

/* ---- */

static void cl_01_a_yes_in_the_browser_is_good_for_one_purpose_and_one_cli(void **state)
{
    struct fixture *f = *state;
    char token[TOKEN_SIZE];

    assert_int_equal(begins(f, &f->ada, PURPOSE(CHANGE_MEMBERS)), KNDL_OK);
    assert_int_equal(takes(f, &f->ada), KNDL_OK);
    assert_string_equal(f->token, ""); /* nobody has decided yet */
    assert_int_equal(finds(f, f->ada.person), KNDL_OK);
    assert_int_equal(f->purpose, PURPOSE(CHANGE_MEMBERS));
    assert_int_equal(decides(f, f->ada.person, true), KNDL_OK);
    assert_int_equal(takes(f, &f->ada), KNDL_OK);
    strcpy(token, f->token);
    assert_true(kndl_token_is_valid(KNDL_TOKEN_CNF, kndl_slice_of(token)));

    assert_true(is_taken(f, token, KIND(CONFIRMED)));
    assert_int_equal(f->purpose, PURPOSE(CHANGE_MEMBERS));
    assert_false(is_taken(f, token, KIND(CLI)));
    assert_false(is_taken(f, token, KIND(WEB)));
    assert_false(is_taken(f, f->ada.token, KIND(CONFIRMED)));
    assert_true(is_taken(f, f->ada.token, KIND(CLI)));
    assert_int_equal(f->purpose, PURPOSE(UNSPECIFIED));

    /* Once: neither the device's code nor the person's are good again. */
    assert_int_equal(takes(f, &f->ada), KNDL_PERMISSION_DENIED);
    assert_int_equal(decides(f, f->ada.person, true), KNDL_NOT_FOUND);
}

static void another_member_neither_sees_nor_decides_it(void **state)
{
    struct fixture *f = *state;
    struct kndl_error unknown;

    strcpy(f->user_code, "BBBB-BBBB");
    assert_int_equal(finds(f, f->grace.person), KNDL_NOT_FOUND);
    unknown = f->err;
    assert_int_equal(begins(f, &f->ada, PURPOSE(CHANGE_MEMBERS)), KNDL_OK);
    assert_int_equal(finds(f, f->grace.person), KNDL_NOT_FOUND);
    assert_string_equal(f->err.message, unknown.message);
    assert_int_equal(decides(f, f->grace.person, true), KNDL_NOT_FOUND);
    assert_string_equal(f->err.message, unknown.message);
    assert_int_equal(decides(f, f->grace.person, false), KNDL_NOT_FOUND);
    assert_int_equal(takes(f, &f->ada), KNDL_OK); /* it still waits */
    assert_string_equal(f->token, "");
}

static void another_cli_does_not_get_it_and_a_sign_in_neither(void **state)
{
    V1(PollDeviceRequest) poll = KNDL__REPO_ACCESS__V1__POLL_DEVICE_REQUEST__INIT;
    V1(BeginDeviceRequest) login = KNDL__REPO_ACCESS__V1__BEGIN_DEVICE_REQUEST__INIT;
    struct fixture *f = *state;
    struct kndl_error over;
    struct cli other;

    signs_in(f, "ada", &other); /* another machine of hers */
    assert_int_equal(begins(f, &f->ada, PURPOSE(SETUP_TOKEN)), KNDL_OK);
    assert_int_equal(decides(f, f->ada.person, true), KNDL_OK);
    assert_int_equal(takes(f, &other), KNDL_PERMISSION_DENIED);
    over = f->err;
    assert_int_equal(takes(f, &f->grace), KNDL_PERMISSION_DENIED);
    assert_string_equal(f->err.message, over.message);

    /* Neither is a machine's sign-in: that would be a CLI's token for ninety days. */
    poll.device_code = f->device_code;
    struct kndl_test_answer answer =
        ask(f, repo_access_internal_service, "", "PollDevice", &poll.base);
    assert_int_equal(f->err.code, KNDL_UNAUTHENTICATED);
    kndl_test_done(&answer);
    assert_int_equal(takes(f, &f->ada), KNDL_OK);
    assert_true(is_taken(f, f->token, KIND(CONFIRMED)));

    /* And the code of a sign-in gives no confirmation. */
    login.machine = (char *)"laptop";
    answer = ask(f, repo_access_internal_service, "", "BeginDevice", &login.base);
    const V1(BeginDeviceResponse) *begun = (const void *)answer.response;
    snprintf(f->device_code, sizeof f->device_code, "%s", begun->device_code);
    snprintf(f->user_code, sizeof f->user_code, "%s", begun->user_code);
    kndl_test_done(&answer);
    assert_int_equal(finds(f, f->ada.person), KNDL_OK);
    assert_int_equal(f->purpose, PURPOSE(UNSPECIFIED));
    assert_int_equal(decides(f, f->ada.person, true), KNDL_OK);
    assert_int_equal(takes(f, &f->ada), KNDL_PERMISSION_DENIED);
}

static void a_no_and_ten_minutes_refuse_it_alike(void **state)
{
    struct fixture *f = *state;
    struct kndl_error refused;

    assert_int_equal(begins(f, &f->ada, PURPOSE(RUNNERS)), KNDL_OK);
    assert_int_equal(decides(f, f->ada.person, false), KNDL_OK);
    assert_int_equal(takes(f, &f->ada), KNDL_PERMISSION_DENIED);
    refused = f->err;
    assert_int_equal(begins(f, &f->ada, PURPOSE(RUNNERS)), KNDL_OK);
    kndl_clock_shift(10 * MINUTE_MS);
    assert_int_equal(finds(f, f->ada.person), KNDL_NOT_FOUND);
    assert_int_equal(decides(f, f->ada.person, true), KNDL_NOT_FOUND);
    assert_int_equal(takes(f, &f->ada), KNDL_PERMISSION_DENIED);
    assert_string_equal(f->err.message, refused.message);
    strcpy(f->device_code, "kndl_dev_nonsense");
    assert_int_equal(takes(f, &f->ada), KNDL_PERMISSION_DENIED);
    assert_string_equal(f->err.message, refused.message);
}

static void it_lasts_ten_minutes_however_much_it_is_used(void **state)
{
    struct fixture *f = *state;
    char token[TOKEN_SIZE];
    int64_t begun_ms = kndl_clock_wall_ms();

    is_confirmed(f, &f->ada, PURPOSE(SEE_MEMBERS));
    strcpy(token, f->token);
    for (int minute = 0; minute < 9; minute++) {
        kndl_clock_shift(MINUTE_MS);
        assert_true(is_taken(f, token, KIND(CONFIRMED)));
    }
    kndl_clock_shift(MINUTE_MS - 2000 - (kndl_clock_wall_ms() - begun_ms - 9 * MINUTE_MS));
    assert_true(is_taken(f, token, KIND(CONFIRMED)));
    /* No gateway may believe it longer than it lasts. */
    assert_true(f->until_ms <= kndl_clock_wall_ms() + 3000);
    kndl_clock_shift(5000);
    assert_false(is_taken(f, token, KIND(CONFIRMED)));
    assert_true(is_taken(f, f->ada.token, KIND(CLI)));
    assert_int_equal(kndl_test_task(&doors_task, &f->repo_access).code, KNDL_OK); /* tidies */
}

static void it_ends_with_its_cli(void **state)
{
    V1(EndSignInRequest) end = KNDL__REPO_ACCESS__V1__END_SIGN_IN_REQUEST__INIT;
    V1(ListSignInsRequest) list = KNDL__REPO_ACCESS__V1__LIST_SIGN_INS_REQUEST__INIT;
    struct fixture *f = *state;
    uint8_t hash[KNDL_HASH_BYTES];
    char token[TOKEN_SIZE], id[KNDL_ID_SIZE];
    struct cli other;

    /* `kndl logout` */
    is_confirmed(f, &f->ada, PURPOSE(CHANGE_MEMBERS));
    strcpy(token, f->token);
    signs_in(f, "ada", &other);
    signs_out(f, &f->ada);
    assert_false(is_taken(f, token, KIND(CONFIRMED)));

    /* Ended in the browser; the confirmation itself is in no list, so nobody has to end two. */
    is_confirmed(f, &other, PURPOSE(CHANGE_MEMBERS));
    strcpy(token, f->token);
    list.credential_hash = hash_of(other.token, hash);
    struct kndl_test_answer answer =
        ask(f, repo_access_service, other.person, "ListSignIns", &list.base);
    const V1(ListSignInsResponse) *sign_ins = (const void *)answer.response;
    assert_int_equal(sign_ins->n_sign_ins, 1);
    snprintf(id, sizeof id, "%s", sign_ins->sign_ins[0]->id);
    kndl_test_done(&answer);
    end.request_id = (char *)"e";
    end.sign_in_id = id;
    answer = ask(f, repo_access_service, other.person, "EndSignIn", &end.base);
    kndl_test_done(&answer);
    assert_false(is_taken(f, token, KIND(CONFIRMED)));

    /* A CLI that ended neither begins one nor takes one. */
    assert_int_equal(begins(f, &other, PURPOSE(SEE_MEMBERS)), KNDL_UNAUTHENTICATED);
    assert_int_equal(takes(f, &other), KNDL_UNAUTHENTICATED);
}

static void ac_09_it_ends_with_the_member(void **state)
{
    V1(RemoveMemberRequest) remove = KNDL__REPO_ACCESS__V1__REMOVE_MEMBER_REQUEST__INIT;
    V1(EndAllSignInsRequest) everywhere = KNDL__REPO_ACCESS__V1__END_ALL_SIGN_INS_REQUEST__INIT;
    struct fixture *f = *state;
    char token[TOKEN_SIZE];

    is_confirmed(f, &f->grace, PURPOSE(SETUP_TOKEN));
    strcpy(token, f->token);
    assert_int_equal(begins(f, &f->grace, PURPOSE(SETUP_TOKEN)), KNDL_OK); /* and one that waits */
    assert_int_equal(decides(f, f->grace.person, true), KNDL_OK);
    remove.request_id = (char *)"r";
    remove.person_id = f->grace.person;
    struct kndl_test_answer answer =
        ask(f, repo_access_service, f->ada.person, "RemoveMember", &remove.base);
    assert_int_equal(f->err.code, KNDL_OK);
    kndl_test_done(&answer);
    assert_false(is_taken(f, token, KIND(CONFIRMED)));
    assert_int_equal(takes(f, &f->grace), KNDL_UNAUTHENTICATED);

    is_confirmed(f, &f->ada, PURPOSE(CHANGE_MEMBERS));
    strcpy(token, f->token);
    everywhere.request_id = (char *)"a";
    answer = ask(f, repo_access_service, f->ada.person, "EndAllSignIns", &everywhere.base);
    kndl_test_done(&answer);
    assert_false(is_taken(f, token, KIND(CONFIRMED)));
}

static void ac_09_what_is_the_owners_is_refused_before_anybody_is_asked(void **state)
{
    static const V1(Purpose) owners[] = {PURPOSE(CHANGE_MEMBERS), PURPOSE(RUNNERS)};
    static const V1(Purpose) everybodys[] = {PURPOSE(SEE_MEMBERS), PURPOSE(SETUP_TOKEN)};
    struct fixture *f = *state;

    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(begins(f, &f->grace, owners[i]), KNDL_PERMISSION_DENIED);
        assert_string_equal(f->err.message, "only the Owner may do this");
        assert_int_equal(begins(f, &f->ada, owners[i]), KNDL_OK);
        assert_int_equal(begins(f, &f->grace, everybodys[i]), KNDL_OK);
    }
    assert_int_equal(begins(f, &f->ada, PURPOSE(UNSPECIFIED)), KNDL_INVALID_ARGUMENT);
    assert_int_equal(begins(f, &f->ada, (V1(Purpose))99), KNDL_INVALID_ARGUMENT);
}

static void a_browser_and_somebody_elses_token_begin_none(void **state)
{
    struct fixture *f = *state;
    struct cli mixed = f->grace;

    strcpy(mixed.token, f->ada.token);
    assert_int_equal(begins(f, &mixed, PURPOSE(SETUP_TOKEN)), KNDL_UNAUTHENTICATED);
    strcpy(mixed.token, "kndl_web_nobodys");
    assert_int_equal(begins(f, &mixed, PURPOSE(SETUP_TOKEN)), KNDL_UNAUTHENTICATED);

    /* Nor does a confirmation beget another one. */
    is_confirmed(f, &f->grace, PURPOSE(SETUP_TOKEN));
    strcpy(mixed.token, f->token);
    assert_int_equal(begins(f, &mixed, PURPOSE(SEE_MEMBERS)), KNDL_UNAUTHENTICATED);
}

static void dev_login_gives_none(void **state)
{
    V1(DevLoginRequest) request = KNDL__REPO_ACCESS__V1__DEV_LOGIN_REQUEST__INIT;
    struct fixture *f = *state;

    request.login = (char *)"ada";
    request.kind = KIND(CONFIRMED);
    struct kndl_test_answer answer =
        ask(f, repo_access_internal_service, "", "DevLogin", &request.base);
    assert_int_equal(f->err.code, KNDL_INVALID_ARGUMENT);
    kndl_test_done(&answer);
}

#define WITH_STORE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STORE(cl_01_a_yes_in_the_browser_is_good_for_one_purpose_and_one_cli),
        WITH_STORE(another_member_neither_sees_nor_decides_it),
        WITH_STORE(another_cli_does_not_get_it_and_a_sign_in_neither),
        WITH_STORE(a_no_and_ten_minutes_refuse_it_alike),
        WITH_STORE(it_lasts_ten_minutes_however_much_it_is_used),
        WITH_STORE(it_ends_with_its_cli),
        WITH_STORE(ac_09_it_ends_with_the_member),
        WITH_STORE(ac_09_what_is_the_owners_is_refused_before_anybody_is_asked),
        WITH_STORE(a_browser_and_somebody_elses_token_begin_none),
        WITH_STORE(dev_login_gives_none),
    };

    return stage_prepare(true) ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
