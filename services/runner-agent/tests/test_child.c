/* Verb children and other programs, from the loop's side. */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host.h"
#include "kndl/mem.h"
#include "reaper.h"
#include "verbs.h"

struct seen {
    struct host host;
    struct child_end end;
    char reason[32];
    char value[64];
    size_t messages;
    int fd;
};

static void on_message(void *data, struct child_message *message)
{
    struct seen *seen = data;

    assert_string_equal(message->word, "sandbox");
    seen->messages++;
}

static void on_end(void *data, const struct child_end *end)
{
    struct seen *seen = data;

    seen->end = *end;
    (void)snprintf(seen->reason, sizeof seen->reason, "%s", end->reason);
    (void)snprintf(seen->value, sizeof seen->value, "%s", child_value(end->last, "size"));
    if (end->last->fd_count > 0)
        seen->fd = kndl_steal_fd(&end->last->fds[0]);
    seen->host.done = true;
}

static struct child *start(struct seen *seen, const char *verb, const char *const *args,
                           const char *input, int64_t deadline_ms)
{
    return child_start(seen->host.children, &(struct child_options){
                                                .verb = verb,
                                                .args = args,
                                                .input = kndl_slice_of(input),
                                                .deadline_ms = deadline_ms,
                                                .on_message = on_message,
                                                .on_end = on_end,
                                                .data = seen,
                                            });
}

static void what_a_child_says_arrives_with_its_descriptor(void **unused)
{
    struct seen seen = {.fd = -1};
    char folder[256], directory[300], bytes[8] = "";

    (void)unused;
    host_init(&seen.host);
    host_folder(&seen.host, "says", folder);
    (void)snprintf(directory, sizeof directory, "directory=%s", folder);
    start(&seen, "guest-write",
          (const char *[]){"name=kt-child", directory, "path=a/b", "mode=384", NULL}, "hello",
          30000);
    host_wait(&seen.host);
    assert_int_equal(seen.end.err.code, KNDL_OK);
    start(&seen, "guest-read",
          (const char *[]){"name=kt-child", directory, "path=a/b", "offset=1", "most=3", NULL}, "",
          30000);
    host_wait(&seen.host);
    assert_int_equal(seen.end.err.code, KNDL_OK);
    assert_string_equal(seen.value, "5");
    assert_int_equal(pread(seen.fd, bytes, sizeof bytes, 0), 3);
    assert_string_equal(bytes, "ell");
    kndl_close(&seen.fd);
    host_done(&seen.host);
}

static void a_failure_comes_with_its_code_and_words(void **unused)
{
    struct seen seen = {.fd = -1};

    (void)unused;
    host_init(&seen.host);
    start(&seen, "sandbox-create",
          (const char *[]){"name=kt-x", "image=/nowhere", "cpu_percent=1", "memory_mib=1", "pids=1",
                           "relay_port=0", NULL},
          "", 30000);
    host_wait(&seen.host);
    assert_int_equal(seen.end.err.code, KNDL_NOT_FOUND);
    assert_string_equal(seen.reason, "no_image");
    assert_non_null(strstr(seen.end.err.message, "/nowhere"));
    start(&seen, "no-such-verb", NULL, "", 30000);
    host_wait(&seen.host);
    assert_int_equal(seen.end.err.code, KNDL_INTERNAL);
    host_done(&seen.host);
}

static void a_child_that_takes_too_long_is_killed(void **unused)
{
    struct seen seen = {.fd = -1};
    struct child *child;

    (void)unused;
    host_init(&seen.host);
    /* With no such process to hold for it fails; with this one it waits for ever. */
    start(&seen, "test-wait", NULL, "", 200);
    host_wait(&seen.host);
    assert_int_equal(seen.end.err.code, KNDL_DEADLINE_EXCEEDED);
    assert_string_equal(seen.reason, "timeout");
    child = start(&seen, "test-wait", NULL, "", 0);
    child_kill(child);
    host_wait(&seen.host);
    assert_int_equal(seen.end.err.code, KNDL_CANCELLED);
    host_done(&seen.host);
}

static void on_status(void *data, int status)
{
    struct seen *seen = data;

    seen->messages = (size_t)WEXITSTATUS(status);
    seen->host.done = true;
}

static void a_process_that_ended_before_it_was_asked_for_is_told_all_the_same(void **unused)
{
    struct seen seen = {.fd = -1};
    pid_t pid;

    (void)unused;
    host_init(&seen.host);
    pid = fork();
    if (pid == 0)
        _exit(9);
    while (kill(pid, 0) == 0)
        reaper_take(children_reaper(seen.host.children));
    reaper_adopt(children_reaper(seen.host.children), pid, on_status, &seen);
    assert_int_equal(seen.messages, 9);
    host_done(&seen.host);
}

static void secrets_are_in_no_argument_and_no_environment(void **unused)
{
    struct seen seen = {.fd = -1};

    (void)unused;
    host_init(&seen.host);
    (void)setenv("RUNNER_TOKEN", "kndl_run_secret", 1);
    start(&seen, "test-environment", NULL, "the-secret", 30000);
    host_wait(&seen.host);
    assert_int_equal(seen.end.err.code, KNDL_OK);
    host_done(&seen.host);
}

/* A verb child that looks at itself: a clean environment, the secret on stdin alone. */
static int look_at_itself(void)
{
    char text[8192];
    FILE *file = fopen("/proc/self/environ", "re");
    size_t size = file == NULL ? 0 : fread(text, 1, sizeof text - 1, file);
    bool clean = size > 0;
    struct kndl_error err;
    char *bytes;

    for (size_t i = 0; i < size; i += strlen(text + i) + 1) {
        text[size] = '\0';
        clean = clean && strstr(text + i, "secret") == NULL;
    }
    if (file != NULL)
        (void)fclose(file);
    if (verb_input(&bytes, &size, &err) < 0)
        return 1;
    clean = clean && size == strlen("the-secret") && memcmp(bytes, "the-secret", size) == 0;
    free(bytes);
    if (clean)
        verb_done(-1, NULL);
    return clean ? 0 : 1;
}

/* Faults 40: it would lay setup tokens on a disk, whatever the limit was that it was started with.
 */
static void no_process_of_a_runner_leaves_a_core(void **unused)
{
    struct host host;
    struct rlimit cores;

    (void)unused;
    host_init(&host);
    assert_int_equal(getrlimit(RLIMIT_CORE, &cores), 0);
    assert_int_equal(cores.rlim_cur, 0);
    assert_int_equal(cores.rlim_max, 0);
    host_done(&host);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_process_of_a_runner_leaves_a_core),
        cmocka_unit_test(what_a_child_says_arrives_with_its_descriptor),
        cmocka_unit_test(a_failure_comes_with_its_code_and_words),
        cmocka_unit_test(a_child_that_takes_too_long_is_killed),
        cmocka_unit_test(a_process_that_ended_before_it_was_asked_for_is_told_all_the_same),
        cmocka_unit_test(secrets_are_in_no_argument_and_no_environment),
    };
    int status;

    if (verb_main(argc, argv, &status))
        return status;
    if (argc > 1 && strcmp(argv[1], "test-wait") == 0)
        return pause();
    if (argc > 1 && strcmp(argv[1], "test-environment") == 0)
        return look_at_itself();
    if (argc > 1)
        return 1;
    return cmocka_run_group_tests(tests, host_prepare, host_clean);
}
