/* Stock NATS tools see our services: asked with npm's @nats-io/services, as the user inspect. */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"

static int ask(char *text, size_t room)
{
    char creds[512];
    int ends[2];
    size_t size = 0;
    ssize_t got;
    int status;

    snprintf(creds, sizeof creds, "%s/creds/inspect.creds", kndl_test_nats()->dir);
    const char *url = kndl_test_nats()->url;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        execl(KNDL_NODE_PATH, "node", KNDL_SOURCE_DIR "/integration-tests/inspect/inspect.mjs", url,
              creds, "redactor", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    while ((got = read(ends[0], text + size, room - 1 - size)) > 0)
        size += (size_t)got;
    text[size] = '\0';
    close(ends[0]);
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void must_say(const char *text, const char *what)
{
    if (strstr(text, what) == NULL)
        fail_msg("%s is missing in %s", what, text);
}

static void stock_tools_find_a_service_and_its_numbers(void **unused)
{
    static char text[65536];
    struct kndl_bus *sessions = open_bus("sessions");
    struct asked asked;
    char id[128];

    (void)unused;
    start_redactor();
    do
        mask(sessions, "ready?", &asked);
    while (asked.err.code == KNDL_UNAVAILABLE);
    mask(sessions, TEXT_FAIL, &asked);

    /* npm ci in integration-tests/ if this fails for want of a module; ./dev test does it. */
    assert_int_equal(ask(text, sizeof text), 0);
    snprintf(id, sizeof id, "\"id\":\"%s\"", kndl_service_instance());
    must_say(text, id);
    must_say(text, "io.nats.micro.v1.ping_response");
    must_say(text, "io.nats.micro.v1.info_response");
    must_say(text, "io.nats.micro.v1.stats_response");
    must_say(text, "\"subject\":\"kndl.rpc.redactor.v1.RedactorInternalService.Mask\"");
    must_say(text, "\"queue_group\":\"redactor\"");
    must_say(text, "\"num_errors\":1");
    must_say(text, "\"last_error\":\"5\"");
    must_say(text, "\"strangers\":[]");

    stop_redactor();
    kndl_bus_close(sessions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stock_tools_find_a_service_and_its_numbers),
    };
    return cmocka_run_group_tests_name("inspect", tests, NULL, NULL);
}
