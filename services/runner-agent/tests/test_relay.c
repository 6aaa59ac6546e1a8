/* The relay's routes, over real sockets: RE-01, RE-02, RE-03. */

#include "relay.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "budget.h"
#include "kndl/buf.h"
#include "kndl/clock.h"
#include "kndl/loop.h"
#include "kndl/mem.h"
#include "kndl/testing.h"

/* One request, asked by a thread while the loop runs. */
struct ask {
    int port;
    const char *method;
    const char *path;
    const char *token;
    const char *body;
    int status;
    char text[1024]; /* head and body of the answer */
    bool has_hung_up;
    struct kndl_loop *loop;
};

struct fixture {
    struct kndl_loop *loop;
    struct relay *relay;
    struct kndl_secret token;
    int port;
    int hellos, results;
    uint64_t first;
    size_t events;
    enum { TAKE, REFUSE, KEEP } batch;
    struct relay_held *kept;
    const char *order; /* what is offered, NULL: nothing */
    enum answer_state answer;
};

static void on_hello(void *data, const struct claude_hello *hello)
{
    struct fixture *f = data;

    assert_string_equal(hello->claude_session_id, "b6a82ae1-f659-4f1f-b7b1-a96d6c0819d4");
    f->hellos++;
}

static void on_batch(void *data, struct relay_held *held, const struct claude_batch *batch,
                     int64_t received_us)
{
    struct fixture *f = data;

    assert_true(received_us > 0 && received_us <= kndl_clock_us());
    f->first = batch->first;
    f->events = kndl_json_count(batch->events);
    if (f->batch == TAKE)
        relay_taken(held, batch->first + f->events);
    else if (f->batch == REFUSE)
        relay_refuse(held);
    else
        f->kept = held;
}

static void on_result(void *data, const struct claude_result *result)
{
    struct fixture *f = data;

    assert_int_equal(result->command, 7);
    f->results++;
}

static void on_slowed(void *data)
{
    (void)data;
}

static int64_t fetch_order(void *data, int64_t after, struct kndl_buf *out, const char **ret_id)
{
    struct fixture *f = data;

    if (f->order == NULL || after >= 7)
        return 0;
    kndl_buf_append_text(out, f->order);
    *ret_id = "x";
    return 7;
}

static enum answer_state look_answer(void *data, const char *question_id, struct kndl_buf *out)
{
    struct fixture *f = data;

    assert_string_equal(question_id, "toolu_1");
    if (f->answer == ANSWER_HERE)
        kndl_buf_append_text(out, "{\"answers\":[\"Blue\"]}");
    return f->answer;
}

static int listen_somewhere(int *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(fd, 16), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    *ret_port = ntohs(address.sin_port);
    return fd;
}

static int set_up(void **state)
{
    static struct fixture fixture;
    struct fixture *f = *state = &fixture;
    struct relay_options options = {.session_id = "s",
                                    .on_hello = on_hello,
                                    .on_batch = on_batch,
                                    .on_result = on_result,
                                    .on_slowed = on_slowed,
                                    .fetch_order = fetch_order,
                                    .look_answer = look_answer,
                                    .data = f};
    uint8_t hash[KNDL_HASH_BYTES];
    struct kndl_error err = {0};

    *f = (struct fixture){.loop = kndl_loop_new()};
    assert_int_equal(kndl_crypt_init(&err), 0);
    options.loop = f->loop;
    options.listen_fd = listen_somewhere(&f->port);
    assert_int_equal(relay_open(&options, &f->relay, &err), 0);
    kndl_token_new(KNDL_TOKEN_SES, &f->token);
    kndl_hash(kndl_slice(f->token.data, f->token.size), hash);
    relay_set_token(f->relay, hash);
    relay_set_ready(f->relay, true);
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    relay_close(f->relay);
    kndl_loop_free(f->loop);
    kndl_secret_done(&f->token);
    return 0;
}

static void stop_loop(void *data)
{
    kndl_loop_stop(data);
}

