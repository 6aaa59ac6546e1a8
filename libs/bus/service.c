/* The life of a service: read the environment, connect, prepare, serve, drain, leave. */

#include "kndl/service.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "kndl/id.h"
#include "kndl/log.h"
#include "server.h"

/* Of every service; its own table follows. */
static const struct kndl_env bus_env[] = {
    {"HUB_NATS_URL", "nats://127.0.0.1:4222", "where NATS is"},
    {"HUB_NATS_CREDS_FILE", NULL, "this service's credentials, as kndl-init wrote them"},
    {NULL, NULL, NULL},
};

/* A thread of libnats that hangs, as one may when the server is gone, does not keep the process. */
enum { LIBRARY_CLOSE_MS = 5000 };

static char instance[KNDL_ID_SIZE];
static pthread_once_t instance_once = PTHREAD_ONCE_INIT;
static struct server the_server;

static void make_instance(void)
{
    kndl_id_new(instance);
}

const char *kndl_service_instance(void)
{
    pthread_once(&instance_once, make_instance);
    return instance;
}

/* No core dump, no look from outside, no more rights; libs/crypt checks locked memory besides. */
static void guard_process(void)
{
    const struct rlimit none = {0, 0};

    umask(077);
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
#ifndef __SANITIZE_ADDRESS__ /* its leak check attaches to its own process */
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
}

static int complain(const struct kndl_error *err)
{
    kndl_log(KNDL_ERROR, "the service cannot start", KNDL_STR("why", err->message));
    return 1;
}

static int print_help(const struct kndl_service *service)
{
    printf("%s " KNDL_VERSION "\n\n"
           "Runs until SIGTERM. --check prepares all statements against a migrated, empty\n"
           "database and leaves. The environment:\n\n",
           service->name);
    kndl_env_print(bus_env, stdout);
    if (service->env != NULL)
        kndl_env_print(service->env, stdout);
    return 0;
}

static int check(const struct kndl_service *service)
{
    struct kndl_error err = {0};
    void *state = NULL;

    if (service->env != NULL && kndl_env_load(service->env, &err) < 0)
        return complain(&err);
    if (service->prepare != NULL && service->prepare(&err) < 0)
        return complain(&err);
    if (service->open != NULL) {
        if (service->open(NULL, &state, &err) < 0)
            return complain(&err);
        if (service->close != NULL)
            service->close(state);
    }
    return 0;
}

static void end_signals(sigset_t *ret_signals)
{
    sigemptyset(ret_signals);
    sigaddset(ret_signals, SIGTERM);
    sigaddset(ret_signals, SIGINT);
}

/* Waits so many ms, -1: for ever, for a signal to end; true if it came. */
static bool wait_for_end(int64_t ms)
{
    const struct timespec pause = {ms / 1000, (ms % 1000) * 1000000};
    sigset_t signals;
    int got;

    end_signals(&signals);
    do
        got = sigtimedwait(&signals, NULL, ms < 0 ? NULL : &pause);
    while (got < 0 && errno == EINTR);
    return got > 0;
}

/* Repeats `step` while it fails with UNAVAILABLE. 1: it is done, 0: the end came, -1: it failed. */
static int insist(int (*step)(struct kndl_error *err), struct kndl_error *err)
{
    int64_t pause_ms = 0;

    for (;;) {
        if (step(err) == 0)
            return 1;
        if (err->code != KNDL_UNAVAILABLE)
            return -1;
        pause_ms = backoff_next(pause_ms);
        kndl_log(KNDL_WARNING, "what the service needs is away; trying again",
                 KNDL_STR("why", err->message), KNDL_I64("pause_ms", pause_ms));
        if (wait_for_end(pause_ms))
            return 0;
    }
}

static const struct kndl_service *the_service;
static struct kndl_bus *the_bus;

static int connect_bus(struct kndl_error *err)
{
    char user[KNDL_TOKEN_CHARS_MAX + 1];

    snprintf(user, sizeof user, "%s", the_service->name);
    for (char *c = user; *c != '\0'; c++)
        if (*c == '-')
            *c = '_';
    const struct kndl_bus_options options = {
        .url = kndl_env_get("HUB_NATS_URL"),
        .creds_file = kndl_env_get("HUB_NATS_CREDS_FILE"),
        .user = user,
        .send_asap = true,
    };
    return kndl_bus_open(&options, &the_bus, err);
}

/* The loop of a process that works on libs/web takes the signals itself. */
static int run_loop(const struct kndl_service *service)
{
    struct kndl_error err = {0};
    sigset_t signals;

    end_signals(&signals);
    pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
    if (service->run(the_bus, &err) < 0)
        return complain(&err);
    return 0;
}

/* A worker that couldn't open ends the process too: looked for every second. */
static int serve(struct server *server)
{
    bool has_failed = false;

    while (!has_failed && !wait_for_end(1000)) {
        pthread_mutex_lock(&server->lock);
        has_failed = server->has_failed;
        pthread_mutex_unlock(&server->lock);
    }
    return has_failed ? 1 : 0;
}

static int live(const struct kndl_service *service)
{
    struct kndl_error err = {0};
    int status = 0;
    int done = insist(connect_bus, &err);

    if (done <= 0)
        return done == 0 ? 0 : complain(&err);
    if (server_open(&the_server, service, the_bus, &err) < 0) {
        kndl_bus_close(the_bus);
        return complain(&err);
    }
    done = service->prepare == NULL ? 1 : insist(service->prepare, &err);
    if (done < 0)
        status = complain(&err);
    if (done > 0) {
        server_start(&the_server);
        kndl_log(KNDL_INFO, "the service runs", KNDL_STR("instance", kndl_service_instance()));
        status = service->run != NULL ? run_loop(service) : serve(&the_server);
        kndl_log(KNDL_INFO, "the service drains");
    }
    server_close(&the_server);
    kndl_bus_close(the_bus);
    return status;
}

int kndl_service_main(const struct kndl_service *service, int argc, char **argv)
{
    struct kndl_error err = {0};
    sigset_t signals;

    if (argc > 1 && strcmp(argv[1], "--help") == 0)
        return print_help(service);
    if (argc > 1 && strcmp(argv[1], "--version") == 0)
        return printf("%s " KNDL_VERSION "\n", service->name) > 0 ? 0 : 1;
    kndl_log_open(service->name, KNDL_INFO);
    guard_process();
    if (argc > 1 && strcmp(argv[1], "--check") == 0)
        return check(service);
    if (argc > 1)
        return kndl_fail(&err, KNDL_INVALID_ARGUMENT, "%s is no option; --help", argv[1]) < 0
                   ? complain(&err)
                   : 1;
    if (kndl_env_load(bus_env, &err) < 0 ||
        (service->env != NULL && kndl_env_load(service->env, &err) < 0))
        return complain(&err);

    /* Blocked in every thread, so that they come to wait_for_end() alone. */
    end_signals(&signals);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    the_service = service;
    int status = live(service);
    nats_CloseAndWait(LIBRARY_CLOSE_MS);
    return status;
}
