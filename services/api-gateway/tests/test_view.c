/* A Session in a viewer's socket, with the services played. EV-03: each viewer sees every Event, in
 * order, once. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "hub.h"
#include "page.h"

static void a_viewer_gets_the_view_and_then_each_event_once_and_in_order(void **state)
{
    struct fixture *f = *state;
    int fd = page_connect(f);

    page_say_open(fd, 1, SESSION, 0);
    G(ServerFrame) *frame = PAGE_READ(fd, VIEW);
    assert_true(frame->view->is_first);
    assert_int_equal(frame->view->view->n_events, 3);
    page_free(frame);
    assert_string_equal(fake_newest("OpenView")->actor, "person/ada");

    hub.last_seq = 5;
    hub_say_live(4, 5, 1);
    page_read_events(fd, 4, 5);
    hub_say_live(5, 5, 1); /* again, and with what overlaps */
    hub.last_seq = 6;
    hub_say_live(5, 6, 1);
    page_read_events(fd, 6, 6);
    hub.last_seq = 9;
    hub_say_live(9, 9, 1); /* 7 and 8 were lost */
    page_read_events(fd, 7, 9);
    assert_int_equal(fake_count("ListEvents"), 1);
    close(fd);
}

static void a_viewer_that_comes_back_gets_what_it_missed(void **state)
{
    struct fixture *f = *state;
    int fd = page_connect(f);

    hub.last_seq = 300;
    page_say_open(fd, 1, SESSION, 10);
    G(ServerFrame) *frame = PAGE_READ(fd, VIEW);
    assert_int_equal(frame->view->view->n_events, 200);
    assert_int_equal(frame->view->view->events[0]->seq, 11);
    page_free(frame);
    page_read_events(fd, 211, 300);
    close(fd);
}

static void events_too_many_for_a_message_are_asked_for(void **state)
{
    struct fixture *f = *state;
    int fd = page_open_session(f, 0);

    hub.last_seq = 103;
    hub_say_live(103, 102, 1); /* none in it */
    hub.last_seq = 104;
    hub_say_live(104, 103, 1);
    page_read_events(fd, 4, 104);
    close(fd);
}

static void a_lost_last_message_is_found_by_its_number(void **state)
{
    struct fixture *f = *state;
    int fd = page_open_session(f, 0);

    hub.last_seq = 4;
    fixture_shift(f, 5000);
    page_read_events(fd, 4, 4);
    assert_int_equal(fake_count("Heads"), 1);
    close(fd);
}

static void the_rest_of_the_view_follows_its_version(void **state)
{
    struct fixture *f = *state;
    int fd = page_open_session(f, 0);

    hub.version = 2;
    hub.last_seq = 4;
    hub_say_live(4, 4, 2);
    page_read_events(fd, 4, 4);
    G(ServerFrame) *frame = PAGE_READ(fd, VIEW);
    assert_false(frame->view->is_first);
    assert_int_equal(frame->view->view->n_events, 0);
    page_free(frame);
    close(fd);
}

static void what_streams_is_passed_on(void **state)
{
    struct fixture *f = *state;
    int fd = page_open_session(f, 0);
    G(LiveDeltas) live = KNDL__GATEWAY__V1__LIVE_DELTAS__INIT;
    Kndl__Event__V1__Delta delta = KNDL__EVENT__V1__DELTA__INIT;
    Kndl__Event__V1__Delta *deltas[] = {&delta};

    delta.text = (char *)"hel";
    live.deltas = deltas;
    live.n_deltas = 1;
    fake_live(SESSION, KNDL_LIVE_DELTA, &live.base);
    G(ServerFrame) *frame = PAGE_READ(fd, DELTAS);
    assert_int_equal(frame->deltas->channel, 1);
    assert_string_equal(frame->deltas->deltas[0]->text, "hel");
    page_free(frame);
    close(fd);
}

static void who_may_not_see_it_gets_the_owners_words(void **state)
{
    struct fixture *f = *state;
    int fd = page_connect(f);

    hub.is_hidden = true;
    page_say_open(fd, 1, SESSION, 0);
    G(ServerFrame) *frame = PAGE_READ(fd, CLOSED);
    assert_string_equal(frame->closed->code, "not_found");
    assert_string_equal(frame->closed->message, "Session " SESSION " does not exist");
    page_free(frame);
    /* What is no id at all is answered alike, and nobody is asked. */
    page_say_open(fd, 2, "x", 0);
    frame = PAGE_READ(fd, CLOSED);
    assert_string_equal(frame->closed->message, "Session x does not exist");
    page_free(frame);
    assert_int_equal(fake_count("OpenView"), 1);
    close(fd);
}

static void losing_access_ends_the_channel(void **state)
{
    struct fixture *f = *state;

    /* Once by the fact, once by its absence from Heads, once by the time that access was given. */
    for (int way = 0; way < 3; way++) {
        hub.is_hidden = false;
        hub.access_until_ms = way == 2 ? 1 : 0;
        int fd = page_open_session(f, 0);
        hub.is_hidden = true;
        if (way == 0)
            fake_fact("repo_access", "access_changed");
        else
            fixture_shift(f, way == 1 ? 5000 : 1000);
        G(ServerFrame) *frame = PAGE_READ(fd, CLOSED);
        assert_string_equal(frame->closed->code, "not_found");
        page_free(frame);
        close(fd);
    }
}

static void while_sessions_is_away_the_view_stays_and_catches_up(void **state)
{
    struct fixture *f = *state;
    int fd = page_open_session(f, 0);

    hub.is_away = true;
    hub.last_seq = 5;
    hub_say_live(5, 5, 1);
    fixture_wait_asked("ListEvents", 1);
    fixture_sync(f);
    hub.is_away = false;
    fixture_shift(f, 1000);
    for (int i = 0; i < 3; i++)
        fixture_shift(f, 1000);
    page_read_events(fd, 4, 5);
    close(fd);
}

static void what_does_not_fit_is_sent_when_there_is_room(void **state)
{
    struct fixture *f = *state;
    int fd = page_open_session(f, 0);

    /* Some 12 MB of Events for a client that does not read. */
    hub.text_bytes = 10000;
    for (int64_t seq = 4; seq <= 1200; seq++) {
        hub.last_seq = seq;
        hub_say_live(seq, seq - 1, 1);
        if (seq % 50 == 0)
            fixture_sync(f);
    }
    fixture_sync(f);
    page_read_events(fd, 4, 1200);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, hub_open, fixture_close)
        TEST(a_viewer_gets_the_view_and_then_each_event_once_and_in_order),
        TEST(a_viewer_that_comes_back_gets_what_it_missed),
        TEST(events_too_many_for_a_message_are_asked_for),
        TEST(a_lost_last_message_is_found_by_its_number),
        TEST(the_rest_of_the_view_follows_its_version),
        TEST(what_streams_is_passed_on),
        TEST(who_may_not_see_it_gets_the_owners_words),
        TEST(losing_access_ends_the_channel),
        TEST(while_sessions_is_away_the_view_stays_and_catches_up),
        TEST(what_does_not_fit_is_sent_when_there_is_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
