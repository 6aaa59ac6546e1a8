/* Keeps the programs of a plan running, and answers what is asked about them. */

#include "supervisor.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "kndl/clock.h"
#include "kndl/log.h"
#include "kndl/mem.h"
#include "orphans.h"

enum { ORPHAN_GRACE_MS = 3000, PAUSE_MS = 10 };

static struct program *find_program(struct supervisor *supervisor, const char *name)
{
    for (size_t i = 0; i < supervisor->count; i++)
        if (strcmp(supervisor->programs[i].plan.name, name) == 0)
            return &supervisor->programs[i];
    return NULL;
}

static struct program *find_pid(struct supervisor *supervisor, pid_t pid)
{
    for (size_t i = 0; i < supervisor->count; i++)
        if (supervisor->programs[i].pid == pid)
            return &supervisor->programs[i];
    return NULL;
}

int supervisor_open(const char *plan_path, struct supervisor *ret_supervisor,
                    struct kndl_error *err)
{
    struct plan plan;
    struct supervisor supervisor = {.plan_path = plan_path};

    if (plan_read(plan_path, &plan, err) < 0)
        return -1;
    supervisor.socket = kndl_steal(&plan.socket);
    supervisor.logs = kndl_steal(&plan.logs);
    supervisor.count = plan.program_count;
    supervisor.programs = kndl_new_array(struct program, plan.program_count + 1);
    for (size_t i = 0; i < plan.program_count; i++)
        supervisor.programs[i].plan = plan_take(&plan.programs[i]);
    plan_done(&plan);
    *ret_supervisor = supervisor;
    return 0;
}

void supervisor_close(struct supervisor *supervisor)
{
    for (size_t i = 0; i < supervisor->count; i++)
        program_done(&supervisor->programs[i]);
    free(supervisor->programs);
    free(supervisor->socket);
    free(supervisor->logs);
    *supervisor = (struct supervisor){0};
}

void supervisor_start_all(struct supervisor *supervisor)
{
    for (size_t i = 0; i < supervisor->count; i++)
        program_start(&supervisor->programs[i], supervisor->logs, kndl_clock_ms());
}

void supervisor_reap(struct supervisor *supervisor)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        struct program *program = find_pid(supervisor, pid);

        if (program != NULL)
            program_ended(program, status, kndl_clock_ms());
    }
}

static void forget(struct supervisor *supervisor, size_t index)
{
    program_done(&supervisor->programs[index]);
    supervisor->count--;
    memmove(&supervisor->programs[index], &supervisor->programs[index + 1],
            (supervisor->count - index) * sizeof *supervisor->programs);
}

int supervisor_tick(struct supervisor *supervisor)
{
    int64_t now_ms = kndl_clock_ms();
    int64_t next_ms = INT64_MAX;

    for (size_t i = supervisor->count; i-- > 0;) {
        struct program *program = &supervisor->programs[i];
        int64_t due_ms = program_tick(program, supervisor->logs, now_ms);

        if (due_ms < next_ms)
            next_ms = due_ms;
        if (program->gone && program->state == PROGRAM_STOPPED)
            forget(supervisor, i);
    }
    if (next_ms == INT64_MAX)
        return -1;
    return next_ms > now_ms ? (int)(next_ms - now_ms) : 0;
}

static void restart(struct supervisor *supervisor, struct program *program)
{
    int64_t now_ms = kndl_clock_ms();

    program->backoff = (struct backoff){0};
    program_stop(program, now_ms);
    if (program->state == PROGRAM_STOPPED)
        program_start(program, supervisor->logs, now_ms);
    else
        program->again = true;
}

static void take_over(struct supervisor *supervisor, struct program *program,
                      struct plan_program *plan)
{
    bool changed = strcmp(program->plan.text, plan->text) != 0;

    program->gone = false;
    if (!changed)
        return;
    plan_program_done(&program->plan);
    program->plan = plan_take(plan);
    restart(supervisor, program);
}

/*
 * Reads the plan again: what is new is started, what is no more there ends, what changed is
 * started anew, the rest keeps its process. On failure nothing changes.
 */
