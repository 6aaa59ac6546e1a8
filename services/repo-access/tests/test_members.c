/*
 * Who comes in and who goes, from the handlers to a real PostgreSQL. GitHub and the bus are
 * fakes.c's: a code "code-grace" is grace's, and anybody else is a stranger.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "departures.h"
#include "doors.h"
#include "fakes.h"
#include "kndl/buf.h"
#include "kndl/clock.h"
#include "kndl/env.h"
#include "kndl/id.h"
#include "kndl/mem.h"
#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "kndl/secret.h"
#include "kndl/testing.h"
#include "recheck.h"
#include "rpc.h"
#include "settings.h"
#include "store.h"

#define V1(name) Kndl__RepoAccess__V1__##name
#define KIND(name) KNDL__REPO_ACCESS__V1__AUTHENTICATE_REQUEST__KIND__KIND_##name

#define MINUTE_MS (INT64_C(60) * 1000)
#define DAY_MS (24 * 60 * MINUTE_MS)

enum { TOKEN_SIZE = 128 };

struct fixture {
    struct repo_access repo_access;
    struct kndl_error err;     /* of the last call */
    char link_file[64];        /* HUB_SETUP_LINK_FILE */
    char person[KNDL_ID_SIZE]; /* whom the last sign-in let in */
    bool is_owner;
    char token[TOKEN_SIZE]; /* what they got */
    char return_to[64];
};

/* A browser that went to GitHub. */
struct browser {
    char secret[TOKEN_SIZE];
    char state[TOKEN_SIZE + 8];
};

static int set_up(void **state)
{
    struct fixture *f = kndl_new0(struct fixture);

    fakes_reset();
    strcpy(f->link_file, "/tmp/kndl-setup-XXXXXX");
    int fd = mkstemp(f->link_file);
    assert_true(fd >= 0);
    close(fd);
    unlink(f->link_file);
    setenv("HUB_DATABASE_URL", kndl_test_database(), 1);
    setenv("HUB_SETUP_LINK_FILE", f->link_file, 1);
    assert_int_equal(kndl_env_load(settings, &f->err), 0);
    assert_int_equal(store_migrate(&f->err), 0);
    assert_int_equal(store_open(&f->repo_access.store, &f->err), 0);
    f->repo_access.github = &the_github;
    f->repo_access.oauth = &the_oauth;
    f->repo_access.peers = &the_peers;
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    unlink(f->link_file);
    store_close(f->repo_access.store);
    free(f);
    return 0;
}

/* ---- what people do ---- */

static struct kndl_test_answer ask(struct fixture *f, const char *person, const char *method,
                                   const ProtobufCMessage *request)
{
    ProtobufCService *service =
        person[0] == '\0' ? repo_access_internal_service : repo_access_service;
    struct kndl_test_answer answer =
        kndl_test_call(service, &f->repo_access, person, method, request);

    f->err = answer.err;
    return answer;
}

/* The same where the answer has nothing to say. */
static enum kndl_code does(struct fixture *f, const char *person, const char *method,
                           const ProtobufCMessage *request)
{
    struct kndl_test_answer answer = ask(f, person, method, request);

    kndl_test_done(&answer);
    return f->err.code;
}

static struct browser goes_to_github(struct fixture *f, const char *return_to)
{
    V1(BeginSignInRequest) request = KNDL__REPO_ACCESS__V1__BEGIN_SIGN_IN_REQUEST__INIT;
    struct browser browser = {0};

    request.return_to = (char *)return_to;
    struct kndl_test_answer answer = ask(f, "", "BeginSignIn", &request.base);
    const V1(BeginSignInResponse) *begun = (const void *)answer.response;
    if (begun != NULL) {
        snprintf(browser.secret, sizeof browser.secret, "%s", begun->browser);
        snprintf(browser.state, sizeof browser.state, "%s",
                 strstr(begun->url, "state=") + strlen("state="));
    }
    kndl_test_done(&answer);
    return browser;
}

/* `replaces`: the token that the browser had; NULL: none. */
static enum kndl_code comes_back_with(struct fixture *f, const struct browser *browser,
                                      const char *code, const char *admission, const char *replaces)
{
    V1(CompleteSignInRequest) request = KNDL__REPO_ACCESS__V1__COMPLETE_SIGN_IN_REQUEST__INIT;
    uint8_t hash[KNDL_HASH_BYTES];

    request.browser = (char *)browser->secret;
    request.state = (char *)browser->state;
    request.code = (char *)code;
    request.admission = (char *)admission;
    request.machine = (char *)"Firefox on Linux";
    if (replaces != NULL) {
        kndl_hash(kndl_slice_of(replaces), hash);
        request.replaces_hash = (ProtobufCBinaryData){sizeof hash, hash};
    }
    f->token[0] = '\0';
    struct kndl_test_answer answer = ask(f, "", "CompleteSignIn", &request.base);
    const V1(CompleteSignInResponse) *done = (const void *)answer.response;
    if (done != NULL) {
        snprintf(f->person, sizeof f->person, "%s", done->person->id);
        snprintf(f->token, sizeof f->token, "%s", done->token);
        snprintf(f->return_to, sizeof f->return_to, "%s", done->return_to);
        f->is_owner = done->person->is_owner;
    }
    kndl_test_done(&answer);
    return f->err.code;
}

