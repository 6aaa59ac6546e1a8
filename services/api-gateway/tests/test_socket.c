/* The WebSocket over real HTTP, with the services played. EV-03: each viewer sees every Event, in
 * order, once. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fixture.h"
#include "kndl/gateway/v1/frame.pb-c.h"
#include "kndl/mem.h"
#include "kndl/raw_client.h"
#include "kndl/repo_access/v1/repo_access_service.pb-c.h"

#define G(name) Kndl__Gateway__V1__##name
#define S(name) Kndl__Sessions__V1__##name
#define BUF KNDL_CLEANUP(kndl_buf_done) struct kndl_buf

#define SESSION "abcdefghijklmnopqrstuvwxya"
#define OTHER "bbcdefghijklmnopqrstuvwxya"

enum { EVENTS_MAX = 4000 };

/* The fake sessions. Changed by the test while the loop has nothing to ask. */
static struct {
    int64_t last_seq;
    int64_t version;
    bool is_hidden;
    bool is_away;
    int text_bytes; /* of each Event */
    int64_t access_until_ms;
} hub;

static void add_events(S(OpenViewResponse) * view, S(ListEventsResponse) * page, int64_t first,
                       int64_t last, struct kndl_buf *out)
{
    Kndl__Event__V1__Event *events = kndl_new_array(Kndl__Event__V1__Event, EVENTS_MAX);
    Kndl__Event__V1__Event **list = kndl_new_array(Kndl__Event__V1__Event *, EVENTS_MAX);
    Kndl__Event__V1__Text text = KNDL__EVENT__V1__TEXT__INIT;
    size_t count = 0;

    text.text = kndl_alloc((size_t)hub.text_bytes + 1, 1);
    memset(text.text, 'x', (size_t)hub.text_bytes);
    for (int64_t seq = first; seq <= last; seq++) {
        kndl__event__v1__event__init(&events[count]);
        events[count].seq = seq;
        if (hub.text_bytes > 0) {
            events[count].kind_case = KNDL__EVENT__V1__EVENT__KIND_TEXT;
            events[count].text = &text;
        }
        list[count] = &events[count];
        count++;
    }
    if (view != NULL) {
        view->events = list;
        view->n_events = count;
        fake_pack(out, &view->base);
    } else {
        page->events = list;
        page->n_events = count;
        fake_pack(out, &page->base);
    }
    free(text.text);
    free(events);
    free(list);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void answer_view(const struct fake_request *request, struct kndl_buf *out)
{
    S(OpenViewResponse) view = KNDL__SESSIONS__V1__OPEN_VIEW_RESPONSE__INIT;
    S(Session) session = KNDL__SESSIONS__V1__SESSION__INIT;
    S(OpenViewRequest) *asked = kndl__sessions__v1__open_view_request__unpack(
        NULL, request->data.size, (const uint8_t *)request->data.data);
    int64_t first = asked->after_seq + 1;

    session.last_seq = hub.last_seq;
    view.session = &session;
    view.view_version = hub.version;
    view.access_until_ms = hub.access_until_ms;
    if (asked->after_seq == 0 && hub.last_seq > 50)
        first = hub.last_seq - 49;
    add_events(&view, NULL, first, least(hub.last_seq, first + 199), out);
    kndl__sessions__v1__open_view_request__free_unpacked(asked, NULL);
}

static void answer_events(const struct fake_request *request, struct kndl_buf *out)
{
    S(ListEventsResponse) page = KNDL__SESSIONS__V1__LIST_EVENTS_RESPONSE__INIT;
    S(ListEventsRequest) *asked = kndl__sessions__v1__list_events_request__unpack(
        NULL, request->data.size, (const uint8_t *)request->data.data);

    page.last_seq = hub.last_seq;
    add_events(NULL, &page, asked->after_seq + 1, least(hub.last_seq, asked->after_seq + 50), out);
    kndl__sessions__v1__list_events_request__free_unpacked(asked, NULL);
}

static void answer_heads(struct kndl_buf *out)
{
    S(HeadsResponse) response = KNDL__SESSIONS__V1__HEADS_RESPONSE__INIT;
    S(HeadsResponse__Head) head = KNDL__SESSIONS__V1__HEADS_RESPONSE__HEAD__INIT;
    S(HeadsResponse__Head) * heads[] = {&head};

    head.session_id = (char *)SESSION;
    head.last_seq = hub.last_seq;
    head.view_version = hub.version;
    response.heads = heads;
    response.n_heads = hub.is_hidden ? 0 : 1;
    fake_pack(out, &response.base);
}

static void answer_access(struct kndl_buf *out)
{
    Kndl__RepoAccess__V1__CheckAccessResponse response =
        KNDL__REPO_ACCESS__V1__CHECK_ACCESS_RESPONSE__INIT;
    int64_t allowed[] = {7};

    response.allowed_repo_ids = allowed;
    response.n_allowed_repo_ids = 1;
    response.valid_until_ms = INT64_MAX;
    fake_pack(out, &response.base);
}

static bool answer(const struct fake_request *request, struct kndl_buf *out, struct kndl_error *err)
{
    if (strcmp(request->method, "CheckAccess") == 0)
        answer_access(out);
    else if (hub.is_away)
        kndl_fail(err, KNDL_UNAVAILABLE, "sessions is not there");
    else if (strcmp(request->method, "Heads") == 0)
        answer_heads(out);
    else if (hub.is_hidden)
        kndl_fail(err, KNDL_NOT_FOUND, "Session %s does not exist", SESSION);
    else if (strcmp(request->method, "OpenView") == 0)
        answer_view(request, out);
    else if (strcmp(request->method, "ListEvents") == 0)
        answer_events(request, out);
    return true;
}

static int set_up(void **state)
{
    memset(&hub, 0, sizeof hub);
    hub.last_seq = 3;
    hub.version = 1;
    return fixture_open(state, answer);
}

/* ---- the client ---- */

#define UPGRADE                                                                                    \
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"                   \
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
#define KNDL_PROTOCOL "Sec-WebSocket-Protocol: kndl\r\n"

static G(ServerFrame) * read_frame(int fd)
{
    BUF payload = {0};

    if (kndl_raw_read_frame(fd, &payload) != 2)
        return NULL;
    return kndl__gateway__v1__server_frame__unpack(NULL, payload.size,
                                                   (const uint8_t *)payload.data);
}

static void free_frame(G(ServerFrame) * frame)
{
    kndl__gateway__v1__server_frame__free_unpacked(frame, NULL);
}

static G(ServerFrame) * read_kind(int fd, G(ServerFrame__KindCase) kind)
{
    G(ServerFrame) *frame = read_frame(fd);

    assert_non_null(frame);
    assert_int_equal(frame->kind_case, kind);
    return frame;
}

#define READ(fd, KIND) read_kind(fd, KNDL__GATEWAY__V1__SERVER_FRAME__KIND_##KIND)

static int connect_socket(struct fixture *f)
{
    BUF head = {0};
    BUF body = {0};
    int fd = fixture_send(f, &(struct ask_options){.method = "GET",
                                                   .path = "/socket",
                                                   .origin = "own",
                                                   .cookie = fixture_web_token,
                                                   .extra = UPGRADE KNDL_PROTOCOL});

    assert_int_equal(kndl_raw_read_answer(fd, &head, &body), 101);
    assert_non_null(strstr(head.data, "\r\nSec-WebSocket-Protocol: kndl\r\n"));
    G(ServerFrame) *frame = READ(fd, WELCOME);
    assert_string_equal(frame->welcome->person_id, "ada");
    assert_true(frame->welcome->version[0] != '\0');
    free_frame(frame);
    return fd;
}

static void say(int fd, G(ClientFrame) * frame)
{
    BUF packed = {0};

    fake_pack(&packed, &frame->base);
    kndl_raw_send_frame(fd, 0x82, packed.data, packed.size);
}

static void say_open(int fd, uint32_t channel, const char *session, int64_t after_seq)
{
    G(ClientFrame) frame = KNDL__GATEWAY__V1__CLIENT_FRAME__INIT;
    G(Open) open = KNDL__GATEWAY__V1__OPEN__INIT;

    open.channel = channel;
    open.session_id = (char *)session;
    open.after_seq = after_seq;
    frame.kind_case = KNDL__GATEWAY__V1__CLIENT_FRAME__KIND_OPEN;
    frame.open = &open;
    say(fd, &frame);
}

/* Opens the Session and takes the first View. */
static int open_session(struct fixture *f, int64_t after_seq)
{
    int fd = connect_socket(f);

    say_open(fd, 1, SESSION, after_seq);
    G(ServerFrame) *frame = READ(fd, VIEW);
    assert_int_equal(frame->view->channel, 1);
    assert_true(frame->view->is_first);
    free_frame(frame);
    fixture_sync(f);
    return fd;
}

static void say_live(int64_t first, int64_t last, int64_t version)
{
    G(Live) live = KNDL__GATEWAY__V1__LIVE__INIT;
    Kndl__Event__V1__Event events[50];
    Kndl__Event__V1__Event *list[50];

    for (int64_t seq = first; seq <= last; seq++) {
        kndl__event__v1__event__init(&events[seq - first]);
        events[seq - first].seq = seq;
        list[seq - first] = &events[seq - first];
    }
    live.session_id = (char *)SESSION;
    live.events = list;
    live.n_events = (size_t)(last - first + 1);
    live.last_seq = last;
    live.view_version = version;
    fake_live(SESSION, KNDL_LIVE_EVENT, &live.base);
}

/* Reads Events frames until `last`; each number comes once. */
static void read_events(int fd, int64_t first, int64_t last)
{
    while (first <= last) {
        G(ServerFrame) *frame = READ(fd, EVENTS);

        assert_int_equal(frame->events->channel, 1);
        for (size_t i = 0; i < frame->events->n_events; i++)
            assert_int_equal(frame->events->events[i]->seq, first++);
        free_frame(frame);
    }
    assert_int_equal(first, last + 1);
}

static void read_close(int fd, int status)
{
    BUF payload = {0};

    assert_int_equal(kndl_raw_read_frame(fd, &payload), 8);
    assert_int_equal((unsigned char)payload.data[0] << 8 | (unsigned char)payload.data[1], status);
}

/* ---- tests ---- */

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
    BUF head = {0};
    BUF body = {0};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ask_options options = cases[i].options;

        options.method = "GET";
        options.extra = UPGRADE;
        assert_int_equal(fixture_ask(f, &options, &head, &body), cases[i].status);
    }
    assert_int_equal(
        fixture_ask(f,
                    &(struct ask_options){.method = "GET",
                                          .path = "/socket",
                                          .origin = "own",
                                          .cookie = fixture_web_token,
                                          .extra = UPGRADE "Sec-WebSocket-Protocol: other\r\n"},
                    &head, &body),
        400);
}