static int read_again(struct supervisor *supervisor, struct kndl_error *err)
{
    struct plan plan;
    struct program *programs;
    size_t count = 0;

    if (plan_read(supervisor->plan_path, &plan, err) < 0)
        return -1;
    for (size_t i = 0; i < supervisor->count; i++)
        supervisor->programs[i].gone = true;

    programs = kndl_new_array(struct program, plan.program_count + supervisor->count + 1);
    for (size_t i = 0; i < plan.program_count; i++) {
        struct program *old = find_program(supervisor, plan.programs[i].name);
        struct program *program = &programs[count++];

        if (old != NULL) {
            *program = *old;
            *old = (struct program){.plan.name = kndl_strdup("")};
            take_over(supervisor, program, &plan.programs[i]);
        } else {
            program->plan = plan_take(&plan.programs[i]);
            program_start(program, supervisor->logs, kndl_clock_ms());
        }
    }
    for (size_t i = 0; i < supervisor->count; i++) {
        struct program *left = &supervisor->programs[i];

        if (!left->gone) {
            plan_program_done(&left->plan);
            continue;
        }
        program_stop(left, kndl_clock_ms());
        programs[count++] = *left;
    }
    free(supervisor->programs);
    supervisor->programs = programs;
    supervisor->count = count;
    plan_done(&plan);
    return 0;
}

static void write_status(const struct supervisor *supervisor, struct kndl_buf *answer)
{
    kndl_buf_append_text(answer, "ok\n");
    for (size_t i = 0; i < supervisor->count; i++) {
        const struct program *program = &supervisor->programs[i];

        kndl_buf_printf(answer, "%s %s %d %" PRId64 " %" PRIu64 "\n", program->plan.name,
                        program_state_name(program->state), (int)program->pid,
                        program->since_wall_ms, program->restarts);
    }
}

/* The program that "<verb> NAME" names, or NULL if the request is another one. */
static struct program *find_named(struct supervisor *supervisor, const char *request,
                                  const char *verb)
{
    size_t size = strlen(verb);

    if (strncmp(request, verb, size) != 0 || request[size] != ' ')
        return NULL;
    return find_program(supervisor, request + size + 1);
}

void supervisor_ask(struct supervisor *supervisor, const char *request, struct kndl_buf *answer)
{
    struct program *program;
    struct kndl_error err = {0};

    if (strcmp(request, "status") == 0) {
        write_status(supervisor, answer);
        return;
    }
    if (strcmp(request, "reload") == 0) {
        if (read_again(supervisor, &err) < 0)
            kndl_buf_printf(answer, "error %s\n", err.message);
        else
            kndl_buf_append_text(answer, "ok\n");
        return;
    }
    if ((program = find_named(supervisor, request, "stop")) != NULL) {
        program_stop(program, kndl_clock_ms());
    } else if ((program = find_named(supervisor, request, "restart")) != NULL) {
        restart(supervisor, program);
    } else if ((program = find_named(supervisor, request, "start")) != NULL) {
        if (program->state == PROGRAM_STOPPED || program->state == PROGRAM_STOPPING)
            restart(supervisor, program);
    } else {
        kndl_buf_append_text(answer, "error no such request or program\n");
        return;
    }
    kndl_buf_append_text(answer, "ok\n");
}

void supervisor_wait(struct supervisor *supervisor, int signals, int control, int timeout_ms)
{
    KNDL_CLEANUP(kndl_free)
    struct pollfd *fds = kndl_new_array(struct pollfd, supervisor->count + 2);
    size_t count = 0;

    fds[count++] = (struct pollfd){.fd = signals, .events = POLLIN};
    fds[count++] = (struct pollfd){.fd = control, .events = POLLIN};
    for (size_t i = 0; i < supervisor->count; i++)
        if (supervisor->programs[i].log != NULL)
            fds[count++] = (struct pollfd){.fd = logbook_reader(supervisor->programs[i].log),
                                           .events = POLLIN};
    (void)poll(fds, count, timeout_ms);
    for (size_t i = 0; i < supervisor->count; i++)
        if (supervisor->programs[i].log != NULL)
            logbook_take(supervisor->programs[i].log);
}

/* Until a child may have ended; who ends may have something to write yet. */
static void pause_until_child(struct supervisor *supervisor)
{
    supervisor_wait(supervisor, -1, -1, PAUSE_MS);
}

static void wait_stopped(struct supervisor *supervisor, struct program *program)
{
    while (program->state != PROGRAM_STOPPED) {
        (void)program_tick(program, supervisor->logs, kndl_clock_ms());
        supervisor_reap(supervisor);
        if (program->state != PROGRAM_STOPPED)
            pause_until_child(supervisor);
    }
}

void supervisor_shut_down(struct supervisor *supervisor)
{
    int64_t begin_ms;

    for (size_t i = supervisor->count; i-- > 0;) {
        program_stop(&supervisor->programs[i], kndl_clock_ms());
        wait_stopped(supervisor, &supervisor->programs[i]);
    }
    begin_ms = kndl_clock_ms();
    while (orphans_signal(kndl_clock_ms() - begin_ms < ORPHAN_GRACE_MS ? SIGTERM : SIGKILL) > 0) {
        pause_until_child(supervisor);
        supervisor_reap(supervisor);
    }
    supervisor_reap(supervisor);
}
