#include "people.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doors.h"
#include "kndl/mem.h"
#include "kndl/token.h"
#include "stage.h"

int set_up(void **state)
{
    struct fixture *f = kndl_new0(struct fixture);

    strcpy(f->link_file, "/tmp/kndl-setup-XXXXXX");
    int fd = mkstemp(f->link_file);
    assert_true(fd >= 0);
    close(fd);
    unlink(f->link_file);
    setenv("HUB_SETUP_LINK_FILE", f->link_file, 1);
    stage_open(&f->repo_access);
    *state = f;
    return 0;
}

int tear_down(void **state)
{
    struct fixture *f = *state;

    unlink(f->link_file);
    stage_close(&f->repo_access);
    free(f);
    return 0;
}

struct kndl_test_answer ask(struct fixture *f, const char *person, const char *method,
                            const ProtobufCMessage *request)
{
    ProtobufCService *service =
        person[0] == '\0' ? repo_access_internal_service : repo_access_service;
    struct kndl_test_answer answer =
        kndl_test_call(service, &f->repo_access, person, method, request);

    f->err = answer.err;
    return answer;
}

enum kndl_code does(struct fixture *f, const char *person, const char *method,
                    const ProtobufCMessage *request)
{
    struct kndl_test_answer answer = ask(f, person, method, request);

    kndl_test_done(&answer);
    return f->err.code;
}

struct browser goes_to_github(struct fixture *f, const char *return_to)
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

enum kndl_code comes_back_with(struct fixture *f, const struct browser *browser, const char *code,
                               const char *admission, const char *replaces)
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

enum kndl_code signs_in(struct fixture *f, const char *login, const char *admission)
{
    struct browser browser = goes_to_github(f, "");
    char code[64];

    snprintf(code, sizeof code, "code-%s", login);
    return comes_back_with(f, &browser, code, admission, NULL);
}

bool is_signed_in(struct fixture *f, const char *token, V1(AuthenticateRequest__Kind) kind)
{
    V1(AuthenticateRequest) request = KNDL__REPO_ACCESS__V1__AUTHENTICATE_REQUEST__INIT;
    uint8_t hash[KNDL_HASH_BYTES];

    kndl_hash(kndl_slice_of(token), hash);
    request.credential_hash = (ProtobufCBinaryData){sizeof hash, hash};
    request.kind = kind;
    return does(f, "", "Authenticate", &request.base) == KNDL_OK;
}

void starts(struct fixture *f)
{
    f->repo_access.has_offered = false;
    struct kndl_error err = kndl_test_task(&doors_task, &f->repo_access);
    assert_int_equal(err.code, KNDL_OK);
}

void read_setup_link(struct fixture *f, char ret_secret[TOKEN_SIZE])
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

void make_owner(struct fixture *f, char ret_person[KNDL_ID_SIZE])
{
    char secret[TOKEN_SIZE];

    starts(f);
    read_setup_link(f, secret);
    assert_int_equal(signs_in(f, "ada", secret), KNDL_OK);
    assert_true(f->is_owner);
    strcpy(ret_person, f->person);
}

enum kndl_code invites(struct fixture *f, const char *person, const char *login,
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

void add_grace(struct fixture *f, const char *owner, char ret_person[KNDL_ID_SIZE])
{
    char secret[TOKEN_SIZE];

    assert_int_equal(invites(f, owner, "grace", "add-grace", secret), KNDL_OK);
    assert_int_equal(signs_in(f, "grace", secret), KNDL_OK);
    assert_false(f->is_owner);
    strcpy(ret_person, f->person);
}

enum kndl_code removes(struct fixture *f, const char *actor, const char *person,
                       const char *request_id)
{
    V1(RemoveMemberRequest) request = KNDL__REPO_ACCESS__V1__REMOVE_MEMBER_REQUEST__INIT;

    request.request_id = (char *)request_id;
    request.person_id = (char *)person;
    return does(f, actor, "RemoveMember", &request.base);
}

size_t count_invites(struct fixture *f, const char *owner)
{
    V1(ListInvitesRequest) request = KNDL__REPO_ACCESS__V1__LIST_INVITES_REQUEST__INIT;
    struct kndl_test_answer answer = ask(f, owner, "ListInvites", &request.base);
    assert_int_equal(f->err.code, KNDL_OK);
    size_t count = ((const V1(ListInvitesResponse) *)(const void *)answer.response)->n_invites;

    kndl_test_done(&answer);
    return count;
}
