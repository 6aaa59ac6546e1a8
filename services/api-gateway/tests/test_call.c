/* Calls over real HTTP, as Connect's clients make them, with the services played. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fixture.h"
#include "kndl/mem.h"
#include "kndl/raw_client.h"
#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "kndl/sessions/v1/sessions_internal_service.pb-c.h"
#include "kndl/sessions/v1/sessions_service.pb-c.h"
#include "methods.h"

#define BUF KNDL_CLEANUP(kndl_buf_done) struct kndl_buf

#define SESSIONS "/kndl.sessions.v1.SessionsService/"
#define WHO_AM_I "/kndl.repo_access.v1.RepoAccessService/WhoAmI"
#define SESSION "abcdefghijklmnopqrstuvwxya"

static atomic_bool hold_all; /* nobody answers yet */
static atomic_bool redactor_answers;
static atomic_int runners;

static bool answer(const struct fake_request *request, struct kndl_buf *out, struct kndl_error *err)
{
    if (hold_all)
        return false;
    if (strcmp(request->method, "WhoAmI") == 0) {
        Kndl__RepoAccess__V1__WhoAmIResponse response =
            KNDL__REPO_ACCESS__V1__WHO_AM_IRESPONSE__INIT;
        Kndl__RepoAccess__V1__Person person = KNDL__REPO_ACCESS__V1__PERSON__INIT;

        person.id = (char *)request->actor;
        response.person = &person;
        fake_pack(out, &response.base);
    } else if (strcmp(request->method, "GetHealth") == 0) {
        Kndl__Sessions__V1__GetHealthResponse response =
            KNDL__SESSIONS__V1__GET_HEALTH_RESPONSE__INIT;

        response.redactor_answers = redactor_answers;
        response.runners = runners;
        fake_pack(out, &response.base);
    } else if (strcmp(request->method, "StopTurn") == 0) {
        kndl_fail(err, KNDL_ABORTED, "no Turn runs");
    } else if (strcmp(request->method, "GetSession") == 0) {
        kndl_fail(err, KNDL_NOT_FOUND, "Session %s does not exist", SESSION);
    }
    return true;
}

static int set_up(void **state)
{
    hold_all = false;
    return fixture_open(state, answer);
}

static void a_person_calls_by_cookie_in_json(void **state)
{
    struct fixture *f = *state;
    BUF head = {0};
    BUF body = {0};

    assert_int_equal(fixture_ask(f,
                                 &(struct ask_options){
                                     .path = WHO_AM_I,
                                     .origin = "own",
                                     .cookie = fixture_web_token,
                                     .extra = "Connect-Protocol-Version: 1\r\n",
                                     .body = kndl_slice_of("{}"),
                                 },
                                 &head, &body),
                     200);
    assert_string_equal(body.data, "{\"person\":{\"id\":\"person/ada\"}}");
    assert_non_null(strstr(head.data, "\r\nContent-Type: application/json\r\n"));
    assert_non_null(strstr(head.data, "\r\nCache-Control: no-store\r\n"));
    const char *trace = strstr(head.data, "\r\nKndl-Trace: ");
    assert_non_null(trace);
    assert_memory_equal(trace + 14, fake_newest("WhoAmI")->trace, 26);
    assert_string_equal(fake_newest("WhoAmI")->service, "kndl.repo_access.v1.RepoAccessService");
}

static void a_person_calls_by_cli_token_in_protobuf(void **state)
{
    struct fixture *f = *state;
    BUF head = {0};
    BUF body = {0};

    assert_int_equal(fixture_ask(f,
                                 &(struct ask_options){
                                     .path = WHO_AM_I,
                                     .bearer = fixture_cli_token,
                                     .type = "application/proto",
                                 },
                                 &head, &body),
                     200);
    assert_non_null(strstr(head.data, "\r\nContent-Type: application/proto\r\n"));
    assert_int_equal(body.size, 14);
    assert_memory_equal(body.data, "\x0a\x0c\x0a\x0aperson/ada", 14);
}

static void refusals_carry_connects_body(void **state)
{
    struct fixture *f = *state;
    const struct {
        int status;
        const char *code;
        struct ask_options options;
    } cases[] = {
        {404, "unimplemented", {.path = SESSIONS "Nothing"}},
        {404, "unimplemented", {.path = "/kndl.sessions.v1.SessionsInternalService/AppendEvents"}},
        {404, "unimplemented", {.path = "/nothing"}},
        {405, "unimplemented", {.method = "GET", .path = SESSIONS "ListSessions"}},
        {415, "invalid_argument", {.path = SESSIONS "ListSessions", .type = "text/plain"}},
        {415, "invalid_argument", {.path = SESSIONS "ListSessions", .type = "application/protos"}},
        {415,
         "unimplemented",
         {.path = SESSIONS "ListSessions", .extra = "Content-Encoding: gzip\r\n"}},
        {400,
         "invalid_argument",
         {.path = SESSIONS "ListSessions", .extra = "Connect-Protocol-Version: 2\r\n"}},
        {400,
         "invalid_argument",
         {.path = SESSIONS "ListSessions", .extra = "Connect-Timeout-Ms: -1\r\n"}},
        {411,
         "invalid_argument",
         {.path = SESSIONS "ListSessions", .extra = "Transfer-Encoding: chunked\r\n"}},
    };
    BUF head = {0};
    BUF body = {0};
    BUF wanted = {0};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(fixture_ask(f, &cases[i].options, &head, &body), cases[i].status);
        kndl_buf_clear(&wanted);
        kndl_buf_printf(&wanted, "{\"code\":\"%s\",\"message\":\"", cases[i].code);
        assert_memory_equal(body.data, wanted.data, wanted.size);
        assert_non_null(strstr(head.data, "\r\nContent-Type: application/json\r\n"));
    }
}

