/*
 * Runners: registered by the Owner, known by a token, removed. AC-10 (an older Runner is turned
 * away), CR-05 (hashes alone), CR-06 (a RUNNER_TOKEN is the Runner's), `faults.md` 44.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dispatch.h"
#include "fakes.h"
#include "kndl/mem.h"
#include "kndl/nkey.h"
#include "kndl/seal.h"
#include "kndl/sessions/v1/runners_service.pb-c.h"
#include "kndl/sessions/v1/sessions_internal_service.pb-c.h"
#include "kndl/sessions/v1/sessions_runner_service.pb-c.h"
#include "kndl/token.h"
#include "kndl/version.h"
#include "minter.h"
#include "rpc.h"
#include "stage.h"

#define V1(name) Kndl__Sessions__V1__##name
#define INIT(NAME) KNDL__SESSIONS__V1__##NAME##__INIT

struct fixture {
    struct stage *stage;
    struct kndl_bus bus;
    struct sessions sessions;
    struct kndl_test_answer answer; /* of the last call */
    char id[64];                    /* of the Runner made last */
    char token[KNDL_TOKEN_CHARS + 1];
};

static int set_up(void **state)
{
    struct fixture *f = kndl_new0(struct fixture);

    *f = (struct fixture){.stage = *state, .bus = {.peers = {.has_token = true}}};
    *state = f;
    f->sessions = (struct sessions){.store = f->stage->store, .bus = &f->bus};
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    kndl_test_done(&f->answer);
    free(f);
    return 0;
}

static enum kndl_code ask(struct fixture *f, ProtobufCService *service, const char *person,
                          const char *method, const ProtobufCMessage *req)
{
    kndl_test_done(&f->answer);
    f->answer = kndl_test_call(service, &f->sessions, person, method, req);
    return f->answer.err.code;
}

static enum kndl_code register_as(struct fixture *f, const char *person, const char *request,
                                  const char *name)
{
    V1(RegisterRunnerRequest) req = INIT(REGISTER_RUNNER_REQUEST);

    req.request_id = (char *)request;
    req.name = (char *)name;
    if (ask(f, runners_service, person, "RegisterRunner", &req.base) == KNDL_OK) {
        const V1(RegisterRunnerResponse) *resp = (void *)f->answer.response;

        snprintf(f->id, sizeof f->id, "%s", resp->runner->id);
        snprintf(f->token, sizeof f->token, "%s", resp->token);
    }
    return f->answer.err.code;
}

static enum kndl_code remove_as(struct fixture *f, const char *person, const char *request,
                                const char *id)
{
    V1(RemoveRunnerRequest) req = INIT(REMOVE_RUNNER_REQUEST);

    req.request_id = (char *)request;
    req.runner_id = (char *)id;
    return ask(f, runners_service, person, "RemoveRunner", &req.base);
}

static enum kndl_code attend_as(struct fixture *f, const char *runner, int protocol,
                                const char *version, const char *note)
{
    static uint8_t key[KNDL_SEAL_PUBLIC_BYTES] = {1};
    V1(AttendRequest) req = INIT(ATTEND_REQUEST);

    req.instance_id = (char *)"i1";
    req.protocol = protocol;
    req.version = (char *)version;
    req.update_note = (char *)note;
    req.seal_key = (ProtobufCBinaryData){sizeof key, key};
    req.backend = (char *)"namespace";
    kndl_test_done(&f->answer);
    f->answer =
        kndl_test_runner_call(sessions_runner_service, &f->sessions, runner, "Attend", &req.base);
    return f->answer.err.code;
}

static enum kndl_code attend(struct fixture *f, const char *runner, int protocol)
{
    return attend_as(f, runner, protocol, KNDL_VERSION, "");
}

/* As the list shows a Runner; NULL: it does not. */
static const V1(Runner) *shown(struct fixture *f, const char *id)
{
    V1(ListRunnersRequest) req = INIT(LIST_RUNNERS_REQUEST);

    assert_int_equal(ask(f, runners_service, "bob", "ListRunners", &req.base), KNDL_OK);
    const V1(ListRunnersResponse) *resp = (void *)f->answer.response;
    for (size_t i = 0; i < resp->n_runners; i++)
        if (strcmp(resp->runners[i]->id, id) == 0)
            return resp->runners[i];
    return NULL;
}