static void *run_ask(void *data)
{
    struct ask *ask = data;
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)ask->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char request[2048];
    size_t have = 0;
    ssize_t got;

    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
        abort();
    snprintf(request, sizeof request,
             "%s %s HTTP/1.1\r\nhost: relay\r\n%s%s%scontent-length: %zu\r\nconnection: "
             "close\r\n\r\n%s",
             ask->method, ask->path, ask->token != NULL ? "authorization: Bearer " : "",
             ask->token != NULL ? ask->token : "", ask->token != NULL ? "\r\n" : "",
             strlen(ask->body), ask->body);
    if (write(fd, request, strlen(request)) < 0)
        abort();
    if (!ask->has_hung_up) {
        while (have < sizeof ask->text - 1 &&
               (got = read(fd, ask->text + have, sizeof ask->text - 1 - have)) > 0)
            have += (size_t)got;
        sscanf(ask->text, "HTTP/1.1 %d", &ask->status);
        kndl_loop_post(ask->loop, stop_loop, ask->loop);
    }
    close(fd);
    return NULL;
}

static int ask(struct fixture *f, const char *method, const char *path, const char *body,
               struct ask *ret)
{
    pthread_t thread;

    *ret = (struct ask){.port = f->port,
                        .method = method,
                        .path = path,
                        .body = body,
                        .token = (const char *)f->token.data,
                        .loop = f->loop};
    assert_int_equal(pthread_create(&thread, NULL, run_ask, ret), 0);
    kndl_loop_run(f->loop, NULL, NULL);
    pthread_join(thread, NULL);
    return ret->status;
}

static int ask_with(struct fixture *f, const char *token)
{
    struct ask it = {.port = f->port,
                     .method = "GET",
                     .path = "/mod/commands?after=0",
                     .body = "",
                     .token = token,
                     .loop = f->loop};
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, run_ask, &it), 0);
    kndl_loop_run(f->loop, NULL, NULL);
    pthread_join(thread, NULL);
    return it.status;
}

static const char hello[] = "{\"version\":1,\"epoch\":\"e\",\"claudeSessionId\":"
                            "\"b6a82ae1-f659-4f1f-b7b1-a96d6c0819d4\",\"transcriptPath\":\"/x\"}";
static const char batch[] = "{\"epoch\":\"e\",\"first\":5,\"events\":[{},{}]}";

static void re_02_without_a_live_token_everything_is_401(void **state)
{
    struct fixture *f = *state;
    struct kndl_secret other = {0};

    kndl_token_new(KNDL_TOKEN_SES, &other);
    assert_int_equal(ask_with(f, NULL), 401);
    assert_int_equal(ask_with(f, ""), 401);
    assert_int_equal(ask_with(f, (const char *)other.data), 401);
    relay_set_ready(f->relay, false);
    assert_int_equal(ask_with(f, (const char *)other.data), 401);
    kndl_secret_done(&other);
}

static void re_02_without_a_mod_token_it_is_503_with_retry_after(void **state)
{
    struct fixture *f = *state;
    struct ask it;

    relay_set_ready(f->relay, false);
    assert_int_equal(ask(f, "POST", "/mod/hello", hello, &it), 503);
    assert_non_null(strcasestr(it.text, "retry-after: 1"));
    assert_int_equal(f->hellos, 0);
    relay_set_ready(f->relay, true);
    assert_int_equal(ask(f, "POST", "/mod/hello", hello, &it), 200);
    assert_int_equal(f->hellos, 1);
}

static void re_03_it_serves_the_mod_and_nothing_else(void **state)
{
    struct fixture *f = *state;
    static const char *const paths[] = {
        "/",          "/mod",         "/mod/",  "/mod/hello/", "/v1/messages",
        "/gateway/x", "/mod/answers", "/health"};
    struct ask it;

    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        assert_int_equal(ask(f, "GET", paths[i], "", &it), 404);
    assert_int_equal(ask(f, "GET", "/mod/hello", "", &it), 404);
    assert_int_equal(ask(f, "POST", "/mod/commands?after=0", "", &it), 404);
}

