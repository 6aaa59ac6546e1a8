/* Starts verb children and hears what they say. */

#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kndl/buf.h"
#include "kndl/clock.h"
#include "kndl/env.h"
#include "kndl/loop.h"
#include "kndl/mem.h"
#include "reaper.h"
#include "sandbox.h"
#include "verb.h"

enum { MESSAGES_A_TURN = 32 };

struct child {
    struct children *children;
    struct child *next;
    struct kndl_watch *watch;
    struct kndl_timer *timer; /* the nearest of deadline and idle; or "could not start" */
    int socket;
    int pidfd;
    int64_t started_ms;
    int64_t deadline_at_ms; /* 0: none */
    int64_t idle_ms;
    child_message_fn on_message;
    child_end_fn on_end;
    void *data;
    struct kndl_error err; /* what ended it before it said so itself */
    char reason[32];
    char *last; /* the bytes of its "done" or "error" */
    size_t last_size;
    int fds[CHILD_FDS_MAX];
    size_t fd_count;
};

struct children {
    struct kndl_loop *loop;
    struct reaper *reaper;
    struct child *first;
    char *bytes; /* one message, CHILD_MESSAGE_BYTES_MAX */
};

void children_prepare(void)
{
    const struct rlimit none = {0, 0};

    (void)setrlimit(RLIMIT_CORE, &none);
#ifndef __SANITIZE_ADDRESS__ /* its leak check attaches to its own process */
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
    reaper_prepare();
}

struct children *children_new(struct kndl_loop *loop)
{
    struct children *children = kndl_new0(struct children);

    children->loop = loop;
    children->reaper = reaper_new(loop);
    children->bytes = kndl_alloc(1, CHILD_MESSAGE_BYTES_MAX);
    return children;
}

struct reaper *children_reaper(const struct children *children)
{
    return children->reaper;
}

struct kndl_loop *children_loop(const struct children *children)
{
    return children->loop;
}

static void close_fds(int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        kndl_close(&fds[i]);
}

static void free_child(struct child *child)
{
    struct child **at = &child->children->first;

    while (*at != child)
        at = &(*at)->next;
    *at = child->next;
    if (child->watch != NULL)
        kndl_watch_free(child->watch);
    kndl_timer_free(child->timer);
    kndl_close(&child->socket);
    kndl_close(&child->pidfd);
    close_fds(child->fds, child->fd_count);
    free(child->last);
    free(child);
}

void children_free(struct children *children)
{
    if (children == NULL)
        return;
    while (children->first != NULL) {
        if (children->first->pidfd >= 0)
            (void)pidfd_send_signal(children->first->pidfd, SIGKILL, NULL, 0);
        free_child(children->first);
    }
    reaper_free(children->reaper);
    free(children->bytes);
    free(children);
}

/* ------------------------------------------------------------------------------- messages */

const char *child_value(const struct child_message *message, const char *name)
{
    for (size_t i = 0; i < message->count; i++) {
        if (strcmp(message->names[i], name) == 0)
            return message->values[i];
    }
    return "";
}

uint64_t child_number(const struct child_message *message, const char *name)
{
    return strtoull(child_value(message, name), NULL, 10);
}

/* Word, name, value, name, value …, each with its NUL. False: not a message of ours. */
static bool split(const char *bytes, size_t size, struct child_message *ret_message)
{
    const char *end = bytes + size;
    const char *at = bytes;

    *ret_message = (struct child_message){0};
    if (size == 0 || end[-1] != '\0')
        return false;
    ret_message->word = at;
    for (at += strlen(at) + 1; at < end; at += strlen(at) + 1) {
        if (ret_message->count == CHILD_VALUES_MAX)
            return false;
        ret_message->names[ret_message->count] = at;
        at += strlen(at) + 1;
        if (at >= end)
            return false;
        ret_message->values[ret_message->count++] = at;
    }
    return true;
}

static void take_fds(struct msghdr *header, struct child_message *message)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c != NULL; c = CMSG_NXTHDR(header, c)) {
        size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        int fd;

        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t i = 0; i < count; i++) {
            memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            if (message->fd_count < CHILD_FDS_MAX)
                message->fds[message->fd_count++] = fd;
            else
                kndl_close(&fd);
        }
    }
}