static enum kndl_code mint(struct fixture *f, const char *token, const char *user_public,
                           int protocol)
{
    V1(MintRunnerCredentialRequest) req = INIT(MINT_RUNNER_CREDENTIAL_REQUEST);
    uint8_t hash[KNDL_HASH_BYTES];

    kndl_hash(kndl_slice_of(token), hash);
    req.token_hash = (ProtobufCBinaryData){sizeof hash, hash};
    req.user_public = (char *)user_public;
    req.protocol = protocol;
    req.version = (char *)"0.0.1";
    req.update_note = (char *)"could not update to 0.1.0: no room";
    return ask(f, sessions_internal_service, "ada", "MintRunnerCredential", &req.base);
}

static void the_owner_registers_a_runner_whose_token_is_shown_once(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(register_as(f, "ada", "q1", "big one"), KNDL_OK);
    assert_true(kndl_token_is_valid(KNDL_TOKEN_RUN, kndl_slice_of(f->token)));
    char id[64];
    memcpy(id, f->id, sizeof id);
    assert_int_equal(register_as(f, "ada", "q1", "big one"), KNDL_OK);
    assert_string_equal(f->id, id);
    assert_string_equal(f->token, "");
    assert_int_equal(register_as(f, "ada", "q1", "other"), KNDL_INVALID_ARGUMENT);
    assert_int_equal(register_as(f, "ada", "q2", "Big One"), KNDL_ALREADY_EXISTS);
    assert_int_equal(shown(f, id)->state, KNDL__SESSIONS__V1__RUNNER__STATE__STATE_NEW);
}

static void names_are_short_and_plain(void **state)
{
    struct fixture *f = *state;
    static const char *const names[] = {"", " x", "x ", "a\nb", "a<b", "\xc3\xa4", NULL};

    for (size_t i = 0; names[i] != NULL; i++)
        assert_int_equal(register_as(f, "ada", "n1", names[i]), KNDL_INVALID_ARGUMENT);
}

static void nobody_but_the_owner_administers_runners_whatever_the_id(void **state)
{
    struct fixture *f = *state;
    V1(RenameRunnerRequest) rename = INIT(RENAME_RUNNER_REQUEST);
    V1(RotateRunnerTokenRequest) rotate = INIT(ROTATE_RUNNER_TOKEN_REQUEST);
    const char *ids[2];

    assert_int_equal(register_as(f, "ada", "o1", "owned"), KNDL_OK);
    assert_int_equal(register_as(f, "bob", "o2", "mine"), KNDL_PERMISSION_DENIED);
    ids[0] = f->id;
    ids[1] = "aaaaaaaaaaaaaaaaaaaaaaaaaa";
    for (size_t i = 0; i < 2; i++) {
        rename.request_id = rotate.request_id = (char *)"o3";
        rename.runner_id = rotate.runner_id = (char *)ids[i];
        rename.name = (char *)"x";
        assert_int_equal(ask(f, runners_service, "bob", "RenameRunner", &rename.base),
                         KNDL_PERMISSION_DENIED);
        assert_string_equal(f->answer.err.message, "only the Owner may do this");
        assert_int_equal(ask(f, runners_service, "bob", "RotateRunnerToken", &rotate.base),
                         KNDL_PERMISSION_DENIED);
        assert_int_equal(remove_as(f, "bob", "o4", ids[i]), KNDL_PERMISSION_DENIED);
    }
    assert_int_equal(remove_as(f, "ada", "o5", ids[1]), KNDL_NOT_FOUND);
    assert_non_null(shown(f, ids[0]));
}

/* Faults 16 */
static void a_request_id_that_was_used_for_something_else_is_refused(void **state)
{
    struct fixture *f = *state;
    V1(RenameRunnerRequest) rename = INIT(RENAME_RUNNER_REQUEST);
    V1(RotateRunnerTokenRequest) rotate = INIT(ROTATE_RUNNER_TOKEN_REQUEST);
    char one[64];

    assert_int_equal(register_as(f, "ada", "w1", "used one"), KNDL_OK);
    memcpy(one, f->id, sizeof one);
    assert_int_equal(register_as(f, "ada", "w2", "used two"), KNDL_OK);

    rename.request_id = (char *)"w3";
    rename.runner_id = one;
    rename.name = (char *)"used three";
    assert_int_equal(ask(f, runners_service, "ada", "RenameRunner", &rename.base), KNDL_OK);
    rename.name = (char *)"used four";
    assert_int_equal(ask(f, runners_service, "ada", "RenameRunner", &rename.base),
                     KNDL_INVALID_ARGUMENT);
    rename.request_id = (char *)"w1";
    assert_int_equal(ask(f, runners_service, "ada", "RenameRunner", &rename.base),
                     KNDL_INVALID_ARGUMENT);
    assert_string_equal(shown(f, one)->name, "used three");

    rotate.request_id = (char *)"w4";
    rotate.runner_id = one;
    assert_int_equal(ask(f, runners_service, "ada", "RotateRunnerToken", &rotate.base), KNDL_OK);
    rotate.runner_id = f->id;
    assert_int_equal(ask(f, runners_service, "ada", "RotateRunnerToken", &rotate.base),
                     KNDL_INVALID_ARGUMENT);

    assert_int_equal(remove_as(f, "ada", "w4", f->id), KNDL_INVALID_ARGUMENT);
    assert_int_equal(remove_as(f, "ada", "w5", one), KNDL_OK);
    assert_int_equal(remove_as(f, "ada", "w5", one), KNDL_OK);
    assert_int_equal(remove_as(f, "ada", "w6", one), KNDL_NOT_FOUND);
    assert_int_equal(remove_as(f, "ada", "w5", f->id), KNDL_INVALID_ARGUMENT);
    assert_non_null(shown(f, f->id));
}

