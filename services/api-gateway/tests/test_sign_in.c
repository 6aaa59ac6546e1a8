/* Signing in with GitHub and of machines, from the edge: cookies, Origins, rates, one refusal. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fixture.h"
#include "kndl/mem.h"
#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "kndl/token.h"

#define V1(name) Kndl__RepoAccess__V1__##name
#define BUF KNDL_CLEANUP(kndl_buf_done) struct kndl_buf

/* What the browser keeps while it is at GitHub, and what it may bring. */
static char browser_secret[KNDL_TOKEN_CHARS + 1];
static char invite[KNDL_TOKEN_CHARS + 1];

static enum kndl_code verdict; /* of CompleteSignIn */
static const char *return_to;

static void answer_begin(struct kndl_buf *out)
{
    V1(BeginSignInResponse) response = KNDL__REPO_ACCESS__V1__BEGIN_SIGN_IN_RESPONSE__INIT;

    response.browser = browser_secret;
    response.url = (char *)"https://github.example/login/oauth/authorize?state=s";
    fake_pack(out, &response.base);
}

static void answer_complete(struct kndl_buf *out, struct kndl_error *err)
{
    V1(CompleteSignInResponse) response = KNDL__REPO_ACCESS__V1__COMPLETE_SIGN_IN_RESPONSE__INIT;
    V1(Person) person = KNDL__REPO_ACCESS__V1__PERSON__INIT;

    if (verdict != KNDL_OK) {
        kndl_fail(err, verdict, "no");
        return;
    }
    person.id = (char *)"ada";
    response.person = &person;
    response.token = (char *)"kndl_web_secret";
    response.return_to = (char *)return_to;
    fake_pack(out, &response.base);
}

static void answer_poll(const struct fake_request *request, struct kndl_buf *out)
{
    V1(PollDeviceResponse) response = KNDL__REPO_ACCESS__V1__POLL_DEVICE_RESPONSE__INIT;
    V1(Person) person = KNDL__REPO_ACCESS__V1__PERSON__INIT;

    person.id = (char *)"ada";
    /* The first time nobody has decided. */
    if (fake_count("PollDevice") > 1) {
        response.token = (char *)"kndl_cli_secret";
        response.person = &person;
        response.expires_at_ms = 7;
    }
    (void)request;
    fake_pack(out, &response.base);
}

static bool answer(const struct fake_request *request, struct kndl_buf *out, struct kndl_error *err)
{
    V1(GetSignInMethodsResponse) methods =
        KNDL__REPO_ACCESS__V1__GET_SIGN_IN_METHODS_RESPONSE__INIT;
    V1(BeginDeviceResponse) device = KNDL__REPO_ACCESS__V1__BEGIN_DEVICE_RESPONSE__INIT;

    if (strcmp(request->method, "BeginSignIn") == 0) {
        answer_begin(out);
    } else if (strcmp(request->method, "CompleteSignIn") == 0) {
        answer_complete(out, err);
    } else if (strcmp(request->method, "PollDevice") == 0) {
        answer_poll(request, out);
    } else if (strcmp(request->method, "GetSignInMethods") == 0) {
        methods.github = true;
        fake_pack(out, &methods.base);
    } else if (strcmp(request->method, "BeginDevice") == 0) {
        device.device_code = (char *)"kndl_dev_secret";
        device.user_code = (char *)"BCDF-GHJK";
        device.ends_at_ms = 9;
        fake_pack(out, &device.base);
    }
    return true;
}

static void new_token(enum kndl_token_kind kind, char ret_text[KNDL_TOKEN_CHARS + 1])
{
    KNDL_CLEANUP(kndl_secret_done) struct kndl_secret token = {0};

    kndl_token_new(kind, &token);
    memcpy(ret_text, token.data, KNDL_TOKEN_CHARS + 1);
}

static int set_up(void **state)
{
    fixture_open(state, answer);
    new_token(KNDL_TOKEN_SGN, browser_secret);
    new_token(KNDL_TOKEN_INV, invite);
    verdict = KNDL_OK;
    return_to = "/sessions/x#y";
    return 0;
}

static int post(struct fixture *f, const char *path, const char *origin, const char *json,
                struct kndl_buf *head, struct kndl_buf *body)
{
    return fixture_ask(
        f, &(struct ask_options){.path = path, .origin = origin, .body = kndl_slice_of(json)}, head,
        body);
}

