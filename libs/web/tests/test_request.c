/* HTTP over real sockets, byte by byte: fault tests 29 and 32. */

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "kndl/mem.h"
#include "kndl/raw_client.h"
#include "server.h"

#define BUF KNDL_CLEANUP(kndl_buf_done) struct kndl_buf

static int ask(struct server *server, const char *text, struct kndl_buf *all)
{
    return kndl_raw_ask(server->port, text, strlen(text), all);
}

static void requests_on_one_connection_are_answered_in_order(void **state)
{
    struct server *server = *state;
    BUF head = {0};
    BUF body = {0};
    int fd = kndl_raw_connect(server->port);

    kndl_raw_send(fd, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
    assert_int_equal(kndl_raw_read_answer(fd, &head, &body), 200);
    assert_string_equal(body.data, "abc");
    assert_null(strstr(head.data, "Connection: close"));
    kndl_raw_send(fd, "GET /path%20of?a=b%20c HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(kndl_raw_read_answer(fd, &head, &body), 200);
    assert_string_equal(body.data, "a=b%20c");
    kndl_raw_send(fd, "GET /peer HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert_int_equal(kndl_raw_read_answer(fd, &head, &body), 200);
    assert_string_equal(body.data, "127.0.0.1");
    assert_non_null(strstr(head.data, "Connection: close"));
    assert_int_equal(kndl_raw_read_answer(fd, &head, &body), 0);
    close(fd);
}

static void a_thousand_pipelined_requests_get_a_thousand_answers(void **state)
{
    struct server *server = *state;
    BUF all = {0};
    BUF head = {0};
    BUF body = {0};
    char expected[16];
    int fd = kndl_raw_connect(server->port);

    for (int i = 0; i < 1000; i++)
        kndl_buf_printf(&all, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%d",
                        i < 10    ? 1
                        : i < 100 ? 2
                                  : 3,
                        i);
    kndl_raw_send_bytes(fd, all.data, all.size);
    for (int i = 0; i < 1000; i++) {
        snprintf(expected, sizeof expected, "%d", i);
        assert_int_equal(kndl_raw_read_answer(fd, &head, &body), 200);
        assert_string_equal(body.data, expected);
    }
    close(fd);
}

static void a_request_may_come_byte_by_byte(void **state)
{
    static const char text[] = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello";
    struct server *server = *state;
    BUF head = {0};
    BUF body = {0};
    int fd = kndl_raw_connect(server->port);

    for (size_t i = 0; i < strlen(text); i++)
        kndl_raw_send_bytes(fd, text + i, 1);
    assert_int_equal(kndl_raw_read_answer(fd, &head, &body), 200);
    assert_string_equal(body.data, "hello");
    close(fd);
}

static void what_is_no_request_is_refused_and_closed_with_a_body(void **state)
{
    static const struct {
        int status;
        const char *text;
    } cases[] = {
        {411, "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"},
        {411, "POST /echo HTTP/1.1\r\nHost: x\r\n\r\n"},
        {411, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked"
              "\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n"},
        {413, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 65537\r\n\r\nabc"},
        {400,
         "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\nabc"},
        {400, "GET / HTTP/1.1\nHost: x\n\n"},
        {400, "GET /..%2f..%2fetc/passwd HTTP/1.1\r\nHost: x\r\n\r\n"},
        {400, "\x16\x03\x01\x02\x01\x0d\x0a\x0d\x0a"},
        {400, "GET /\r\n\r\n"},
        {505, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
    };
    struct server *server = *state;
    BUF all = {0};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(ask(server, cases[i].text, &all), cases[i].status);
        assert_non_null(strstr(all.data, "\r\nConnection: close\r\n"));
        assert_non_null(strstr(all.data, "\r\nX-Refused: yes\r\n"));
        assert_null(strstr(all.data, "\nHTTP/1.1")); /* one answer: nothing was smuggled in */
    }
}

static void a_head_of_16_kib_is_the_most(void **state)
{
    struct server *server = *state;
    BUF text = {0};
    BUF all = {0};

    kndl_buf_append_text(&text, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nCookie: ");
    while (text.size < 15 * 1024)
        kndl_buf_append_char(&text, 'a');
    kndl_buf_append_text(&text, "\r\n\r\n");
    assert_int_equal(kndl_raw_ask(server->port, text.data, text.size, &all), 200);

    kndl_buf_clear(&text);
    kndl_buf_append_text(&text, "GET / HTTP/1.1\r\nHost: x\r\nCookie: ");
    while (text.size < 100 * 1024)
        kndl_buf_append_char(&text, 'a');
    kndl_buf_append_text(&text, "\r\n\r\n");
    assert_int_equal(kndl_raw_ask(server->port, text.data, text.size, &all), 431);

    kndl_buf_clear(&text);
    kndl_buf_append_text(&text, "GET / HTTP/1.1\r\nHost: x\r\n");
    for (int i = 0; i < 10000; i++)
        kndl_buf_printf(&text, "x-%d: y\r\n", i);
    kndl_buf_append_text(&text, "\r\n");
    assert_int_equal(kndl_raw_ask(server->port, text.data, text.size, &all), 431);
}

static void head_is_answered_like_get_without_a_body(void **state)
{
    struct server *server = *state;
    BUF all = {0};

    assert_int_equal(ask(server, "HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", &all),
                     200);
    assert_non_null(strstr(all.data, "\r\nContent-Length: 5\r\n"));
    assert_string_equal(all.data + all.size - 4, "\r\n\r\n");
}

static void a_client_that_expects_it_is_told_to_go_on(void **state)
{
    struct server *server = *state;
    BUF head = {0};
    BUF body = {0};
    int fd = kndl_raw_connect(server->port);

    kndl_raw_send(fd, "POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
                      "Content-Length: 3\r\n\r\n");
    assert_int_equal(kndl_raw_read_answer(fd, &head, &body), 100);
    kndl_raw_send(fd, "abc");
    assert_int_equal(kndl_raw_read_answer(fd, &head, &body), 200);
    assert_string_equal(body.data, "abc");
    close(fd);
}

static void answer_held(struct server *server)
{
    kndl_web_answer(server->held, 200, NULL, kndl_slice_of("late"));
    server->held = NULL;
}

static void an_answer_may_come_later_while_others_are_served(void **state)
{
    struct server *server = *state;
    BUF head = {0};
    BUF body = {0};
    int fd = kndl_raw_connect(server->port);
    int other = kndl_raw_connect(server->port);

    kndl_raw_send(fd, "GET /later HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n");
    server_wait(server, &server->held_count, 1);
    kndl_raw_send(other, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(kndl_raw_read_answer(other, &head, &body), 200);
    server_do(server, answer_held);
    assert_int_equal(kndl_raw_read_answer(fd, &head, &body), 200);
    assert_string_equal(body.data, "late");
    assert_int_equal(kndl_raw_read_answer(fd, &head, &body), 200); /* the pipelined one */
    assert_string_equal(body.data, "hello");
    close(fd);
    close(other);
}

static void the_handler_hears_of_a_client_that_went_away(void **state)
{
    struct server *server = *state;
    int fd = kndl_raw_connect(server->port);

    kndl_raw_send(fd, "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
    server_wait(server, &server->held_count, 1);
    close(fd);
    server_wait(server, &server->aborted, 1);

    /* Before the request was whole there is nothing to hear of. */
    fd = kndl_raw_connect(server->port);
    kndl_raw_send(fd, "POST /later HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc");
    close(fd);
    BUF all = {0};
    assert_int_equal(ask(server, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", &all),
                     200);
    assert_int_equal(server_read(server, &server->aborted), 1);
}

static void a_big_answer_arrives_whole(void **state)
{
    struct server *server = *state;
    BUF head = {0};
    BUF body = {0};
    int fd = kndl_raw_connect(server->port);

    kndl_raw_send(fd, "GET /big HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(kndl_raw_read_answer(fd, &head, &body), 200);
    assert_int_equal(body.size, TEST_BIG_BYTES);
    assert_int_equal(kndl_raw_read_answer(fd, &head, &body), 200);
    assert_string_equal(body.data, "hello");
    close(fd);
}

static void a_head_that_trickles_is_ended_at_its_deadline(void **state)
{
    struct server *server = *state;
    BUF all = {0};
    int fd = kndl_raw_connect(server->port);

    kndl_raw_send(fd, "GET / HTTP/1.1\r\nHost: x\r\n");
    /* It never ends and never stops: twenty more seconds, a line in each. */
    for (int i = 0; i < 20; i++) {
        server_shift(server, 1000);
        kndl_raw_send(fd, "X: y\r\n");
    }
    kndl_raw_read_to_end(fd, &all);
    assert_memory_equal(all.data, "HTTP/1.1 408", 12);
    close(fd);
}

static void a_body_that_does_not_come_is_ended_at_its_deadline(void **state)
{
    struct server *server = *state;
    BUF all = {0};
    int fd = kndl_raw_connect(server->port);

    kndl_raw_send(fd, "POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
                      "Content-Length: 9\r\n\r\n");
    BUF head = {0};
    BUF body = {0};
    assert_int_equal(kndl_raw_read_answer(fd, &head, &body), 100);
    server_shift(server, 31000);
    kndl_raw_read_to_end(fd, &all);
    assert_memory_equal(all.data, "HTTP/1.1 408", 12);
    close(fd);
}

static void the_bodies_of_all_have_a_limit_together(void **state)
{
    static const char begin[] =
        "POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 65536\r\n\r\n";
    struct server *server = *state;
    BUF all = {0};
    BUF head = {0};
    BUF body = {0};
    int fds[2];

    for (int i = 0; i < 2; i++) {
        fds[i] = kndl_raw_connect(server->port);
        kndl_raw_send(fds[i], begin);
        assert_int_equal(kndl_raw_read_answer(fds[i], &head, &body), 100);
    }
    assert_int_equal(ask(server, begin, &all), 503);
    close(fds[0]);
    int status = 503;
    while (status == 503) { /* until the server heard of it */
        int fd = kndl_raw_connect(server->port);

        kndl_raw_send(fd, begin);
        status = kndl_raw_read_answer(fd, &head, &body);
        close(fd);
    }
    assert_int_equal(status, 100);
    close(fds[1]);
}

static void a_client_that_says_nothing_is_let_go(void **state)
{
    struct server *server = *state;
    BUF all = {0};
    BUF head = {0};
    BUF body = {0};
    int fd = kndl_raw_connect(server->port);

    kndl_raw_send(fd, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(kndl_raw_read_answer(fd, &head, &body), 200);
    server_shift(server, 61000);
    kndl_raw_read_to_end(fd, &all);
    assert_int_equal(all.size, 0);
    close(fd);
}

static void a_client_that_never_reads_is_let_go(void **state)
{
    struct server *server = *state;
    int fd = kndl_raw_connect(server->port);

    kndl_raw_send(fd, "GET /later HTTP/1.1\r\nHost: x\r\n\r\nGET /big HTTP/1.1\r\nHost: x\r\n\r\n");
    server_wait(server, &server->held_count, 1);
    server_do(server, answer_held); /* and with it, in the same breath, begins the big one */
    /* A byte more fails once the server has closed. */
    while (send(fd, "x", 1, MSG_NOSIGNAL) == 1)
        server_shift(server, 31000);
    close(fd);
}

/* Fault test 32: who opens many and says nothing keeps nobody else out. */
static void many_idle_connections_keep_nobody_out(void **state)
{
    struct server *server = *state;
    struct sockaddr_in other = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000002)};
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)server->port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    struct rlimit files = {3 * TEST_OF_ADDRESS_MAX, 3 * TEST_OF_ADDRESS_MAX};
    static int fds[TEST_OF_ADDRESS_MAX];
    BUF all = {0};
    BUF head = {0};
    BUF body = {0};

    if (setrlimit(RLIMIT_NOFILE, &files) < 0)
        skip();
    for (int i = 0; i < TEST_OF_ADDRESS_MAX; i++) {
        fds[i] = kndl_raw_connect(server->port);
        if (i % 2 == 0)
            kndl_raw_send(fds[i], "GET / HT");
    }
    /* The next one from there is closed at once; one from elsewhere is served. */
    assert_int_equal(ask(server, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", &all), 0);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&other, sizeof other), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    kndl_raw_send(fd, "GET /peer HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(kndl_raw_read_answer(fd, &head, &body), 200);
    assert_string_equal(body.data, "127.0.0.2");
    close(fd);
    /* And all are let go at their deadline. */
    server_shift(server, 11000);
    for (int i = 0; i < TEST_OF_ADDRESS_MAX; i++) {
        kndl_raw_read_to_end(fds[i], &all);
        close(fds[i]);
    }
    assert_int_equal(ask(server, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", &all),
                     200);
}

static void it_listens_on_loopback_alone(void **state)
{
    struct server *server = *state;
    struct sockaddr_in6 address = {
        .sin6_family = AF_INET6,
        .sin6_port = htons((uint16_t)server->port),
        .sin6_addr = IN6ADDR_LOOPBACK_INIT,
    };
    struct sockaddr_in other = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)server->port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1), /* 127.0.0.2: only a wildcard has it */
    };
    int fd6 = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int fd4 = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd6 >= 0)
        assert_int_not_equal(connect(fd6, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_not_equal(connect(fd4, (struct sockaddr *)&other, sizeof other), 0);
    close(fd6);
    close(fd4);
}

static void an_address_in_use_is_said(void **state)
{
    struct server *server = *state;
    struct kndl_loop *loop = kndl_loop_new();
    struct kndl_web_options options = {
        .address = "127.0.0.1", .port = server->port, .listen_fd = -1, .on_request = (void *)1};
    struct kndl_error err = {0};
    struct kndl_web *web = NULL;

    assert_int_equal(kndl_web_open(loop, &options, &web, &err), -1);
    assert_int_equal(err.code, KNDL_UNAVAILABLE);
    assert_non_null(strstr(err.message, "127.0.0.1"));
    kndl_loop_free(loop);
}

static void a_listening_socket_may_come_from_outside(void **unused)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    BUF all = {0};

    (void)unused;
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 16), 0);

    /* Twice: the socket is the caller's and outlives a server. */
    for (int i = 0; i < 2; i++) {
        struct server server;

        server_start(&server, fd);
        assert_true(server.port > 0);
        assert_int_equal(
            ask(&server, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", &all), 200);
        server_stop(&server);
    }
    close(fd);
}

static void answer_hello(struct kndl_web_request *request, void *data)
{
    (void)data;
    kndl_web_answer(request, 200, NULL, kndl_slice_of("hello"));
}

static struct kndl_web *more[50];

static void open_more(struct server *server)
{
    struct kndl_web_options options = {
        .address = "127.0.0.1", .listen_fd = -1, .on_request = answer_hello};

    for (int i = 0; i < 50; i++)
        assert_int_equal(kndl_web_open(server->loop, &options, &more[i], NULL), 0);
}

static void close_more(struct server *server)
{
    (void)server;
    for (int i = 0; i < 50; i++)
        kndl_web_close(more[i]);
}

static void servers_come_and_go_on_one_loop(void **state)
{
    static const char text[] = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    struct server *server = *state;
    BUF all = {0};

    for (int round = 0; round < 3; round++) {
        server_do(server, open_more);
        for (int i = 0; i < 50; i += 7)
            assert_int_equal(kndl_raw_ask(kndl_web_port(more[i]), text, strlen(text), &all), 200);
        server_do(server, close_more);
    }
    assert_int_equal(ask(server, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", &all),
                     200);
}

#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, server_open, server_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SERVER(requests_on_one_connection_are_answered_in_order),
        WITH_SERVER(a_thousand_pipelined_requests_get_a_thousand_answers),
        WITH_SERVER(a_request_may_come_byte_by_byte),
        WITH_SERVER(what_is_no_request_is_refused_and_closed_with_a_body),
        WITH_SERVER(a_head_of_16_kib_is_the_most),
        WITH_SERVER(head_is_answered_like_get_without_a_body),
        WITH_SERVER(a_client_that_expects_it_is_told_to_go_on),
        WITH_SERVER(an_answer_may_come_later_while_others_are_served),
        WITH_SERVER(the_handler_hears_of_a_client_that_went_away),
        WITH_SERVER(a_big_answer_arrives_whole),
        WITH_SERVER(a_head_that_trickles_is_ended_at_its_deadline),
        WITH_SERVER(a_body_that_does_not_come_is_ended_at_its_deadline),
        WITH_SERVER(the_bodies_of_all_have_a_limit_together),
        WITH_SERVER(a_client_that_says_nothing_is_let_go),
        WITH_SERVER(a_client_that_never_reads_is_let_go),
        WITH_SERVER(many_idle_connections_keep_nobody_out),
        WITH_SERVER(it_listens_on_loopback_alone),
        WITH_SERVER(an_address_in_use_is_said),
        WITH_SERVER(servers_come_and_go_on_one_loop),
        cmocka_unit_test(a_listening_socket_may_come_from_outside),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
