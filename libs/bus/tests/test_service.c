/* The life of a service as a process: options, a NATS that comes and goes, the end. */

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"
#include "kndl/mem.h"

struct process {
    pid_t pid;
    int out; /* its stdout and stderr */
};

/* `environment` ends with NULL. */
static struct process start(const char *option, char *const environment[])
{
    char *const argv[] = {(char *)"redactor", (char *)option, NULL};
    struct process process;
    int ends[2];

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    process.pid = fork();
    if (process.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        execve(KNDL_SAMPLE_PATH, argv, environment);
        _exit(127);
    }
    close(ends[1]);
    process.out = ends[0];
    return process;
}

/* Reads all it says and returns its status. */
static int finish(struct process *process, char *text, size_t room)
{
    size_t size = 0;
    ssize_t got;
    int status;

    while ((got = read(process->out, text + size, room - 1 - size)) > 0)
        size += (size_t)got;
    text[size] = '\0';
    close(process->out);
    assert_int_equal(waitpid(process->pid, &status, 0), process->pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int run(const char *option, char *const environment[], char *text, size_t room)
{
    struct process process = start(option, environment);

    return finish(&process, text, room);
}

static char *const nothing[] = {NULL};

static void options_are_answered(void **unused)
{
    char text[8192];

    (void)unused;
    assert_int_equal(run("--help", nothing, text, sizeof text), 0);
    assert_non_null(strstr(text, "HUB_NATS_URL"));
    assert_non_null(strstr(text, "HUB_SAMPLE"));
    assert_int_equal(run("--version", nothing, text, sizeof text), 0);
    assert_string_equal(text, "redactor " KNDL_VERSION "\n");
    assert_int_equal(run("--check", nothing, text, sizeof text), 0);
    assert_int_equal(run("--what", nothing, text, sizeof text), 1);
    assert_non_null(strstr(text, "--what is no option"));
}

static void a_start_that_cannot_be_says_why(void **unused)
{
    char *const failing[] = {(char *)"HUB_SAMPLE_FAILS=1", NULL};
    char *const no_file[] = {(char *)"HUB_NATS_CREDS_FILE=/nowhere", NULL};
    char text[8192];

    (void)unused;
    assert_int_equal(run(NULL, nothing, text, sizeof text), 1);
    assert_non_null(strstr(text, "HUB_NATS_CREDS_FILE is not set"));
    assert_int_equal(run("--check", failing, text, sizeof text), 1);
    assert_non_null(strstr(text, "the sample was told to fail"));
    assert_int_equal(run(NULL, no_file, text, sizeof text), 1);
    assert_non_null(strstr(text, "/nowhere cannot be read"));
}

/* The environment of a service on the test's NATS, with a credentials file of its own. */
struct place {
    char url[128];
    char creds[600];
    char *environment[3];
};

static void make_place(struct place *place, const char *creds)
{
    snprintf(place->url, sizeof place->url, "HUB_NATS_URL=%s", kndl_test_nats()->url);
    snprintf(place->creds, sizeof place->creds, "HUB_NATS_CREDS_FILE=%s/creds/%s",
             kndl_test_nats()->dir, creds);
    place->environment[0] = place->url;
    place->environment[1] = place->creds;
    place->environment[2] = NULL;
}

static void ask_until(struct kndl_bus *bus, const char *text, enum kndl_code code)
{
    struct asked asked;
    int tries = 0;

    do {
        mask(bus, text, &asked);
        assert_true(++tries < 6000);
        poll(NULL, 0, asked.err.code == code ? 0 : 5);
    } while (asked.err.code != code);
}

static void a_fifo(char path[512])
{
    snprintf(path, 512, "%s/fifo", kndl_test_nats()->dir);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
}

static void the_end_answers_what_was_asked(void **unused)
{
    static char text[65536];
    struct place place;
    char path[512];
    struct asked asked;

    (void)unused;
    make_place(&place, "redactor.creds");
    struct kndl_bus *sessions = open_bus("sessions");
    struct process process = start(NULL, place.environment);
    ask_until(sessions, "/nowhere", KNDL_ABORTED);

    a_fifo(path);
    ask_mask(sessions, path, 60000, &asked);
    int fd = open(path, O_WRONLY); /* opens once the handler reads */
    kill(process.pid, SIGTERM);
    ask_until(sessions, "/nowhere", KNDL_UNAVAILABLE);
    assert_int_equal(write(fd, "x", 1), 1);
    wait_asked(&asked);
    assert_int_equal(asked.err.code, KNDL_OK);
    close(fd);
    assert_int_equal(finish(&process, text, sizeof text), 0);
    assert_non_null(strstr(text, "the service drains"));
    kndl_bus_close(sessions);
}

static void a_loop_ends_by_the_signal(void **unused)
{
    static char text[65536];
    struct place place;
    size_t size = 0;

    (void)unused;
    make_place(&place, "redactor.creds");
    struct process process = start("loop", place.environment);
    do {
        ssize_t got = read(process.out, text + size, sizeof text - 1 - size);
        assert_true(got > 0);
        size += (size_t)got;
        text[size] = '\0';
    } while (strstr(text, "the loop runs") == NULL);
    kill(process.pid, SIGTERM);
    assert_int_equal(finish(&process, text, sizeof text), 0);
}

static void a_service_outlives_its_nats(void **unused)
{
    static char text[1 << 20];
    struct place place;
    struct asked asked;
    char path[512];

    (void)unused;
    make_place(&place, "redactor.creds");
    struct kndl_bus *sessions = open_bus("sessions");
    kndl_test_nats_kill();
    while (kndl_bus_is_connected(sessions))
        ;
    struct process process = start(NULL, place.environment);
    mask(sessions, "/nowhere", &asked);
    assert_int_equal(asked.err.code, KNDL_UNAVAILABLE);

    kndl_test_nats_start();
    ask_until(sessions, "/nowhere", KNDL_ABORTED);

    /* What is under way when NATS dies fails at once, and says that it may have been done. */
    a_fifo(path);
    ask_mask(sessions, path, 60000, &asked);
    int fd = open(path, O_WRONLY);
    kndl_test_nats_kill();
    wait_asked(&asked);
    assert_int_equal(asked.err.code, KNDL_DEADLINE_EXCEEDED);
    close(fd);
    kndl_test_nats_start();
    ask_until(sessions, "/nowhere", KNDL_ABORTED);

    kill(process.pid, SIGTERM);
    assert_int_equal(finish(&process, text, sizeof text), 0);
    kndl_bus_close(sessions);
}

/* A copy of the credentials, one character of whose signature may be another. */
static void write_creds(const char *name, bool is_broken)
{
    char path[512];
    char line[8192];
    char temporary[600];

    snprintf(path, sizeof path, "%s/creds/redactor.creds", kndl_test_nats()->dir);
    FILE *from = fopen(path, "r");
    snprintf(path, sizeof path, "%s/creds/%s", kndl_test_nats()->dir, name);
    snprintf(temporary, sizeof temporary, "%s.new", path);
    FILE *to = fopen(temporary, "w");
    assert_true(from != NULL && to != NULL);
    while (fgets(line, sizeof line, from) != NULL) {
        char *dot = strrchr(line, '.');
        if (is_broken && dot != NULL)
            dot[10] = dot[10] == 'A' ? 'B' : 'A';
        fputs(line, to);
    }
    fclose(from);
    fclose(to);
    assert_int_equal(rename(temporary, path), 0);
}

static void a_connection_that_is_refused_for_good_ends_the_process(void **unused)
{
    static char text[65536];
    struct place place;

    (void)unused;
    write_creds("copy.creds", false);
    make_place(&place, "copy.creds");
    struct kndl_bus *sessions = open_bus("sessions");
    struct process process = start(NULL, place.environment);
    ask_until(sessions, "/nowhere", KNDL_ABORTED);
    write_creds("copy.creds", true);
    kndl_test_nats_kill();
    kndl_test_nats_start();
    assert_int_equal(finish(&process, text, sizeof text), 1);
    if (strstr(text, "closed the connection for good") == NULL)
        fail_msg("%s", text);
    assert_int_equal(run(NULL, place.environment, text, sizeof text), 1);
    assert_non_null(strstr(text, "refuses the credentials"));
    kndl_bus_close(sessions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_are_answered),
        cmocka_unit_test(a_start_that_cannot_be_says_why),
        cmocka_unit_test(the_end_answers_what_was_asked),
        cmocka_unit_test(a_loop_ends_by_the_signal),
        cmocka_unit_test(a_service_outlives_its_nats),
        cmocka_unit_test(a_connection_that_is_refused_for_good_ends_the_process),
    };
    return cmocka_run_group_tests_name("service", tests, NULL, NULL);
}