static void a_viewer_gets_the_view_and_then_each_event_once_and_in_order(void **state)
{
    struct fixture *f = *state;
    int fd = connect_socket(f);

    say_open(fd, 1, SESSION, 0);
    G(ServerFrame) *frame = READ(fd, VIEW);
    assert_true(frame->view->is_first);
    assert_int_equal(frame->view->view->n_events, 3);
    free_frame(frame);
    assert_string_equal(fake_newest("OpenView")->actor, "person/ada");

    hub.last_seq = 5;
    say_live(4, 5, 1);
    read_events(fd, 4, 5);
    say_live(5, 5, 1); /* again, and with what overlaps */
    hub.last_seq = 6;
    say_live(5, 6, 1);
    read_events(fd, 6, 6);
    hub.last_seq = 9;
    say_live(9, 9, 1); /* 7 and 8 were lost */
    read_events(fd, 7, 9);
    assert_int_equal(fake_count("ListEvents"), 1);
    close(fd);
}

static void a_viewer_that_comes_back_gets_what_it_missed(void **state)
{
    struct fixture *f = *state;
    int fd = connect_socket(f);

    hub.last_seq = 300;
    say_open(fd, 1, SESSION, 10);
    G(ServerFrame) *frame = READ(fd, VIEW);
    assert_int_equal(frame->view->view->n_events, 200);
    assert_int_equal(frame->view->view->events[0]->seq, 11);
    free_frame(frame);
    read_events(fd, 211, 300);
    close(fd);
}