/* Faults 16: it would undo what came after it. */
static void a_late_repeat_of_a_rename_changes_nothing(void **state)
{
    struct fixture *f = *state;
    static const char *const names[] = {"late one", "late two", "late one"};
    static const char *const requests[] = {"l2", "l3", "l2"};
    V1(RenameRunnerRequest) rename = INIT(RENAME_RUNNER_REQUEST);

    assert_int_equal(register_as(f, "ada", "l1", "late"), KNDL_OK);
    rename.runner_id = f->id;
    for (size_t i = 0; i < 3; i++) {
        rename.request_id = (char *)requests[i];
        rename.name = (char *)names[i];
        assert_int_equal(ask(f, runners_service, "ada", "RenameRunner", &rename.base), KNDL_OK);
    }
    assert_string_equal(shown(f, f->id)->name, "late two");
}

/* A minter with keys of the test's own. */
static struct minter *open_minter(void)
{
    char path[] = "/tmp/kndl-test-seed-XXXXXX";
    struct kndl_nkey account, signer;
    struct kndl_error err = {0};
    struct minter *minter;
    int fd = mkstemp(path);

    kndl_nkey_new(KNDL_NKEY_ACCOUNT, &account);
    kndl_nkey_new(KNDL_NKEY_ACCOUNT, &signer);
    assert_int_equal(write(fd, signer.seed.data, signer.seed.size), signer.seed.size);
    close(fd);
    if (minter_open(path, account.public, &minter, &err) < 0)
        fail_msg("%s", err.message);
    unlink(path);
    kndl_nkey_done(&account);
    kndl_nkey_done(&signer);
    return minter;
}

static void
cr_05_a_token_is_known_by_its_hash_until_it_is_rotated_or_its_runner_removed(void **state)
{
    struct fixture *f = *state;
    V1(RotateRunnerTokenRequest) rotate = INIT(ROTATE_RUNNER_TOKEN_REQUEST);
    struct kndl_nkey user;
    char older[KNDL_TOKEN_CHARS + 1], newer[KNDL_TOKEN_CHARS + 1];

    f->sessions.minter = open_minter();
    kndl_nkey_new(KNDL_NKEY_USER, &user);
    assert_int_equal(register_as(f, "ada", "t1", "token"), KNDL_OK);
    memcpy(older, f->token, sizeof older);
    assert_int_equal(mint(f, older, user.public, 1), KNDL_OK);
    const V1(MintRunnerCredentialResponse) *minted = (void *)f->answer.response;
    assert_string_equal(minted->runner_id, f->id);
    assert_int_equal(minted->lasts_ms, 3600 * 1000);
    assert_int_equal(mint(f, older, "U", 1), KNDL_INVALID_ARGUMENT);
    assert_int_equal(mint(f, "kndl_run_unknown", user.public, 1), KNDL_UNAUTHENTICATED);

    rotate.request_id = (char *)"t2";
    rotate.runner_id = f->id;
    assert_int_equal(ask(f, runners_service, "ada", "RotateRunnerToken", &rotate.base), KNDL_OK);
    snprintf(newer, sizeof newer, "%s",
             ((V1(RotateRunnerTokenResponse) *)f->answer.response)->token);
    assert_int_equal(ask(f, runners_service, "ada", "RotateRunnerToken", &rotate.base), KNDL_OK);
    assert_string_equal(((V1(RotateRunnerTokenResponse) *)f->answer.response)->token, "");
    assert_int_equal(mint(f, older, user.public, 1), KNDL_UNAUTHENTICATED);
    assert_int_equal(mint(f, newer, user.public, 1), KNDL_OK);

    assert_int_equal(remove_as(f, "ada", "t3", f->id), KNDL_OK);
    assert_int_equal(mint(f, newer, user.public, 1), KNDL_UNAUTHENTICATED);
    assert_int_equal(remove_as(f, "ada", "t3", f->id), KNDL_OK);
    assert_int_equal(remove_as(f, "ada", "t4", f->id), KNDL_NOT_FOUND);
    minter_close(f->sessions.minter);
    kndl_nkey_done(&user);
}

