/* ListEvents with wait_ms: the gateway waits, the owner is asked. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fixture.h"
#include "kndl/gateway/v1/frame.pb-c.h"
#include "kndl/mem.h"
#include "kndl/raw_client.h"
#include "kndl/sessions/v1/sessions_service.pb-c.h"

#define V1(name) Kndl__Sessions__V1__##name
#define BUF KNDL_CLEANUP(kndl_buf_done) struct kndl_buf

#define LIST_EVENTS "/kndl.sessions.v1.SessionsService/ListEvents"
#define SESSION "abcdefghijklmnopqrstuvwxya"
#define WAIT(ms) "{\"sessionId\":\"" SESSION "\",\"afterSeq\":\"6\",\"waitMs\":" ms "}"

/* Written while the loop waits for a question of the test's. */
static int last_seq;
static enum kndl_code failure;

static bool answer(const struct fake_request *request, struct kndl_buf *out, struct kndl_error *err)
{
    V1(ListEventsResponse) response = KNDL__SESSIONS__V1__LIST_EVENTS_RESPONSE__INIT;
    Kndl__Event__V1__Event event = KNDL__EVENT__V1__EVENT__INIT;
    Kndl__Event__V1__Event *events[] = {&event};

    (void)request;
    if (failure != KNDL_OK) {
        kndl_fail(err, failure, "so it is");
        return true;
    }
    event.seq = last_seq;
    response.last_seq = last_seq;
    response.events = events;
    response.n_events = last_seq > 6 ? 1 : 0;
    fake_pack(out, &response.base);
    return true;
}

static int set_up(void **state)
{
    last_seq = 6;
    failure = KNDL_OK;
    return fixture_open(state, answer);
}

static int begin(struct fixture *f, const char *json)
{
    int before = fake_count("ListEvents");
    int fd = fixture_send(f, &(struct ask_options){.path = LIST_EVENTS,
                                                   .origin = "own",
                                                   .cookie = fixture_web_token,
                                                   .body = kndl_slice_of(json)});

    fixture_wait_asked("ListEvents", before + 1);
    fixture_sync(f); /* and the answer, kept back, has been looked at */
    return fd;
}

static void say_live(struct fixture *f)
{
    Kndl__Gateway__V1__Live live = KNDL__GATEWAY__V1__LIVE__INIT;

    live.session_id = (char *)SESSION;
    live.last_seq = last_seq;
    fake_live(SESSION, KNDL_LIVE_EVENT, &live.base);
    fixture_sync(f);
}

static void what_is_there_is_answered_at_once(void **state)
{
    struct fixture *f = *state;
    BUF body = {0};

    last_seq = 7;
    assert_int_equal(fixture_call(f, LIST_EVENTS, WAIT("25000"), &body), 200);
    assert_string_equal(body.data, "{\"events\":[{\"seq\":\"7\"}],\"lastSeq\":\"7\"}");
    assert_int_equal(fake_count("ListEvents"), 1);
}

static void without_wait_ms_nothing_is_waited_for(void **state)
{
    struct fixture *f = *state;
    BUF body = {0};

    assert_int_equal(fixture_call(f, LIST_EVENTS, WAIT("0"), &body), 200);
    assert_string_equal(body.data, "{\"lastSeq\":\"6\"}");
    assert_int_equal(fake_subscriptions(), 1); /* the facts' */
}

static void an_event_ends_the_waiting(void **state)
{
    struct fixture *f = *state;
    BUF head = {0};
    BUF body = {0};
    int fd = begin(f, WAIT("25000"));

    assert_int_equal(fake_subscriptions(), 2);
    say_live(f); /* of nothing new: asked again, and waited on */
    assert_int_equal(fake_count("ListEvents"), 2);
    last_seq = 7;
    say_live(f);
    assert_int_equal(kndl_raw_read_answer(fd, &head, &body), 200);
    assert_string_equal(body.data, "{\"events\":[{\"seq\":\"7\"}],\"lastSeq\":\"7\"}");
    assert_int_equal(fake_count("ListEvents"), 3);
    close(fd);
    fixture_sync(f);
    assert_int_equal(fake_subscriptions(), 1);
}

static void waiting_ends_when_its_time_is_over(void **state)
{
    struct fixture *f = *state;
    BUF head = {0};
    BUF body = {0};
    int fd = begin(f, WAIT("300"));

    assert_int_equal(kndl_raw_read_answer(fd, &head, &body), 200);
    assert_string_equal(body.data, "{\"lastSeq\":\"6\"}");
    assert_int_equal(fake_count("ListEvents"), 2); /* and once more at the end */
    close(fd);
}

static void losing_access_ends_the_waiting(void **state)
{
    struct fixture *f = *state;
    BUF head = {0};
    BUF body = {0};
    int fd = begin(f, WAIT("25000"));

    failure = KNDL_NOT_FOUND;
    say_live(f);
    assert_int_equal(kndl_raw_read_answer(fd, &head, &body), 404);
    close(fd);
}

static void an_owner_that_is_away_for_a_moment_does_not(void **state)
{
    struct fixture *f = *state;
    BUF head = {0};
    BUF body = {0};
    int fd = begin(f, WAIT("25000"));

    failure = KNDL_UNAVAILABLE;
    say_live(f);
    failure = KNDL_OK;
    last_seq = 7;
    say_live(f);
    assert_int_equal(kndl_raw_read_answer(fd, &head, &body), 200);
    close(fd);

    failure = KNDL_UNAVAILABLE;
    assert_int_equal(fixture_call(f, LIST_EVENTS, WAIT("25000"), &body), 503);
}

static void a_client_that_goes_away_leaves_nothing_behind(void **state)
{
    struct fixture *f = *state;
    BUF body = {0};
    int fd = begin(f, WAIT("25000"));

    close(fd);
    while (fake_subscriptions() > 1)
        assert_int_equal(fixture_call(f, LIST_EVENTS, WAIT("0"), &body), 200);
}

#define WITH_GATEWAY(test) cmocka_unit_test_setup_teardown(test, set_up, fixture_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_GATEWAY(what_is_there_is_answered_at_once),
        WITH_GATEWAY(without_wait_ms_nothing_is_waited_for),
        WITH_GATEWAY(an_event_ends_the_waiting),
        WITH_GATEWAY(waiting_ends_when_its_time_is_over),
        WITH_GATEWAY(losing_access_ends_the_waiting),
        WITH_GATEWAY(an_owner_that_is_away_for_a_moment_does_not),
        WITH_GATEWAY(a_client_that_goes_away_leaves_nothing_behind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