static void events_too_many_for_a_message_are_asked_for(void **state)
{
    struct fixture *f = *state;
    int fd = open_session(f, 0);

    hub.last_seq = 103;
    say_live(103, 102, 1); /* none in it */
    hub.last_seq = 104;
    say_live(104, 103, 1);
    read_events(fd, 4, 104);
    close(fd);
}

static void a_lost_last_message_is_found_by_its_number(void **state)
{
    struct fixture *f = *state;
    int fd = open_session(f, 0);

    hub.last_seq = 4;
    fixture_shift(f, 5000);
    read_events(fd, 4, 4);
    assert_int_equal(fake_count("Heads"), 1);
    close(fd);
}

static void the_rest_of_the_view_follows_its_version(void **state)
{
    struct fixture *f = *state;
    int fd = open_session(f, 0);

    hub.version = 2;
    hub.last_seq = 4;
    say_live(4, 4, 2);
    read_events(fd, 4, 4);
    G(ServerFrame) *frame = READ(fd, VIEW);
    assert_false(frame->view->is_first);
    assert_int_equal(frame->view->view->n_events, 0);
    free_frame(frame);
    close(fd);
}

static void what_streams_is_passed_on(void **state)
{
    struct fixture *f = *state;
    int fd = open_session(f, 0);
    G(LiveDeltas) live = KNDL__GATEWAY__V1__LIVE_DELTAS__INIT;
    Kndl__Event__V1__Delta delta = KNDL__EVENT__V1__DELTA__INIT;
    Kndl__Event__V1__Delta *deltas[] = {&delta};

    delta.text = (char *)"hel";
    live.deltas = deltas;
    live.n_deltas = 1;
    fake_live(SESSION, KNDL_LIVE_DELTA, &live.base);
    G(ServerFrame) *frame = READ(fd, DELTAS);
    assert_int_equal(frame->deltas->channel, 1);
    assert_string_equal(frame->deltas->deltas[0]->text, "hel");
    free_frame(frame);
    close(fd);
}