static void a_batch_is_answered_with_the_next_number(void **state)
{
    struct fixture *f = *state;
    struct ask it;

    assert_int_equal(ask(f, "POST", "/mod/events", batch, &it), 200);
    assert_int_equal(f->first, 5);
    assert_int_equal(f->events, 2);
    assert_non_null(strstr(it.text, "{\"next\":7}"));
    f->batch = REFUSE;
    assert_int_equal(ask(f, "POST", "/mod/events", batch, &it), 503);
}

static void what_it_cannot_read_is_400(void **state)
{
    struct fixture *f = *state;
    static const char *const bodies[] = {
        "",
        "{",
        "[]",
        "{\"epoch\":\"e\"}",
        "{\"epoch\":\"e\",\"first\":0,\"events\":[]}",
        "{\"epoch\":\"e\",\"first\":1,\"events\":{}}",
        "{\"epoch\":\"123456789012345678901234567890123\",\"first\":1,\"events\":[]}",
    };
    struct ask it;

    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++)
        assert_int_equal(ask(f, "POST", "/mod/events", bodies[i], &it), 400);
    assert_int_equal(ask(f, "POST", "/mod/hello", "{\"version\":2}", &it), 400);
    assert_int_equal(ask(f, "POST", "/mod/hello",
                         "{\"version\":1,\"epoch\":\"e\",\"claudeSessionId\":\"../../etc/passwd\"}",
                         &it),
                     400);
    assert_int_equal(ask(f, "GET", "/mod/commands", "", &it), 400);
    assert_int_equal(ask(f, "GET", "/mod/commands?after=-1", "", &it), 400);
    assert_int_equal(ask(f, "GET", "/mod/commands?after=1x", "", &it), 400);
    assert_int_equal(f->events, 0);
}

static void a_result_reaches_its_order(void **state)
{
    struct fixture *f = *state;
    struct ask it;

    assert_int_equal(ask(f, "POST", "/mod/results", "{\"command\":7,\"started\":true}", &it), 200);
    assert_int_equal(f->results, 1);
}

static void offer_later(void *data)
{
    struct fixture *f = data;

    f->order = "{\"n\":7}";
    f->answer = ANSWER_HERE;
    relay_wake(f->relay);
}

static void *wake_when_asked(void *data)
{
    struct fixture *f = data;

    kndl_loop_post(f->loop, offer_later, f);
    return NULL;
}

static void a_poll_waits_for_an_order(void **state)
{
    struct fixture *f = *state;
    struct ask it;
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, wake_when_asked, f), 0);
    assert_int_equal(ask(f, "GET", "/mod/commands?after=0", "", &it), 200);
    assert_non_null(strstr(it.text, "{\"n\":7}"));
    pthread_join(thread, NULL);
}

/* The clock is moved past a poll's end while it waits. */
static void move_clock(void *data)
{
    struct fixture *f = data;

    kndl_clock_shift(RELAY_POLL_MS);
    relay_wake(f->relay);
}

static void a_poll_ends_with_nothing_after_25_seconds(void **state)
{
    struct fixture *f = *state;
    struct ask it;
    struct kndl_timer *timer;

    timer = kndl_timer_new(f->loop, move_clock, f);
    kndl_timer_start(timer, 1, 1);
    assert_int_equal(ask(f, "GET", "/mod/commands?after=0", "", &it), 204);
    kndl_timer_free(timer);
    kndl_clock_shift(0);
}

static void an_answer_comes_and_a_closed_question_is_410(void **state)
{
    struct fixture *f = *state;
    struct ask it;

    f->answer = ANSWER_HERE;
    assert_int_equal(ask(f, "GET", "/mod/answers/toolu_1", "", &it), 200);
    assert_non_null(strstr(it.text, "{\"answers\":[\"Blue\"]}"));
    f->answer = ANSWER_CLOSED;
    assert_int_equal(ask(f, "GET", "/mod/answers/toolu_1", "", &it), 410);
}

