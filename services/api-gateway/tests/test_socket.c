/* The WebSocket over real HTTP, with the services played: who gets one, what ends it, and the list
 * that it keeps up to date. What it shows of a Session is in test_view.c. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "hub.h"
#include "kndl/mem.h"
#include "kndl/raw_client.h"
#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "page.h"

#define S(name) Kndl__Sessions__V1__##name
#define BUF KNDL_CLEANUP(kndl_buf_done) struct kndl_buf

#define OTHER "bbcdefghijklmnopqrstuvwxya"

static void only_a_person_from_our_own_page_gets_a_socket(void **state)
{
    struct fixture *f = *state;
    const struct {
        int status;
        struct ask_options options;
    } cases[] = {
        {401, {.path = "/socket", .origin = "own"}},
        {401, {.path = "/socket", .origin = "own", .cookie = fixture_unknown_token}},
        {403, {.path = "/socket", .cookie = fixture_web_token}},
        {403, {.path = "/socket", .origin = "null", .cookie = fixture_web_token}},
        {403, {.path = "/socket", .origin = "https://evil.example", .cookie = fixture_web_token}},
        {403,
         {.path = "/socket", .host = "evil.example", .origin = "own", .cookie = fixture_web_token}},
        {404, {.path = "/other", .origin = "own", .cookie = fixture_web_token}},
        {403, {.path = "/socket", .origin = "own", .bearer = fixture_cli_token}},
        {101, {.path = "/socket", .bearer = fixture_cli_token}},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ask_options options = cases[i].options;

        options.method = "GET";
        options.extra = UPGRADE;
        assert_int_equal(fixture_status(f, &options), cases[i].status);
    }
    assert_int_equal(FIXTURE_STATUS(f, .method = "GET", .path = "/socket", .origin = "own",
                                    .cookie = fixture_web_token,
                                    .extra = UPGRADE "Sec-WebSocket-Protocol: other\r\n"),
                     400);
}

static void a_sign_in_that_is_over_ends_the_socket(void **state)
{
    struct fixture *f = *state;
    int fd = page_connect(f);
    char kept[80];

    strcpy(kept, fixture_web_token);
    strcpy(fixture_web_token, fixture_unknown_token); /* repo-access knows it no more */
    fake_fact("repo_access", "token_removed");
    page_read_close(fd, 4401);
    close(fd);

    strcpy(fixture_web_token, kept);
    fd = page_connect(f);
    strcpy(fixture_web_token, fixture_unknown_token);
    fixture_shift(f, 10000); /* the fact was lost */
    page_read_close(fd, 4401);
    close(fd);
}

static void a_fact_about_one_person_makes_their_sockets_ask_and_no_others(void **state)
{
    Kndl__RepoAccess__V1__Changed changed = KNDL__REPO_ACCESS__V1__CHANGED__INIT;
    struct fixture *f = *state;
    int fd = page_connect(f);
    int asked = fake_count("Authenticate");

    changed.person_id = (char *)"bob";
    fake_fact_of("repo_access", "people", &changed.base);
    fixture_sync(f);
    assert_int_equal(fake_count("Authenticate"), asked);
    changed.person_id = (char *)"ada";
    fake_fact_of("repo_access", "people", &changed.base);
    fixture_wait_asked("Authenticate", asked + 1);
    close(fd);
}

static void frames_that_no_page_sends_end_the_socket(void **state)
{
    struct fixture *f = *state;
    int fd = page_connect(f);

    kndl_raw_send_frame(fd, 0x82, "\xff\xff\xff", 3);
    page_read_close(fd, 4400);
    close(fd);

    fd = page_open_session(f, 0);
    page_say_open(fd, 1, SESSION, 0); /* in use */
    page_read_close(fd, 4400);
    close(fd);
}