/* ------------------------------------------------------------------------------- its end */

static void end(struct child *child)
{
    struct child_message last = {.word = ""};
    struct child_end answer = {.reason = child->reason, .last = &last};

    answer.took_ms = kndl_clock_ms() - child->started_ms;
    answer.err = child->err;
    if (answer.err.code == KNDL_OK && child->last == NULL) {
        (void)kndl_fail(&answer.err, KNDL_INTERNAL, "the child ended without an answer");
    } else if (answer.err.code == KNDL_OK && split(child->last, child->last_size, &last)) {
        last.fd_count = child->fd_count;
        memcpy(last.fds, child->fds, sizeof last.fds);
        child->fd_count = 0;
        if (strcmp(last.word, "done") != 0) {
            enum kndl_code code = (enum kndl_code)child_number(&last, "code");

            (void)kndl_fail(&answer.err, code == KNDL_OK ? KNDL_INTERNAL : code, "%s",
                            child_value(&last, "message"));
        }
    }
    if (child->on_end != NULL)
        child->on_end(child->data, &answer);
    close_fds(last.fds, last.fd_count);
    free_child(child);
}

/* The next moment at which somebody must look: the deadline, or silence for too long. */
static void start_timer(struct child *child)
{
    int64_t now = kndl_clock_ms();
    int64_t at = child->deadline_at_ms;

    if (child->idle_ms > 0 && (at == 0 || now + child->idle_ms < at))
        at = now + child->idle_ms;
    if (at != 0)
        kndl_timer_start(child->timer, at > now ? (uint64_t)(at - now) : 0, 0);
}

static void on_time(void *data)
{
    struct child *child = data;

    if (child->socket < 0) { /* it could not be started */
        end(child);
        return;
    }
    (void)kndl_fail(&child->err, KNDL_DEADLINE_EXCEEDED,
                    child->deadline_at_ms != 0 && kndl_clock_ms() >= child->deadline_at_ms
                        ? "it took longer than it may"
                        : "nothing happened for too long");
    memcpy(child->reason, "timeout", sizeof "timeout");
    (void)pidfd_send_signal(child->pidfd, SIGKILL, NULL, 0);
}

/* Of the failure that is told: whoever cleans up behind it may say more. */
static void take_reason(struct child *child, const char *reason)
{
    if (child->last != NULL)
        return;
    memcpy(child->reason, reason, strnlen(reason, sizeof child->reason - 1) + 1);
    child->reason[sizeof child->reason - 1] = '\0';
}

static void take(struct child *child, size_t size, struct child_message *message)
{
    bool is_last = strcmp(message->word, "done") == 0 || strcmp(message->word, "error") == 0;

    if (strcmp(message->word, "reason") == 0) {
        take_reason(child, child_value(message, "reason"));
    } else if (is_last && child->last == NULL) {
        child->last = kndl_memdup(child->children->bytes, size);
        child->last_size = size;
        child->fd_count = message->fd_count;
        memcpy(child->fds, message->fds, sizeof child->fds);
        message->fd_count = 0;
    } else if (!is_last && child->on_message != NULL) {
        child->on_message(child->data, message);
    }
    close_fds(message->fds, message->fd_count);
}