static void a_batch_whose_client_went_away_or_relay_closed_is_let_go(void **state)
{
    struct fixture *f = *state;
    struct ask it = {.method = "POST", .path = "/mod/events", .body = batch, .has_hung_up = true};
    pthread_t thread;

    f->batch = KEEP;
    it.port = f->port;
    it.token = (const char *)f->token.data;
    it.loop = f->loop;
    assert_int_equal(pthread_create(&thread, NULL, run_ask, &it), 0);
    struct kndl_timer *timer = kndl_timer_new(f->loop, stop_loop, f->loop);
    while (f->kept == NULL) {
        kndl_timer_start(timer, 1, 0);
        kndl_loop_run(f->loop, NULL, NULL);
    }
    pthread_join(thread, NULL);
    kndl_timer_free(timer);
    relay_close(f->relay);
    f->relay = NULL;
    relay_taken(f->kept, 7);
}

/* Only says that it has a long body. */
static int announce(const struct fixture *f)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)f->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char head[128];

    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    snprintf(head, sizeof head,
             "POST /mod/events HTTP/1.1\r\nhost: relay\r\ncontent-length: %d\r\n\r\n",
             RELAY_BODY_BYTES_MAX);
    assert_int_equal(write(fd, head, strlen(head)), strlen(head));
    return fd;
}

/* One Sandbox cannot fill the memory of the Runner, which is its neighbours' too. */
static void the_bodies_of_one_sandbox_have_a_limit(void **state)
{
    struct fixture *f = *state;
    enum { BODIES = RELAY_BODIES_BYTES_MAX / RELAY_BODY_BYTES_MAX };
    int held[BODIES];
    struct ask it;

    f->order = "{}";
    for (size_t i = 0; i < BODIES; i++)
        held[i] = announce(f);
    assert_int_equal(ask(f, "GET", "/mod/commands?after=0", "", &it), 200);
    assert_int_equal(ask(f, "POST", "/mod/hello", hello, &it), 503);
    for (size_t i = 0; i < BODIES; i++)
        close(held[i]);
    assert_int_equal(ask(f, "GET", "/mod/commands?after=0", "", &it), 200);
    assert_int_equal(ask(f, "POST", "/mod/hello", hello, &it), 200);
}

/* So that a Sandbox that floods its Runner slows nobody but itself. */
static void a_flood_of_events_is_503_until_its_share_is_there_again(void **state)
{
    struct fixture *f = *state;
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf body = {0};
    struct ask it;
    size_t taken = 0;

    f->order = "{}";
    kndl_buf_append_text(&body, "{\"epoch\":\"e\",\"first\":1,\"events\":[{}");
    for (int i = 0; i < 499; i++)
        kndl_buf_append_text(&body, ",{}");
    kndl_buf_append_text(&body, "]}");
    while (ask(f, "POST", "/mod/events", kndl_buf_text(&body), &it) == 200)
        assert_true(++taken <= BUDGET_EVENTS_RESERVE / 500 + 100);
    assert_in_range(taken, BUDGET_EVENTS_RESERVE / 500, BUDGET_EVENTS_RESERVE / 500 + 100);
    assert_int_equal(it.status, 503);
    assert_non_null(strstr(it.text, "retry-after: "));
    assert_int_equal(ask(f, "GET", "/mod/commands?after=0", "", &it), 200);
    while (ask(f, "POST", "/mod/events", batch, &it) == 503)
        ;
    assert_int_equal(it.status, 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(a_flood_of_events_is_503_until_its_share_is_there_again),
        TEST(the_bodies_of_one_sandbox_have_a_limit),
        TEST(re_02_without_a_live_token_everything_is_401),
        TEST(re_02_without_a_mod_token_it_is_503_with_retry_after),
        TEST(re_03_it_serves_the_mod_and_nothing_else),
        TEST(a_batch_is_answered_with_the_next_number),
        TEST(what_it_cannot_read_is_400),
        TEST(a_result_reaches_its_order),
        TEST(a_poll_waits_for_an_order),
        TEST(a_poll_ends_with_nothing_after_25_seconds),
        TEST(an_answer_comes_and_a_closed_question_is_410),
        TEST(a_batch_whose_client_went_away_or_relay_closed_is_let_go),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
