/* Whose call it is, and which are nobody's: cookies, tokens, pages, hosts. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "fixture.h"
#include "kndl/mem.h"
#include "kndl/publics.h"
#include "kndl/raw_client.h"
#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "kndl/token.h"

#define BUF KNDL_CLEANUP(kndl_buf_done) struct kndl_buf

#define SESSIONS "/kndl.sessions.v1.SessionsService/"
#define WHO_AM_I "/kndl.repo_access.v1.RepoAccessService/WhoAmI"

static int set_up(void **state)
{
    return fixture_open(state, fixture_answer_nothing);
}

/* The refusals without Date and trace, which alone may differ. */
static void without_what_varies(struct kndl_buf *head)
{
    static const char *const names[] = {"Date: ", "Kndl-Trace: "};

    for (size_t i = 0; i < 2; i++) {
        char *at = strstr(head->data, names[i]);
        char *end = strstr(at, "\r\n") + 2;

        memmove(at, end, strlen(end) + 1);
    }
}

static void whoever_is_not_known_is_refused_alike(void **state)
{
    struct fixture *f = *state;
    char broken[80];
    BUF first = {0};
    BUF head = {0};
    BUF body = {0};

    strcpy(broken, fixture_web_token);
    broken[20] = broken[20] == 'x' ? 'y' : 'x';
    const struct ask_options cases[] = {
        {.path = WHO_AM_I},                                                   /* none */
        {.path = WHO_AM_I, .cookie = fixture_unknown_token, .origin = "own"}, /* unknown */
        {.path = WHO_AM_I, .cookie = broken, .origin = "own"},                /* checksum */
        {.path = WHO_AM_I, .cookie = fixture_cli_token, .origin = "own"},     /* wrong kind */
        {.path = WHO_AM_I, .bearer = fixture_web_token},                      /* wrong kind */
        {.path = WHO_AM_I, .bearer = "nonsense"},
        {.path = WHO_AM_I, .extra = "Authorization: Basic YTpi\r\n"},
        {.path = SESSIONS "GetSession"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(fixture_ask(f, &cases[i], &head, &body), 401);
        assert_string_equal(body.data,
                            "{\"code\":\"unauthenticated\",\"message\":\"sign in first\"}");
        without_what_varies(&head);
        if (i == 0)
            kndl_buf_append_text(&first, head.data);
        assert_string_equal(head.data, first.data);
    }
    assert_int_equal(fake_count("WhoAmI"), 0);
    assert_int_equal(fake_count("Authenticate"), 1); /* nonsense is not even asked about */
}

/* What a page that is not ours may make a browser say, with our cookie. */
static const struct {
    const char *origin;
    const char *extra;
} foreign[] = {
    {NULL, NULL},
    {"null", NULL},
    {"https://evil.example", NULL},
    {"http://127.0.0.1", NULL},  /* right host, wrong port */
    {"https://127.0.0.1", NULL}, /* and scheme */
    {"http://sub.127.0.0.1", NULL},
    {"own", "Sec-Fetch-Site: cross-site\r\n"},
    {"own", "Sec-Fetch-Site: same-site\r\n"},
};

/* On each method; the socket is in test_socket.c. */
static void faults_33_a_cookie_needs_our_own_origin(void **state)
{
    struct fixture *f = *state;

    for (const struct kndl_public_service *service = kndl_public_services; service->service != NULL;
         service++) {
        for (unsigned m = 0; m < service->count; m++) {
            char path[256];

            snprintf(path, sizeof path, "/%s/%s", service->service->name, service->rows[m].method);
            for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
                assert_int_equal(FIXTURE_STATUS(f, .path = path, .origin = foreign[i].origin,
                                                .extra = foreign[i].extra,
                                                .cookie = fixture_web_token,
                                                .body = kndl_slice_of("{}")),
                                 403);
            assert_int_equal(fake_count(service->rows[m].method), 0);
        }
    }
}

/* A form needs no preflight: it is refused for the page that it is on, before its type is looked
 * at. */
static void faults_33_a_form_of_a_foreign_page_is_refused_for_that(void **state)
{
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        assert_int_equal(FIXTURE_STATUS(f, .path = WHO_AM_I, .type = "text/plain",
                                        .origin = foreign[i].origin, .extra = foreign[i].extra,
                                        .cookie = fixture_web_token),
                         403);
    assert_int_equal(
        FIXTURE_STATUS(f, .path = WHO_AM_I, .type = "text/plain", .origin = "https://evil.example"),
        403);
    assert_int_equal(FIXTURE_STATUS(f, .path = WHO_AM_I, .type = "text/plain", .origin = "own",
                                    .cookie = fixture_web_token),
                     415);
    assert_int_equal(fake_count("Authenticate"), 0);
}

static void faults_34_two_cookies_of_our_name_are_none(void **state)
{
    struct fixture *f = *state;
    char extra[200];

    snprintf(extra, sizeof extra, "Cookie: %s=%s; %s=%s\r\n", f->cookie, fixture_bob_token,
             f->cookie, fixture_web_token);
    assert_int_equal(FIXTURE_STATUS(f, .path = WHO_AM_I, .origin = "own", .extra = extra,
                                    .body = kndl_slice_of("{}")),
                     401);
}

/* Browsers send a host's cookies to each of its ports. */
static void a_cookie_of_another_hub_on_this_host_is_not_ours(void **state)
{
    struct fixture *f = *state;
    char extra[200];

    snprintf(extra, sizeof extra, "Cookie: kndl_dev_1=%s; %s=%s\r\n", fixture_bob_token, f->cookie,
             fixture_web_token);
    assert_int_equal(FIXTURE_STATUS(f, .path = WHO_AM_I, .origin = "own", .extra = extra,
                                    .body = kndl_slice_of("{}")),
                     200);
    snprintf(extra, sizeof extra, "Cookie: kndl_dev_1=%s; kndl_dev=%s\r\n", fixture_bob_token,
             fixture_web_token);
    assert_int_equal(FIXTURE_STATUS(f, .path = WHO_AM_I, .origin = "own", .extra = extra,
                                    .body = kndl_slice_of("{}")),
                     401);
}

static void a_cli_token_comes_without_any_origin_and_reads_no_cookie(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(
        FIXTURE_STATUS(f, .path = WHO_AM_I, .origin = "own", .bearer = fixture_cli_token), 403);
    assert_int_equal(
        FIXTURE_STATUS(f, .path = WHO_AM_I, .bearer = "nonsense", .cookie = fixture_web_token),
        401);
}

static void another_host_is_refused(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(FIXTURE_STATUS(f, .path = WHO_AM_I, .host = "evil.example", .origin = "own",
                                    .cookie = fixture_web_token),
                     403);
    assert_int_equal(FIXTURE_STATUS(f, .method = "GET", .path = "/", .host = "evil.example"), 403);
}

static void a_cli_token_cannot_set_a_setup_token(void **state)
{
    struct fixture *f = *state;
    BUF body = {0};

    assert_int_equal(FIXTURE_STATUS(f, .path = "/kndl.secrets.v1.SecretsService/SetSetupToken",
                                    .bearer = fixture_cli_token,
                                    .body = kndl_slice_of("{\"token\":\"sk-ant-oat01-x\"}")),
                     403);
    assert_int_equal(fake_count("SetSetupToken"), 0);
    assert_int_equal(fixture_call(f, "/kndl.secrets.v1.SecretsService/SetSetupToken",
                                  "{\"token\":\"sk-ant-oat01-x\"}", &body),
                     200);
    assert_int_equal(fake_count("SetSetupToken"), 1);
}

static void signing_out_ends_the_credential_that_the_call_came_with(void **state)
{
    struct fixture *f = *state;
    uint8_t hash[KNDL_HASH_BYTES];

    kndl_hash(kndl_slice_of(fixture_cli_token), hash);
    assert_int_equal(
        FIXTURE_STATUS(f, .path = "/kndl.repo_access.v1.RepoAccessService/SignOut",
                       .bearer = fixture_cli_token,
                       .body = kndl_slice_of("{\"requestId\":\"r\",\"credentialHash\":\"AAAA\"}")),
        200);
    Kndl__RepoAccess__V1__SignOutRequest *request = kndl__repo_access__v1__sign_out_request__unpack(
        NULL, fake_newest("SignOut")->data.size,
        (const uint8_t *)fake_newest("SignOut")->data.data);
    assert_string_equal(request->request_id, "r");
    assert_int_equal(request->credential_hash.len, sizeof hash);
    assert_memory_equal(request->credential_hash.data, hash, sizeof hash);
    kndl__repo_access__v1__sign_out_request__free_unpacked(request, NULL);
}

static void who_somebody_is_is_kept_for_five_seconds_and_until_a_fact(void **state)
{
    struct fixture *f = *state;
    BUF body = {0};

    for (int i = 0; i < 3; i++)
        assert_int_equal(fixture_call(f, WHO_AM_I, "{}", &body), 200);
    assert_int_equal(fake_count("Authenticate"), 1);
    fixture_shift(f, 5001);
    assert_int_equal(fixture_call(f, WHO_AM_I, "{}", &body), 200);
    assert_int_equal(fake_count("Authenticate"), 2);
    fake_fact("repo_access", "member_removed");
    fixture_sync(f);
    assert_int_equal(fixture_call(f, WHO_AM_I, "{}", &body), 200);
    assert_int_equal(fake_count("Authenticate"), 3);
}

static void while_nobody_can_say_who_it_is_nobody_gets_in(void **state)
{
    struct fixture *f = *state;
    BUF body = {0};

    fixture_set_repo_access(false);
    assert_int_equal(fixture_call(f, WHO_AM_I, "{}", &body), 503);
    assert_int_equal(fake_count("WhoAmI"), 0);
    fixture_set_repo_access(true);
    assert_int_equal(fixture_call(f, WHO_AM_I, "{}", &body), 200);
}

static void who_tries_tokens_is_slowed_down(void **state)
{
    struct fixture *f = *state;
    BUF head = {0};
    BUF body = {0};

    for (int i = 0; i < 20; i++)
        assert_int_equal(FIXTURE_STATUS(f, .path = WHO_AM_I, .bearer = "nonsense"), 401);
    /* The next one waits for a second; others meanwhile don't, and it may go away. */
    int fd = fixture_send(f, &(struct ask_options){.path = WHO_AM_I, .bearer = "nonsense"});
    assert_int_equal(fixture_call(f, WHO_AM_I, "{}", &body), 200);
    assert_int_equal(recv(fd, (char[1]){0}, 1, MSG_DONTWAIT), -1);
    assert_int_equal(kndl_raw_read_answer(fd, &head, &body), 401);
    close(fd);
}

#define WITH_GATEWAY(test) cmocka_unit_test_setup_teardown(test, set_up, fixture_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_GATEWAY(whoever_is_not_known_is_refused_alike),
        WITH_GATEWAY(faults_33_a_cookie_needs_our_own_origin),
        WITH_GATEWAY(faults_33_a_form_of_a_foreign_page_is_refused_for_that),
        WITH_GATEWAY(faults_34_two_cookies_of_our_name_are_none),
        WITH_GATEWAY(a_cookie_of_another_hub_on_this_host_is_not_ours),
        WITH_GATEWAY(a_cli_token_comes_without_any_origin_and_reads_no_cookie),
        WITH_GATEWAY(another_host_is_refused),
        WITH_GATEWAY(a_cli_token_cannot_set_a_setup_token),
        WITH_GATEWAY(signing_out_ends_the_credential_that_the_call_came_with),
        WITH_GATEWAY(who_somebody_is_is_kept_for_five_seconds_and_until_a_fact),
        WITH_GATEWAY(while_nobody_can_say_who_it_is_nobody_gets_in),
        WITH_GATEWAY(who_tries_tokens_is_slowed_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
