#include "client.h"

#include <string.h>

#include "fake_hub.h"
#include "kndl/clock.h"
#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "kndl/testing.h"

#define V1(name) Kndl__RepoAccess__V1__##name

/* The outcome of WhoAmI at a Hub that answers as its script says. */
static int ask(struct hub *hub, const char *token, char login[64], struct kndl_error *err)
{
    V1(WhoAmIRequest) request = KNDL__REPO_ACCESS__V1__WHO_AM_IREQUEST__INIT;
    struct kndl_arena *arena = kndl_arena_new(KNDL_ARENA_PLAIN);
    struct config config = {0};
    ProtobufCMessage *response;

    *err = (struct kndl_error){0};
    hub_start(hub);
    assert_int_equal(config_set_url(&config, hub->url, err), 0);
    if (token != NULL)
        kndl_secret_copy(&config.token, kndl_slice_of(token));
    struct client *client = client_new(&config);
    int result = client_call(client, &kndl__repo_access__v1__repo_access_service__descriptor,
                             "WhoAmI", &request.base, 0, arena, &response, err);
    if (result == 0)
        snprintf(login, 64, "%s", ((V1(WhoAmIResponse) *)response)->person->login);
    client_free(client);
    kndl_arena_free(arena);
    config_done(&config);
    hub_stop(hub);
    assert_int_equal(hub->mistakes, 0);
    return result;
}

static void a_call_is_connects_unary_protocol_with_the_token(void **state)
{
    V1(Person) person = KNDL__REPO_ACCESS__V1__PERSON__INIT;
    V1(WhoAmIResponse) response = KNDL__REPO_ACCESS__V1__WHO_AM_IRESPONSE__INIT;
    struct hub hub = {0};
    struct kndl_error err;
    char login[64];

    (void)state;
    person.login = (char *)"ada";
    response.person = &person;
    hub_will_answer(&hub, "/WhoAmI", &response.base);
    assert_int_equal(ask(&hub, "kndl_cli_x", login, &err), 0);
    assert_string_equal(login, "ada");
    assert_int_equal(
        strncmp(hub.heads[0], "POST /kndl.repo_access.v1.RepoAccessService/WhoAmI HTTP/1.1", 59),
        0);
    assert_non_null(strstr(hub.heads[0], "\r\nAuthorization: Bearer kndl_cli_x\r\n"));
    assert_non_null(strstr(hub.heads[0], "\r\nContent-Type: application/proto\r\n"));
}

