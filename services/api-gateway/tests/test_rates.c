/*
 * The figures of the rate limits: so many are let through at once, what comes after them is
 * answered 429 with a sentence and the Retry-After after which it goes through, and it refills as
 * fast as it says and no faster.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fixture.h"
#include "kndl/clock.h"
#include "kndl/mem.h"

#define REPO_ACCESS "/kndl.repo_access.v1.RepoAccessService/"
#define BUF KNDL_CLEANUP(kndl_buf_done) struct kndl_buf

#define HOUR_MS (INT64_C(60) * 60 * 1000)

static int set_up(void **state)
{
    return fixture_open(state, fixture_answer_nothing);
}

enum by { BY_NOBODY, BY_BROWSER, BY_CLI, BY_UPGRADE };

struct figure {
    const char *path;
    enum by by;
    const char *body;
    int at_once;
    int64_t in_an_hour;
    const char *sentence;
};

static int ask(struct fixture *f, const struct figure *figure, struct kndl_buf *head,
               struct kndl_buf *body)
{
    struct ask_options options = {.path = figure->path, .body = kndl_slice_of(figure->body)};

    if (figure->by == BY_CLI)
        options.bearer = fixture_cli_token;
    if (figure->by == BY_BROWSER)
        options.cookie = fixture_web_token;
    if (figure->by == BY_BROWSER || figure->by == BY_UPGRADE)
        options.origin = "own";
    if (figure->by == BY_UPGRADE) {
        options.method = "GET";
        options.extra = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";
    }
    kndl_buf_clear(head);
    kndl_buf_clear(body);
    return fixture_ask(f, &options, head, body);
}

/* How many are let through before the first that is not. */
static int count(struct fixture *f, const struct figure *figure, int most, struct kndl_buf *head,
                 struct kndl_buf *body)
{
    int let = 0;

    while (let < most && ask(f, figure, head, body) != 429)
        let++;
    return let;
}

static int64_t retry_after_s(const struct kndl_buf *head)
{
    static const char name[] = "\r\nRetry-After: ";
    const char *at = strstr(head->data, name);

    assert_non_null(at);
    return strtoll(at + sizeof name - 1, NULL, 10);
}

static void check_refusal(const struct figure *figure, const struct kndl_buf *head,
                          const struct kndl_buf *body)
{
    BUF expected = {0};

    kndl_buf_printf(&expected, "{\"code\":\"resource_exhausted\",\"message\":\"%s; come back in ",
                    figure->sentence);
    assert_int_equal(strncmp(body->data, expected.data, expected.size), 0);
    assert_in_range(retry_after_s(head), 1, (3600 + figure->in_an_hour - 1) / figure->in_an_hour);
}

static void check(struct fixture *f, const struct figure *figure)
{
    BUF head = {0};
    BUF body = {0};
    int64_t began_ms = kndl_clock_ms();
    int let = count(f, figure, 20 * figure->at_once, &head, &body);
    int64_t gained = (kndl_clock_ms() - began_ms) * figure->in_an_hour / HOUR_MS + 1;

    assert_in_range(let, figure->at_once, figure->at_once + gained);
    check_refusal(figure, &head, &body);
    fixture_shift(f, 1000 * retry_after_s(&head));
    assert_int_not_equal(ask(f, figure, &head, &body), 429);
    (void)count(f, figure, 20 * figure->at_once, &head, &body);

    /* Three more after the time that three take, besides what the asking itself takes. */
    began_ms = kndl_clock_ms();
    fixture_shift(f, 3 * HOUR_MS / figure->in_an_hour + 1);
    let = count(f, figure, 20 * figure->at_once, &head, &body);
    gained = (kndl_clock_ms() - began_ms) * figure->in_an_hour / HOUR_MS + 1;
    assert_in_range(let, 3, gained);
    fixture_shift(f, 24 * HOUR_MS); /* for the next one */
}

static void sign_ins_are_10_a_minute(void **state)
{
    static const char sentence[] = "too many sign-ins from here";

    check(*state,
          &(struct figure){"/auth/device", BY_NOBODY, "{\"machine\":\"m\"}", 10, 600, sentence});
    check(*state, &(struct figure){"/auth/dev", BY_NOBODY, "{\"login\":\"ada\",\"client\":\"cli\"}",
                                   10, 600, sentence});
    check(*state, &(struct figure){"/auth/device/token", BY_NOBODY, "{\"deviceCode\":\"x\"}", 60,
                                   3600, "asked too often from here"});
}

static void commands_are_30_a_second(void **state)
{
    check(*state, &(struct figure){"/kndl.sessions.v1.SessionsService/SendPrompt", BY_BROWSER, "{}",
                                   60, 30 * 3600, "too many requests"});
}

static void sockets_are_10_a_second(void **state)
{
    check(*state,
          &(struct figure){"/socket", BY_UPGRADE, "", 20, 10 * 3600, "too many sockets at once"});
}

static void invites_are_20_an_hour(void **state)
{
    check(*state, &(struct figure){REPO_ACCESS "InviteMember", BY_BROWSER, "{}", 20, 20,
                                   "20 Invites an hour"});
}

static void a_slow_limit_says_how_long_it_takes(void **state)
{
    const struct figure figure = {REPO_ACCESS "InviteMember", BY_BROWSER, "{}", 20, 20, ""};
    BUF head = {0};
    BUF body = {0};

    assert_int_equal(count(*state, &figure, 21, &head, &body), 20);
    assert_non_null(strstr(body.data, "20 Invites an hour; come back in 3 minutes"));
    assert_in_range(retry_after_s(&head), 121, 180);
    fixture_shift(*state, 60 * 1000);
    assert_int_equal(ask(*state, &figure, &head, &body), 429);
    assert_in_range(retry_after_s(&head), 61, 120);
}

static void short_codes_are_20_a_minute(void **state)
{
    check(*state, &(struct figure){REPO_ACCESS "FindDevice", BY_BROWSER, "{}", 20, 20 * 60,
                                   "too many codes"});
}

static void confirmations_are_10_a_minute(void **state)
{
    check(*state, &(struct figure){REPO_ACCESS "BeginConfirmation", BY_CLI, "{}", 10, 10 * 60,
                                   "too many confirmations"});
}

#define WITH_GATEWAY(test) cmocka_unit_test_setup_teardown(test, set_up, fixture_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_GATEWAY(sign_ins_are_10_a_minute),
        WITH_GATEWAY(commands_are_30_a_second),
        WITH_GATEWAY(sockets_are_10_a_second),
        WITH_GATEWAY(invites_are_20_an_hour),
        WITH_GATEWAY(a_slow_limit_says_how_long_it_takes),
        WITH_GATEWAY(short_codes_are_20_a_minute),
        WITH_GATEWAY(confirmations_are_10_a_minute),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