static enum kndl_code signs_in(struct fixture *f, const char *login, const char *admission)
{
    struct browser browser = goes_to_github(f, "");
    char code[64];

    snprintf(code, sizeof code, "code-%s", login);
    return comes_back_with(f, &browser, code, admission, NULL);
}

static bool is_signed_in(struct fixture *f, const char *token, V1(AuthenticateRequest__Kind) kind)
{
    V1(AuthenticateRequest) request = KNDL__REPO_ACCESS__V1__AUTHENTICATE_REQUEST__INIT;
    uint8_t hash[KNDL_HASH_BYTES];

    kndl_hash(kndl_slice_of(token), hash);
    request.credential_hash = (ProtobufCBinaryData){sizeof hash, hash};
    request.kind = kind;
    return does(f, "", "Authenticate", &request.base) == KNDL_OK;
}

/* The service starts anew: what its task does first. */
static void starts(struct fixture *f)
{
    f->repo_access.has_offered = false;
    struct kndl_error err = kndl_test_task(&doors_task, &f->repo_access);
    assert_int_equal(err.code, KNDL_OK);
}

/* The Setup link's secret, as whoever runs the Hub reads it; "" if there is no file. */
static void read_setup_link(struct fixture *f, char ret_secret[TOKEN_SIZE])
{
    char line[512] = "";
    FILE *file = fopen(f->link_file, "r");

    ret_secret[0] = '\0';
    if (file == NULL)
        return;
    assert_non_null(fgets(line, sizeof line, file));
    fclose(file);
    const char *at = strstr(line, "http://127.0.0.1:8080/#setup=");
    assert_non_null(at);
    snprintf(ret_secret, TOKEN_SIZE, "%.*s", (int)strcspn(at + 29, "\n"), at + 29);
}

/* ada comes in by the Setup link. Their id. */
static void make_owner(struct fixture *f, char ret_person[KNDL_ID_SIZE])
{
    char secret[TOKEN_SIZE];

    starts(f);
    read_setup_link(f, secret);
    assert_int_equal(signs_in(f, "ada", secret), KNDL_OK);
    assert_true(f->is_owner);
    strcpy(ret_person, f->person);
}

/* The secret of a new Invite. */
static enum kndl_code invites(struct fixture *f, const char *person, const char *login,
                              const char *request_id, char ret_secret[TOKEN_SIZE])
{
    V1(InviteMemberRequest) request = KNDL__REPO_ACCESS__V1__INVITE_MEMBER_REQUEST__INIT;

    request.request_id = (char *)request_id;
    request.login = (char *)login;
    struct kndl_test_answer answer = ask(f, person, "InviteMember", &request.base);
    const V1(InviteMemberResponse) *invited = (const void *)answer.response;
    if (invited != NULL) {
        const char *at = strstr(invited->link, "http://127.0.0.1:8080/#invite=");

        assert_ptr_equal(at, invited->link);
        snprintf(ret_secret, TOKEN_SIZE, "%s", at + 30);
    }
    kndl_test_done(&answer);
    return f->err.code;
}

static void add_grace(struct fixture *f, const char *owner, char ret_person[KNDL_ID_SIZE])
{
    char secret[TOKEN_SIZE];

    assert_int_equal(invites(f, owner, "grace", "add-grace", secret), KNDL_OK);
    assert_int_equal(signs_in(f, "grace", secret), KNDL_OK);
    assert_false(f->is_owner);
    strcpy(ret_person, f->person);
}

static enum kndl_code removes(struct fixture *f, const char *actor, const char *person,
                              const char *request_id)
{
    V1(RemoveMemberRequest) request = KNDL__REPO_ACCESS__V1__REMOVE_MEMBER_REQUEST__INIT;

    request.request_id = (char *)request_id;
    request.person_id = (char *)person;
    return does(f, actor, "RemoveMember", &request.base);
}