/* GitHub sends the browser back. `cookies` is the header's value, NULL for none. */
static int comes_back(struct fixture *f, const char *query, const char *cookies,
                      struct kndl_buf *head)
{
    BUF path = {0};
    BUF extra = {0};
    BUF body = {0};

    kndl_buf_printf(&path, "/auth/github/callback?%s", query);
    kndl_buf_append_text(&extra,
                         "Sec-Fetch-Site: cross-site\r\nUser-Agent: Mozilla/5.0 (X11; Linux "
                         "x86_64; rv:140.0) Gecko/20100101 Firefox/140.0\r\n");
    if (cookies != NULL)
        kndl_buf_printf(&extra, "Cookie: %s\r\n", cookies);
    return fixture_ask(f,
                       &(struct ask_options){.method = "GET",
                                             .path = kndl_buf_text(&path),
                                             .extra = kndl_buf_text(&extra)},
                       head, &body);
}

static V1(CompleteSignInRequest) *newest_return(void)
{
    const struct fake_request *request = fake_newest("CompleteSignIn");

    return kndl__repo_access__v1__complete_sign_in_request__unpack(
        NULL, request->data.size, (const uint8_t *)request->data.data);
}

/* AC-02 */
static void ac_02_the_secret_is_posted_and_kept_in_a_cookie_for_the_way(void **state)
{
    struct fixture *f = *state;
    BUF json = {0};
    BUF cookie = {0};
    BUF head = {0};
    BUF body = {0};

    kndl_buf_printf(&json, "{\"secret\":\"%s\",\"returnTo\":\"/x\"}", invite);
    assert_int_equal(post(f, "/auth/github", "own", kndl_buf_text(&json), &head, &body), 200);
    assert_string_equal(body.data,
                        "{\"url\":\"https://github.example/login/oauth/authorize?state=s\"}");
    kndl_buf_printf(&cookie, "%s.%s; Path=/; HttpOnly; SameSite=Lax; Max-Age=600", browser_secret,
                    invite);
    assert_true(fixture_is_set(&head, f->sign_in_cookie, kndl_buf_text(&cookie)));

    /* Nonsense is answered alike, and not kept. */
    assert_int_equal(post(f, "/auth/github", "own", "{\"secret\":\"a;b\"}", &head, &body), 200);
    assert_string_equal(body.data,
                        "{\"url\":\"https://github.example/login/oauth/authorize?state=s\"}");
    assert_null(strstr(head.data, "a;b"));
}

/* AC-04, faults.md 33 */
static void ac_04_a_sign_in_begins_on_our_own_page_alone(void **state)
{
    static const char *const extras[] = {
        "Origin: null\r\n",
        "Origin: https://hub.evil\r\n",
        "Origin: http://sub.127.0.0.1\r\n",
        "Origin: https://127.0.0.1\r\n",
        "Origin: http://127.0.0.1:1\r\n",
    };
    struct fixture *f = *state;
    BUF own = {0};
    BUF head = {0};
    BUF body = {0};

    assert_int_equal(post(f, "/auth/github", NULL, "{}", &head, &body), 403);
    for (size_t i = 0; i < sizeof extras / sizeof *extras; i++)
        assert_int_equal(FIXTURE_STATUS(f, .path = "/auth/github", .extra = extras[i],
                                        .body = kndl_slice_of("{}")),
                         403);
    kndl_buf_printf(&own, "Origin: %s\r\nSec-Fetch-Site: cross-site\r\n", f->origin);
    assert_int_equal(FIXTURE_STATUS(f, .path = "/auth/github", .extra = kndl_buf_text(&own),
                                    .body = kndl_slice_of("{}")),
                     403);
    assert_int_equal(FIXTURE_STATUS(f, .path = "/auth/github", .origin = "own",
                                    .type = "text/plain", .body = kndl_slice_of("{}")),
                     400);
    assert_int_equal(fake_count("BeginSignIn"), 0);
}