static void who_may_not_see_it_gets_the_owners_words(void **state)
{
    struct fixture *f = *state;
    int fd = connect_socket(f);

    hub.is_hidden = true;
    say_open(fd, 1, SESSION, 0);
    G(ServerFrame) *frame = READ(fd, CLOSED);
    assert_string_equal(frame->closed->code, "not_found");
    assert_string_equal(frame->closed->message, "Session " SESSION " does not exist");
    free_frame(frame);
    /* What is no id at all is answered alike, and nobody is asked. */
    say_open(fd, 2, "x", 0);
    frame = READ(fd, CLOSED);
    assert_string_equal(frame->closed->message, "Session x does not exist");
    free_frame(frame);
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
        int fd = open_session(f, 0);
        hub.is_hidden = true;
        if (way == 0)
            fake_fact("repo_access", "access_changed");
        else
            fixture_shift(f, way == 1 ? 5000 : 1000);
        G(ServerFrame) *frame = READ(fd, CLOSED);
        assert_string_equal(frame->closed->code, "not_found");
        free_frame(frame);
        close(fd);
    }
}

static void a_sign_in_that_is_over_ends_the_socket(void **state)
{
    struct fixture *f = *state;
    int fd = connect_socket(f);
    char kept[80];

    strcpy(kept, fixture_web_token);
    strcpy(fixture_web_token, fixture_unknown_token); /* repo-access knows it no more */
    fake_fact("repo_access", "token_removed");
    read_close(fd, 4401);
    close(fd);

    strcpy(fixture_web_token, kept);
    fd = connect_socket(f);
    strcpy(fixture_web_token, fixture_unknown_token);
    fixture_shift(f, 10000); /* the fact was lost */
    read_close(fd, 4401);
    close(fd);
}

