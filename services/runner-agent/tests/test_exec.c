/* Commands and connections into a real Sandbox, from the loop's side. */

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host.h"
#include "kndl/mem.h"
#include "verb.h"

static void a_command_gets_its_input_and_its_exit_is_told(void **unused)
{
    struct host host;
    char name[64], workspace[256];

    (void)unused;
    host_with_sandbox(&host, name, workspace);
    assert_int_equal(host_bash(&host, name, "echo out; echo err >&2; exit 7"), 7);
    assert_string_equal(host.output, "out\nerr\n");
    assert_int_equal(host_bash(&host, name, "kill -9 $$"), 137);
    /* A child that keeps the pipe open does not keep us. */
    assert_int_equal(host_bash(&host, name, "sleep 300 & echo done"), 0);
    assert_string_equal(host.output, "done\n");
    assert_int_equal(host_bash(&host, name, "head -c 100000 /dev/zero | tr '\\0' x; echo end >&2"),
                     0);
    assert_int_equal(strlen(host.output), 2000 + strlen("end\n"));
    host_remove(&host, name);
    host_done(&host);
}

struct talk {
    struct host *host;
    int in;
    int out;
};

static void on_talk_start(void *data, struct sandbox_process *process, int in, int out)
{
    struct talk *talk = data;

    assert_non_null(process);
    talk->in = in;
    talk->out = out;
    talk->host->done = true;
}

static void on_talk_end(void *data, const struct sandbox_exit *end)
{
    struct talk *talk = data;

    talk->host->exit = *end;
    talk->host->done = true;
}

static void a_command_can_be_talked_to(void **unused)
{
    struct host host;
    struct talk talk = {.host = &host};
    char name[64], workspace[256], line[16] = "";

    (void)unused;
    host_with_sandbox(&host, name, workspace);
    sandbox_exec(host.sandboxes, name,
                 &(struct sandbox_command){.argv = (const char *[]){"cat", NULL}, .stream = true},
                 on_talk_start, on_talk_end, &talk);
    host_wait(&host);
    assert_int_equal(write(talk.in, "ping\n", 5), 5);
    assert_int_equal(poll(&(struct pollfd){.fd = talk.out, .events = POLLIN}, 1, 10000), 1);
    assert_int_equal(read(talk.out, line, sizeof line), 5);
    assert_string_equal(line, "ping\n");
    kndl_close(&talk.in);
    host_wait(&host);
    assert_int_equal(host.exit.code, 0);
    kndl_close(&talk.out);
    host_remove(&host, name);
    host_done(&host);
}

struct dialed {
    struct host *host;
    int fd;
};

static void on_dialed(void *data, const struct sandbox_answer *answer, int fd)
{
    struct dialed *dialed = data;

    dialed->fd = fd;
    host_on_answer(dialed->host, answer);
}

static void on_listeners(void *data, const struct sandbox_answer *answer,
                         const struct sandbox_listener *listeners, size_t count)
{
    struct dialed *dialed = data;

    dialed->fd = count == 1 ? listeners[0].port : -1 - (int)count;
    host_on_answer(dialed->host, answer);
}

static void a_port_inside_is_seen_and_reached_but_not_the_relays(void **unused)
{
    struct host host;
    struct dialed dialed = {.host = &host};
    char name[64], workspace[256], line[16] = "";

    (void)unused;
    host_with_sandbox(&host, name, workspace);
    /* perl is in every Debian; it listens, and says so by a file. */
    assert_int_equal(
        host_bash(&host, name,
                  "(perl -MIO::Socket::INET -e '$l = IO::Socket::INET->new(LocalAddr => "
                  "\"127.0.0.1:3000\", Listen => 5, ReuseAddr => 1) or die; open F, "
                  "\">/workspace/up\"; close F; while ($c = $l->accept) { print $c \"guest\\n\"; "
                  "close $c }' &>/dev/null &) ; until [ -e /workspace/up ]; do :; done"),
        0);
    sandbox_listeners(host.sandboxes, name, on_listeners, &dialed);
    host_wait(&host);
    assert_int_equal(dialed.fd, 3000);
    sandbox_dial(host.sandboxes, name, 3000, on_dialed, &dialed);
    host_wait(&host);
    assert_int_equal(host.answer.err.code, KNDL_OK);
    assert_int_equal(poll(&(struct pollfd){.fd = dialed.fd, .events = POLLIN}, 1, 10000), 1);
    assert_int_equal(read(dialed.fd, line, sizeof line), 6);
    assert_string_equal(line, "guest\n");
    kndl_close(&dialed.fd);
    sandbox_dial(host.sandboxes, name, 3001, on_dialed, &dialed);
    host_wait(&host);
    assert_int_equal(host.answer.err.code, KNDL_UNAVAILABLE);
    sandbox_dial(host.sandboxes, name, 18080, on_dialed, &dialed);
    host_wait(&host);
    assert_int_equal(host.answer.err.code, KNDL_PERMISSION_DENIED);
    host_remove(&host, name);
    host_done(&host);
}

static void on_never(void *data, const struct sandbox_exit *end)
{
    (void)end;
    fail_msg("%s", (const char *)data);
}

static void on_running(void *data, struct sandbox_process *process, int in, int out)
{
    struct host *host = data;

    (void)process;
    kndl_close(&in);
    kndl_close(&out);
    host->done = true;
}

static void a_runner_that_leaves_leaves_its_commands_running(void **unused)
{
    struct host host;
    char name[64], workspace[256];

    (void)unused;
    host_with_sandbox(&host, name, workspace);
    sandbox_exec(
        host.sandboxes, name,
        &(struct sandbox_command){.argv = (const char *[]){"sleep", "321", NULL}, .stream = true},
        on_running, on_never, &host);
    host_wait(&host);
    host_restart(&host);
    assert_int_equal(host_bash(&host, name, "pgrep -xc sleep"), 0);
    assert_string_equal(host.output, "2\n"); /* the init has one too */
    host_remove(&host, name);
    host_done(&host);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_command_gets_its_input_and_its_exit_is_told, host_sweep),
        cmocka_unit_test_teardown(a_command_can_be_talked_to, host_sweep),
        cmocka_unit_test_teardown(a_runner_that_leaves_leaves_its_commands_running, host_sweep),
        cmocka_unit_test_teardown(a_port_inside_is_seen_and_reached_but_not_the_relays, host_sweep),
    };
    int status;

    if (verb_main(argc, argv, &status))
        return status;
    return cmocka_run_group_tests(tests, host_prepare, host_clean);
}