/* faults.md 34 */
static void who_comes_back_gets_a_new_cookie_and_the_old_one_ends(void **state)
{
    struct fixture *f = *state;
    V1(CompleteSignInRequest) *asked;
    uint8_t hash[KNDL_HASH_BYTES];
    BUF cookies = {0};
    BUF head = {0};

    kndl_buf_printf(&cookies, "%s=%s; %s=%s.%s", f->cookie, fixture_web_token, f->sign_in_cookie,
                    browser_secret, invite);
    assert_int_equal(comes_back(f, "code=c1&state=s1", kndl_buf_text(&cookies), &head), 303);
    assert_non_null(strstr(head.data, "\r\nLocation: /sessions/x#y\r\n"));
    assert_true(fixture_is_set(&head, f->cookie,
                               "kndl_web_secret; Path=/; HttpOnly; SameSite=Lax; Max-Age=7776000"));
    assert_true(
        fixture_is_set(&head, f->sign_in_cookie, "; Path=/; HttpOnly; SameSite=Lax; Max-Age=0"));
    asked = newest_return();
    assert_string_equal(asked->browser, browser_secret);
    assert_string_equal(asked->admission, invite);
    assert_string_equal(asked->code, "c1");
    assert_string_equal(asked->state, "s1");
    assert_string_equal(asked->machine, "Firefox on Linux");
    kndl_hash(kndl_slice_of(fixture_web_token), hash);
    assert_int_equal(asked->replaces_hash.len, sizeof hash);
    assert_memory_equal(asked->replaces_hash.data, hash, sizeof hash);
    kndl__repo_access__v1__complete_sign_in_request__free_unpacked(asked, NULL);
}

static void without_trace(struct kndl_buf *head)
{
    char *trace = strstr(head->data, "Kndl-Trace: ");
    char *date = strstr(head->data, "Date: ");

    assert_non_null(trace);
    memset(trace + 12, 'x', strcspn(trace + 12, "\r"));
    if (date != NULL)
        memset(date + 6, 'x', strcspn(date + 6, "\r"));
}

/* AC-01: byte for byte, but for the trace and the date. */
static void ac_01_every_refusal_is_the_same_whatever_they_brought(void **state)
{
    struct fixture *f = *state;
    BUF good = {0};
    BUF nonsense = {0};
    BUF with_invite = {0};
    BUF twice = {0};
    BUF first = {0};
    BUF head = {0};

    kndl_buf_printf(&good, "%s=%s", f->sign_in_cookie, browser_secret);
    kndl_buf_printf(&nonsense, "%s=nonsense", f->sign_in_cookie);
    kndl_buf_printf(&with_invite, "%s=%s.%s", f->sign_in_cookie, browser_secret, invite);
    kndl_buf_printf(&twice, "%s; %s", kndl_buf_text(&good), kndl_buf_text(&good));
    const struct {
        const char *query;
        const char *cookies;
    } tries[] = {
        {"code=c&state=s", kndl_buf_text(&good)},        /* a stranger */
        {"code=c&state=s", kndl_buf_text(&with_invite)}, /* somebody else's Invite */
        {"code=c&state=s", NULL},                        /* another browser */
        {"code=c&state=s", kndl_buf_text(&nonsense)},
        {"code=c&state=s", kndl_buf_text(&twice)},
        {"error=access_denied&state=s", kndl_buf_text(&good)}, /* they pressed Cancel */
        {"code=c", kndl_buf_text(&good)},
        {"state=s", kndl_buf_text(&good)},
        {"code=c&code=d&state=s", kndl_buf_text(&good)},
        {"code=c%0d%0aSet-Cookie:x&state=s", kndl_buf_text(&good)},
        {"", NULL},
    };
    verdict = KNDL_UNAUTHENTICATED;
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        kndl_buf_clear(&head);
        assert_int_equal(comes_back(f, tries[i].query, tries[i].cookies, &head), 303);
        without_trace(&head);
        assert_non_null(strstr(head.data, "\r\nLocation: /#refused\r\n"));
        if (i == 0)
            kndl_buf_append_text(&first, head.data);
        assert_string_equal(head.data, first.data);
    }
    assert_int_equal(fake_count("CompleteSignIn"), 2);

    verdict = KNDL_UNAVAILABLE; /* GitHub, which has nothing to do with who they are */
    kndl_buf_clear(&head);
    assert_int_equal(comes_back(f, "code=c&state=s", kndl_buf_text(&good), &head), 303);
    assert_non_null(strstr(head.data, "\r\nLocation: /#unavailable\r\n"));
    assert_null(strstr(head.data, "=kndl_web"));
}