static void a_refusal_comes_with_its_code_and_sentence(void **state)
{
    static const struct {
        const char *json;
        enum kndl_code code;
        const char *message;
    } answers[] = {
        {"{\"code\":\"not_found\",\"message\":\"no such thing\"}", KNDL_NOT_FOUND, "no such thing"},
        {"{\"code\":\"aborted\",\"message\":\"not now\",\"details\":[]}", KNDL_ABORTED, "not now"},
        {"{\"code\":\"internal\"}", KNDL_INTERNAL, "internal"},
        {"{\"code\":\"canceled\"}", KNDL_CANCELLED, "canceled"},
        {"{\"code\":\"something new\",\"message\":\"x\"}", KNDL_UNKNOWN, "x"},
        {"<html>", KNDL_UNKNOWN, "what answered is no kndl Hub (HTTP 404)"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        struct hub hub = {0};
        struct kndl_error err;
        char login[64];

        hub_will_fail(&hub, "/WhoAmI", 404, answers[i].json);
        assert_int_equal(ask(&hub, "t", login, &err), -1);
        assert_int_equal(err.code, answers[i].code);
        assert_string_equal(err.message, answers[i].message);
    }
}

static void a_token_that_is_not_taken_says_how_to_sign_in(void **state)
{
    struct hub hub = {0};
    struct kndl_error err;
    char login[64];

    (void)state;
    hub_will_fail(&hub, "/WhoAmI", 401,
                  "{\"code\":\"unauthenticated\",\"message\":\"sign in first\"}");
    assert_int_equal(ask(&hub, "t", login, &err), -1);
    assert_int_equal(err.code, KNDL_UNAUTHENTICATED);
    assert_non_null(strstr(err.message, "sign in again with kndl login"));
}

static void a_limit_that_is_over_within_seconds_is_waited_for_and_a_longer_one_said(void **state)
{
    static const char refusal[] =
        "{\"code\":\"resource_exhausted\",\"message\":\"too much; come back later\"}";
    V1(Person) person = KNDL__REPO_ACCESS__V1__PERSON__INIT;
    V1(WhoAmIResponse) response = KNDL__REPO_ACCESS__V1__WHO_AM_IRESPONSE__INIT;
    struct hub soon = {0}, late = {0}, full = {0};
    struct kndl_error err;
    char login[64];

    (void)state;
    response.person = &person;
    hub_will_fail(&soon, "/WhoAmI", 429, refusal);
    soon.answers[0].retry_s = 1;
    hub_will_answer(&soon, "/WhoAmI", &response.base);
    int64_t began_ms = kndl_clock_ms();
    assert_int_equal(ask(&soon, "t", login, &err), 0);
    assert_true(kndl_clock_ms() - began_ms >= 1000); /* no sooner than it says */

    hub_will_fail(&late, "/WhoAmI", 429, refusal);
    late.answers[0].retry_s = 180;
    assert_int_equal(ask(&late, "t", login, &err), -1);
    assert_int_equal(err.code, KNDL_RESOURCE_EXHAUSTED);
    assert_int_equal(err.retry_ms, 180 * 1000);
    assert_string_equal(err.message, "too much; come back later");
    assert_int_equal(late.asked, 1);

    hub_will_fail(&full, "/WhoAmI", 429, refusal);
    assert_int_equal(ask(&full, "t", login, &err), -1);
    assert_int_equal(err.retry_ms, 0);
    assert_int_equal(full.asked, 1);
}

/* A proxy says so while the Hub is mended. */
static void a_hub_that_is_away_for_long_by_its_own_word_is_not_waited_for(void **state)
{
    struct hub away = {0};
    struct kndl_error err;
    char login[64];

    (void)state;
    hub_will_fail(&away, "/WhoAmI", 503, "{}");
    away.answers[0].retry_s = 3600;
    assert_int_equal(ask(&away, "t", login, &err), -1);
    assert_int_equal(err.code, KNDL_UNAVAILABLE);
    assert_int_equal(away.asked, 1);
}

static void a_hub_that_is_away_is_tried_three_times(void **state)
{
    V1(Person) person = KNDL__REPO_ACCESS__V1__PERSON__INIT;
    V1(WhoAmIResponse) response = KNDL__REPO_ACCESS__V1__WHO_AM_IRESPONSE__INIT;
    struct hub hub = {0}, gone = {0};
    struct kndl_error err;
    char login[64];

    (void)state;
    response.person = &person;
    hub_will_fail(&hub, "/WhoAmI", 503, "{\"code\":\"unavailable\",\"message\":\"away\"}");
    hub_will_fail(&hub, "/WhoAmI", 502, "<html>");
    hub_will_answer(&hub, "/WhoAmI", &response.base);
    assert_int_equal(ask(&hub, "t", login, &err), 0);
    assert_int_equal(hub.asked, 3);

    for (int i = 0; i < 3; i++)
        hub_will_fail(&gone, "/WhoAmI", 503, "{\"code\":\"unavailable\",\"message\":\"away\"}");
    assert_int_equal(ask(&gone, "t", login, &err), -1);
    assert_int_equal(err.code, KNDL_UNAVAILABLE);
    assert_int_equal(gone.asked, 3);
}

static void without_a_token_nothing_is_asked(void **state)
{
    struct hub hub = {0};
    struct kndl_error err;
    char login[64];

    (void)state;
    assert_int_equal(ask(&hub, NULL, login, &err), -1);
    assert_int_equal(err.code, KNDL_UNAUTHENTICATED);
    assert_int_equal(hub.asked, 0);
}

static void an_answer_that_is_not_understood_is_a_failure(void **state)
{
    struct hub hub = {0};
    struct kndl_error err;
    char login[64];

    (void)state;
    hub_will_fail(&hub, "/WhoAmI", 200, "<html>");
    assert_int_equal(ask(&hub, "t", login, &err), -1);
    assert_int_equal(err.code, KNDL_INTERNAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_is_connects_unary_protocol_with_the_token),
        cmocka_unit_test(a_refusal_comes_with_its_code_and_sentence),
        cmocka_unit_test(a_token_that_is_not_taken_says_how_to_sign_in),
        cmocka_unit_test(a_limit_that_is_over_within_seconds_is_waited_for_and_a_longer_one_said),
        cmocka_unit_test(a_hub_that_is_away_for_long_by_its_own_word_is_not_waited_for),
        cmocka_unit_test(a_hub_that_is_away_is_tried_three_times),
        cmocka_unit_test(without_a_token_nothing_is_asked),
        cmocka_unit_test(an_answer_that_is_not_understood_is_a_failure),
    };
    struct kndl_error err = {0};

    return kndl_crypt_init(&err) < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
