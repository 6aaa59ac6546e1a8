#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "kndl/http.h"
#include "kndl/mem.h"

/* A server that answers each connection with one scripted text and keeps what it was asked. */
struct server {
    int listener;
    char url[64];
    const char *answer; /* NULL: never */
    char asked[65536];
    pthread_t thread;
};

static void *serve(void *data)
{
    struct server *server = data;
    int client = accept(server->listener, NULL, NULL);
    size_t size = 0;
    ssize_t got;

    if (client < 0)
        return NULL;
    while (size < sizeof server->asked - 1 &&
           (got = read(client, server->asked + size, sizeof server->asked - 1 - size)) > 0) {
        size += (size_t)got;
        server->asked[size] = '\0';
        const char *body = strstr(server->asked, "\r\n\r\n");
        const char *length = strstr(server->asked, "Content-Length: ");
        if (body != NULL && (length == NULL || strlen(body + 4) >= strtoul(length + 16, NULL, 10)))
            break;
    }
    if (server->answer != NULL) {
        const char *at = server->answer;
        size_t left = strlen(at);

        while (left > 0 && (got = send(client, at, left, MSG_NOSIGNAL)) > 0) {
            at += got;
            left -= (size_t)got;
        }
    } else {
        while (read(client, server->asked, 1) > 0)
            ;
    }
    close(client);
    return NULL;
}

static void start(struct server *server, const char *answer)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;

    *server = (struct server){.answer = answer};
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(server->listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(server->listener, 4), 0);
    assert_int_equal(getsockname(server->listener, (struct sockaddr *)&address, &size), 0);
    snprintf(server->url, sizeof server->url, "http://127.0.0.1:%d/x", ntohs(address.sin_port));
    pthread_create(&server->thread, NULL, serve, server);
}

static void stop(struct server *server)
{
    shutdown(server->listener, SHUT_RDWR);
    pthread_join(server->thread, NULL);
    close(server->listener);
}

/* One request to a server that answers so. */
static int ask(struct kndl_http_request request, struct server *server,
               struct kndl_http_response *response, struct kndl_error *err)
{
    struct kndl_http *http = kndl_http_new("kndl-test");

    request.url = request.url == NULL ? server->url : request.url;
    request.method = request.method == NULL ? "GET" : request.method;
    request.timeout_ms = request.timeout_ms == 0 ? 20000 : request.timeout_ms;
    request.response_bytes_max =
        request.response_bytes_max == 0 ? 1000 : request.response_bytes_max;
    int result = kndl_http_do(http, &request, response, err);
    kndl_http_free(http);
    return result;
}

static void status_headers_and_body_come_back(void **state)
{
    struct server server;
    struct kndl_http_response response;
    struct kndl_error err = {0};
    struct kndl_buf value = {0};

    (void)state;
    start(&server, "HTTP/1.1 404 Not Found\r\nX-RateLimit-Remaining: 12\r\nContent-Length: 5\r\n"
                   "LINK:<a>; rel=\"next\"\r\n\r\nhello");
    assert_int_equal(ask((struct kndl_http_request){0}, &server, &response, &err), 0);
    stop(&server);
    assert_int_equal(response.status, 404);
    assert_string_equal(kndl_buf_text(&response.body), "hello");
    assert_string_equal(kndl_http_header(&response, "x-ratelimit-remaining", &value), "12");
    assert_string_equal(kndl_http_header(&response, "link", &value), "<a>; rel=\"next\"");
    assert_null(kndl_http_header(&response, "x-ratelimit", &value));
    kndl_buf_done(&value);
    kndl_http_response_done(&response);
}

static void a_request_is_sent_as_it_was_given(void **state)
{
    static const char *const headers[] = {"Accept: application/json", "X-A: b", NULL};
    struct kndl_secret bearer = {(uint8_t *)"s3cret", 6};
    struct server server;
    struct kndl_http_response response;
    struct kndl_error err = {0};

    (void)state;
    start(&server, "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n");
    assert_int_equal(ask((struct kndl_http_request){.method = "POST",
                                                    .headers = headers,
                                                    .bearer = &bearer,
                                                    .body = kndl_slice_of("{\"a\":1}")},
                         &server, &response, &err),
                     0);
    stop(&server);
    assert_int_equal(response.status, 201);
    assert_memory_equal(server.asked, "POST /x HTTP/1.1\r\n", 18);
    assert_non_null(strstr(server.asked, "\r\nAuthorization: Bearer s3cret\r\n"));
    assert_non_null(strstr(server.asked, "\r\nX-A: b\r\n"));
    assert_non_null(strstr(server.asked, "\r\nUser-Agent: kndl-test\r\n"));
    assert_non_null(strstr(server.asked, "\r\nContent-Length: 7\r\n"));
    assert_non_null(strstr(server.asked, "\r\n\r\n{\"a\":1}"));
    assert_null(strstr(server.asked, "Expect"));
    kndl_http_response_done(&response);
}

