/* Both ends of the supervisor's socket. */

#include "control.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "kndl/mem.h"

enum { ANSWER_WITHIN_S = 5 };

static int fill_address(const char *path, struct sockaddr_un *address, struct kndl_error *err)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address->sun_path)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "the path of the socket is too long: %s",
                         path);
    memcpy(address->sun_path, path, strlen(path));
    return 0;
}

static int open_socket(struct kndl_error *err)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return kndl_fail(err, KNDL_INTERNAL, "socket: %s", strerror(errno));
    return fd;
}

int control_listen(const char *path, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_close) int fd = open_socket(err);
    struct sockaddr_un address;
    mode_t mask;
    int bound;

    if (fd < 0 || fill_address(path, &address, err) < 0)
        return -1;
    (void)unlink(path);
    mask = umask(0177);
    bound = bind(fd, (struct sockaddr *)&address, sizeof address);
    (void)umask(mask);
    if (bound < 0)
        return kndl_fail(err, KNDL_INTERNAL, "bind %s: %s", path, strerror(errno));
    return kndl_steal_fd(&fd);
}

void control_serve(int fd, control_answer_fn fn, void *context)
{
    for (;;) {
        KNDL_CLEANUP(kndl_buf_done) struct kndl_buf answer = {0};
        char request[CONTROL_REQUEST_BYTES_MAX + 1];
        struct sockaddr_un from;
        socklen_t from_size = sizeof from;
        ssize_t size = recvfrom(fd, request, sizeof request - 1, MSG_DONTWAIT,
                                (struct sockaddr *)&from, &from_size);

        if (size < 0)
            return;
        request[size] = '\0';
        fn(context, request, &answer);
        (void)sendto(fd, kndl_buf_text(&answer), answer.size, MSG_DONTWAIT | MSG_NOSIGNAL,
                     (struct sockaddr *)&from, from_size);
    }
}

int control_ask(const char *path, const char *request, struct kndl_buf *answer,
                struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_close) int fd = open_socket(err);
    const struct sockaddr_un anonymous = {.sun_family = AF_UNIX};
    const struct timeval within = {.tv_sec = ANSWER_WITHIN_S};
    struct sockaddr_un address;
    ssize_t size;

    if (fd < 0 || fill_address(path, &address, err) < 0)
        return -1;
    /* An address of the kernel's choosing, so that there is somewhere to answer to. */
    if (bind(fd, (const struct sockaddr *)&anonymous, sizeof anonymous.sun_family) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &within, sizeof within) < 0 ||
        connect(fd, (struct sockaddr *)&address, sizeof address) < 0 ||
        send(fd, request, strlen(request), MSG_NOSIGNAL) < 0)
        return kndl_fail(err, KNDL_UNAVAILABLE, "ask %s: %s", path, strerror(errno));
    size =
        recv(fd, kndl_buf_reserve(answer, CONTROL_ANSWER_BYTES_MAX), CONTROL_ANSWER_BYTES_MAX, 0);
    if (size < 0)
        return kndl_fail(err, KNDL_UNAVAILABLE, "%s does not answer: %s", path, strerror(errno));
    answer->size += (size_t)size;
    return 0;
}
