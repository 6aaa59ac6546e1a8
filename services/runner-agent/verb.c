/* The inside of a verb child. */

#include "verb.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "child.h"
#include "kndl/buf.h"
#include "kndl/env.h"
#include "kndl/log.h"
#include "kndl/mem.h"
#include "sandbox.h"
#include "verbs.h"

const char *verb_arg_at(const char *const *args, const char *name, size_t index)
{
    size_t size = strlen(name);

    for (size_t i = 0; args[i] != NULL; i++) {
        if (strncmp(args[i], name, size) == 0 && args[i][size] == '=' && index-- == 0)
            return args[i] + size + 1;
    }
    return NULL;
}

const char *verb_arg(const char *const *args, const char *name)
{
    const char *value = verb_arg_at(args, name, 0);

    return value == NULL ? "" : value;
}

int verb_arg_u64(const char *const *args, const char *name, uint64_t most, uint64_t *ret_value,
                 struct kndl_error *err)
{
    const char *text = verb_arg(args, name);
    char *end;
    uint64_t value;

    errno = 0;
    value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value > most)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "%s=%s is not a number up to %llu", name, text,
                         (unsigned long long)most);
    *ret_value = value;
    return 0;
}

int verb_input(char **ret_bytes, size_t *ret_size, struct kndl_error *err)
{
    struct stat about;
    size_t size = 0;
    char *bytes;
    ssize_t n;

    /* A memfd of the process that started us: its size is known, so nothing of it is copied
     * about while a buffer grows. */
    if (fstat(STDIN_FILENO, &about) < 0 || (!S_ISREG(about.st_mode) && !S_ISCHR(about.st_mode)) ||
        about.st_size > VERB_INPUT_BYTES_MAX)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "stdin must be a file of at most %d bytes",
                         VERB_INPUT_BYTES_MAX);
    bytes = kndl_alloc(1, (size_t)about.st_size + 1);
    while (size < (size_t)about.st_size &&
           (n = read(STDIN_FILENO, bytes + size, (size_t)about.st_size - size)) > 0)
        size += (size_t)n;
    *ret_bytes = bytes;
    *ret_size = size;
    return 0;
}

/* By hand, without a socket: the same as text on stdout. */
static void print(const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i += strlen(bytes + i) + 1)
        printf("%s ", bytes + i);
    printf("\n");
    (void)fflush(stdout);
}

static void send_message(const struct kndl_buf *text, int fd)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {0};
    struct iovec part = {text->data, text->size};
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
    ssize_t n;

    if (fd >= 0) {
        struct cmsghdr *c;

        header.msg_control = &control;
        header.msg_controllen = sizeof control;
        c = CMSG_FIRSTHDR(&header);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(c), &fd, sizeof fd);
    }
    while ((n = sendmsg(VERB_SOCKET_FD, &header, MSG_NOSIGNAL)) < 0 && errno == EINTR)
        ;
    if (n < 0 && (errno == EBADF || errno == ENOTSOCK))
        print(text->data, text->size);
}

static void say(const char *word, int fd, va_list pairs)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf text = {0};

    kndl_buf_append(&text, word, strlen(word) + 1);
    for (const char *item = va_arg(pairs, const char *); item != NULL;
         item = va_arg(pairs, const char *))
        kndl_buf_append(&text, item, strlen(item) + 1);
    send_message(&text, fd);
}

void verb_say(const char *word, int fd, ...)
{
    va_list pairs;

    va_start(pairs, fd);
    say(word, fd, pairs);
    va_end(pairs);
}

void verb_done(int fd, ...)
{
    va_list pairs;

    va_start(pairs, fd);
    say("done", fd, pairs);
    va_end(pairs);
}

void verb_reason(const char *reason)
{
    verb_say("reason", -1, "reason", reason, NULL);
}

static const struct verb *find_verb(const char *name)
{
    for (size_t i = 0; verbs[i].name != NULL; i++) {
        if (strcmp(verbs[i].name, name) == 0)
            return &verbs[i];
    }
    return NULL;
}

bool verb_main(int argc, char **argv, int *ret_status)
{
    const struct verb *verb = argc < 2 ? NULL : find_verb(argv[1]);
    struct kndl_error err = {0};
    char code[16];

    if (verb == NULL)
        return false;
    (void)fcntl(VERB_SOCKET_FD, F_SETFD, FD_CLOEXEC);
    (void)signal(SIGPIPE, SIG_IGN); /* a Runner that died is no reason to stop half-way */
    kndl_log_open("runner-agent", KNDL_INFO);
    *ret_status = 0;
    if (kndl_env_load(sandbox_env, &err) == 0 &&
        verb->run((const char *const *)argv + 2, &err) == 0)
        return true;
    (void)snprintf(code, sizeof code, "%d", (int)err.code);
    verb_say("error", -1, "code", code, "message", err.message, NULL);
    *ret_status = 1;
    return true;
}