static void on_readable(int fd, short events, void *data)
{
    struct child *child = data;

    (void)events;
    for (int i = 0; i < MESSAGES_A_TURN; i++) {
        union {
            char bytes[CMSG_SPACE(sizeof(int) * CHILD_FDS_MAX)];
            struct cmsghdr align;
        } control;
        struct iovec part = {child->children->bytes, CHILD_MESSAGE_BYTES_MAX};
        struct msghdr header = {.msg_iov = &part,
                                .msg_iovlen = 1,
                                .msg_control = &control,
                                .msg_controllen = sizeof control};
        struct child_message message = {0};
        ssize_t size = recvmsg(fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

        if (size < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (size <= 0) {
            end(child);
            return;
        }
        if (!split(child->children->bytes, (size_t)size, &message))
            message = (struct child_message){.word = ""};
        take_fds(&header, &message);
        take(child, (size_t)size, &message);
        if (child->idle_ms > 0)
            start_timer(child);
    }
}

/* ------------------------------------------------------------------------------ starting */

static char **child_environment(void)
{
    struct kndl_buf line = {0};
    size_t count = 0;
    char **env;

    while (sandbox_env[count].name != NULL)
        count++;
    env = kndl_new_array(char *, count + 4);
    for (size_t i = 0; i < count; i++) {
        kndl_buf_printf(&line, "%s=%s", sandbox_env[i].name, kndl_env_get(sandbox_env[i].name));
        env[i] = kndl_buf_take(&line);
    }
    env[count++] = kndl_strdup("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    env[count++] = kndl_strdup("LANG=C.UTF-8");
    env[count] = NULL;
    return env;
}

static void free_strings(char **strings)
{
    for (size_t i = 0; strings[i] != NULL; i++)
        free(strings[i]);
    free(strings);
}

/* The bytes as a file that is nowhere: whoever reads it cannot make us wait. */
static int input_fd(struct kndl_slice input)
{
    int fd;
    size_t done = 0;

    if (input.size == 0)
        return open("/dev/null", O_RDONLY | O_CLOEXEC);
    fd = memfd_create("input", MFD_CLOEXEC);
    while (fd >= 0 && done < input.size) {
        ssize_t n = write(fd, input.data + done, input.size - done);

        if (n < 0) {
            kndl_close(&fd);
            return -1;
        }
        done += (size_t)n;
    }
    if (fd >= 0)
        (void)lseek(fd, 0, SEEK_SET);
    return fd;
}

static int start_verb(struct child *child, const struct child_options *options)
{
    size_t count = 0;
    int pair[2] = {-1, -1};
    int input = input_fd(options->input);
    char **env;
    const char **argv;
    pid_t pid;
    int problem;

    if (input < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
        kndl_close(&input);
        return errno;
    }
    while (options->args != NULL && options->args[count] != NULL)
        count++;
    argv = kndl_new_array(const char *, count + 3);
    argv[0] = "runner-agent";
    argv[1] = options->verb;
    for (size_t i = 0; i < count; i++)
        argv[2 + i] = options->args[i];
    env = child_environment();
    problem = reaper_begin("/proc/self/exe", (char *const *)argv, env,
                           (int[]){input, 2, 2, pair[1]}, &pid);
    free_strings(env);
    free(argv);
    kndl_close(&input);
    kndl_close(&pair[1]);
    if (problem == 0) {
        child->pidfd = pidfd_open(pid, 0);
        child->socket = pair[0];
    } else {
        kndl_close(&pair[0]);
    }
    return problem;
}

struct child *child_start(struct children *children, const struct child_options *options)
{
    struct child *child = kndl_new0(struct child);
    int problem;

    child->children = children;
    child->socket = child->pidfd = -1;
    child->started_ms = kndl_clock_ms();
    child->on_message = options->on_message;
    child->on_end = options->on_end;
    child->data = options->data;
    child->idle_ms = options->idle_ms;
    child->timer = kndl_timer_new(children->loop, on_time, child);
    child->next = children->first;
    children->first = child;
    problem = start_verb(child, options);
    if (problem != 0) {
        (void)kndl_fail(&child->err, KNDL_RESOURCE_EXHAUSTED, "cannot start %s: %s", options->verb,
                        strerror(problem));
        kndl_timer_start(child->timer, 0, 0);
        return child;
    }
    child->deadline_at_ms = options->deadline_ms > 0 ? child->started_ms + options->deadline_ms : 0;
    child->watch = kndl_watch_new(children->loop, child->socket, POLLIN, on_readable, child);
    start_timer(child);
    return child;
}

void child_kill(struct child *child)
{
    if (child->err.code == KNDL_OK)
        (void)kndl_fail(&child->err, KNDL_CANCELLED, "it was cancelled");
    if (child->pidfd >= 0)
        (void)pidfd_send_signal(child->pidfd, SIGKILL, NULL, 0);
}
