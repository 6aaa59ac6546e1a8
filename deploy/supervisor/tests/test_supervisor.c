#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kndl/clock.h"
#include "kndl/mem.h"
#include "supervisor.h"

struct fixture {
    char folder[64];
    char path[96];
    struct supervisor supervisor;
};

static void write_plan(struct fixture *f, const char *programs)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf text = {0};
    KNDL_CLEANUP(kndl_close) int fd = open(f->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    kndl_buf_printf(&text, "socket %s/s\nlogs %s\n%s", f->folder, f->folder, programs);
    assert_int_equal(write(fd, text.data, text.size), text.size);
}

static void set_up(struct fixture *f, const char *programs)
{
    struct kndl_error err = {0};

    *f = (struct fixture){.folder = "/tmp/kndl-supervisor-XXXXXX"};
    assert_non_null(mkdtemp(f->folder));
    (void)snprintf(f->path, sizeof f->path, "%s/plan", f->folder);
    write_plan(f, programs);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    assert_int_equal(supervisor_open(f->path, &f->supervisor, &err), 0);
    supervisor_start_all(&f->supervisor);
}

static void tear_down(struct fixture *f)
{
    static const char *const names[] = {"plan",      "a.log",    "b.log",     "c.log",
                                        "forks.log", "ends.log", "tells.log", "tells.log.1"};
    char path[128];

    supervisor_shut_down(&f->supervisor);
    supervisor_close(&f->supervisor);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", f->folder, names[i]);
        (void)unlink(path);
    }
    assert_int_equal(rmdir(f->folder), 0);
}

/* Runs the supervisor's turns until the condition holds. */
#define UNTIL(f, condition)                                                                        \
    while (!(condition)) {                                                                         \
        supervisor_reap(&(f)->supervisor);                                                         \
        (void)supervisor_tick(&(f)->supervisor);                                                   \
        supervisor_wait(&(f)->supervisor, -1, -1, 1);                                              \
    }

static void ask(struct fixture *f, const char *request, const char *answer)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf text = {0};

    supervisor_ask(&f->supervisor, request, &text);
    assert_memory_equal(text.data, answer, strlen(answer));
}

static void what_ended_is_started_again(void **state)
{
    struct fixture f;
    struct program *program;
    pid_t first;

    (void)state;
    set_up(&f, "program a\nexec /bin/sleep\narg 1000\n");
    program = &f.supervisor.programs[0];
    first = program->pid;
    assert_int_equal(kill(first, SIGKILL), 0);
    UNTIL(&f, program->pid != 0 && program->pid != first);
    assert_int_equal(program->restarts, 1);
    assert_int_equal(program->state, PROGRAM_RUNNING);
    tear_down(&f);
}

static void what_ends_at_once_waits_before_its_third_start(void **state)
{
    struct fixture f;
    struct program *program;

    (void)state;
    set_up(&f, "program ends\nexec /bin/false\n");
    program = &f.supervisor.programs[0];
    UNTIL(&f, program->restarts == 2);
    assert_int_equal(program->state, PROGRAM_WAITING);
    assert_true(program->due_ms > kndl_clock_ms());
    ask(&f, "stop ends", "ok\n");
    assert_int_equal(program->state, PROGRAM_STOPPED);
    tear_down(&f);
}

static void a_reload_touches_only_what_changed(void **state)
{
    struct fixture f;
    pid_t a;
    pid_t b;

    (void)state;
    set_up(&f, "program a\nexec /bin/sleep\narg 1000\nprogram b\nexec /bin/sleep\narg 1000\n");
    a = f.supervisor.programs[0].pid;
    b = f.supervisor.programs[1].pid;
    write_plan(&f, "program c\nexec /bin/sleep\narg 1000\nprogram a\nexec /bin/sleep\narg 1000\n");
    ask(&f, "reload", "ok\n");
    UNTIL(&f, f.supervisor.count == 2 && kill(b, 0) < 0);
    assert_string_equal(f.supervisor.programs[0].plan.name, "c");
    assert_int_equal(f.supervisor.programs[1].pid, a);

    write_plan(&f, "program a\nexec /bin/sleep\narg 2000\n");
    ask(&f, "reload", "ok\n");
    UNTIL(&f, f.supervisor.count == 1 && f.supervisor.programs[0].state == PROGRAM_RUNNING &&
                  f.supervisor.programs[0].pid != a);
    assert_int_equal(f.supervisor.programs[0].restarts, 0);

    write_plan(&f, "program a\n");
    ask(&f, "reload", "error ");
    assert_int_equal(f.supervisor.count, 1);
    tear_down(&f);
}

static void an_orphan_is_reaped_and_ended_with_all_else(void **state)
{
    struct fixture f;

    (void)state;
    set_up(&f, "program forks\nexec /bin/sh\narg -c\narg sleep 1000 & exit 0\n");
    UNTIL(&f, f.supervisor.programs[0].restarts > 0);
    ask(&f, "stop forks", "ok\n");
    supervisor_shut_down(&f.supervisor);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    tear_down(&f);
}

/* The number that its log's newest line is. */
static long newest_line(struct fixture *f)
{
    char path[128], text[16] = "";
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/tells.log", f->folder);
    file = fopen(path, "re");
    if (file == NULL)
        return 0;
    if (fseek(file, -8, SEEK_END) == 0 && fread(text, 1, 8, file) != 8)
        text[0] = '\0';
    (void)fclose(file);
    return strtol(text, NULL, 10);
}

static long count_lines(struct fixture *f, const char *name, long next)
{
    char path[128];
    FILE *file;
    long line;

    (void)snprintf(path, sizeof path, "%s/%s", f->folder, name);
    file = fopen(path, "re");
    assert_non_null(file);
    while (fscanf(file, "%ld", &line) == 1)
        assert_int_equal(line, next++);
    (void)fclose(file);
    return next;
}

static void a_log_is_changed_while_its_program_runs_and_loses_no_line(void **state)
{
    struct fixture f;
    long next;

    (void)state;
    set_up(&f, "program tells\nexec /bin/sh\narg -c\n"
               "arg seq 1000001 3500000; exec sleep 1000\n");
    UNTIL(&f, newest_line(&f) == 3500000);
    assert_int_equal(f.supervisor.programs[0].restarts, 0);
    next = count_lines(&f, "tells.log.1", 1000001);
    assert_in_range((next - 1000001) * 8, LOGBOOK_FILE_BYTES_MAX - 65536,
                    LOGBOOK_FILE_BYTES_MAX + 8);
    assert_int_equal(count_lines(&f, "tells.log", next), 3500001);
    tear_down(&f);
}

static void what_a_program_says_at_its_end_is_in_its_log(void **state)
{
    struct fixture f;

    (void)state;
    set_up(&f, "program tells\nexec /bin/sh\narg -c\n"
               "arg trap 'seq 1000001 1100000; exit 0' TERM; echo 0000042; sleep 1000 & wait\n");
    UNTIL(&f, newest_line(&f) == 42);
    supervisor_shut_down(&f.supervisor);
    supervisor_close(&f.supervisor);
    assert_int_equal(newest_line(&f), 1100000);
    tear_down(&f); /* of nothing any more */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_ended_is_started_again),
        cmocka_unit_test(what_ends_at_once_waits_before_its_third_start),
        cmocka_unit_test(a_reload_touches_only_what_changed),
        cmocka_unit_test(an_orphan_is_reaped_and_ended_with_all_else),
        cmocka_unit_test(a_log_is_changed_while_its_program_runs_and_loses_no_line),
        cmocka_unit_test(what_a_program_says_at_its_end_is_in_its_log),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