static size_t count_invites(struct fixture *f, const char *owner)
{
    V1(ListInvitesRequest) request = KNDL__REPO_ACCESS__V1__LIST_INVITES_REQUEST__INIT;
    struct kndl_test_answer answer = ask(f, owner, "ListInvites", &request.base);
    assert_int_equal(f->err.code, KNDL_OK);
    size_t count = ((const V1(ListInvitesResponse) *)(const void *)answer.response)->n_invites;

    kndl_test_done(&answer);
    return count;
}

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
    the_peers.is_away = true;
    assert_int_equal(removes(f, ada, grace, "r1"), KNDL_OK);
    snprintf(expected, sizeof expected, "people:%s", grace);
    assert_string_equal(the_peers.told, expected);
    assert_false(is_signed_in(f, token, KIND(WEB)));
    check.person_id = grace;
    check.repo_ids = (int64_t[]){3001};
    check.n_repo_ids = 1;
    struct kndl_test_answer answer = ask(f, "", "CheckAccess", &check.base);
    assert_int_equal(
        ((const V1(CheckAccessResponse) *)(const void *)answer.response)->n_allowed_repo_ids, 0);
    kndl_test_done(&answer);

    /* The rows wait for those who are away, and say it once more when no gateway errs any more. */
    the_peers.told[0] = '\0';
    assert_int_equal(kndl_test_task(&departures_task, &f->repo_access).code, KNDL_OK);
    assert_string_equal(the_peers.told, "");
    the_peers.is_away = false;
    kndl_clock_shift(MINUTE_MS);
    assert_int_equal(kndl_test_task(&departures_task, &f->repo_access).code, KNDL_OK);
    snprintf(expected, sizeof expected, "sessions:%s secrets:%s", grace, grace);
    assert_string_equal(the_peers.told, expected);
    kndl_clock_shift(10 * 1000);
    the_peers.told[0] = '\0';
    assert_int_equal(kndl_test_task(&departures_task, &f->repo_access).code, KNDL_OK);
    assert_string_equal(the_peers.told, expected);
    kndl_clock_shift(MINUTE_MS);
    the_peers.told[0] = '\0';
    assert_int_equal(kndl_test_task(&departures_task, &f->repo_access).code, KNDL_OK);
    assert_string_equal(the_peers.told, "");

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

static enum kndl_code decides(struct fixture *f, const char *person, const char *code, bool yes)
{
    V1(DecideDeviceRequest) request = KNDL__REPO_ACCESS__V1__DECIDE_DEVICE_REQUEST__INIT;

    request.request_id = (char *)"d";
    request.user_code = (char *)code;
    request.is_approved = yes;
    return does(f, person, "DecideDevice", &request.base);
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
    the_peers.told[0] = '\0';
    assert_int_equal(does(f, ada, "EndSignIn", &end.base), KNDL_OK);
    assert_false(is_signed_in(f, web, KIND(WEB)));
    assert_true(is_signed_in(f, cli, KIND(CLI)));
    assert_int_equal(strncmp(the_peers.told, "people:", 7), 0);
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
    the_peers.told[0] = '\0';
    assert_int_equal(kndl_test_task(&recheck_task, &f->repo_access).code, KNDL_OK);
    assert_int_equal(the_github.checks, checks);
    kndl_clock_shift(5 * MINUTE_MS);
    assert_true(is_signed_in(f, f->token, KIND(WEB))); /* grace is here */
    the_github.is_away = true;
    assert_int_equal(kndl_test_task(&recheck_task, &f->repo_access).code, KNDL_OK);
    assert_string_equal(the_peers.told, "");
    the_github.is_away = false;
    kndl_clock_shift(10 * 1000);
    assert_int_equal(kndl_test_task(&recheck_task, &f->repo_access).code, KNDL_OK);
    assert_int_equal(the_github.checks, checks + 2); /* a no after a yes is asked twice */
    snprintf(expected, sizeof expected, "access:%s", grace);
    assert_string_equal(the_peers.told, expected);

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
        TEST(ac_01_the_setup_link_makes_the_first_the_owner_and_nobody_else),
        TEST(a_setup_link_stays_over_restarts_and_ends_after_a_day),
        TEST(ac_01_an_invite_lets_its_login_in_once_and_for_seven_days),
        TEST(an_invite_is_one_for_a_login_and_ends_when_it_is_revoked),
        TEST(ac_01_everybody_else_is_refused_word_for_word_alike_and_nothing_is_kept),
        TEST(ac_01_a_way_back_is_good_once_for_ten_minutes_and_for_its_own_browser),
        TEST(a_sign_in_takes_the_place_of_what_the_browser_had),
        TEST(one_returns_to_this_hub_alone),
        TEST(a_github_that_is_away_uses_nothing_up),
        TEST(ac_09_only_the_owner_administers),
        TEST(ownership_is_handed_over_and_never_shared),
        TEST(cr_04_a_removed_member_is_out_at_once_and_the_others_hear_of_it),
        TEST(cl_01_a_machine_is_signed_in_once_by_who_says_yes_within_ten_minutes),
        TEST(one_sees_and_ends_ones_own_sign_ins_and_a_cli_sees_itself),
        TEST(ac_07_who_is_here_is_asked_about_again_and_a_change_is_published),
        TEST(ac_05_a_login_that_changed_is_looked_up_by_the_account),
    };
    struct kndl_error err = {0};

    setenv("HUB_PUBLIC_URL", "http://127.0.0.1:8080", 1);
    setenv("GITHUB_APP_ID", "", 1);
    if (kndl_secret_guard_process(&err) < 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
