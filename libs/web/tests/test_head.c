/* Fault test 29: what two readers could read differently is refused. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "head.h"
#include "kndl/buf.h"

static int parse(const char *text, struct head *head)
{
    static char copy[HEAD_BYTES_MAX + 1];
    const char *why = "";

    memset(copy, 0, sizeof copy);
    strncpy(copy, text, HEAD_BYTES_MAX);
    int status = head_parse(copy, strlen(text), head, &why);
    if (status != 0)
        assert_true(why[0] != '\0');
    return status;
}

static int status_of(const char *text)
{
    struct head head;

    return parse(text, &head);
}

static void a_plain_request_is_cut_up(void **unused)
{
    struct head head;

    (void)unused;
    assert_int_equal(
        parse("GET /a%20b/c?q=%41 HTTP/1.1\r\nHost: x\r\nX-Thing:\t two words \r\n\r\n", &head), 0);
    assert_string_equal(head.method, "GET");
    assert_string_equal(head.path, "/a b/c");
    assert_string_equal(head.query, "q=%41");
    assert_string_equal(head_get(&head, "x-thing"), "two words");
    assert_null(head_get(&head, "x-other"));
    assert_true(head.keep_alive);
    assert_int_equal(parse("POST /x HTTP/1.0\r\nContent-Length: 12\r\n\r\n", &head), 0);
    assert_int_equal(head.length, 12);
    assert_false(head.keep_alive);
    assert_int_equal(parse("GET / HTTP/1.1\r\nHost: x\r\nConnection: a, Close\r\n\r\n", &head), 0);
    assert_false(head.keep_alive);
}

static void the_end_is_found_however_the_bytes_come(void **unused)
{
    static const char text[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\nrest";
    size_t scanned = 0;

    (void)unused;
    for (size_t size = 0; size < strlen(text) - 4; size++)
        assert_int_equal(head_find_end(text, size, &scanned), 0);
    assert_int_equal(head_find_end(text, strlen(text), &scanned), strlen(text) - 4);
    scanned = 0;
    assert_int_equal(head_find_end("GET / HTTP/1.1\n", 15, &scanned), -1);
    scanned = 0;
    assert_int_equal(head_find_end("\n", 1, &scanned), -1);
}

static void what_could_be_read_two_ways_is_refused(void **unused)
{
    static const char *const bad[] = {
        "GET / HTTP/1.1\r\nHost: x\r\nX: a\r\n folded\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nX : a\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding : chunked\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nX: a\rb\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nX: a\x01\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nnocolon\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\n: novalue\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +3\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3, 3\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "GET /%00 HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /%0a HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /% HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /a%2 HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /..%2fetc HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /../etc HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /a/%2e%2e HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /a/./b HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /a%5c..%5cb HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET http://x/ HTTP/1.1\r\nHost: x\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /a#b HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET  / HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET / HTTP/1.1 \r\nHost: x\r\n\r\n",
        "get / HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /\r\n\r\n",
        "\r\n\r\n",
        " GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    };

    (void)unused;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (status_of(bad[i]) / 100 != 4 && status_of(bad[i]) != 505)
            fail_msg("was taken: %s", bad[i]);
}

static void a_nul_anywhere_is_refused(void **unused)
{
    static const char text[] = "GET / HTTP/1.1\r\nHost: x\0y\r\n\r\n";
    char copy[sizeof text];
    struct head head;
    const char *why;

    (void)unused;
    memcpy(copy, text, sizeof text);
    assert_int_equal(head_parse(copy, sizeof text - 1, &head, &why), 400);
}

static void each_refusal_has_its_status(void **unused)
{
    struct kndl_buf many = {0};

    (void)unused;
    assert_int_equal(status_of("POST / HTTP/1.1\r\nHost: x\r\n\r\n"), 411);
    assert_int_equal(status_of("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"),
                     411);
    assert_int_equal(status_of("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
                               "Transfer-Encoding: chunked\r\n\r\n"),
                     411);
    assert_int_equal(status_of("GET / HTTP/1.1\r\nHost: x\r\nExpect: tea\r\n\r\n"), 417);
    assert_int_equal(status_of("GET / HTTP/2.0\r\nHost: x\r\n\r\n"), 505);
    kndl_buf_append_text(&many, "GET / HTTP/1.1\r\nHost: x\r\n");
    for (int i = 0; i < HEAD_FIELDS_MAX; i++)
        kndl_buf_append_text(&many, "a: b\r\n");
    kndl_buf_append_text(&many, "\r\n");
    assert_int_equal(status_of(many.data), 431);
    kndl_buf_done(&many);
}

static void only_a_whole_handshake_is_an_upgrade(void **unused)
{
    struct head head;

    (void)unused;
    assert_int_equal(parse("GET / HTTP/1.1\r\nHost: x\r\nUpgrade: WebSocket\r\n"
                           "Connection: upgrade\r\nSec-WebSocket-Version: 13\r\n"
                           "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
                           &head),
                     0);
    assert_string_equal(head.socket_key, "dGhlIHNhbXBsZSBub25jZQ==");
    assert_int_equal(parse("GET / HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\n"
                           "Connection: Upgrade\r\n\r\n",
                           &head),
                     0);
    assert_null(head.socket_key);
    assert_int_equal(status_of("GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n"
                               "Connection: Upgrade\r\nSec-WebSocket-Version: 8\r\n"
                               "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"),
                     426);
    assert_int_equal(status_of("GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n"
                               "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                               "Sec-WebSocket-Key: short\r\n\r\n"),
                     400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_request_is_cut_up),
        cmocka_unit_test(the_end_is_found_however_the_bytes_come),
        cmocka_unit_test(what_could_be_read_two_ways_is_refused),
        cmocka_unit_test(a_nul_anywhere_is_refused),
        cmocka_unit_test(each_refusal_has_its_status),
        cmocka_unit_test(only_a_whole_handshake_is_an_upgrade),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
