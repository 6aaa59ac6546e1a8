/* Holds a listening socket. */

#include "hold.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kndl/env.h"
#include "kndl/mem.h"
#include "program.h"
#include "verbs.h"

enum { HELD_FD = 16, BACKLOG = 128 };

static int listen_in(pid_t init, uint16_t port, struct kndl_error *err)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    KNDL_CLEANUP(kndl_close) int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    KNDL_CLEANUP(kndl_close) int guest = -1;
    KNDL_CLEANUP(kndl_close) int fd = -1;
    char path[64];
    int one = 1;

    (void)snprintf(path, sizeof path, "/proc/%d/ns/net", (int)init);
    guest = open(path, O_RDONLY | O_CLOEXEC);
    if (own < 0 || guest < 0 || setns(guest, CLONE_NEWNET) < 0)
        return kndl_fail(err, KNDL_INTERNAL, "%s: %s", path, strerror(errno));
    fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) < 0 ||
        bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, BACKLOG) < 0 ||
        setns(own, CLONE_NEWNET) < 0)
        return kndl_fail(err, KNDL_INTERNAL, "listen on port %u inside: %s", port, strerror(errno));
    if (dup3(fd, HELD_FD, O_CLOEXEC) < 0)
        return kndl_fail(err, KNDL_INTERNAL, "dup: %s", strerror(errno));
    return 0;
}

/* It only waits from now on, and needs nothing for that. */
static void drop_everything(void)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {0};

    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    (void)syscall(SYS_capset, &header, none);
}

int hold_run(const char *const *args, struct kndl_error *err)
{
    uint64_t init, port;

    if (verb_arg_u64(args, "init", INT32_MAX, &init, err) < 0 ||
        verb_arg_u64(args, "port", UINT16_MAX, &port, err) < 0 ||
        listen_in((pid_t)init, (uint16_t)port, err) < 0)
        return -1;
    drop_everything();
    (void)!write(VERB_SOCKET_FD, "r", 1);
    (void)close(VERB_SOCKET_FD);
    for (;;)
        (void)pause();
}

int hold_start(const struct box *box, pid_t init, uint16_t port, struct kndl_error *err)
{
    char init_text[32], port_text[32], name_text[SANDBOX_NAME_CHARS_MAX + 8];
    char log[BOX_PATH_SIZE], home[BOX_PATH_SIZE + 16];

    (void)snprintf(init_text, sizeof init_text, "init=%d", (int)init);
    (void)snprintf(port_text, sizeof port_text, "port=%u", port);
    (void)snprintf(name_text, sizeof name_text, "name=%s", box->name);
    (void)snprintf(home, sizeof home, "RUNNER_HOME=%s", kndl_env_get("RUNNER_HOME"));
    box_path(box, "hold.log", log);
    return program_start(
        &(struct program_daemon){
            .argv =
                (const char *[]){"/proc/self/exe", "hold", name_text, init_text, port_text, NULL},
            .env = (const char *[]){home, NULL},
            .log = log,
            .record = box_record_pid,
            .data = &(struct box_record){box, "hold.pid"},
        },
        err);
}

void hold_stop(const struct box *box)
{
    KNDL_CLEANUP(kndl_close) int pidfd = -1;

    if (box_read_pid(box, "hold.pid", &pidfd) > 0)
        (void)pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
    box_unlink(box, "hold.pid");
}

int hold_socket(const char *name, int *ret_fd, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_close) int pidfd = -1;
    int fd;

    if (box_find_pid(name, "hold.pid", &pidfd) == 0)
        return kndl_fail(err, KNDL_NOT_FOUND, "nobody holds a relay socket for %s", name);
    fd = pidfd_getfd(pidfd, HELD_FD, 0);
    if (fd < 0)
        return kndl_fail(err, KNDL_INTERNAL, "take the relay's socket of %s: %s", name,
                         strerror(errno));
    (void)fcntl(fd, F_SETFL, O_NONBLOCK); /* pidfd_getfd has made it close on exec */
    *ret_fd = fd;
    return 0;
}