static void nobody_is_sent_elsewhere(void **state)
{
    static const char *const elsewhere[] = {"//evil.example", "https://evil.example",
                                            "/\\evil.example", "/a b", ""};
    struct fixture *f = *state;
    BUF cookie = {0};
    BUF head = {0};

    kndl_buf_printf(&cookie, "%s=%s", f->sign_in_cookie, browser_secret);
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++) {
        return_to = elsewhere[i];
        kndl_buf_clear(&head);
        assert_int_equal(comes_back(f, "code=c&state=s", kndl_buf_text(&cookie), &head), 303);
        assert_null(strstr(head.data, "evil"));
        assert_null(strstr(head.data, "kndl_web_secret"));
    }
}

static void ways_in_and_back_have_rates(void **state)
{
    struct fixture *f = *state;
    BUF head = {0};
    BUF body = {0};

    for (int i = 0; i < 10; i++)
        assert_int_equal(post(f, "/auth/github", "own", "{}", &head, &body), 200);
    assert_int_equal(post(f, "/auth/github", "own", "{}", &head, &body), 429);
    assert_int_equal(post(f, "/auth/device", NULL, "{\"machine\":\"m\"}", &head, &body), 429);
    for (int i = 0; i < 60; i++)
        (void)post(f, "/auth/device/token", NULL, "{\"deviceCode\":\"x\"}", &head, &body);
    assert_int_equal(post(f, "/auth/device/token", NULL, "{\"deviceCode\":\"x\"}", &head, &body),
                     429);
    for (int i = 0; i < 30; i++)
        (void)comes_back(f, "code=c&state=s", NULL, &head);
    kndl_buf_clear(&head);
    assert_int_equal(comes_back(f, "code=c&state=s", NULL, &head), 303);
    assert_non_null(strstr(head.data, "\r\nLocation: /#unavailable\r\n"));
}

/* CL-01 */
static void cl_01_a_machine_shows_a_code_and_gets_its_token_when_it_asks_again(void **state)
{
    struct fixture *f = *state;
    BUF expected = {0};
    BUF head = {0};
    BUF body = {0};

    assert_int_equal(post(f, "/auth/device", NULL, "{\"machine\":\"laptop\"}", &head, &body), 200);
    kndl_buf_printf(&expected,
                    "{\"deviceCode\":\"kndl_dev_secret\",\"userCode\":\"BCDF-GHJK\",\"url\":\"%s/"
                    "device\",\"endsAtMs\":\"9\",\"intervalS\":2}",
                    f->origin);
    assert_string_equal(body.data, expected.data);
    assert_int_equal(
        post(f, "/auth/device/token", NULL, "{\"deviceCode\":\"kndl_dev_secret\"}", &head, &body),
        200);
    assert_string_equal(body.data, "{\"pending\":true}");
    assert_int_equal(
        post(f, "/auth/device/token", NULL, "{\"deviceCode\":\"kndl_dev_secret\"}", &head, &body),
        200);
    assert_string_equal(body.data, "{\"person\":{\"id\":\"ada\"},\"token\":\"kndl_cli_secret\","
                                   "\"expiresAtMs\":\"7\"}");
    assert_null(strstr(head.data, "Set-Cookie"));

    /* Pages have no business here, not even ours. */
    assert_int_equal(post(f, "/auth/device", "own", "{\"machine\":\"m\"}", &head, &body), 403);
    assert_int_equal(post(f, "/auth/device/token", "own", "{\"deviceCode\":\"x\"}", &head, &body),
                     403);
}

/* The caller's credential is said by the gateway, whatever the page says. */
static void a_list_of_sign_ins_is_asked_for_with_ones_own_credential(void **state)
{
    struct fixture *f = *state;
    uint8_t hash[KNDL_HASH_BYTES];
    BUF body = {0};

    assert_int_equal(fixture_call(f, "/kndl.repo_access.v1.RepoAccessService/ListSignIns",
                                  "{\"credentialHash\":\"AAAA\"}", &body),
                     200);
    const struct fake_request *request = fake_newest("ListSignIns");
    V1(ListSignInsRequest) *asked = kndl__repo_access__v1__list_sign_ins_request__unpack(
        NULL, request->data.size, (const uint8_t *)request->data.data);
    kndl_hash(kndl_slice_of(fixture_web_token), hash);
    assert_int_equal(asked->credential_hash.len, sizeof hash);
    assert_memory_equal(asked->credential_hash.data, hash, sizeof hash);
    kndl__repo_access__v1__list_sign_ins_request__free_unpacked(asked, NULL);
}

