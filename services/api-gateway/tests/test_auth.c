/* Signing in and out, and the five locks of dev login. */

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
#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "kndl/sessions/v1/sessions_internal_service.pb-c.h"

#define V1(name) Kndl__RepoAccess__V1__##name
#define BUF KNDL_CLEANUP(kndl_buf_done) struct kndl_buf

static bool answer(const struct fake_request *request, struct kndl_buf *out, struct kndl_error *err)
{
    V1(DevLoginResponse) response = KNDL__REPO_ACCESS__V1__DEV_LOGIN_RESPONSE__INIT;
    V1(Person) person = KNDL__REPO_ACCESS__V1__PERSON__INIT;

    (void)err;
    if (strcmp(request->method, "GetHealth") == 0) {
        Kndl__Sessions__V1__GetHealthResponse health =
            KNDL__SESSIONS__V1__GET_HEALTH_RESPONSE__INIT;

        health.redactor_answers = true;
        health.runners = 1;
        fake_pack(out, &health.base);
        return true;
    }
    if (strcmp(request->method, "DevLogin") != 0)
        return true;
    person.id = (char *)"ada";
    response.person = &person;
    response.token = (char *)"kndl_web_secret";
    response.expires_at_ms = 5;
    fake_pack(out, &response.base);
    return true;
}

static int set_up(void **state)
{
    return fixture_open(state, answer);
}

static int sign_in(struct fixture *f, const char *json, const char *extra, struct kndl_buf *head,
                   struct kndl_buf *body)
{
    return fixture_ask(
        f, &(struct ask_options){.path = "/auth/dev", .extra = extra, .body = kndl_slice_of(json)},
        head, body);
}

static void a_browser_gets_a_cookie_and_no_token(void **state)
{
    struct fixture *f = *state;
    BUF head = {0};
    BUF body = {0};

    assert_int_equal(sign_in(f, "{\"login\":\"ada\",\"client\":\"web\"}", NULL, &head, &body), 200);
    assert_string_equal(body.data, "{\"person\":{\"id\":\"ada\"}}");
    assert_true(fixture_is_set(&head, f->cookie,
                               "kndl_web_secret; Path=/; HttpOnly; SameSite=Lax; Max-Age=7776000"));
    V1(DevLoginRequest) *asked = kndl__repo_access__v1__dev_login_request__unpack(
        NULL, fake_newest("DevLogin")->data.size,
        (const uint8_t *)fake_newest("DevLogin")->data.data);
    assert_string_equal(asked->login, "ada");
    kndl__repo_access__v1__dev_login_request__free_unpacked(asked, NULL);
}

static void the_cli_gets_a_token_and_no_cookie(void **state)
{
    struct fixture *f = *state;
    BUF head = {0};
    BUF body = {0};

    assert_int_equal(sign_in(f, "{\"login\":\"ada\",\"client\":\"cli\",\"machine\":\"box\"}", NULL,
                             &head, &body),
                     200);
    assert_string_equal(body.data, "{\"person\":{\"id\":\"ada\"},\"token\":\"kndl_web_secret\","
                                   "\"expiresAtMs\":\"5\"}");
    assert_null(strstr(head.data, "Set-Cookie"));
}

/* AC-04. Each lock alone keeps dev login shut: the rest of the request would do. */
static void stays_shut(struct fixture *f, const char *host, const char *extra)
{
    BUF head = {0};
    BUF body = {0};

    fixture_sync(f);
    assert_int_equal(
        fixture_ask(
            f,
            &(struct ask_options){.path = "/auth/dev",
                                  .host = host,
                                  .extra = extra,
                                  .body = kndl_slice_of("{\"login\":\"ada\",\"client\":\"web\"}")},
            &head, &body),
        403);
    assert_non_null(strstr(body.data, "\"permission_denied\""));
    assert_null(strstr(head.data, "Set-Cookie"));
    assert_int_equal(fake_count("DevLogin"), 0);
}

/* Settings that settings_read() would not take, to see the lock behind it. The loop idles. */
static void ac_04_dev_login_is_shut_where_it_is_off(void **state)
{
    struct fixture *f = *state;

    f->gateway->settings.dev_login = false;
    stays_shut(f, NULL, NULL);
}

