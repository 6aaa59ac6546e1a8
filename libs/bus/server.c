/* A service's families, lanes and threads: made, started, drained. */

#include "server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kndl/arena.h"
#include "kndl/clock.h"
#include "kndl/id.h"
#include "kndl/log.h"

enum {
    BACKOFF_MS_LEAST = 100,
    BACKOFF_MS_MOST = 5000,
    DRAIN_MS = 10000,
};

int64_t backoff_next(int64_t ms)
{
    char id[KNDL_ID_SIZE]; /* its random bits make the jitter */

    kndl_id_new(id);
    ms = ms == 0 ? BACKOFF_MS_LEAST : ms * 2;
    ms += ms * (id[0] - '2') / 200;
    return ms > BACKOFF_MS_MOST ? BACKOFF_MS_MOST : ms;
}

/* A pause of so many ms that the end cuts short; true if it did. */
static bool pause_for(struct server *server, int64_t ms)
{
    struct timespec until = kndl_wait_until(ms);
    bool stops;

    pthread_mutex_lock(&server->lock);
    while (!server->stops)
        if (pthread_cond_timedwait(&server->changed, &server->lock, &until) != 0)
            break;
    stops = server->stops;
    pthread_mutex_unlock(&server->lock);
    return stops;
}

/* A service that cannot open a worker ends, with the reason in its log. */
static void give_up(struct server *server, const struct kndl_error *err)
{
    kndl_log(KNDL_ERROR, "the service cannot start", KNDL_STR("why", err->message));
    pthread_mutex_lock(&server->lock);
    server->has_failed = true;
    server->stops = true;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

bool server_open_state(struct server *server, void **ret_state)
{
    int64_t pause_ms = 0;

    *ret_state = NULL;
    if (server->service->open == NULL)
        return true;
    for (;;) {
        struct kndl_error err = {0};
        if (server->service->open(server->bus, ret_state, &err) == 0)
            return true;
        if (err.code != KNDL_UNAVAILABLE) {
            give_up(server, &err);
            return false;
        }
        pause_ms = backoff_next(pause_ms);
        kndl_log(KNDL_WARNING, "what the service needs is away; trying again",
                 KNDL_STR("why", err.message), KNDL_I64("pause_ms", pause_ms));
        if (pause_for(server, pause_ms))
            return false;
    }
}

static void *work(void *data)
{
    struct worker *worker = data;
    struct server *server = worker->server;
    struct job job;
    void *state;

    if (!server_open_state(server, &state))
        return NULL;
    struct kndl_arena *arena = kndl_arena_new(server->service->arena);
    lane_ready(worker->lane);
    while (lane_take(worker->lane, &job)) {
        server_handle(server, &job, state, arena);
        kndl_message_done(job.message);
        kndl_arena_reset(arena);
        lane_finish(worker->lane);
    }
    kndl_arena_free(arena);
    if (server->service->close != NULL)
        server->service->close(state);
    return NULL;
}

static int add_family(struct server *server, ProtobufCService *service, struct kndl_error *err)
{
    struct family *family = &server->families[server->family_count];
    struct kndl_buf subject = {0};
    const struct kndl_route route = {
        .method = "*",
        .runner_id = "*",
        .instance_id = kndl_service_instance(),
        .session_id = "*",
    };

    if (server->family_count == KNDL_FAMILIES_MAX ||
        service->descriptor->n_methods > KNDL_METHODS_MAX)
        abort();
    server->family_count++;
    family->server = server;
    family->service = service;
    family->kind = kndl_family_of(service->descriptor);
    kndl_subject_write(&subject, service->descriptor, &route);
    snprintf(family->subject, sizeof family->subject, "%s", kndl_buf_text(&subject));
    kndl_buf_done(&subject);

    natsStatus s = natsConnection_QueueSubscribe(&family->nats, server->bus->nats, family->subject,
                                                 server->user, server_take, family);
    if (s != NATS_OK)
        return kndl_nats_fail(err, s, family->subject);
    return 0;
}

static int add_families(struct server *server, struct kndl_error *err)
{
    const struct kndl_service *service = server->service;

    for (size_t i = 0; service->answers != NULL && service->answers[i] != NULL; i++)
        if (add_family(server, *service->answers[i], err) < 0)
            return -1;
    if (service->raw != NULL && add_family(server, *service->raw, err) < 0)
        return -1;
    return 0;
}

static void unsubscribe_all(struct server *server)
{
    for (size_t i = 0; i < server->family_count; i++)
        natsSubscription_Destroy(server->families[i].nats);
    natsSubscription_Destroy(server->inspect);
    server->inspect = NULL;
}

static void write_user(struct server *server)
{
    snprintf(server->user, sizeof server->user, "%s", server->service->name);
    for (char *c = server->user; *c != '\0'; c++)
        if (*c == '-')
            *c = '_';
}

int server_open(struct server *server, const struct kndl_service *service, struct kndl_bus *bus,
                struct kndl_error *err)
{
    memset(server, 0, sizeof *server);
    server->service = service;
    server->bus = bus;
    server->started_wall_ms = kndl_clock_wall_ms();
    write_user(server);
    pthread_mutex_init(&server->lock, NULL);
    kndl_cond_init(&server->changed);
    lane_init(&server->calls);
    for (size_t i = 0; i < KNDL_RAW_WORKERS; i++)
        lane_init(&server->raw[i]);
    bus->waits_max = KNDL_WORKERS / 2;
    if (add_families(server, err) < 0 || inspect_open(server, err) < 0) {
        unsubscribe_all(server);
        return -1;
    }
    return 0;
}

static void start_worker(struct server *server, struct lane *lane)
{
    struct worker *worker = &server->workers[server->worker_count++];

    worker->server = server;
    worker->lane = lane;
    if (pthread_create(&worker->thread, NULL, work, worker) != 0)
        abort();
}

static void start_task(struct server *server, const struct kndl_task *task)
{
    struct task_thread *thread = &server->tasks[server->task_count];

    if (server->task_count == KNDL_TASKS_MAX)
        abort();
    server->task_count++;
    thread->server = server;
    thread->task = task;
    pthread_mutex_init(&thread->lock, NULL);
    kndl_cond_init(&thread->changed);
}

void server_start(struct server *server)
{
    const struct kndl_service *service = server->service;

    /* All tasks are there before a worker may wake one. */
    for (size_t i = 0; service->tasks != NULL && service->tasks[i] != NULL; i++)
        start_task(server, service->tasks[i]);
    for (size_t i = 0; i < server->task_count; i++)
        if (pthread_create(&server->tasks[i].thread, NULL, task_run, &server->tasks[i]) != 0)
            abort();
    if (service->run != NULL || (service->answers == NULL && service->raw == NULL))
        return;
    for (size_t i = 0; i < KNDL_WORKERS; i++)
        start_worker(server, &server->calls);
    for (size_t i = 0; service->raw != NULL && i < KNDL_RAW_WORKERS; i++)
        start_worker(server, &server->raw[i]);
}

/* No more is taken in, and what NATS already gave us is in the lanes. */
static void drain_families(struct server *server)
{
    for (size_t i = 0; i < server->family_count; i++)
        (void)natsSubscription_Drain(server->families[i].nats);
    for (size_t i = 0; i < server->family_count; i++)
        (void)natsSubscription_WaitForDrainCompletion(server->families[i].nats, DRAIN_MS / 4);
}

static bool wait_promises(struct server *server)
{
    struct timespec until = kndl_wait_until(DRAIN_MS);
    bool is_kept;

    pthread_mutex_lock(&server->lock);
    while (server->promises > 0)
        if (pthread_cond_timedwait(&server->changed, &server->lock, &until) != 0)
            break;
    is_kept = server->promises == 0;
    pthread_mutex_unlock(&server->lock);
    return is_kept;
}

static void stop_tasks(struct server *server)
{
    for (size_t i = 0; i < server->task_count; i++) {
        struct task_thread *thread = &server->tasks[i];
        pthread_mutex_lock(&thread->lock);
        thread->stops = true;
        pthread_cond_signal(&thread->changed);
        pthread_mutex_unlock(&thread->lock);
    }
    for (size_t i = 0; i < server->task_count; i++) {
        pthread_join(server->tasks[i].thread, NULL);
        pthread_cond_destroy(&server->tasks[i].changed);
        pthread_mutex_destroy(&server->tasks[i].lock);
    }
}

static void stop_lanes(struct server *server)
{
    bool is_idle = lane_wait_idle(&server->calls, DRAIN_MS);

    for (size_t i = 0; i < KNDL_RAW_WORKERS; i++)
        is_idle = lane_wait_idle(&server->raw[i], DRAIN_MS) && is_idle;
    if (!wait_promises(server) || !is_idle)
        kndl_log(KNDL_WARNING, "the service ends although it owes answers");
    lane_stop(&server->calls);
    for (size_t i = 0; i < KNDL_RAW_WORKERS; i++)
        lane_stop(&server->raw[i]);
}

void server_close(struct server *server)
{
    drain_families(server);
    pthread_mutex_lock(&server->lock);
    server->stops = true;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
    stop_lanes(server);
    for (size_t i = 0; i < server->worker_count; i++)
        pthread_join(server->workers[i].thread, NULL);
    stop_tasks(server);
    unsubscribe_all(server);
    lane_done(&server->calls);
    for (size_t i = 0; i < KNDL_RAW_WORKERS; i++)
        lane_done(&server->raw[i]);
    if (server->promises > 0)
        return; /* one that is kept later still needs the lock */
    pthread_cond_destroy(&server->changed);
    pthread_mutex_destroy(&server->lock);
}