static void a_fact_about_one_person_makes_their_sockets_ask_and_no_others(void **state)
{
    Kndl__RepoAccess__V1__Changed changed = KNDL__REPO_ACCESS__V1__CHANGED__INIT;
    struct fixture *f = *state;
    int fd = connect_socket(f);
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

static void while_sessions_is_away_the_view_stays_and_catches_up(void **state)
{
    struct fixture *f = *state;
    int fd = open_session(f, 0);

    hub.is_away = true;
    hub.last_seq = 5;
    say_live(5, 5, 1);
    fixture_wait_asked("ListEvents", 1);
    fixture_sync(f);
    hub.is_away = false;
    fixture_shift(f, 1000);
    for (int i = 0; i < 3; i++)
        fixture_shift(f, 1000);
    read_events(fd, 4, 5);
    close(fd);
}

static void what_does_not_fit_is_sent_when_there_is_room(void **state)
{
    struct fixture *f = *state;
    int fd = open_session(f, 0);

    /* Some 12 MB of Events for a client that does not read. */
    hub.text_bytes = 10000;
    for (int64_t seq = 4; seq <= 1200; seq++) {
        hub.last_seq = seq;
        say_live(seq, seq - 1, 1);
        if (seq % 50 == 0)
            fixture_sync(f);
    }
    fixture_sync(f);
    read_events(fd, 4, 1200);
    close(fd);
}

static void frames_that_no_page_sends_end_the_socket(void **state)
{
    struct fixture *f = *state;
    int fd = connect_socket(f);

    kndl_raw_send_frame(fd, 0x82, "\xff\xff\xff", 3);
    read_close(fd, 4400);
    close(fd);

    fd = open_session(f, 0);
    say_open(fd, 1, SESSION, 0); /* in use */
    read_close(fd, 4400);
    close(fd);
}

static void a_socket_has_sixteen_channels(void **state)
{
    struct fixture *f = *state;
    int fd = connect_socket(f);

    for (uint32_t channel = 1; channel <= 16; channel++) {
        say_open(fd, channel, SESSION, 0);
        free_frame(READ(fd, VIEW));
    }
    assert_int_equal(fake_subscriptions(), 3); /* facts, Events and deltas of one Session */
    say_open(fd, 17, SESSION, 0);
    G(ServerFrame) *frame = READ(fd, CLOSED);
    assert_int_equal(frame->closed->channel, 17);
    assert_string_equal(frame->closed->code, "resource_exhausted");
    free_frame(frame);

    G(ClientFrame) client = KNDL__GATEWAY__V1__CLIENT_FRAME__INIT;
    G(Close) gone = KNDL__GATEWAY__V1__CLOSE__INIT;
    client.kind_case = KNDL__GATEWAY__V1__CLIENT_FRAME__KIND_CLOSE;
    client.close = &gone;
    gone.channel = 3;
    say(fd, &client);
    say_open(fd, 17, SESSION, 0);
    free_frame(READ(fd, VIEW));
    close(fd);
}

static void a_ping_is_answered(void **state)
{
    struct fixture *f = *state;
    int fd = connect_socket(f);
    G(ClientFrame) client = KNDL__GATEWAY__V1__CLIENT_FRAME__INIT;
    G(Ping) ping = KNDL__GATEWAY__V1__PING__INIT;

    ping.id = 42;
    client.kind_case = KNDL__GATEWAY__V1__CLIENT_FRAME__KIND_PING;
    client.ping = &ping;
    say(fd, &client);
    G(ServerFrame) *frame = READ(fd, PONG);
    assert_int_equal(frame->pong->id, 42);
    free_frame(frame);
    close(fd);
}

static void a_client_that_is_gone_without_a_word_is_let_go(void **state)
{
    struct fixture *f = *state;
    int fd = connect_socket(f);
    BUF payload = {0};

    fixture_shift(f, 15000);
    assert_int_equal(kndl_raw_read_frame(fd, &payload), 9); /* a ping, which it does not answer */
    fixture_shift(f, 11000);
    read_close(fd, 4408);
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
    int fd = connect_socket(f);
    G(ClientFrame) client = KNDL__GATEWAY__V1__CLIENT_FRAME__INIT;
    G(Watch) watch = KNDL__GATEWAY__V1__WATCH__INIT;
    G(Ping) ping = KNDL__GATEWAY__V1__PING__INIT;

    watch.on = true;
    client.kind_case = KNDL__GATEWAY__V1__CLIENT_FRAME__KIND_WATCH;
    client.watch = &watch;
    say(fd, &client);
    client.kind_case = KNDL__GATEWAY__V1__CLIENT_FRAME__KIND_PING;
    client.ping = &ping;
    say(fd, &client);
    free_frame(READ(fd, PONG)); /* so it watches now */

    say_summary(OTHER, 8, "ada"); /* a Repo that ada may not see (any more) */
    say_summary(SESSION, 7, "bob");
    G(ServerFrame) *frame = READ(fd, SESSION_CHANGED);
    assert_string_equal(frame->session_changed->session->id, SESSION);
    assert_false(frame->session_changed->session->is_creator);
    free_frame(frame);
    say_summary(SESSION, 7, "ada");
    frame = READ(fd, SESSION_CHANGED);
    assert_true(frame->session_changed->session->is_creator);
    free_frame(frame);
    fixture_sync(f);
    assert_in_range(fake_count("CheckAccess"), 1, 2); /* kept after that */
    close(fd);
}

#define WITH_GATEWAY(test) cmocka_unit_test_setup_teardown(test, set_up, fixture_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_GATEWAY(only_a_person_from_our_own_page_gets_a_socket),
        WITH_GATEWAY(a_viewer_gets_the_view_and_then_each_event_once_and_in_order),
        WITH_GATEWAY(a_viewer_that_comes_back_gets_what_it_missed),
        WITH_GATEWAY(events_too_many_for_a_message_are_asked_for),
        WITH_GATEWAY(a_lost_last_message_is_found_by_its_number),
        WITH_GATEWAY(the_rest_of_the_view_follows_its_version),
        WITH_GATEWAY(what_streams_is_passed_on),
        WITH_GATEWAY(who_may_not_see_it_gets_the_owners_words),
        WITH_GATEWAY(losing_access_ends_the_channel),
        WITH_GATEWAY(a_sign_in_that_is_over_ends_the_socket),
        WITH_GATEWAY(a_fact_about_one_person_makes_their_sockets_ask_and_no_others),
        WITH_GATEWAY(while_sessions_is_away_the_view_stays_and_catches_up),
        WITH_GATEWAY(what_does_not_fit_is_sent_when_there_is_room),
        WITH_GATEWAY(frames_that_no_page_sends_end_the_socket),
        WITH_GATEWAY(a_socket_has_sixteen_channels),
        WITH_GATEWAY(a_ping_is_answered),
        WITH_GATEWAY(a_client_that_is_gone_without_a_word_is_let_go),
        WITH_GATEWAY(a_list_hears_of_sessions_on_repos_that_the_person_may_see),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