static void invites_and_short_codes_have_rates(void **state)
{
    struct fixture *f = *state;
    BUF body = {0};

    for (int i = 0; i < 20; i++) {
        assert_int_equal(
            fixture_call(f, "/kndl.repo_access.v1.RepoAccessService/InviteMember", "{}", &body),
            200);
        assert_int_equal(
            fixture_call(f, "/kndl.repo_access.v1.RepoAccessService/FindDevice", "{}", &body), 200);
        fixture_shift(f, 100);
    }
    assert_int_equal(
        fixture_call(f, "/kndl.repo_access.v1.RepoAccessService/InviteMember", "{}", &body), 429);
    assert_int_equal(
        fixture_call(f, "/kndl.repo_access.v1.RepoAccessService/DecideDevice", "{}", &body), 429);
    fixture_shift(f, 4000);
    assert_int_equal(
        fixture_call(f, "/kndl.repo_access.v1.RepoAccessService/DecideDevice", "{}", &body), 200);
    assert_int_equal(
        fixture_call(f, "/kndl.repo_access.v1.RepoAccessService/InviteMember", "{}", &body), 429);
}

/* ---- behind https ---- */

#define HTTPS_HOST "kndl.example.com"
#define HTTPS_ORIGIN "https://" HTTPS_HOST

static void go_https(struct fixture *f)
{
    struct settings *settings = &f->gateway->settings;

    settings->is_https = true;
    settings->dev_login = false;
    strcpy(settings->host, HTTPS_HOST);
    strcpy(settings->origin, HTTPS_ORIGIN);
    settings_name_cookies(settings);
    fixture_sync(f);
}

/* As the browser behind the proxy asks; `cookies` is the header's value, NULL for none. */
static int ask_https(struct fixture *f, const char *method, const char *path, const char *cookies,
                     struct kndl_buf *head)
{
    bool is_post = strcmp(method, "POST") == 0;
    BUF extra = {0};
    BUF body = {0};

    if (cookies != NULL)
        kndl_buf_printf(&extra, "Cookie: %s\r\n", cookies);
    kndl_buf_clear(head);
    return fixture_ask(
        f,
        &(struct ask_options){.method = method,
                              .path = path,
                              .host = HTTPS_HOST,
                              .origin = is_post ? HTTPS_ORIGIN : NULL,
                              .extra = cookies == NULL ? NULL : kndl_buf_text(&extra),
                              .body = kndl_slice_of(is_post ? "{}" : "")},
        head, &body);
}

/* __Host-: a browser takes it with Secure, with Path=/ and without a Domain alone. */
static void ac_04_behind_https_cookies_are_bound_to_the_host(void **state)
{
    struct fixture *f = *state;
    BUF cookie = {0};
    BUF head = {0};

    go_https(f);
    assert_int_equal(ask_https(f, "POST", "/auth/github", NULL, &head), 200);
    kndl_buf_printf(&cookie,
                    "\r\nSet-Cookie: __Host-kndl-signin=%s; Path=/; HttpOnly; SameSite=Lax; "
                    "Max-Age=600; Secure\r\n",
                    browser_secret);
    assert_non_null(strstr(head.data, kndl_buf_text(&cookie)));
    assert_non_null(strstr(head.data, "\r\nStrict-Transport-Security: max-age=31536000\r\n"));

    kndl_buf_clear(&cookie);
    kndl_buf_printf(&cookie, "__Host-kndl-signin=%s", browser_secret);
    assert_int_equal(
        ask_https(f, "GET", "/auth/github/callback?code=c&state=s", kndl_buf_text(&cookie), &head),
        303);
    assert_non_null(strstr(head.data, "\r\nSet-Cookie: __Host-kndl=kndl_web_secret; Path=/; "
                                      "HttpOnly; SameSite=Lax; Max-Age=7776000; Secure\r\n"));
    assert_non_null(strstr(head.data, "\r\nSet-Cookie: __Host-kndl-signin=; Path=/; HttpOnly; "
                                      "SameSite=Lax; Max-Age=0; Secure\r\n"));
    assert_null(strcasestr(head.data, "domain="));
    assert_null(strstr(head.data, "kndl_dev"));
}

