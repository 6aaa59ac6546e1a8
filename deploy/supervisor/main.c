/*
 * kndl-supervisor: starts what a plan names on one machine, starts it again when it ends, reaps
 * every orphan, and ends all of it on SIGTERM.
 *
 *     kndl-supervisor PLAN                    runs until SIGTERM or SIGINT
 *     kndl-supervisor --ask SOCKET REQUEST    status | reload | start|stop|restart NAME
 */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "control.h"
#include "kndl/log.h"
#include "kndl/mem.h"
#include "supervisor.h"

static int open_signals(void)
{
    sigset_t set;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
        return -1;
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Takes the signals that came; false when one of them says to end. */
static bool take_signals(int fd)
{
    struct signalfd_siginfo info;
    bool go_on = true;

    while (read(fd, &info, sizeof info) == (ssize_t)sizeof info)
        if (info.ssi_signo != SIGCHLD)
            go_on = false;
    return go_on;
}

static void answer(void *context, const char *request, struct kndl_buf *text)
{
    supervisor_ask(context, request, text);
}

static void loop(struct supervisor *supervisor, int signals, int control)
{
    do {
        supervisor_reap(supervisor);
        control_serve(control, answer, supervisor);
        supervisor_wait(supervisor, signals, control, supervisor_tick(supervisor));
    } while (take_signals(signals));
}

static int supervise(const char *plan)
{
    struct supervisor supervisor = {0};
    struct kndl_error err = {0};
    KNDL_CLEANUP(kndl_close) int signals = open_signals();
    KNDL_CLEANUP(kndl_close) int control = -1;

    kndl_log_open("supervisor", KNDL_INFO);
    if (signals < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0) {
        kndl_log(KNDL_ERROR, "cannot supervise", KNDL_STR("why", strerror(errno)));
        return 1;
    }
    if (supervisor_open(plan, &supervisor, &err) < 0 ||
        (control = control_listen(supervisor.socket, &err)) < 0) {
        kndl_log(KNDL_ERROR, "cannot start", KNDL_STR("why", err.message));
        supervisor_close(&supervisor);
        return 1;
    }
    supervisor_start_all(&supervisor);
    loop(&supervisor, signals, control);
    kndl_log(KNDL_INFO, "ending all", KNDL_U64("programs", supervisor.count));
    supervisor_shut_down(&supervisor);
    (void)unlink(supervisor.socket);
    supervisor_close(&supervisor);
    return 0;
}

static int ask(const char *socket, const char *request)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf text = {0};
    struct kndl_error err = {0};

    if (control_ask(socket, request, &text, &err) < 0) {
        (void)fprintf(stderr, "kndl-supervisor: %s\n", err.message);
        return 1;
    }
    (void)fwrite(text.data, 1, text.size, stdout);
    return text.size >= 2 && memcmp(text.data, "ok", 2) == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "--ask") == 0)
        return ask(argv[2], argv[3]);
    if (argc == 2 && argv[1][0] == '/')
        return supervise(argv[1]);
    (void)fprintf(stderr, "usage: kndl-supervisor /PLAN | --ask SOCKET REQUEST\n");
    return 2;
}
