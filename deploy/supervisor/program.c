/* The life of one program: started, ended, waited for, started again. */

#include "program.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/wait.h>

#include "kndl/clock.h"
#include "kndl/log.h"
#include "spawn.h"

static void enter(struct program *program, enum program_state state)
{
    program->state = state;
    program->since_wall_ms = kndl_clock_wall_ms();
}

static void wait_again(struct program *program, int64_t ran_ms, int64_t now_ms)
{
    uint32_t random = 0;
    int64_t pause_ms;

    (void)!getrandom(&random, sizeof random, GRND_NONBLOCK);
    pause_ms = backoff_next(&program->backoff, ran_ms, random);
    program->due_ms = now_ms + pause_ms;
    program->restarts++;
    enter(program, PROGRAM_WAITING);
}

void program_start(struct program *program, const char *logs, int64_t now_ms)
{
    struct kndl_error err = {0};

    program->again = false;
    program->started_ms = now_ms;
    if ((program->log == NULL && logbook_open(logs, program->plan.name, &program->log, &err) < 0) ||
        spawn_program(&program->plan, logbook_writer(program->log), &program->pid, &err) < 0) {
        kndl_log(KNDL_ERROR, "program not started", KNDL_STR("program", program->plan.name),
                 KNDL_STR("why", err.message));
        wait_again(program, 0, now_ms);
        return;
    }
    enter(program, PROGRAM_RUNNING);
    kndl_log(KNDL_INFO, "program started", KNDL_STR("program", program->plan.name),
             KNDL_I64("pid", program->pid));
}

void program_stop(struct program *program, int64_t now_ms)
{
    program->again = false;
    if (program->state == PROGRAM_STOPPING || program->state == PROGRAM_STOPPED)
        return;
    if (program->pid == 0) {
        enter(program, PROGRAM_STOPPED);
        return;
    }
    /* A child that was not waited for keeps its pid, so this cannot reach anybody else. */
    (void)kill(program->pid, program->plan.stop_signal);
    program->due_ms = now_ms + (int64_t)program->plan.grace_s * 1000;
    enter(program, PROGRAM_STOPPING);
}

void program_ended(struct program *program, int status, int64_t now_ms)
{
    bool wanted = program->state == PROGRAM_STOPPING;

    kndl_log(wanted ? KNDL_INFO : KNDL_WARNING, "program ended",
             KNDL_STR("program", program->plan.name), KNDL_I64("pid", program->pid),
             KNDL_I64("exit", WIFEXITED(status) ? WEXITSTATUS(status) : -1),
             KNDL_I64("signal", WIFSIGNALED(status) ? WTERMSIG(status) : 0));
    program->pid = 0;
    program->last_status = status;
    if (!wanted) {
        wait_again(program, now_ms - program->started_ms, now_ms);
    } else if (program->again) {
        program->backoff = (struct backoff){0};
        program->due_ms = now_ms;
        enter(program, PROGRAM_WAITING);
    } else {
        enter(program, PROGRAM_STOPPED);
    }
}

int64_t program_tick(struct program *program, const char *logs, int64_t now_ms)
{
    switch (program->state) {
    case PROGRAM_STOPPED:
    case PROGRAM_RUNNING:
        return INT64_MAX;
    case PROGRAM_WAITING:
        if (program->due_ms > now_ms)
            return program->due_ms;
        program_start(program, logs, now_ms);
        return program->state == PROGRAM_WAITING ? program->due_ms : INT64_MAX;
    case PROGRAM_STOPPING:
        if (program->due_ms > now_ms)
            return program->due_ms;
        kndl_log(KNDL_WARNING, "program killed", KNDL_STR("program", program->plan.name),
                 KNDL_I64("pid", program->pid));
        (void)kill(program->pid, SIGKILL);
        program->due_ms = now_ms + 1000;
        return program->due_ms;
    }
    abort();
}

void program_done(struct program *program)
{
    logbook_close(program->log);
    plan_program_done(&program->plan);
    *program = (struct program){0};
}

const char *program_state_name(enum program_state state)
{
    switch (state) {
    case PROGRAM_STOPPED:
        return "stopped";
    case PROGRAM_WAITING:
        return "waiting";
    case PROGRAM_RUNNING:
        return "running";
    case PROGRAM_STOPPING:
        return "stopping";
    }
    abort();
}