/* A page of another host below ours can plant the plain names, and __Host- it cannot. */
static void ac_04_each_name_counts_under_its_own_scheme_alone(void **state)
{
    static const char who[] = "/kndl.repo_access.v1.RepoAccessService/WhoAmI";
    struct fixture *f = *state;
    BUF host = {0};
    BUF plain = {0};
    BUF way = {0};
    BUF extra = {0};
    BUF head = {0};
    BUF body = {0};

    kndl_buf_printf(&host, "__Host-kndl=%s", fixture_web_token);
    kndl_buf_printf(&plain, "%s=%s", f->cookie, fixture_web_token);
    kndl_buf_printf(&way, "%s=%s", f->sign_in_cookie, browser_secret);
    kndl_buf_printf(&extra, "Cookie: %s\r\n", kndl_buf_text(&host));
    assert_int_equal(fixture_ask(f,
                                 &(struct ask_options){.path = who,
                                                       .origin = "own",
                                                       .extra = kndl_buf_text(&extra),
                                                       .body = kndl_slice_of("{}")},
                                 &head, &body),
                     401);
    go_https(f);
    assert_int_equal(ask_https(f, "POST", who, kndl_buf_text(&host), &head), 200);
    assert_int_equal(ask_https(f, "POST", who, kndl_buf_text(&plain), &head), 401);
    assert_int_equal(
        ask_https(f, "GET", "/auth/github/callback?code=c&state=s", kndl_buf_text(&way), &head),
        303);
    assert_non_null(strstr(head.data, "\r\nLocation: /#refused\r\n"));
    assert_int_equal(fake_count("CompleteSignIn"), 0);
}

/* Who signs in anew ends the sign-in before; the gateway waits for no fact of repo-access. */
static void faults_34_the_cookie_before_is_refused_at_once(void **state)
{
    static const char who[] = "/kndl.repo_access.v1.RepoAccessService/WhoAmI";
    struct fixture *f = *state;
    char before[sizeof fixture_web_token];
    BUF cookies = {0};
    BUF head = {0};

    strcpy(before, fixture_web_token);
    assert_int_equal(FIXTURE_STATUS(f, .path = who, .origin = "own", .cookie = before,
                                    .body = kndl_slice_of("{}")),
                     200);
    kndl_buf_printf(&cookies, "%s=%s", f->sign_in_cookie, browser_secret);
    assert_int_equal(comes_back(f, "code=c&state=s", kndl_buf_text(&cookies), &head), 303);
    strcpy(fixture_web_token, fixture_unknown_token);
    assert_int_equal(FIXTURE_STATUS(f, .path = who, .origin = "own", .cookie = before,
                                    .body = kndl_slice_of("{}")),
                     401);
}

#define WITH_GATEWAY(test) cmocka_unit_test_setup_teardown(test, set_up, fixture_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_GATEWAY(ac_02_the_secret_is_posted_and_kept_in_a_cookie_for_the_way),
        WITH_GATEWAY(ac_04_a_sign_in_begins_on_our_own_page_alone),
        WITH_GATEWAY(faults_34_the_cookie_before_is_refused_at_once),
        WITH_GATEWAY(who_comes_back_gets_a_new_cookie_and_the_old_one_ends),
        WITH_GATEWAY(ac_01_every_refusal_is_the_same_whatever_they_brought),
        WITH_GATEWAY(nobody_is_sent_elsewhere),
        WITH_GATEWAY(ways_in_and_back_have_rates),
        WITH_GATEWAY(invites_and_short_codes_have_rates),
        WITH_GATEWAY(cl_01_a_machine_shows_a_code_and_gets_its_token_when_it_asks_again),
        WITH_GATEWAY(a_list_of_sign_ins_is_asked_for_with_ones_own_credential),
        WITH_GATEWAY(ac_04_behind_https_cookies_are_bound_to_the_host),
        WITH_GATEWAY(ac_04_each_name_counts_under_its_own_scheme_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