static void a_socket_has_sixteen_channels(void **state)
{
    struct fixture *f = *state;
    int fd = page_connect(f);

    for (uint32_t channel = 1; channel <= 16; channel++) {
        page_say_open(fd, channel, SESSION, 0);
        page_free(PAGE_READ(fd, VIEW));
    }
    assert_int_equal(fake_subscriptions(), 3); /* facts, Events and deltas of one Session */
    page_say_open(fd, 17, SESSION, 0);
    G(ServerFrame) *frame = PAGE_READ(fd, CLOSED);
    assert_int_equal(frame->closed->channel, 17);
    assert_string_equal(frame->closed->code, "resource_exhausted");
    page_free(frame);

    G(ClientFrame) client = KNDL__GATEWAY__V1__CLIENT_FRAME__INIT;
    G(Close) gone = KNDL__GATEWAY__V1__CLOSE__INIT;
    client.kind_case = KNDL__GATEWAY__V1__CLIENT_FRAME__KIND_CLOSE;
    client.close = &gone;
    gone.channel = 3;
    page_say(fd, &client);
    page_say_open(fd, 17, SESSION, 0);
    page_free(PAGE_READ(fd, VIEW));
    close(fd);
}

static void a_ping_is_answered(void **state)
{
    struct fixture *f = *state;
    int fd = page_connect(f);
    G(ClientFrame) client = KNDL__GATEWAY__V1__CLIENT_FRAME__INIT;
    G(Ping) ping = KNDL__GATEWAY__V1__PING__INIT;

    ping.id = 42;
    client.kind_case = KNDL__GATEWAY__V1__CLIENT_FRAME__KIND_PING;
    client.ping = &ping;
    page_say(fd, &client);
    G(ServerFrame) *frame = PAGE_READ(fd, PONG);
    assert_int_equal(frame->pong->id, 42);
    page_free(frame);
    close(fd);
}

static void a_client_that_is_gone_without_a_word_is_let_go(void **state)
{
    struct fixture *f = *state;
    int fd = page_connect(f);
    BUF payload = {0};

    fixture_shift(f, 15000);
    assert_int_equal(kndl_raw_read_frame(fd, &payload), 9); /* a ping, which it does not answer */
    fixture_shift(f, 11000);
    page_read_close(fd, 4408);
    close(fd);
}

static void say_summary(const char *id, int64_t repo, const char *creator)
{
    S(Session) session = KNDL__SESSIONS__V1__SESSION__INIT;

    session.id = (char *)id;
    session.repo_id = repo;
    session.creator_id = (char *)creator;
    fake_live(id, KNDL_LIVE_SUMMARY, &session.base);
}

static void a_list_hears_of_sessions_on_repos_that_the_person_may_see(void **state)
{
    struct fixture *f = *state;
    int fd = page_connect(f);
    G(ClientFrame) client = KNDL__GATEWAY__V1__CLIENT_FRAME__INIT;
    G(Watch) watch = KNDL__GATEWAY__V1__WATCH__INIT;
    G(Ping) ping = KNDL__GATEWAY__V1__PING__INIT;

    watch.on = true;
    client.kind_case = KNDL__GATEWAY__V1__CLIENT_FRAME__KIND_WATCH;
    client.watch = &watch;
    page_say(fd, &client);
    client.kind_case = KNDL__GATEWAY__V1__CLIENT_FRAME__KIND_PING;
    client.ping = &ping;
    page_say(fd, &client);
    page_free(PAGE_READ(fd, PONG)); /* so it watches now */

    say_summary(OTHER, 8, "ada"); /* a Repo that ada may not see (any more) */
    say_summary(SESSION, 7, "bob");
    G(ServerFrame) *frame = PAGE_READ(fd, SESSION_CHANGED);
    assert_string_equal(frame->session_changed->session->id, SESSION);
    assert_false(frame->session_changed->session->is_creator);
    page_free(frame);
    say_summary(SESSION, 7, "ada");
    frame = PAGE_READ(fd, SESSION_CHANGED);
    assert_true(frame->session_changed->session->is_creator);
    page_free(frame);
    fixture_sync(f);
    assert_in_range(fake_count("CheckAccess"), 1, 2); /* kept after that */
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, hub_open, fixture_close)
        TEST(only_a_person_from_our_own_page_gets_a_socket),
        TEST(a_sign_in_that_is_over_ends_the_socket),
        TEST(a_fact_about_one_person_makes_their_sockets_ask_and_no_others),
        TEST(frames_that_no_page_sends_end_the_socket),
        TEST(a_socket_has_sixteen_channels),
        TEST(a_ping_is_answered),
        TEST(a_client_that_is_gone_without_a_word_is_let_go),
        TEST(a_list_hears_of_sessions_on_repos_that_the_person_may_see),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