static void what_is_too_long_is_413_and_431_with_connects_body(void **state)
{
    struct fixture *f = *state;
    BUF all = {0};
    BUF text = {0};

    kndl_buf_printf(&text,
                    "POST " WHO_AM_I " HTTP/1.1\r\nHost: %s\r\nContent-Length: 1000000\r\n\r\n",
                    f->host);
    assert_int_equal(kndl_raw_ask(f->port, text.data, text.size, &all), 413);
    assert_non_null(strstr(all.data, "{\"code\":\"resource_exhausted\""));
    kndl_buf_clear(&text);
    kndl_buf_printf(&text, "POST " WHO_AM_I " HTTP/1.1\r\nHost: %s\r\nCookie: ", f->host);
    while (text.size < 20000)
        kndl_buf_append_char(&text, 'a');
    kndl_buf_append_text(&text, "\r\n\r\n");
    assert_int_equal(kndl_raw_ask(f->port, text.data, text.size, &all), 431);
    assert_non_null(strstr(all.data, "{\"code\":\"resource_exhausted\""));
}

static void every_answer_has_the_security_headers(void **state)
{
    struct fixture *f = *state;
    static const char *const lines[] = {
        "\r\nContent-Security-Policy: default-src 'none'; script-src 'self'; ",
        "\r\nX-Content-Type-Options: nosniff\r\n",
        "\r\nReferrer-Policy: no-referrer\r\n",
        "\r\nCross-Origin-Opener-Policy: same-origin\r\n",
        "\r\nCross-Origin-Resource-Policy: same-origin\r\n",
        "\r\nPermissions-Policy: camera=(), microphone=(), geolocation=()\r\n",
        "\r\nCache-Control: no-store\r\n",
    };
    const struct ask_options cases[] = {
        {.path = WHO_AM_I, .origin = "own", .cookie = fixture_web_token},
        {.path = WHO_AM_I},
        {.path = "/nothing"},
        {.method = "GET", .path = "/nothing"},
        {.method = "GET", .path = "/health"},
        {.method = "GET", .path = "/auth/methods"},
        {.path = SESSIONS "ListSessions", .extra = "Transfer-Encoding: chunked\r\n"},
    };
    BUF head = {0};
    BUF body = {0};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(fixture_ask(f, &cases[i], &head, &body) >= 200);
        for (size_t l = 0; l < sizeof lines / sizeof *lines; l++)
            assert_non_null(strstr(head.data, lines[l]));
        assert_null(strstr(head.data, "Access-Control-"));
    }
}

static void health_asks_for(struct fixture *f, const char *says)
{
    BUF head = {0};
    BUF body = {0};

    fixture_shift(f, 1001); /* what was known is forgotten */
    fixture_ask(f, &(struct ask_options){.method = "GET", .path = "/health"}, &head, &body);
    assert_string_equal(body.data, says);
}

static void health_says_what_is_missing_and_no_runner_is_no_reason_to_be_not_ready(void **state)
{
    struct fixture *f = *state;

    redactor_answers = true;
    runners = 1;
    health_asks_for(f, "{\"alive\":true,\"ready\":true,\"reasons\":[]}");
    runners = 0;
    health_asks_for(f, "{\"alive\":true,\"ready\":true,\"reasons\":"
                       "[\"no Runner is there: Sessions neither start nor wake\"]}");
    redactor_answers = false;
    health_asks_for(f, "{\"alive\":true,\"ready\":false,\"reasons\":"
                       "[\"redactor does not answer\"]}");
    fake_set_connected(false);
    health_asks_for(f, "{\"alive\":true,\"ready\":false,\"reasons\":[\"NATS is away\"]}");
    fake_set_connected(true);
}

static void the_owners_refusal_reaches_the_client(void **state)
{
    struct fixture *f = *state;
    BUF body = {0};

    assert_int_equal(fixture_call(f, SESSIONS "StopTurn", "{\"sessionId\":\"x\"}", &body), 409);
    assert_string_equal(body.data, "{\"code\":\"aborted\",\"message\":\"no Turn runs\"}");
    assert_int_equal(fixture_call(f, SESSIONS "GetSession", "{\"session_id\":\"x\"}", &body), 404);
}