static void cl_05_a_runner_that_is_let_in_says_what_becomes_of_its_update(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(register_as(f, "ada", "u1", "behind"), KNDL_OK);
    assert_int_equal(attend_as(f, f->id, 1, "0.0.9", "updating to 0.1.0"), KNDL_OK);
    const V1(Runner) *runner = shown(f, f->id);
    assert_int_equal(runner->state, KNDL__SESSIONS__V1__RUNNER__STATE__STATE_CONNECTED);
    assert_string_equal(runner->update_note, "updating to 0.1.0");
    assert_true(runner->is_outdated);
}

/* One that is too old to be let in may fetch what it lacks. */
static void ac_10_a_token_is_known_whatever_protocol_its_runner_speaks(void **state)
{
    struct fixture *f = *state;
    V1(CheckRunnerTokenRequest) req = INIT(CHECK_RUNNER_TOKEN_REQUEST);
    uint8_t hash[KNDL_HASH_BYTES];

    assert_int_equal(register_as(f, "ada", "c1", "checked"), KNDL_OK);
    kndl_hash(kndl_slice_of(f->token), hash);
    req.token_hash = (ProtobufCBinaryData){sizeof hash, hash};
    assert_int_equal(ask(f, sessions_internal_service, "ada", "CheckRunnerToken", &req.base),
                     KNDL_OK);
    assert_string_equal(((V1(CheckRunnerTokenResponse) *)f->answer.response)->runner_id, f->id);
    assert_int_equal(remove_as(f, "ada", "c2", f->id), KNDL_OK);
    assert_int_equal(ask(f, sessions_internal_service, "ada", "CheckRunnerToken", &req.base),
                     KNDL_UNAUTHENTICATED);
    req.token_hash.len = 3;
    assert_int_equal(ask(f, sessions_internal_service, "ada", "CheckRunnerToken", &req.base),
                     KNDL_UNAUTHENTICATED);
}

static void ac_10_an_older_runner_is_turned_away_with_what_to_do_and_the_page_says_why(void **state)
{
    struct fixture *f = *state;
    struct kndl_nkey user;

    kndl_nkey_new(KNDL_NKEY_USER, &user);
    assert_int_equal(register_as(f, "ada", "p1", "old"), KNDL_OK);
    assert_int_equal(attend(f, f->id, 0), KNDL_FAILED_PRECONDITION);
    assert_non_null(strstr(f->answer.err.message, "update the Runner, unless it does so itself"));
    const V1(Runner) *runner = shown(f, f->id);
    assert_int_equal(runner->state, KNDL__SESSIONS__V1__RUNNER__STATE__STATE_REFUSED);
    assert_non_null(strstr(runner->problem, "protocol 0 and the Hub 1: update the Runner"));
    assert_int_equal(mint(f, f->token, user.public, 0), KNDL_FAILED_PRECONDITION);
    assert_non_null(strstr(f->answer.err.message, "update the Runner, unless it does so itself"));
    assert_int_equal(mint(f, f->token, user.public, 2), KNDL_FAILED_PRECONDITION);
    assert_non_null(strstr(f->answer.err.message, "update the Hub"));
    runner = shown(f, f->id);
    assert_string_equal(runner->version, "0.0.1");
    assert_string_equal(runner->update_note, "could not update to 0.1.0: no room");
    assert_true(runner->is_outdated);

    /* Updated, it is let in and its problem is over. */
    assert_int_equal(attend(f, f->id, 1), KNDL_OK);
    runner = shown(f, f->id);
    assert_int_equal(runner->state, KNDL__SESSIONS__V1__RUNNER__STATE__STATE_CONNECTED);
    assert_string_equal(runner->update_note, "");
    assert_false(runner->is_outdated);
    kndl_nkey_done(&user);
}

static void a_runner_that_nobody_registered_is_refused(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(attend(f, "stranger", 1), KNDL_PERMISSION_DENIED);
    assert_null(shown(f, "stranger"));
}

