/*
 * What does a viewer cost? The memory of an idle WebSocket, and frames of 512 bytes a second to
 * 200 of them, beside plain write() calls to as many sockets (without Nagle too) in the same run.
 */

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kndl/clock.h"
#include "kndl/web.h"

enum {
    IDLE = 2000,
    VIEWERS = 200,
    FRAMES = 5000, /* to each */
    FRAME_BYTES = 512,
};

static const char handshake[] = "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n"
                                "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

/* The server, in this process. */
static struct kndl_loop *loop;
static struct kndl_web_socket *sockets[IDLE];
static int count;
static int wanted;
static int frame_number;
static int viewer;
static const char frame[FRAME_BYTES];

static long resident_bytes(void)
{
    char text[128] = "";
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t size = read(fd, text, sizeof text - 1);

    close(fd);
    return size <= 0 ? 0 : strtol(strchr(text, ' '), NULL, 10) * sysconf(_SC_PAGESIZE);
}

static void on_request(struct kndl_web_request *request, void *data)
{
    (void)data;
    kndl_web_answer(request, 404, NULL, (struct kndl_slice){0});
}

static void on_upgrade(struct kndl_web_request *request, void *data)
{
    (void)data;
    kndl_web_upgrade(request, NULL, NULL);
}

static void on_open(struct kndl_web_socket *socket, void *data)
{
    (void)data;
    sockets[count++] = socket;
    if (count == wanted)
        kndl_loop_stop(loop);
}

/* One frame to each, then the next; where one has no room, on_drained goes on. */
static void send_on(void)
{
    for (; frame_number < FRAMES; frame_number++) {
        for (; viewer < VIEWERS; viewer++)
            if (!kndl_web_socket_send(sockets[viewer], kndl_slice(frame, sizeof frame)))
                return;
        viewer = 0;
    }
    kndl_loop_stop(loop);
}

static void on_drained(struct kndl_web_socket *socket, void *data)
{
    (void)data;
    if (frame_number < FRAMES && socket == sockets[viewer])
        send_on();
}

static void begin(void *data)
{
    (void)data;
    frame_number = viewer = 0;
    send_on();
}

/* The clients, in a process of their own: connect, shake hands, and read until they are killed. */
static void run_clients(int port, int clients)
{
    static struct pollfd fds[IDLE];
    static char bytes[256 * 1024];
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };

    for (int i = 0; i < clients; i++) {
        fds[i].fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        fds[i].events = POLLIN;
        if (connect(fds[i].fd, (struct sockaddr *)&address, sizeof address) < 0 ||
            send(fds[i].fd, handshake, sizeof handshake - 1, MSG_NOSIGNAL) < 0)
            _exit(1);
    }
    for (;;) {
        poll(fds, (nfds_t)clients, -1);
        for (int i = 0; i < clients; i++)
            if (fds[i].revents != 0 && read(fds[i].fd, bytes, sizeof bytes) <= 0)
                _exit(0);
    }
}

static pid_t start_clients(int port, int clients)
{
    pid_t pid = fork();

    if (pid == 0)
        run_clients(port, clients);
    return pid;
}

/* Opens a server and lets so many in. */
static struct kndl_web *open_with(int clients, pid_t *ret_pid)
{
    const struct kndl_web_options options = {
        .address = "127.0.0.1",
        .listen_fd = -1,
        .socket_frame_bytes_max = 65536,
        .socket_queue_bytes_max = 256 * 1024,
        .on_request = on_request,
        .on_upgrade = on_upgrade,
        .on_socket_open = on_open,
        .on_socket_drained = on_drained,
    };
    struct kndl_web *web;

    if (kndl_web_open(loop, &options, &web, NULL) < 0)
        abort();
    count = 0;
    wanted = clients;
    *ret_pid = start_clients(kndl_web_port(web), clients);
    kndl_loop_run(loop, NULL, NULL);
    return web;
}

static void close_with(struct kndl_web *web, pid_t pid)
{
    kndl_web_close(web);
    waitpid(pid, NULL, 0);
}

static double frames_per_s(void)
{
    pid_t pid;
    struct kndl_web *web = open_with(VIEWERS, &pid);
    int64_t start_us = kndl_clock_us();

    kndl_loop_post(loop, begin, NULL);
    kndl_loop_run(loop, NULL, NULL);
    double seconds = (double)(kndl_clock_us() - start_us) / 1e6;
    close_with(web, pid);
    return VIEWERS * FRAMES / seconds;
}

/* The limit: blocking write() calls of the same size to as many plain sockets, in turn. */
static double writes_per_s(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int fds[VIEWERS];

    if (bind(listener, (struct sockaddr *)&address, sizeof address) < 0 ||
        listen(listener, VIEWERS) < 0 ||
        getsockname(listener, (struct sockaddr *)&address, &size) < 0)
        abort();
    pid_t pid = start_clients(ntohs(address.sin_port), VIEWERS);
    for (int i = 0; i < VIEWERS; i++) {
        fds[i] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    }
    int64_t start_us = kndl_clock_us();
    for (int n = 0; n < FRAMES; n++)
        for (int i = 0; i < VIEWERS; i++)
            if (write(fds[i], frame, sizeof frame) != sizeof frame)
                abort();
    double seconds = (double)(kndl_clock_us() - start_us) / 1e6;
    for (int i = 0; i < VIEWERS; i++)
        close(fds[i]);
    close(listener);
    waitpid(pid, NULL, 0);
    return VIEWERS * FRAMES / seconds;
}

int main(void)
{
    const struct rlimit files = {2 * IDLE, 2 * IDLE};
    pid_t pid;

    (void)setrlimit(RLIMIT_NOFILE, &files);
    loop = kndl_loop_new();
    long before = resident_bytes();
    struct kndl_web *web = open_with(IDLE, &pid);
    printf("an idle WebSocket takes %ld bytes of user memory\n",
           (resident_bytes() - before) / IDLE);
    close_with(web, pid);

    double writes = writes_per_s();
    double frames = frames_per_s();
    printf("%.0f frames of %d bytes a second to %d viewers; write() alone %.0f: %.2f of it\n",
           frames, FRAME_BYTES, VIEWERS, writes, frames / writes);
    kndl_loop_free(loop);
    return 0;
}