static void bytes_that_break_the_budget_are_not_forwarded(void **state)
{
    static const char nul[] = "\x0a\x03x\0y";
    static const char not_utf8[] = "\x0a\x02\xff\xfe";
    static const char cut[] = "\x0a\x7fxy";
    struct fixture *f = *state;
    const struct kndl_slice bodies[] = {kndl_slice(nul, 5), kndl_slice(not_utf8, 4),
                                        kndl_slice(cut, 4)};
    BUF body = {0};

    for (size_t i = 0; i < 3; i++)
        assert_int_equal(FIXTURE_STATUS(f, .path = SESSIONS "GetSession", .origin = "own",
                                        .cookie = fixture_web_token, .type = "application/proto",
                                        .body = bodies[i]),
                         400);
    assert_int_equal(fixture_call(f, SESSIONS "GetSession", "{\"unknown\":1}", &body), 400);
    assert_int_equal(fixture_call(f, SESSIONS "GetSession", "{\"sessionId\":", &body), 400);
    assert_int_equal(fake_count("GetSession"), 0);
}

static void json_becomes_the_message_it_says(void **state)
{
    struct fixture *f = *state;
    BUF body = {0};

    assert_int_equal(
        fixture_call(f, SESSIONS "SendPrompt",
                     "{\"sessionId\":\"s1\",\"requestId\":\"r1\",\"text\":\"h\\u00e9\"}", &body),
        200);
    assert_string_equal(body.data, "{}");
    Kndl__Sessions__V1__SendPromptRequest *request =
        kndl__sessions__v1__send_prompt_request__unpack(
            NULL, fake_newest("SendPrompt")->data.size,
            (const uint8_t *)fake_newest("SendPrompt")->data.data);
    assert_string_equal(request->session_id, "s1");
    assert_string_equal(request->request_id, "r1");
    assert_string_equal(request->text, "h\xc3\xa9");
    kndl__sessions__v1__send_prompt_request__free_unpacked(request, NULL);
}

static void the_clients_time_is_the_services(void **state)
{
    struct fixture *f = *state;
    struct ask_options options = {.path = WHO_AM_I,
                                  .origin = "own",
                                  .cookie = fixture_web_token,
                                  .body = kndl_slice_of("{}")};

    options.extra = "Connect-Timeout-Ms: 2000\r\n";
    assert_int_equal(fixture_status(f, &options), 200);
    assert_in_range(fake_newest("WhoAmI")->timeout_ms, 1, 2000);
    options.extra = "Connect-Timeout-Ms: 9999999999\r\n";
    assert_int_equal(fixture_status(f, &options), 200);
    assert_int_equal(fake_newest("WhoAmI")->timeout_ms, 10000);
    options.extra = "Connect-Timeout-Ms: 0\r\n";
    assert_int_equal(fixture_status(f, &options), 504);
}

static void a_client_that_goes_away_is_forgotten(void **state)
{
    struct fixture *f = *state;

    hold_all = true;
    int fd = fixture_send(
        f, &(struct ask_options){.path = WHO_AM_I, .origin = "own", .cookie = fixture_web_token});
    fixture_wait_asked("WhoAmI", 1);
    close(fd);
    hold_all = false;
    fake_release();
    fixture_sync(f);
    BUF body = {0};
    assert_int_equal(fixture_call(f, WHO_AM_I, "{}", &body), 200);
}

static void commands_have_a_rate(void **state)
{
    struct fixture *f = *state;
    BUF head = {0};
    BUF body = {0};
    int status = 200;

    /* More than 60, since it refills meanwhile. */
    for (int i = 0; i < 1200 && status != 429; i++)
        status = fixture_call(f, SESSIONS "SendPrompt", "{}", &body);
    assert_int_equal(status, 429);
    assert_memory_equal(body.data, "{\"code\":\"resource_exhausted\"", 28);
    /* Of that person; not of another one, and not for ever. */
    assert_int_equal(fixture_ask(f,
                                 &(struct ask_options){.path = SESSIONS "SendPrompt",
                                                       .origin = "own",
                                                       .cookie = fixture_bob_token},
                                 &head, &body),
                     200);
    fixture_shift(f, 2000);
    assert_int_equal(fixture_call(f, SESSIONS "SendPrompt", "{}", &body), 200);
}

#define WITH_GATEWAY(test) cmocka_unit_test_setup_teardown(test, set_up, fixture_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_GATEWAY(a_person_calls_by_cookie_in_json),
        WITH_GATEWAY(a_person_calls_by_cli_token_in_protobuf),
        WITH_GATEWAY(refusals_carry_connects_body),
        WITH_GATEWAY(what_is_too_long_is_413_and_431_with_connects_body),
        WITH_GATEWAY(every_answer_has_the_security_headers),
        WITH_GATEWAY(health_says_what_is_missing_and_no_runner_is_no_reason_to_be_not_ready),
        WITH_GATEWAY(the_owners_refusal_reaches_the_client),
        WITH_GATEWAY(bytes_that_break_the_budget_are_not_forwarded),
        WITH_GATEWAY(json_becomes_the_message_it_says),
        WITH_GATEWAY(the_clients_time_is_the_services),
        WITH_GATEWAY(a_client_that_goes_away_is_forgotten),
        WITH_GATEWAY(commands_have_a_rate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