static void a_redirect_is_an_answer(void **state)
{
    struct server server;
    struct kndl_http_response response;
    struct kndl_error err = {0};

    (void)state;
    start(&server, "HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:1/\r\n"
                   "Content-Length: 0\r\n\r\n");
    assert_int_equal(ask((struct kndl_http_request){0}, &server, &response, &err), 0);
    stop(&server);
    assert_int_equal(response.status, 301);
    kndl_http_response_done(&response);
}

static void an_answer_over_the_limit_is_out_of_range(void **state)
{
    struct server server;
    struct kndl_http_response response;
    struct kndl_error err = {0};

    (void)state;
    start(&server, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    assert_int_equal(
        ask((struct kndl_http_request){.response_bytes_max = 4}, &server, &response, &err), -1);
    stop(&server);
    assert_int_equal(err.code, KNDL_OUT_OF_RANGE);
}

static void an_answer_that_is_cut_is_unavailable(void **state)
{
    struct server server;
    struct kndl_http_response response;
    struct kndl_error err = {0};

    (void)state;
    start(&server, "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello");
    assert_int_equal(ask((struct kndl_http_request){0}, &server, &response, &err), -1);
    stop(&server);
    assert_int_equal(err.code, KNDL_UNAVAILABLE);
}

static void what_does_not_speak_http_is_unavailable(void **state)
{
    struct server server;
    struct kndl_http_response response;
    struct kndl_error err = {0};

    (void)state;
    start(&server, "INFO {\"server_id\":\"x\"}\r\n");
    assert_int_equal(ask((struct kndl_http_request){0}, &server, &response, &err), -1);
    stop(&server);
    assert_int_equal(err.code, KNDL_UNAVAILABLE);
    assert_string_equal(err.message, "what answers there does not speak HTTP");
}

static void a_server_that_says_nothing_ends_at_the_deadline(void **state)
{
    struct server server;
    struct kndl_http_response response;
    struct kndl_error err = {0};

    (void)state;
    start(&server, NULL);
    assert_int_equal(ask((struct kndl_http_request){.timeout_ms = 100}, &server, &response, &err),
                     -1);
    stop(&server);
    assert_int_equal(err.code, KNDL_DEADLINE_EXCEEDED);
}

static void nobody_who_listens_is_unavailable(void **state)
{
    struct server server;
    struct kndl_http_response response;
    struct kndl_error err = {0};

    (void)state;
    start(&server, NULL);
    stop(&server);
    assert_int_equal(ask((struct kndl_http_request){0}, &server, &response, &err), -1);
    assert_int_equal(err.code, KNDL_UNAVAILABLE);
}

static void other_protocols_are_refused(void **state)
{
    struct kndl_http_response response;
    struct kndl_error err = {0};

    (void)state;
    assert_int_equal(
        ask((struct kndl_http_request){.url = "file:///etc/passwd"}, NULL, &response, &err), -1);
    assert_int_equal(err.code, KNDL_INVALID_ARGUMENT);
}

static void a_line_break_in_a_header_is_refused(void **state)
{
    static const char *const headers[] = {"X-A: b\r\nX-B: c", NULL};
    struct kndl_secret bearer = {(uint8_t *)"a\nb", 3};
    struct kndl_http_response response;
    struct kndl_error err = {0};

    (void)state;
    assert_int_equal(
        ask((struct kndl_http_request){.url = "http://127.0.0.1:1/", .headers = headers}, NULL,
            &response, &err),
        -1);
    assert_int_equal(err.code, KNDL_INVALID_ARGUMENT);
    assert_int_equal(
        ask((struct kndl_http_request){.url = "http://127.0.0.1:1/", .bearer = &bearer}, NULL,
            &response, &err),
        -1);
    assert_int_equal(err.code, KNDL_INVALID_ARGUMENT);
}

static void the_environments_proxy_is_not_used(void **state)
{
    struct server server;
    struct kndl_http_response response;
    struct kndl_error err = {0};

    (void)state;
    setenv("http_proxy", "http://127.0.0.1:1", 1);
    start(&server, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    assert_int_equal(ask((struct kndl_http_request){0}, &server, &response, &err), 0);
    stop(&server);
    unsetenv("http_proxy");
    kndl_http_response_done(&response);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(status_headers_and_body_come_back),
        cmocka_unit_test(a_request_is_sent_as_it_was_given),
        cmocka_unit_test(a_redirect_is_an_answer),
        cmocka_unit_test(an_answer_over_the_limit_is_out_of_range),
        cmocka_unit_test(an_answer_that_is_cut_is_unavailable),
        cmocka_unit_test(what_does_not_speak_http_is_unavailable),
        cmocka_unit_test(a_server_that_says_nothing_ends_at_the_deadline),
        cmocka_unit_test(nobody_who_listens_is_unavailable),
        cmocka_unit_test(other_protocols_are_refused),
        cmocka_unit_test(a_line_break_in_a_header_is_refused),
        cmocka_unit_test(the_environments_proxy_is_not_used),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