static void ac_04_dev_login_is_shut_where_the_listener_is_not_on_loopback(void **state)
{
    struct fixture *f = *state;

    strcpy(f->gateway->settings.address, "0.0.0.0");
    stays_shut(f, NULL, NULL);
}

static void ac_04_dev_login_is_shut_behind_a_public_url(void **state)
{
    struct fixture *f = *state;

    f->gateway->settings.is_https = true;
    stays_shut(f, NULL, NULL);
}

static void ac_04_dev_login_is_shut_for_a_host_that_is_not_loopback(void **state)
{
    struct fixture *f = *state;

    stays_shut(f, "evil.example", NULL); /* DNS rebinding */
    strcpy(f->gateway->settings.host, "kndl.example.com");
    stays_shut(f, "kndl.example.com", NULL);
}

static void ac_04_dev_login_is_shut_when_a_proxy_has_a_hand_in_it(void **state)
{
    static const char *const extras[] = {
        "Forwarded: for=192.0.2.1\r\n", "X-Forwarded-For: 192.0.2.1\r\n", "X-Forwarded-Host: x\r\n",
        "X-Forwarded-Proto: https\r\n", "X-Real-IP: 192.0.2.1\r\n",       "Via: 1.1 proxy\r\n",
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof extras / sizeof *extras; i++)
        stays_shut(f, NULL, extras[i]);
}

static void ac_04_dev_login_is_shut_for_foreign_pages(void **state)
{
    struct fixture *f = *state;

    stays_shut(f, NULL, "Origin: https://evil.example\r\n");
    stays_shut(f, NULL, "Origin: null\r\n");
}

static void what_it_does_not_know_is_refused(void **state)
{
    static const char *const bodies[] = {
        "",
        "[]",
        "{\"client\":\"web\"}",
        "{\"login\":\"\",\"client\":\"web\"}",
        "{\"login\":\"ada\"}",
        "{\"login\":\"ada\",\"client\":\"tv\"}",
        "{\"login\":5,\"client\":\"web\"}",
        "{\"login\":\"ada\",\"client\":\"web\",\"admin\":true}",
        "{\"login\":\"ada\",\"login\":\"bob\",\"client\":\"web\"}",
    };
    struct fixture *f = *state;
    BUF head = {0};
    BUF body = {0};

    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        fixture_shift(f, 60000);
        assert_int_equal(sign_in(f, bodies[i], NULL, &head, &body), 400);
    }
    assert_int_equal(FIXTURE_STATUS(f, .path = "/auth/dev", .type = "text/plain"), 400);
    assert_int_equal(fake_count("DevLogin"), 0);
}

static void sign_ins_have_a_rate(void **state)
{
    struct fixture *f = *state;
    BUF head = {0};
    BUF body = {0};

    for (int i = 0; i < 10; i++)
        assert_int_equal(sign_in(f, "{\"login\":\"ada\",\"client\":\"web\"}", NULL, &head, &body),
                         200);
    assert_int_equal(sign_in(f, "{\"login\":\"ada\",\"client\":\"web\"}", NULL, &head, &body), 429);
    fixture_shift(f, 7000);
    assert_int_equal(sign_in(f, "{\"login\":\"ada\",\"client\":\"web\"}", NULL, &head, &body), 200);
}

static void behind_a_proxy_each_address_has_its_own_rate(void **state)
{
    struct fixture *f = *state;

    strcpy(f->gateway->settings.proxy, "127.0.0.1");
    fixture_sync(f);
    struct ask_options options = {.path = "/kndl.repo_access.v1.RepoAccessService/WhoAmI",
                                  .bearer = "nonsense",
                                  .extra = "X-Forwarded-For: 192.0.2.7, 192.0.2.1\r\n"};
    for (int i = 0; i < 20; i++)
        assert_int_equal(fixture_status(f, &options), 401);
    int slow = fixture_send(f, &options);
    options.extra = "X-Forwarded-For: 192.0.2.1, 192.0.2.2\r\n";
    assert_int_equal(fixture_status(f, &options), 401);
    assert_int_equal(recv(slow, (char[1]){0}, 1, MSG_DONTWAIT), -1); /* still waits */
    close(slow);
}