static enum kndl_code report_running(struct fixture *f, const char *session_id)
{
    V1(ReportRunningRequest) req = INIT(REPORT_RUNNING_REQUEST);

    req.session_id = (char *)session_id;
    kndl_test_done(&f->answer);
    f->answer = kndl_test_runner_call(sessions_runner_service, &f->sessions, f->id, "ReportRunning",
                                      &req.base);
    return f->answer.err.code;
}

static void a_removed_runner_is_refused_by_every_row_and_its_sessions_are_over(void **state)
{
    struct fixture *f = *state;
    V1(IssueModTokenRequest) issue = INIT(ISSUE_MOD_TOKEN_REQUEST);
    V1(MintGitTokenRequest) git = INIT(MINT_GIT_TOKEN_REQUEST);
    V1(AppendEventsRequest) append = INIT(APPEND_EVENTS_REQUEST);
    struct changes changes = {0};
    struct kndl_error err = {0};
    bool found = true;

    assert_int_equal(register_as(f, "ada", "r1", "gone"), KNDL_OK);
    stage_attend(f->stage, f->id, NULL, 0);
    const char *session = stage_make(f->stage, "ada", f->id, "hello");
    stage_run(f->stage, f->id, session);
    assert_int_equal(remove_as(f, "ada", "r2", f->id), KNDL_OK);
    assert_ptr_equal(f->answer.wake, &deadlines_task);
    assert_int_equal(f->bus.runners.removed, 1);

    /* At once, whatever the tasks do. */
    assert_int_equal(attend(f, f->id, 1), KNDL_PERMISSION_DENIED);
    assert_int_equal(report_running(f, session), KNDL_NOT_FOUND);
    issue.session_id = git.session_id = append.session_id = (char *)session;
    issue.run = append.run = 1;
    git.use = KNDL__SESSIONS__V1__MINT_GIT_TOKEN_REQUEST__USE__USE_SANDBOX;
    append.runner_id = f->id;
    append.first_n = 1;
    append.mod_token_hash = (ProtobufCBinaryData){stage_token.size, (uint8_t *)stage_token.data};
    kndl_test_done(&f->answer);
    f->answer = kndl_test_runner_call(sessions_runner_service, &f->sessions, f->id, "IssueModToken",
                                      &issue.base);
    assert_int_equal(f->answer.err.code, KNDL_NOT_FOUND);
    kndl_test_done(&f->answer);
    f->answer = kndl_test_runner_call(sessions_runner_service, &f->sessions, f->id, "MintGitToken",
                                      &git.base);
    assert_int_equal(f->answer.err.code, KNDL_NOT_FOUND);
    assert_int_equal(ask(f, sessions_internal_service, "redactor", "AppendEvents", &append.base),
                     KNDL_NOT_FOUND);
    assert_null(shown(f, f->id));

    while (found)
        assert_int_equal(
            store_end_removed_next(f->stage->store, f->stage->arena, &found, &changes, &err), 0);
    struct session now = stage_read(f->stage, session);
    assert_int_equal(now.state, LIFE(ASLEEP));
    assert_string_equal(now.reason_code, "runner_removed");

    const struct asked asked = {"ada", session, "w1", 0};
    assert_int_equal(
        store_wake_session(f->stage->store, f->stage->arena, &asked, true, &now, &changes, &err),
        -1);
    assert_int_equal(err.code, KNDL_ABORTED);
    assert_non_null(strstr(err.message, "was removed: begin a new Session"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(cl_05_a_runner_that_is_let_in_says_what_becomes_of_its_update),
        TEST(ac_10_a_token_is_known_whatever_protocol_its_runner_speaks),
        TEST(the_owner_registers_a_runner_whose_token_is_shown_once),
        TEST(names_are_short_and_plain),
        TEST(nobody_but_the_owner_administers_runners_whatever_the_id),
        TEST(a_request_id_that_was_used_for_something_else_is_refused),
        TEST(a_late_repeat_of_a_rename_changes_nothing),
        TEST(cr_05_a_token_is_known_by_its_hash_until_it_is_rotated_or_its_runner_removed),
        TEST(ac_10_an_older_runner_is_turned_away_with_what_to_do_and_the_page_says_why),
        TEST(a_runner_that_nobody_registered_is_refused),
        TEST(a_removed_runner_is_refused_by_every_row_and_its_sessions_are_over),
    };

    if (kndl_crypt_init(NULL) < 0)
        return 1;
    return cmocka_run_group_tests_name("runners", tests, stage_open, stage_close);
}
