/* A blocking client over raw sockets. */

#include "kndl/raw_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>

#include "child.h"
#include "kndl/mem.h"

int kndl_raw_free_port(void)
{
    return child_free_port();
}

int kndl_raw_connect(int port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    struct timeval patience = {.tv_sec = 20};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    return fd;
}

void kndl_raw_send_bytes(int fd, const void *data, size_t size)
{
    const char *at = data;

    while (size > 0) {
        ssize_t sent = send(fd, at, size, MSG_NOSIGNAL);

        if (sent <= 0)
            return; /* the server may have closed already, rightly */
        at += sent;
        size -= (size_t)sent;
    }
}

void kndl_raw_send(int fd, const char *text)
{
    kndl_raw_send_bytes(fd, text, strlen(text));
}

static ssize_t receive(int fd, struct kndl_buf *out, size_t most)
{
    char *at = kndl_buf_reserve(out, most);
    ssize_t size = recv(fd, at, most, 0);

    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        fail_msg("the server neither answered nor closed");
    if (size > 0)
        out->size += (size_t)size;
    out->data[out->size] = '\0'; /* what is reserved is not terminated, also if nothing came */
    return size;
}

bool kndl_raw_read(int fd, struct kndl_buf *out, size_t size)
{
    while (out->size < size)
        if (receive(fd, out, size - out->size) <= 0)
            return false;
    return true;
}

void kndl_raw_read_to_end(int fd, struct kndl_buf *out)
{
    while (receive(fd, out, 65536) > 0)
        ;
}

static int status_of(const char *text)
{
    return strncmp(text, "HTTP/1.1 ", 9) == 0 ? (int)strtol(text + 9, NULL, 10) : 0;
}

int kndl_raw_read_answer(int fd, struct kndl_buf *head, struct kndl_buf *body)
{
    kndl_buf_clear(head);
    kndl_buf_clear(body);
    while (strstr(kndl_buf_text(head), "\r\n\r\n") == NULL)
        if (receive(fd, head, 1) <= 0)
            return 0;
    const char *length = strstr(head->data, "Content-Length: ");
    if (length != NULL)
        kndl_raw_read(fd, body, (size_t)strtoul(length + 16, NULL, 10));
    return status_of(head->data);
}

int kndl_raw_ask(int port, const char *text, size_t size, struct kndl_buf *all)
{
    int fd = kndl_raw_connect(port);

    kndl_raw_send_bytes(fd, text, size);
    kndl_buf_clear(all);
    kndl_raw_read_to_end(fd, all);
    close(fd);
    return status_of(kndl_buf_text(all));
}

void kndl_raw_send_frame(int fd, unsigned char first, const void *payload, size_t size)
{
    static const unsigned char mask[4] = {1, 2, 3, 4};
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf out = {0};
    const unsigned char *bytes = payload;

    kndl_buf_append_char(&out, (char)first);
    if (size < 126) {
        kndl_buf_append_char(&out, (char)(0x80 | size));
    } else if (size < 65536) {
        kndl_buf_append_char(&out, (char)(0x80 | 126));
        kndl_buf_append_char(&out, (char)(size >> 8));
        kndl_buf_append_char(&out, (char)(size & 0xff));
    } else {
        kndl_buf_append_char(&out, (char)(0x80 | 127));
        for (int i = 7; i >= 0; i--)
            kndl_buf_append_char(&out, (char)(size >> (8 * i) & 0xff));
    }
    kndl_buf_append(&out, mask, 4);
    for (size_t i = 0; i < size; i++)
        kndl_buf_append_char(&out, (char)(bytes[i] ^ mask[i & 3]));
    kndl_raw_send_bytes(fd, out.data, out.size);
}

int kndl_raw_read_frame(int fd, struct kndl_buf *payload)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf head = {0};
    size_t size;

    kndl_buf_clear(payload);
    if (!kndl_raw_read(fd, &head, 2))
        return -1;
    size = (unsigned char)head.data[1];
    if (size >= 126) {
        size_t count = size == 126 ? 2 : 8;

        if (!kndl_raw_read(fd, &head, 2 + count))
            return -1;
        size = 0;
        for (size_t i = 0; i < count; i++)
            size = size << 8 | (unsigned char)head.data[2 + i];
    }
    if (!kndl_raw_read(fd, payload, size))
        return -1;
    return head.data[0] & 0x0f;
}