static void the_page_hears_how_one_may_sign_in(void **state)
{
    struct fixture *f = *state;
    BUF head = {0};
    BUF body = {0};

    assert_int_equal(fixture_ask(f, &(struct ask_options){.method = "GET", .path = "/auth/methods"},
                                 &head, &body),
                     200);
    assert_string_equal(body.data, "{\"dev\":true,\"github\":false}");
    assert_int_equal(
        fixture_ask(f, &(struct ask_options){.method = "GET", .path = "/auth/dev"}, &head, &body),
        404);
}

static void signing_out_ends_the_sign_in_and_clears_the_cookie(void **state)
{
    struct fixture *f = *state;
    struct ask_options options = {.path = "/auth/signout", .body = kndl_slice_of("{}")};
    BUF head = {0};
    BUF body = {0};

    options.cookie = fixture_web_token;
    assert_int_equal(fixture_ask(f, &options, &head, &body), 403); /* a foreign page's form */
    options.origin = "own";
    assert_int_equal(fixture_ask(f, &options, &head, &body), 200);
    assert_true(fixture_is_set(&head, f->cookie, "; Path=/; HttpOnly; SameSite=Lax; Max-Age=0"));
    assert_int_equal(fake_count("SignOut"), 1);
    assert_string_equal(fake_newest("SignOut")->actor, "person/ada");

    options.cookie = fixture_unknown_token; /* whoever is not signed in is signed out */
    assert_int_equal(fixture_ask(f, &options, &head, &body), 200);
    assert_int_equal(fake_count("SignOut"), 1);

    fixture_set_repo_access(false);
    options.cookie = fixture_web_token;
    assert_int_equal(fixture_ask(f, &options, &head, &body), 503);
    assert_null(strstr(head.data, "Set-Cookie"));
}

static void health_says_what_is_missing(void **state)
{
    struct fixture *f = *state;
    struct ask_options options = {.method = "GET", .path = "/health", .host = "10.0.0.1"};
    BUF head = {0};
    BUF body = {0};

    assert_int_equal(fixture_ask(f, &options, &head, &body), 200);
    assert_string_equal(body.data, "{\"alive\":true,\"ready\":true,\"reasons\":[]}");
    fixture_shift(f, 2000);
    fake_set_connected(false);
    assert_int_equal(fixture_ask(f, &options, &head, &body), 200);
    assert_string_equal(body.data,
                        "{\"alive\":true,\"ready\":false,\"reasons\":[\"NATS is away\"]}");
}

#define WITH_GATEWAY(test) cmocka_unit_test_setup_teardown(test, set_up, fixture_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_GATEWAY(a_browser_gets_a_cookie_and_no_token),
        WITH_GATEWAY(the_cli_gets_a_token_and_no_cookie),
        WITH_GATEWAY(ac_04_dev_login_is_shut_where_it_is_off),
        WITH_GATEWAY(ac_04_dev_login_is_shut_where_the_listener_is_not_on_loopback),
        WITH_GATEWAY(ac_04_dev_login_is_shut_behind_a_public_url),
        WITH_GATEWAY(ac_04_dev_login_is_shut_for_a_host_that_is_not_loopback),
        WITH_GATEWAY(ac_04_dev_login_is_shut_when_a_proxy_has_a_hand_in_it),
        WITH_GATEWAY(ac_04_dev_login_is_shut_for_foreign_pages),
        WITH_GATEWAY(what_it_does_not_know_is_refused),
        WITH_GATEWAY(sign_ins_have_a_rate),
        WITH_GATEWAY(behind_a_proxy_each_address_has_its_own_rate),
        WITH_GATEWAY(the_page_hears_how_one_may_sign_in),
        WITH_GATEWAY(signing_out_ends_the_sign_in_and_clears_the_cookie),
        WITH_GATEWAY(health_says_what_is_missing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
