/* The page's own client, @connectrpc/connect-web, against the gateway. */

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "fixture.h"
#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "kndl/sessions/v1/sessions_service.pb-c.h"

#define S(name) Kndl__Sessions__V1__##name
#define SESSION "abcdefghijklmnopqrstuvwxya"

static void answer_person(struct kndl_buf *out)
{
    Kndl__RepoAccess__V1__WhoAmIResponse response = KNDL__REPO_ACCESS__V1__WHO_AM_IRESPONSE__INIT;
    Kndl__RepoAccess__V1__Person person = KNDL__REPO_ACCESS__V1__PERSON__INIT;

    person.id = (char *)"ada";
    person.name = (char *)"Ada, Gr\xc3\xa4"
                          "fin \xf0\x9f\x8e\xa9";
    person.github_id = 9007199254740993;
    response.person = &person;
    fake_pack(out, &response.base);
}

static void answer_events(struct kndl_buf *out)
{
    S(ListEventsResponse) response = KNDL__SESSIONS__V1__LIST_EVENTS_RESPONSE__INIT;
    Kndl__Event__V1__Event event = KNDL__EVENT__V1__EVENT__INIT;
    Kndl__Event__V1__Event *events[] = {&event};

    event.seq = 7;
    response.events = events;
    response.n_events = 1;
    fake_pack(out, &response.base);
}

static void answer_prompt(const struct fake_request *request, struct kndl_buf *out)
{
    S(SendPromptResponse) response = KNDL__SESSIONS__V1__SEND_PROMPT_RESPONSE__INIT;
    S(QueuedPrompt) prompt = KNDL__SESSIONS__V1__QUEUED_PROMPT__INIT;
    S(SendPromptRequest) *asked = kndl__sessions__v1__send_prompt_request__unpack(
        NULL, request->data.size, (const uint8_t *)request->data.data);

    prompt.text = asked->text;
    response.prompt = &prompt;
    fake_pack(out, &response.base);
    kndl__sessions__v1__send_prompt_request__free_unpacked(asked, NULL);
}

static bool answer(const struct fake_request *request, struct kndl_buf *out, struct kndl_error *err)
{
    if (strcmp(request->method, "WhoAmI") == 0)
        answer_person(out);
    else if (strcmp(request->method, "ListEvents") == 0)
        answer_events(out);
    else if (strcmp(request->method, "SendPrompt") == 0)
        answer_prompt(request, out);
    else if (strcmp(request->method, "StopTurn") == 0)
        kndl_fail(err, KNDL_ABORTED, "no Turn runs");
    else if (strcmp(request->method, "GetSession") == 0)
        kndl_fail(err, KNDL_NOT_FOUND, "Session " SESSION " does not exist");
    else if (strcmp(request->method, "WakeSession") == 0)
        return false;
    return true;
}

static int run_client(struct fixture *f)
{
    int ends[2];
    int status;

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[0], STDIN_FILENO);
        execl(KNDL_NODE_PATH, "node", KNDL_SOURCE_DIR "/integration-tests/connect/connect.mjs",
              f->origin, KNDL_DESCRIPTORS, (char *)NULL);
        _exit(127);
    }
    close(ends[0]);
    dprintf(ends[1], "{\"web\":\"%s\",\"cli\":\"%s\",\"session\":\"" SESSION "\"}",
            fixture_web_token, fixture_cli_token);
    close(ends[1]);
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int set_up(void **state)
{
    return fixture_open(state, answer);
}

static void the_pages_client_understands_every_answer(void **state)
{
    struct fixture *f = *state;

    /* npm ci in integration-tests/ if this fails for want of a module; ./dev test does it. */
    assert_int_equal(run_client(f), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_pages_client_understands_every_answer, set_up,
                                        fixture_close),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
