/* WebSockets over real sockets, frame by frame: fault test 30. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "kndl/mem.h"
#include "kndl/raw_client.h"
#include "server.h"

#define BUF KNDL_CLEANUP(kndl_buf_done) struct kndl_buf

static int open_socket(int port)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf head = {0};
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf body = {0};
    int fd = kndl_raw_connect(port);

    kndl_raw_send(fd, "GET /socket HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n"
                      "Connection: keep-alive, Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
    assert_int_equal(kndl_raw_read_answer(fd, &head, &body), 101);
    assert_non_null(strstr(head.data, "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"));
    assert_non_null(strstr(head.data, "\r\nSec-WebSocket-Protocol: test\r\n"));
    return fd;
}

/* The status with which the server closes, after which it ends the connection. */
static int read_close(int fd)
{
    BUF payload = {0};
    BUF rest = {0};

    if (kndl_raw_read_frame(fd, &payload) != 8 || payload.size != 2)
        return -1;
    kndl_raw_read_to_end(fd, &rest);
    return (unsigned char)payload.data[0] << 8 | (unsigned char)payload.data[1];
}

static void frames_of_all_sizes_come_back(void **state)
{
    static const size_t sizes[] = {0, 1, 125, 126, 127, 65535, 65536};
    struct server *server = *state;
    char *bytes = kndl_alloc(1, 65536);
    BUF payload = {0};
    int fd = open_socket(server->port);

    for (size_t i = 0; i < 65536; i++)
        bytes[i] = (char)(i * 7);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        kndl_raw_send_frame(fd, 0x82, bytes, sizes[i]);
        assert_int_equal(kndl_raw_read_frame(fd, &payload), 2);
        assert_int_equal(payload.size, sizes[i]);
        if (sizes[i] > 0)
            assert_memory_equal(payload.data, bytes, sizes[i]);
    }
    free(bytes);
    close(fd);
    server_wait(server, &server->closed, 1);
}

static void fragments_are_put_together_and_pings_answered(void **state)
{
    struct server *server = *state;
    BUF payload = {0};
    int fd = open_socket(server->port);

    kndl_raw_send_frame(fd, 0x02, "hel", 3);
    kndl_raw_send_frame(fd, 0x89, "you there?", 10);
    kndl_raw_send_frame(fd, 0x80, "lo", 2);
    assert_int_equal(kndl_raw_read_frame(fd, &payload), 10);
    assert_memory_equal(payload.data, "you there?", 10);
    assert_int_equal(kndl_raw_read_frame(fd, &payload), 2);
    assert_int_equal(payload.size, 5);
    assert_memory_equal(payload.data, "hello", 5);
    close(fd);
}

static void a_frame_may_follow_the_handshake_at_once(void **state)
{
    static const char text[] = "GET /socket HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n"
                               "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                               "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
                               "\x82\x82\0\0\0\0hi";
    struct server *server = *state;
    BUF head = {0};
    BUF body = {0};
    BUF payload = {0};
    int fd = kndl_raw_connect(server->port);

    kndl_raw_send_bytes(fd, text, sizeof text - 1);
    assert_int_equal(kndl_raw_read_answer(fd, &head, &body), 101);
    assert_int_equal(kndl_raw_read_frame(fd, &payload), 2);
    assert_memory_equal(payload.data, "hi", 2);
    close(fd);
}

static void an_upgrade_may_be_refused(void **state)
{
    static const char text[] = "GET /other HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n"
                               "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                               "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    struct server *server = *state;
    BUF head = {0};
    BUF body = {0};
    int fd = kndl_raw_connect(server->port);

    kndl_raw_send(fd, text);
    assert_int_equal(kndl_raw_read_answer(fd, &head, &body), 403);
    close(fd);
    assert_int_equal(server_read(server, &server->opened), 0);
}

static void what_no_client_should_send_closes_with_its_status(void **state)
{
    static const struct {
        int status;
        const char *bytes;
        size_t size;
    } cases[] = {
        {1002, "\x82\x02hi", 4},                                        /* not masked */
        {1003, "\x81\x82\0\0\0\0hi", 8},                                /* text */
        {1002, "\xc2\x82\0\0\0\0hi", 8},                                /* RSV */
        {1002, "\x80\x82\0\0\0\0hi", 8},                                /* continues nothing */
        {1002, "\x89\xfe\0\xc8\0\0\0\0", 8},                            /* a ping of 200 */
        {1002, "\x09\x81\0\0\0\0h", 7},                                 /* a ping in fragments */
        {1009, "\x82\xff\0\0\0\0\0\1\0\1\0\0\0\0", 14},                 /* one over the most */
        {1002, "\x82\xff\x80\0\0\0\0\0\0\0\0\0\0\0", 14},               /* 2^63 */
        {1009, "\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff\0\0\0\0", 14}, /* 2^63 - 1 */
    };
    struct server *server = *state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int fd = open_socket(server->port);

        kndl_raw_send_bytes(fd, cases[i].bytes, cases[i].size);
        assert_int_equal(read_close(fd), cases[i].status);
        close(fd);
        server_wait(server, &server->closed, (int)i + 1);
    }
    assert_int_equal(server_read(server, &server->refused_frames), 0);
}

