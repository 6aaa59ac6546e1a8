/* Tasks: work that no caller waits for, on a thread with a state and an arena of its own. */

#include <stdlib.h>

#include "kndl/clock.h"
#include "kndl/id.h"
#include "kndl/log.h"
#include "kndl/rpc.h"
#include "server.h"

/* Waits for a wake, so long or the end; false: the end. */
static bool wait_turn(struct task_thread *thread, uint32_t ms)
{
    struct timespec until = kndl_wait_until(ms);
    bool goes_on;

    pthread_mutex_lock(&thread->lock);
    while (!thread->is_woken && !thread->stops)
        if (pthread_cond_timedwait(&thread->changed, &thread->lock, &until) != 0)
            break;
    thread->is_woken = false;
    goes_on = !thread->stops;
    pthread_mutex_unlock(&thread->lock);
    return goes_on;
}

/* After how long it is to run again. */
static uint32_t run_once(struct task_thread *thread, void *state, struct kndl_arena *arena)
{
    char trace[KNDL_ID_SIZE];
    struct kndl_call call = {.state = state, .arena = arena, .trace = trace};

    kndl_id_new(trace);
    call.actor.kind = KNDL_SERVICE;
    call.actor.id = thread->server->user;
    kndl_log_context(trace, thread->task->name);
    if (thread->task->run(&call) < 0)
        kndl_log(KNDL_WARNING, "a task failed; it will be tried again",
                 KNDL_STR("task", thread->task->name), KNDL_I64("code", call.err.code),
                 KNDL_STR("why", call.err.message));
    kndl_log_context(NULL, NULL);
    kndl_arena_reset(arena);
    if (call.wake != NULL)
        server_wake(thread->server, call.wake);
    return call.again_ms > 0 && call.again_ms < thread->task->period_ms ? call.again_ms
                                                                        : thread->task->period_ms;
}

void *task_run(void *data)
{
    struct task_thread *thread = data;
    const struct kndl_service *service = thread->server->service;
    void *state = NULL;

    if (!server_open_state(thread->server, &state))
        return NULL;
    struct kndl_arena *arena = kndl_arena_new(service->arena);
    while (wait_turn(thread, run_once(thread, state, arena)))
        ;
    kndl_arena_free(arena);
    if (service->close != NULL)
        service->close(state);
    return NULL;
}

void server_wake(struct server *server, const struct kndl_task *task)
{
    for (size_t i = 0; i < server->task_count; i++) {
        struct task_thread *thread = &server->tasks[i];
        if (thread->task != task)
            continue;
        pthread_mutex_lock(&thread->lock);
        thread->is_woken = true;
        pthread_cond_signal(&thread->changed);
        pthread_mutex_unlock(&thread->lock);
    }
}