static void a_million_empty_fragments_are_not_kept(void **state)
{
    struct server *server = *state;
    BUF many = {0};
    int fd = open_socket(server->port);

    kndl_raw_send_frame(fd, 0x02, "", 0);
    for (int i = 0; i < 100000; i++)
        kndl_buf_append(&many, "\x00\x80\0\0\0\0", 6);
    kndl_raw_send_bytes(fd, many.data, many.size);
    close(fd);
    server_wait(server, &server->closed, 1);
}

static int64_t heard_ms;

static void ping_and_listen(struct server *server)
{
    heard_ms = kndl_web_socket_heard_ms(server->socket);
    kndl_web_socket_ping(server->socket);
}

static void a_ping_is_heard_back(void **state)
{
    struct server *server = *state;
    BUF payload = {0};
    int fd = open_socket(server->port);

    server_do(server, ping_and_listen);
    assert_int_equal(kndl_raw_read_frame(fd, &payload), 9);
    int64_t before_ms = heard_ms;
    server_shift(server, 1000);
    kndl_raw_send_frame(fd, 0x8a, "", 0);
    while (heard_ms < before_ms + 1000)
        server_do(server, ping_and_listen);
    close(fd);
}

static void a_close_is_answered_with_its_status(void **state)
{
    struct server *server = *state;
    int fd = open_socket(server->port);

    kndl_raw_send_frame(fd, 0x88, "\x03\xe9", 2);
    assert_int_equal(read_close(fd), 1001);
    close(fd);
    server_wait(server, &server->closed, 1);
}

static void close_open(struct server *server)
{
    kndl_web_socket_close(server->socket, 1013);
    kndl_web_socket_close(server->socket, 1000); /* a second one does nothing */
    assert_false(kndl_web_socket_send(server->socket, kndl_slice_of("too late")));
}

static void the_server_may_close(void **state)
{
    struct server *server = *state;
    BUF payload = {0};
    int fd = open_socket(server->port);

    server_do(server, close_open);
    assert_int_equal(kndl_raw_read_frame(fd, &payload), 8);
    assert_memory_equal(payload.data, "\x03\xf5", 2);
    kndl_raw_send_frame(fd, 0x88, "\x03\xf5", 2);
    assert_int_equal(kndl_raw_read_frame(fd, &payload), -1);
    close(fd);
    server_wait(server, &server->closed, 1);
}

static void a_client_that_does_not_answer_a_close_is_cut_off(void **state)
{
    struct server *server = *state;
    int fd = open_socket(server->port);

    server_do(server, close_open);
    server_shift(server, 6000);
    server_wait(server, &server->closed, 1);
    close(fd);
}

static size_t queued;

static void fill(struct server *server)
{
    char *bytes = kndl_alloc(1, 65536);

    for (int i = 0; i < 1000; i++)
        if (!kndl_web_socket_send(server->socket, kndl_slice(bytes, 65536))) {
            server->refused_frames++;
            break;
        }
    queued = kndl_web_socket_queued(server->socket);
    free(bytes);
}

static void the_queue_for_a_client_that_never_reads_is_capped(void **state)
{
    struct server *server = *state;
    BUF all = {0};
    int fd = open_socket(server->port);

    server_do(server, fill);
    assert_int_equal(server->refused_frames, 1);
    assert_true(queued <= TEST_QUEUE_BYTES_MAX + 16 * 10); /* and their headers */
    while (server_read(server, &server->drained) == 0)
        kndl_raw_read(fd, &all, all.size + 1024);
    server_do(server, fill); /* and it goes on */
    assert_int_equal(server->refused_frames, 2);
    close(fd);
    server_wait(server, &server->closed, 1);
}

static void stopping_the_server_says_goodbye_to_each(void **unused)
{
    struct server server;
    int fd;

    (void)unused;
    server_start(&server, -1);
    fd = open_socket(server.port);
    server_wait(&server, &server.opened, 1);
    server_stop(&server);
    assert_int_equal(server.closed, 1);
    close(fd);
}

#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, server_open, server_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SERVER(frames_of_all_sizes_come_back),
        WITH_SERVER(fragments_are_put_together_and_pings_answered),
        WITH_SERVER(a_frame_may_follow_the_handshake_at_once),
        WITH_SERVER(an_upgrade_may_be_refused),
        WITH_SERVER(what_no_client_should_send_closes_with_its_status),
        WITH_SERVER(a_million_empty_fragments_are_not_kept),
        WITH_SERVER(a_ping_is_heard_back),
        WITH_SERVER(a_close_is_answered_with_its_status),
        WITH_SERVER(the_server_may_close),
        WITH_SERVER(a_client_that_does_not_answer_a_close_is_cut_off),
        WITH_SERVER(the_queue_for_a_client_that_never_reads_is_capped),
        cmocka_unit_test(stopping_the_server_says_goodbye_to_each),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
